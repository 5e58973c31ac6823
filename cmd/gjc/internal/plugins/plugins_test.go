package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
)

func TestMain(m *testing.M) {
	if at := os.Getenv("GJC_PLUGINS_DIE_AT"); at != "" {
		installAndDie(at)
	}
	os.Exit(m.Run())
}

// write writes files below dir: names and contents in turn.
func write(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func openStore(t *testing.T, agentDir, base string) *Store {
	t.Helper()
	children := proc.NewGroup(nil)
	t.Cleanup(func() { _ = children.Close(context.Background()) })
	return Open(agentDir, base, "", &Git{Children: children, Env: os.Environ()})
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	testenv.NeedsTool(t, "git")
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func install(t *testing.T, s *Store, source string) *Entry {
	t.Helper()
	c, err := s.Prepare(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &c.Entry
}

// state returns the plugins of a store with their states.
func state(t *testing.T, s *Store) []string {
	t.Helper()
	all, err := s.Survey(t.Context(), trust.Open(filepath.Join(t.TempDir(), "trust.json")))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range all {
		list = append(list, p.Name+" "+p.Version+" "+p.State)
	}
	return list
}

var steps = []string{"temp", "fetch", "check", "write", "place", "rename", "sweep"}

// An update that is killed at any step leaves the old plugin or the new one, whole, and the next change of the plugins cleans up.
func TestStore_Killed(t *testing.T) {
	t.Parallel()
	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			agent, base := t.TempDir(), t.TempDir()
			write(t, base, "p/.gjc-plugin.yml", "name: p\nversion: \"1\"\n", "p/commands/a.md", "A.\n")
			s := openStore(t, agent, base)
			install(t, s, "./p")
			write(t, base, "p/.gjc-plugin.yml", "name: p\nversion: \"2\"\n", "p/commands/b.md", "B.\n")
			cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // the test itself
			cmd.Env = append(os.Environ(), "GJC_PLUGINS_DIE_AT="+at, "GJC_PLUGINS_AGENT="+agent, "GJC_PLUGINS_BASE="+base)
			out, err := cmd.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 77 {
				t.Fatalf("the update did not reach the step %s: %v\n%s", at, err, out)
			}
			want := "p 1 used"
			if at == "sweep" { // after the change
				want = "p 2 used"
			}
			if diff := cmp.Diff([]string{want}, state(t, s)); diff != "" {
				t.Errorf("after the kill (-want +got):\n%s", diff)
			}
			c, err := s.PrepareUpdate(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"p 2 used"}, state(t, s)); diff != "" {
				t.Errorf("after the update (-want +got):\n%s", diff)
			}
			contents, err := os.ReadDir(filepath.Join(s.Dir, "p"))
			if err != nil || len(contents) != 1 {
				t.Errorf("%v: %v", err, contents)
			}
		})
	}
}

