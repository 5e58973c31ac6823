package walk

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// osDirs lists directories of the disk.
type osDirs struct{}

func (osDirs) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// kept walks dir and returns the files that are not ignored, relative and in slash form.
func kept(t testing.TB, dir string) []string {
	t.Helper()
	return keptUnder(t, dir, "")
}

// keptUnder is like [kept], for a user with the global ignore file globalIgnore.
func keptUnder(t testing.TB, dir, globalIgnore string) []string {
	t.Helper()
	w := &Walker{FS: osDirs{}, Hidden: true, Ignore: true, GlobalIgnore: globalIgnore}
	var files []string
	err := w.Walk(t.Context(), dir, func(path string, d fs.DirEntry) error {
		if !d.IsDir() {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// gitKept returns the files that git does not ignore.
func gitKept(t testing.TB, git, dir string) []string {
	t.Helper()
	return gitKeptUnder(t, git, dir, "/dev/null")
}

func gitKeptUnder(t testing.TB, git, dir, globalIgnore string) []string {
	t.Helper()
	cmd := exec.Command(git, "-C", dir, "-c", "core.excludesFile="+globalIgnore, "-c", "core.quotePath=false",
		"ls-files", "--others", "--exclude-standard", "-z")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(name) > 0 {
			files = append(files, string(name))
		}
	}
	slices.Sort(files)
	return files
}

func gitRepository(t testing.TB, git string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

func putAll(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// ignoreCases are ignore files with patterns for ignoreTree.
var ignoreCases = map[string]string{
	"name":                 "a.txt\n",
	"name in a dir":        "d/a.txt\n",
	"rooted":               "/a.txt\n",
	"directory":            "d/\n",
	"directory only":       "a.txt/\n",
	"star":                 "*.log\n",
	"star stays in a name": "d/*.txt\n",
	"question":             "?.txt\n",
	"class":                "[ab].txt\n",
	"negated class":        "[!a].txt\n",
	"caret class":          "[^a].txt\n",
	"open class":           "[a.txt\n",
	"bracket in a class":   "[]a].txt\n",
	"bracket in no class":  "[!]a].txt\n",
	"range from a bracket": "[^]-a].txt\n",
	"bracket opens none":   "[[]a.txt\n[[]].txt\n",
	"escaped bracket":      "\\[]a].txt\n[a\\]].txt\n",
	"class never closed":   "[]\n[!]\n[]a.txt\n",
	"double star first":    "**/e/f.txt\n",
	"double star last":     "d/**\n",
	"double star between":  "d/**/f.txt\n",
	"double star alone":    "**\n",
	"double star in name":  "d/**x\n",
	"negation":             "*.txt\n!a.txt\n",
	"negation in ignored":  "d/\n!d/a.txt\n",
	"negation of inside":   "d/*\n!d/e\n",
	"comment":              "# a.txt\n",
	"escaped comment":      "\\#hash\n",
	"escaped negation":     "\\!bang\n",
	"trailing blanks":      "a.txt   \n",
	"protected blank":      "blank\\ \n",
	"crlf":                 "a.txt\r\nb.txt\r\n",
	"byte order mark":      "\xEF\xBB\xBFa.txt\n",
	"braces":               "{a,b}.txt\nbrace{1}\n",
	"only slash":           "/\n",
	"only bang":            "!\n",
	"escaped star":         "\\*.txt\n",
	"later wins":           "!a.txt\na.txt\n",
	"slash in the middle":  "e/f.txt\n",
	"two stars three":      "d/***/f.txt\n",
}

var ignoreTree = map[string]string{
	"a.txt": "", "b.txt": "", "x.log": "", "#hash": "", "!bang": "", "blank ": "", "brace{1}": "", "*.txt": "",
	"d/a.txt": "", "d/x": "", "d/yx": "", "d/e/f.txt": "", "d/e/g/f.txt": "", "d/f.txt": "", "e/f.txt": "", "d/e/h/a.txt": "",
	"[a.txt": "", "].txt": "", "[].txt": "", "[]a].txt": "", "d/].txt": "", "{a,b}.txt": "", "k/d/a.txt": "", "k/a.txt": "", "k/d/e/f.txt": "",
}

func TestIgnoreAgreesWithGit(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	dir := gitRepository(t, git)
	putAll(t, dir, ignoreTree)
	for name, rules := range ignoreCases {
		for _, where := range []string{".gitignore", "d/.gitignore", ".git/info/exclude"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				putAll(t, dir, map[string]string{where: rules})
				defer func() { _ = os.Remove(filepath.Join(dir, filepath.FromSlash(where))) }() // for the next case
				if d := cmp.Diff(gitKept(t, git, dir), kept(t, dir)); d != "" {
					t.Errorf("%q (-git +ours):\n%s", rules, d)
				}
			})
		}
	}
}

// The user's global patterns have the lowest priority: a repository's own re-include what they ignore.
func TestGlobalIgnoreAgreesWithGit(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	global := filepath.Join(t.TempDir(), "ignore")
	for name, rules := range ignoreCases {
		for own, where := range map[string]string{"*.log\n": ".gitignore", "!a.txt\n!/d\n": ".gitignore", "!f.txt\n": "d/.gitignore", "!b.txt\n": ".git/info/exclude"} {
			t.Run(name+" under "+where, func(t *testing.T) {
				dir := gitRepository(t, git)
				putAll(t, dir, ignoreTree)
				putAll(t, dir, map[string]string{where: own})
				putAll(t, filepath.Dir(global), map[string]string{"ignore": rules})
				if d := cmp.Diff(gitKeptUnder(t, git, dir, global), keptUnder(t, dir, global)); d != "" {
					t.Errorf("%q under %q (-git +ours):\n%s", rules, own, d)
				}
			})
		}
	}
	loose := t.TempDir()
	putAll(t, loose, map[string]string{"a.txt": "", "d/a.txt": ""})
	putAll(t, filepath.Dir(global), map[string]string{"ignore": "a.txt\n"})
	if d := cmp.Diff([]string{"a.txt", "d/a.txt"}, keptUnder(t, loose, global)); d != "" {
		t.Errorf("outside a repository: -want +got:\n%s", d)
	}
}

// Random patterns over a small alphabet find unforeseen cases.
func TestRandomIgnoreAgreesWithGit(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "d", "e", "f", "*", "**", "/", "/", "?", ".txt", "[ab]", "!", "\\", "[!e]", "a.txt", "d/e"}
	dir := gitRepository(t, git)
	putAll(t, dir, ignoreTree)
	for range 400 {
		var b strings.Builder
		for range 1 + random.IntN(3) {
			if random.IntN(4) == 0 {
				b.WriteByte('!')
			}
			for range 1 + random.IntN(5) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			b.WriteByte('\n')
		}
		where := []string{".gitignore", "d/.gitignore"}[random.IntN(2)]
		putAll(t, dir, map[string]string{where: b.String()})
		if d := cmp.Diff(gitKept(t, git, dir), kept(t, dir)); d != "" {
			t.Errorf("%q in %s (-git +ours):\n%s", b.String(), where, d)
		}
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(where))); err != nil {
			t.Fatal(err)
		}
	}
}

