package attempts

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRank(t *testing.T) {
	files := func(lines ...int) (all []File) {
		for _, n := range lines {
			all = append(all, File{Path: "a", Kind: "modified", Added: n})
		}
		return all
	}
	all := []*Attempt{
		{Number: 1, Helper: "large", Files: files(90), Command: "c", Passed: true},
		{Number: 2, Helper: "does not pass", Files: files(1), Command: "c"},
		{Number: 3, Helper: "small", Files: files(3, 3), Command: "c", Passed: true},
		{Number: 4, Helper: "failed", Failed: "no model", Command: "c", Passed: true, Files: files(2)},
		{Number: 5, Helper: "nothing", Command: "c", Passed: true},
		{Number: 6, Helper: "as small in fewer files", Files: files(6), Command: "c", Passed: true},
		{Number: 7, Helper: "as small, later", Files: files(3, 3), Command: "c", Passed: true},
	}
	Rank(all)
	var got []string
	for _, a := range all {
		got = append(got, a.Helper)
	}
	want := []string{"as small in fewer files", "small", "as small, later", "large", "nothing", "does not pass", "failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for i, a := range all {
		if a.Wins() != (i < 4) {
			t.Errorf("%s wins: %v", a.Helper, a.Wins())
		}
	}
	if a := (&Attempt{Files: files(1)}); !a.Wins() {
		t.Error("without a command a change does not win")
	}
}

func TestSet(t *testing.T) {
	s := new(Set)
	if _, err := s.Find("1"); !errors.Is(err, errNone) || !strings.Contains(err.Error(), "has none") {
		t.Errorf("%v", err)
	}
	s.Add(&Attempt{Task: "fix it", Helper: "attempt-1", Model: "test/a", Report: "Done.", Diff: "+a\n", Files: []File{{Path: "a", Added: 1}}, Command: "make test", Output: "``` odd\n", Passed: true, Took: 3 * time.Second})
	s.Add(&Attempt{Task: "fix it", Helper: "attempt-2", Model: "x|y", Failed: "no\nmodel"})
	for _, bad := range []string{"", "0", "3", "-1", "x", "1/2", strings.Repeat("9", 100)} {
		if _, err := s.Find(bad); !errors.Is(err, errNone) || len(err.Error()) > 200 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	got, err := s.Find("1")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Attempt 1: fix it\n\nHelper attempt-1, model test/a, 3s: passed, 1 file, 1 line.\n" +
		"\n## Report\n\nDone.\n\n## Changes\n\n```diff\n+a\n```\n\n## Output of `make test`\n\n````text\n``` odd\n````\n"
	if diff := cmp.Diff(want, got.Markdown()); diff != "" {
		t.Errorf("attempt 1 (-want +got):\n%s", diff)
	}
	if table := Table(s.All()); !strings.Contains(table, "| `attempt://2` | x\\|y | failed: no model | 0s |") {
		t.Errorf("table:\n%s", table)
	}
}

func TestFindCheck(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":            {nil, ""},
		"go":                 {map[string]string{"go.mod": "module x", "Makefile": "test:\n"}, "go build ./... && go vet ./... && go test ./..."},
		"cargo":              {map[string]string{"Cargo.toml": ""}, "cargo test"},
		"npm":                {map[string]string{"package.json": `{"scripts":{"test":"vitest run","build":"x"}}`}, "npm run test"},
		"npm without tests":  {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1","build":"tsc"}}`}, "npm run build"},
		"pnpm":               {map[string]string{"package.json": `{"scripts":{"lint":"eslint ."}}`, "pnpm-lock.yaml": ""}, "pnpm run lint"},
		"yarn":               {map[string]string{"package.json": `{"scripts":{"test":"jest"}}`, "yarn.lock": ""}, "yarn run test"},
		"bun":                {map[string]string{"package.json": `{"scripts":{"test":"bun test"}}`, "bun.lock": ""}, "bun run test"},
		"broken package":     {map[string]string{"package.json": `{`, "Makefile": "all:\n\nlint check: all\n"}, "make check"},
		"scripts of no use":  {map[string]string{"package.json": `{"scripts":{"start":"node ."}}`, "pytest.ini": ""}, "python3 -m pytest -q"},
		"pyproject":          {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q"},
		"other python":       {map[string]string{"pyproject.toml": "[project]\n"}, ""},
		"make":               {map[string]string{"Makefile": "test := 1\n\ttest: no rule\nbuild: x\ntest: build\n"}, "make test"},
		"make without tests": {map[string]string{"Makefile": "test := 1\nbuild: test\n"}, ""},
		"too large":          {map[string]string{"Makefile": "test:\n" + strings.Repeat("#", maxManifest)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(_ context.Context, path string) ([]byte, error) {
				if text, ok := test.files[filepath.Base(path)]; ok && filepath.Dir(path) == "dir" {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			}
			if got := FindCheck(t.Context(), read, "dir"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseArguments(t *testing.T) {
	for args, want := range map[string]*Arguments{
		"2 -- fix it":                       {Count: 2, Models: []string{}, Task: "fix it"},
		" 3 a/b smol --\nuse --flag -- ok ": {Count: 3, Models: []string{"a/b", "smol"}, Task: "use --flag -- ok"},
		"2 x-- y -- t":                      {Count: 2, Models: []string{"x--", "y"}, Task: "t"},
	} {
		got, err := ParseArguments(args)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
	for _, bad := range []string{"", "3", "3 fix it", "3 --", "-- fix it", "1 -- x", "11 -- x", "x -- y", "2 a b c -- t", "3--fix", "99999999999999999999 -- x"} {
		if got, err := ParseArguments(bad); !errors.Is(err, errUsage) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

func FuzzParseArguments(f *testing.F) {
	f.Add("3 a b -- task -- more")
	f.Fuzz(func(t *testing.T, args string) {
		a, err := ParseArguments(args)
		if err != nil {
			return
		}
		if a.Count < 2 || a.Count > MaxAttempts || len(a.Models) > a.Count || a.Task == "" || !strings.Contains(args, a.Task) {
			t.Errorf("%q: %+v", args, a)
		}
	})
}
