package gjc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stumbles are wordings that a reader stumbles over, with what to write instead. They are a part of docs/contributing.md's rules: those
// that a program can find.
var stumbles = []struct {
	re      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being) told\b|\btells?\b`), "report, notify, return or receive, with its object"},
	{regexp.MustCompile(`(?i)\btakes? note\b`), "record"},
	{regexp.MustCompile(`(?i)\bbeside\b`), "next to, with"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\bcan not\b`), "cannot"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "the actor's name"},
	{regexp.MustCompile(`(?i)\bof ours\b`), "gjc's own"},
	{regexp.MustCompile(`(?i)\b(as a rule|for want of|all the same|in vain|by now)\b`), "nothing, or usually, without, anyway, without success, already"},
	{regexp.MustCompile(`^[A-Za-z.]+ (is|are) (what|who|whether|all|how [^lofm])\b`), "a verb: returns, reports, holds"},
}

// unread are the folders whose comments have not been rewritten yet. The list may only get shorter.
var unread = []string{
	"agent/approval",
	"agent/approval/shell",
}

// TestEnglish finds wordings of [stumbles] in the comments of Go files, tests included.
func TestEnglish(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_gen.go") || filepath.Dir(path) == ".":
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, why := range stumblesIn(group) {
				found[dir] = true
				if !slices.Contains(unread, dir) {
					t.Errorf("%s: %s", fset.Position(group.Pos()), why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range unread {
		if !found[dir] {
			t.Errorf("%s has no such wording; delete it from the list", dir)
		}
	}
}

func stumblesIn(group *ast.CommentGroup) []string {
	text := strings.ReplaceAll(group.Text(), "\n", " ")
	var all []string
	for _, s := range stumbles {
		if word := s.re.FindString(text); word != "" {
			all = append(all, "\""+word+"\": write "+s.instead)
		}
	}
	return all
}
