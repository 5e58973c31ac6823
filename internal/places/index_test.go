package places_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is protected or secret is never passed over: the path, or a directory around it, is a candidate by its name.
func TestIndex_FindsAll(t *testing.T) {
	p := testPaths(t)
	p.Loaded, p.Followed = []string{"lsp.json", ".gjc/rules/"}, func() []string { return []string{"/w/scripts/git"} }
	x := p.Index()
	names := []string{"lsp.json", ".gjc/rules/x", "scripts/git/pre-commit", ".ENV", ".env.bak", "id_rsa~", ".e\u200bnv", ".env. ", "x.PEM", "GIT~1/config", "a/HEAD", "my.Code-Workspace", ".vscode/tasks.json", ".Git/hooks/x"}
	for _, file := range []string{"protected.txt", "secrets.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			patterns, _, _ := strings.Cut(line, ": ")
			for pattern := range strings.FieldsSeq(patterns) {
				name := strings.ReplaceAll(strings.TrimPrefix(pattern, "!"), "*", "x")
				names = append(names, name, "sub/"+strings.TrimSuffix(name, "/"), strings.ToUpper(name))
			}
		}
	}
	for _, name := range names {
		path := "/w/" + name
		if p.Protected(path) == "" && !p.Secret(path) {
			continue
		}
		found := false
		for at := path; at != "/w"; at = filepath.Dir(at) {
			found = found || x.Candidate(filepath.Base(at)) && (p.Protected(at) != "" || p.Secret(at))
		}
		if !found {
			t.Errorf("%s is passed over", name)
		}
	}
	for _, name := range []string{"main.go", "README.md", "src", "package.json", "a.test.js"} {
		if x.Candidate(name) {
			t.Errorf("%s is looked at", name)
		}
	}
}

func FuzzIndex(f *testing.F) {
	for _, name := range []string{".env", "a.pem", ".git", "config", "x~", "AGENTS.md", "İ", ".env.bak.old"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			t.Skip()
		}
		p := testPaths(t)
		if path := "/w/" + name; (p.Protected(path) != "" || p.Secret(path)) && !p.Index().Candidate(name) {
			t.Errorf("%q is passed over", name)
		}
	})
}