// Ignore files above the searched directory apply too, up to the repository's root.
func TestRulesFromAbove(t *testing.T) {
	outer := t.TempDir()
	putAll(t, outer, map[string]string{
		".gitignore": "*\n", "repo/.git/HEAD": "", "repo/.gitignore": "*.log\n/d/only\n", "repo/d/.gitignore": "*.tmp\n!keep.tmp\n",
		"repo/d/e/x.log": "", "repo/d/e/x.tmp": "", "repo/d/e/keep.tmp": "", "repo/d/e/only": "", "repo/d/e/a.txt": "",
		"repo/d/only/b.txt": "",
	})
	if d := cmp.Diff([]string{"a.txt", "keep.tmp", "only"}, kept(t, filepath.Join(outer, "repo", "d", "e"))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	loose := t.TempDir()
	putAll(t, loose, map[string]string{".gitignore": "*\n", "d/a.txt": "", "d/.gitignore": "b.txt\n", "d/b.txt": ""})
	if d := cmp.Diff([]string{".gitignore", "a.txt"}, kept(t, filepath.Join(loose, "d"))); d != "" {
		t.Errorf("outside a repository: -want +got:\n%s", d)
	}
}

func TestComparePathsIsTheOrderOfAWalk(t *testing.T) {
	dir := t.TempDir()
	putAll(t, dir, map[string]string{"a/b": "", "a-b/c": "", "a.go": "", "a b": "", "ab": "", "a/b c/d": "", "a/b-c": "", "Z": "", "é/x": ""})
	var walked []string
	w := &Walker{FS: osDirs{}, Hidden: true}
	if err := w.Walk(t.Context(), dir, func(path string, _ fs.DirEntry) error {
		walked = append(walked, path)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	sorted := slices.SortedFunc(slices.Values(walked), ComparePaths)
	if d := cmp.Diff(sorted, walked); d != "" {
		t.Errorf("-sorted +walked:\n%s", d)
	}
}