// installAndDie is the process that an installation is killed in.
func installAndDie(at string) {
	children := proc.NewGroup(nil)
	s := Open(os.Getenv("GJC_PLUGINS_AGENT"), os.Getenv("GJC_PLUGINS_BASE"), "", &Git{Children: children, Env: os.Environ()})
	s.Step = func(name string) {
		if name == at {
			os.Exit(77)
		}
	}
	c, err := s.PrepareUpdate(context.Background(), "p")
	if err == nil {
		err = c.Apply(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// What a directory or a repository must not have is named, and nothing is installed.
func TestStore_Refuses(t *testing.T) {
	t.Parallel()
	unix := runtime.GOOS != "windows"
	for name, test := range map[string]struct {
		unix  bool
		make  func(t *testing.T, dir string)
		error string
	}{
		"empty":         {make: func(*testing.T, string) {}, error: "it holds no command"},
		"bad manifest":  {make: func(t *testing.T, dir string) { write(t, dir, ".gjc-plugin.yml", "name: [") }, error: ".gjc-plugin.yml: "},
		"list manifest": {make: func(t *testing.T, dir string) { write(t, dir, ".claude-plugin/plugin.json", "[]") }, error: "must be an object"},
		"binary manifest": {
			make:  func(t *testing.T, dir string) { write(t, dir, ".claude-plugin/plugin.json", "\xff\x00\xfe{}") },
			error: "neither UTF-8 nor UTF-16",
		},
		"huge manifest": {make: func(t *testing.T, dir string) { write(t, dir, ".gjc-plugin.yml", strings.Repeat("#", 2<<20)) }, error: "larger than 1 MB"},
		"bad name":      {make: func(t *testing.T, dir string) { write(t, dir, ".gjc-plugin.yml", "name: ../x") }, error: "cannot be the name"},
		"nested repository": {
			make:  func(t *testing.T, dir string) { write(t, dir, "commands/.git/config", "") },
			error: "commands/.git/config is a part of a git repository",
		},
		"only by case": {
			unix: true, make: func(t *testing.T, dir string) { write(t, dir, "commands/a.md", "x", "commands/A.md", "y") },
			error: "differs from commands/A.md only by upper and lower case",
		},
		"link out": {unix: true, make: func(t *testing.T, dir string) { link(t, "../../x", dir, "a.md") }, error: "a.md is a link out of the plugin"},
		"absolute link": {
			unix: true, make: func(t *testing.T, dir string) { link(t, "/etc/hosts", dir, "a.md") }, error: "a.md is a link out of the plugin",
		},
		"link through links": {unix: true, make: func(t *testing.T, dir string) {
			if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			link(t, "out/x", dir, "a.md")
		}, error: "is a link out of the plugin"},
		"control character": {unix: true, make: func(t *testing.T, dir string) { write(t, dir, "commands/a\\b.md", "x") }, error: "a name that not every system can have"},
		"huge file": {make: func(t *testing.T, dir string) {
			write(t, dir, "commands/a.md", "x")
			if err := os.Truncate(filepath.Join(dir, "commands", "a.md"), maxFile+1); err != nil {
				t.Fatal(err)
			}
		}, error: "is larger than 50 MB"},
		"many files": {make: func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "many"), 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range maxFiles + 1 {
				if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprint(i)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, error: "more than 20000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.unix && !unix {
				t.Skip("such names cannot be made here")
			}
			base := t.TempDir()
			dir := filepath.Join(base, "p")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			test.make(t, dir)
			s := openStore(t, t.TempDir(), base)
			c, err := s.Prepare(t.Context(), "./p")
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.error) {
				t.Fatalf("Prepare: %v; want %s", err, test.error)
			}
			if left, err := filepath.Glob(filepath.Join(s.Dir, tempPrefix+"*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func link(t *testing.T, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A repository cannot smuggle in what a directory cannot have, whatever its tree says, and nothing in it runs.
func TestGit_Hostile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ mode, path, data, error string }{
		"link out":  {"120000", "a.md", "../../../etc/hosts", "a.md is a link out of the plugin"},
		"submodule": {"160000", "sub", "", "sub is a submodule"},
		"case":      {"100644", "COMMANDS/a.md", "x", "only by upper and lower case"},
		"colon":     {"100644", "commands/c:d.md", "x", "a name that not every system can have"},
		"backslash": {"100644", `commands\a.md`, "x", "a name that not every system can have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			git(t, repo, "init", "-q")
			write(t, repo, "commands/a.md", "A.\n")
			git(t, repo, "add", ".")
			git(t, repo, "commit", "-q", "-m", "one")
			object := git(t, repo, "rev-parse", "HEAD")
			if test.mode != "160000" {
				write(t, repo, "blob", test.data)
				object = git(t, repo, "hash-object", "-w", "blob")
			}
			git(t, repo, "update-index", "--add", "--cacheinfo", test.mode+","+object+","+test.path)
			git(t, repo, "commit", "-q", "-m", "two")
			s := openStore(t, t.TempDir(), repo)
			c, err := s.Prepare(t.Context(), "file://"+filepath.ToSlash(repo))
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.error) {
				t.Errorf("Prepare: %v; want %s", err, test.error)
			}
		})
	}
}

// Filters, hooks and attributes of the repository or the user do not run or change what is installed.
func TestGit_RunsNothing(t *testing.T) {
	t.Parallel()
	repo, home := t.TempDir(), t.TempDir()
	marker := filepath.Join(home, "ran")
	git(t, repo, "init", "-q")
	write(t, repo, "commands/a.md", "A.\n", ".gitattributes", "*.md filter=evil text eol=crlf\n", ".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% "+marker+"\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "one")
	write(t, home, ".gitconfig", "[filter \"evil\"]\n\tsmudge = \"touch "+marker+"; cat\"\n\tclean = cat\n\trequired = true\n[core]\n\thooksPath = "+filepath.ToSlash(home)+"/hooks\n",
		"hooks/post-checkout", "#!/bin/sh\ntouch "+marker+"\n", "hooks/reference-transaction", "#!/bin/sh\ntouch "+marker+"\n")
	for _, name := range []string{"post-checkout", "reference-transaction"} {
		if err := os.Chmod(filepath.Join(home, "hooks", name), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	s := openStore(t, t.TempDir(), repo)
	s.Git.Env = append(slices.Clone(os.Environ()), "HOME="+home, "USERPROFILE="+home, "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"))
	e := install(t, s, "file://"+filepath.ToSlash(repo))
	if _, err := os.Stat(marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something ran: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir(e), "commands", "a.md"))
	if err != nil || string(text) != "A.\r\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A branch, a tag, a commit, an abbreviated one and a subdirectory name what they mean; anything else is an error that says so.
func TestGit_Refs(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	git(t, repo, "init", "-q", "-b", "main")
	commit := func(version string) string {
		write(t, repo, "plugins/p/.gjc-plugin.yml", "name: p\nversion: \""+version+"\"\n", "plugins/p/commands/a.md", version)
		git(t, repo, "add", ".")
		git(t, repo, "commit", "-q", "-m", version)
		return git(t, repo, "rev-parse", "HEAD")
	}
	first := commit("1")
	git(t, repo, "tag", "-a", "-m", "v1", "v1")
	second := commit("2")
	git(t, repo, "branch", "stable")
	third := commit("3")
	url := "file://" + filepath.ToSlash(repo)
	for ref, want := range map[string]string{"": third, "main": third, "stable": second, "v1": first, first: first, second[:12]: second} {
		s := openStore(t, t.TempDir(), repo)
		e := install(t, s, url+"#"+ref+":plugins/p")
		if e.Commit != want {
			t.Errorf("%q: commit %s, want %s", ref, e.Commit, want)
		}
	}
	s := openStore(t, t.TempDir(), repo)
	for source, want := range map[string]string{
		url + "#none:plugins/p":        `has no branch, tag or commit "none"`,
		url + "#abcdef012345":          "has no branch, tag or commit",
		url + "#main:plugins/q":        "has no directory plugins/q",
		url + "#main:plugins/p/a.md":   "has no directory",
		url + "/none":                  "git fetch: ",
		"https://127.0.0.1:1/none.git": "git fetch: ",
	} {
		if c, err := s.Prepare(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			c.Close()
			t.Errorf("%s: %v; want %s", source, err, want)
		}
	}
	// Another commit than the required one is not installed; the required one is, even if the branch has moved on.
	r := &Requirement{Source: url + "#main:plugins/p", Commit: second}
	if e, _, err := s.InstallRequired(t.Context(), r); err != nil || e.Commit != second || !e.Required {
		t.Errorf("%+v, %v", e, err)
	}
}

// Two processes that install at the same time both end with a whole list.
func TestStore_Concurrent(t *testing.T) {
	t.Parallel()
	agent, base := t.TempDir(), t.TempDir()
	const n = 8
	errs := make(chan error, n)
	for i := range n {
		write(t, base, fmt.Sprintf("p%d/commands/a.md", i), "A.\n")
	}
	for i := range n {
		s := openStore(t, agent, base)
		go func() {
			c, err := s.Prepare(t.Context(), fmt.Sprintf("./p%d", i))
			if err == nil {
				err = c.Apply(t.Context())
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := state(t, openStore(t, agent, base)); len(got) != n {
		t.Errorf("%v", got)
	}
}

// A list that cannot be read is named, and neither used nor replaced.
func TestStore_BadList(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"syntax": "{", "version": `{"version":2,"plugins":[]}`, "name": `{"version":1,"plugins":[{"name":"../x","path":"../x/y","sha256":"` + strings.Repeat("a", 64) + `"}]}`,
		"path": `{"version":1,"plugins":[{"name":"x","path":"x/../../y","sha256":"` + strings.Repeat("a", 64) + `"}]}`,
		"link": `{"version":1,"plugins":[{"name":"x","link":"x"}]}`,
	} {
		base := t.TempDir()
		write(t, base, "p/commands/a.md", "A.\n", "agent/plugins/lock.json", text, "agent/plugins/x/y/commands/a.md", "A.")
		s := openStore(t, filepath.Join(base, "agent"), base)
		if c, err := s.Prepare(t.Context(), "./p"); err == nil || !strings.Contains(err.Error(), "lock.json: ") {
			c.Close()
			t.Errorf("%s: %v", name, err)
		}
		session := NewSession(s, nil, trust.NewSession(nil))
		if active := session.Active(t.Context()); len(active) > 0 {
			t.Errorf("%s: %v", name, active)
		}
		if notices := session.Notices(t.Context()); len(notices) != 1 || !strings.Contains(notices[0].Detail, "lock.json: ") {
			t.Errorf("%s: %v", name, notices)
		}
		if got, err := os.ReadFile(filepath.Join(s.Dir, lockName)); err != nil || string(got) != text {
			t.Errorf("%s: the list is %q, %v", name, got, err)
		}
		if _, err := os.Stat(filepath.Join(s.Dir, "x", "y")); err != nil {
			t.Errorf("%s: a plugin was removed: %v", name, err)
		}
	}
}

// A manifest is read as it is: with a BOM, in UTF-16, with unknown keys, with paths of the wrong type; what is wrong is noted.
func TestManifest(t *testing.T) {
	t.Parallel()
	utf16 := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, r := range s {
			b = append(b, byte(r), byte(r>>8))
		}
		return string(b)
	}
	for name, test := range map[string]struct {
		file, text, name string
		notes            []string
	}{
		"BOM":          {claudeManifest, "\ufeff{\"name\": \"a\"}", "a", nil},
		"UTF-16":       {claudeManifest, utf16(`{"name": "b"}`), "b", nil},
		"none":         {"README.md", "x", "p", nil},
		"unknown":      {ownManifest, "name: c\ncomands: x\n", "c", []string{`.gjc-plugin.yml:2: unknown field "comands"; did you mean "commands"?`}},
		"wrong type":   {claudeManifest, `{"name": "d", "commands": 1}`, "d", []string{"commands must be a path or a list of paths; it is not used"}},
		"out":          {claudeManifest, `{"name": "e", "skills": ["../x", "/etc", "none"]}`, "e", []string{`skills: "../x" is not a path in the plugin; it is not used`, `skills: "/etc" is not a path in the plugin; it is not used`, `skills: "none" does not exist`}},
		"not used":     {claudeManifest, `{"name": "f", "lspServers": {}}`, "f", []string{"gjc does not use lspServers of plugins"}},
		"hooks inside": {claudeManifest, `{"name": "g", "hooks": {"PreToolUse": "x"}}`, "g", nil},
	} {
		dir := filepath.Join(t.TempDir(), "p")
		write(t, dir, test.file, test.text, "commands/a.md", "A.\n")
		m, err := readManifest(dir, nil, "p")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.notes, m.notes); diff != "" || m.name != test.name {
			t.Errorf("%s: name %s (-want +got):\n%s", name, m.name, diff)
		}
	}
}

// The list of a project is read with a word for each mistake.
func TestReadRequired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r := ReadRequired(dir); len(r) > 0 {
		t.Errorf("without a file: %+v", r)
	}
	write(t, dir, requiredFile, `plugins:
  - ./kit
  - owner/repo@v1
  - source: a@shop
    marketplace: owner/shop
    comit: x
  - ../out
  - /etc
  - source: ./kit
    commit: "0123456789012345678901234567890123456789"
  - source: owner/repo
    commit: "12"
  - source: owner/repo
    marketplace: owner/shop
  - 7
  - source: [a]
disabled: [1]
extra: 1
`)
	r := ReadRequired(dir)[0]
	var got []string
	for _, p := range r.Plugins {
		got = append(got, p.String())
	}
	want := []string{filepath.Join(dir, "kit"), "https://github.com/owner/repo#v1", "a@shop from https://github.com/owner/shop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	all := strings.Join(r.Problems, "\n")
	for _, part := range []string{
		`unknown field "comit"; did you mean "commit"?`, `"../out" is not a directory in the project`, `"/etc" is not a directory`, "commit is for a repository",
		"commit must be a whole one", "marketplace is for a source", "it must be a source or an object, not a number", "source must be a string, not a list", `unknown field "extra"`, "disabled must be a list of strings",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no problem says %q:\n%s", part, all)
		}
	}
	for name, text := range map[string]string{"a list": "- x\n", "not YAML": "plugins: [", "plugins of another kind": "plugins: yes\n"} {
		write(t, dir, requiredFile, text)
		if all := ReadRequired(dir); len(all) != 1 || len(all[0].Problems) != 1 || len(all[0].Plugins) > 0 || all[0].Subject != nil {
			r := all
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Claude Code's settings of a project name plugins and marketplaces, too. Other settings in the file do not change the question.
func TestReadRequired_Claude(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := `{"enabledPlugins": {"a@shop": true, "b@shelf": true, "c@official": true, "d@shop": false, "e": true, "f@bad": true, "g@out": true},
 "extraKnownMarketplaces": {"shop": {"source": {"source": "github", "repo": "owner/shop"}}, "shelf": {"source": {"source": "directory", "path": "tools"}},
  "bad": {"source": {"source": "npm", "package": "x"}}, "out": {"source": {"source": "directory", "path": "/etc"}}}, "model": "`
	write(t, dir, ".claude/settings.json", settings+`x"}`, ".claude/settings.local.json", `{"enabledPlugins": {"c@official": false}}`)
	all := ReadRequired(dir)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	var got []string
	for _, p := range all[0].Plugins {
		got = append(got, p.String())
	}
	want := []string{"a@shop from https://github.com/owner/shop", "b@shelf from " + filepath.Join(dir, "tools")} // the local file has disabled c
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	if d := slices.Concat(all[0].Disabled, all[1].Disabled); !slices.Equal(d, []string{"d", "c"}) {
		t.Errorf("disabled: %v", d)
	}
	problems := strings.Join(all[0].Problems, "\n")
	for _, part := range []string{`"e" is not NAME@MARKETPLACE`, `gjc does not install from "npm"`, `"/etc" is not a directory in the project`} {
		if !strings.Contains(problems, part) {
			t.Errorf("no problem says %q:\n%s", part, problems)
		}
	}
	sum := all[0].Subject.Files[0].Sum
	write(t, dir, ".claude/settings.json", settings+`y"}`)
	if again := ReadRequired(dir)[0].Subject.Files[0]; again.Sum != sum || again.Name != "plugins in .claude/settings.json" {
		t.Errorf("%+v", again)
	}
}

func TestParseLocation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]location{
		"./x":                     {Dir: "./x"},
		"~/x":                     {Dir: "~/x"},
		"owner/repo":              {URL: "https://github.com/owner/repo"},
		"owner/repo@v1.2":         {URL: "https://github.com/owner/repo", Ref: "v1.2"},
		"https://h/x.git#v1:a/b":  {URL: "https://h/x.git", Ref: "v1", Subdir: "a/b"},
		"git@h:o/x.git#:a":        {URL: "git@h:o/x.git", Subdir: "a"},
		"ssh://git@h/o/x":         {URL: "ssh://git@h/o/x"},
		"name@shop":               {Plugin: "name", Market: "shop"},
		"https://h/x#feature/one": {URL: "https://h/x", Ref: "feature/one"},
		"https://h/x#v1:./a/../b": {URL: "https://h/x", Ref: "v1", Subdir: "b"},
	} {
		got, err := parseLocation(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{
		"", "x", "-x", "--upload-pack=x", "a b/c", "owner/", "/../x\x00", "http://h/x", "git://h/x", "ext::sh -c x", "https://u:p@h/x", "https://-x/y", "ssh://-oProxy=x/y",
		"https://h/x#-x", "https://h/x#a..b", "https://h/x#v:../x", "https://h/x#v:/x", "https://h/x#v:a\\b", "git@h:-x", "name@", "@shop", "fd::1", strings.Repeat("a", 3000),
		"file://", "https://h/x#a b", "https://h/x#a~1",
	} {
		if got, err := parseLocation(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// Whatever a source is, the parts that git receives are no options, and it is the same after it was stored.
func FuzzParseLocation(f *testing.F) {
	for _, text := range []string{"./x", "a/b@c", "https://h/x#v1:a/b", "git@h:o/x#:y", "n@m", "file:///x#r"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseLocation(text)
		if err != nil {
			return
		}
		if strings.HasPrefix(s.URL, "-") || strings.HasPrefix(s.Ref, "-") || s.Subdir != "" && !filepath.IsLocal(filepath.FromSlash(s.Subdir)) {
			t.Errorf("%q: %+v", text, s)
		}
		if s.Dir != "" {
			return
		}
		again, err := parseLocation(s.String())
		if err != nil || *again != *s {
			t.Errorf("%q: %+v, then %+v, %v", text, s, again, err)
		}
	})
}

// Whatever a plugin's files say, reading them ends, and names only what is in it.
func FuzzInspect(f *testing.F) {
	f.Add(`{"name":"a","commands":["x"],"hooks":{"PreToolUse":[]}}`, `{"mcpServers":{"a":{"command":"x"}}}`, `{"hooks":{}}`, `{"name":"m","plugins":[{"name":"a","source":"./p","skills":["./s"]}]}`)
	f.Add(`{"name":"a","mcpServers":"../x"}`, `{"a":{"url":"http://h"}}`, `hooks: []`, `{"plugins":[{"source":{"source":"github","repo":"a/b"}}],"metadata":{"pluginRoot":".."}}`)
	f.Fuzz(func(t *testing.T, manifest, servers, hooks, list string) {
		dir := t.TempDir()
		write(t, dir, claudeManifest, manifest, ".mcp.json", servers, "hooks/hooks.json", hooks, "commands/a.md", "A !`x`")
		e := &Entry{Name: "p"}
		if m, err := parseMarket([]byte(list)); err == nil {
			for _, entry := range m.plugins {
				spec, err := m.sourceOf(entry, &location{URL: "https://h/x"})
				if err == nil && (strings.HasPrefix(spec.URL, "-") || spec.Subdir != "" && !filepath.IsLocal(filepath.FromSlash(spec.Subdir))) {
					t.Errorf("%+v", spec)
				}
				e.Listed = entry.JSON()
			}
		}
		about, err := inspect(t.Context(), dir, e)
		if err != nil {
			return
		}
		for _, paths := range about.Files.Paths {
			for _, p := range paths {
				if !filepath.IsLocal(filepath.FromSlash(p)) {
					t.Errorf("a path out of the plugin: %q", p)
				}
			}
		}
	})
}
