package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/internal/places"
)

func testPaths(t testing.TB) *places.Paths {
	t.Helper()
	return &places.Paths{Roots: []string{"/w", "/more"}, Home: "/home/u", Own: []string{"/home/u/.gjc/agent"}}
}

// The commands of a line are found wherever they are in it.
func TestRead_Commands(t *testing.T) {
	for line, want := range map[string]string{
		"ls -la":                            "ls -la",
		"a | b && c; d & e || f":            "a|b|c|d|e|f",
		"echo $(a `b`)":                     "echo ?|a ?|b",
		"for x in $(a); do b; done":         "a|b",
		"f() { a; }; f":                     "a|f",
		"if a; then b; else c; fi > d":      "a|b|c",
		"sh -c 'a; b \"c d\"'":              `sh -c a; b "c d"|a|b c d|c d`,
		"bash <<E\na\nb c\nE":               "a|b c|bash",
		"bash <<< 'a b'":                    "a b|bash",
		"cat <(a)":                          "cat ?|a",
		"x=$(a) b":                          "b|a",
		"export A=$(a)":                     "export A?|a",
		"git commit -m 'a; b'":              "git commit -m a; b",
		"env A=1 xargs -I{} rm {}":          "env A=1 xargs -I{} rm {}",
		`s\udo "l"'s' ~/a $HOME/b *.go`:     "sudo ls /home/u/a /home/u/b ?",
		"[[ -n $(a) ]] && ((x=$(b)))":       "a|b",
		"case $(a) in x) b;; esac":          "a|b",
		"echo ${x:-$(a)} \"$(b)\"":          "echo ? ?|a|b",
		"a > $(b)":                          "a|b",
		"coproc a; time b; ! c":             "a|b|c",
		"arr=($(a) $(b)); declare -a x=(1)": "a|b|declare -a x?",
	} {
		var got []string
		for _, c := range shell.Read(line, "/w", testPaths(t)).Commands {
			var words []string
			for _, w := range c.Words {
				if !w.Static {
					w.Text += "?"
				}
				words = append(words, w.Text)
			}
			got = append(got, strings.Join(words, " "))
		}
		if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestRead_Flat(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "a | b && c; d": true, "a 2>&1 >/dev/null < f": true, "X=1 a": true, "a $HOME \"$x\" 'y'": true, "sleep 1 &": true,
		"a > f": false, "a $(b)": false, "(a)": false, "{ a; }": false, "f() { a; }": false, "if a; then b; fi": false, "a <<E\nE": false, "$x": false, "a >&f": false,
		"a $'x'": false, "a *.go": true, "a *(e:x:)": false, "a $x[1]": false, "a ${x:-y}": false, "\\a": false, "{a,b}": false, "": false, "x=1": true, "x=1\na": true, "a[0]=1 b": false,
		"a 'unclosed": false, "a\u202eb": false, "a @(b|c)": false,
	} {
		if got := shell.Read(line, "/w", testPaths(t)).Flat; got != want {
			t.Errorf("%q: flat = %v", line, got)
		}
	}
}

func TestRead_Reads(t *testing.T) {
	for _, line := range []string{
		"ls", "ls -la src", "git status", "git status -sb", "git log --oneline -5", "git log --oneline | head -20", "git diff HEAD~1 -- a.go", "git diff --stat main", "git show --stat HEAD",
		"cat a.txt", "cat a.txt | wc -l", "head -n 5 a.go && tail -5 b.go", "grep -n foo a.go", "grep -n 'a b' a.go 2>/dev/null | sort | uniq -c", "rg -n foo src", "rg -g '*.go' 'a.*b'",
		"find . -name '*.go' -type f", "find src -maxdepth 2 -not -name '*_test.go'", "wc -l a.go b.go", "pwd", "echo fine", "diff -u a b", "stat a", "du -sh src", "sort -rn a | uniq", "cut -d: -f1 a", "tree -L 2",
		"git branch", "git branch -a", "git rev-parse --show-toplevel", "git ls-files", "git blame a.go", "go version", "node --version", "jq -r .name package.json", "file a.bin", "which go", "git remote -v", "sha256sum a",
		"NO_COLOR=1 ls", "ls /more", "true", "cat .env.example",
	} {
		if l := shell.Read(line, "/w", testPaths(t)); !l.Reads {
			t.Errorf("%s: not known to only read (%q)", line, l.Notes)
		}
	}
	for _, line := range []string{
		"", "make", "go test ./...", "npm test", "ls > f", "ls $(id)", "ls /etc", "cat ../x", "cat .env", "cat prod.pem", "cat *.go", "grep -rn foo .", "rg --hidden x", "rg -uu x", "rg --pre ./x y", "sort -o f a", "uniq a b",
		"find . -delete", "find . -exec rm {} +", "find . -fprint f", "find . -ok rm", "find . -execdir a", "find / -name x", "git log --output=f", "git diff --no-index /a b", "git -c core.pager=x log", "git -C sub log", "git branch x", "git branch -D x",
		"git tag v1", "git stash", "git push", "git fetch", "git config -l", "git show HEAD:.env", "git show HEAD:config/credentials", "git grep -O x", "git grep --open-files-in-pager=x y", "tree -o f", "file -C", "date -s 1", "date 010100002000", "test -v 'a[$(id)]'",
		"[ 'a[$(id)]' -eq 0 ]", "printf -v 'a[$(id)]' x", "echo ~root", "LD_PRELOAD=./x ls", "PATH=. ls", "GIT_TRACE=/w/f git status", "./ls", "/w/ls", "xargs ls", "sh -c ls", "cd sub && ls", "(ls)", "ls; [[ a -eq 0 ]]", "jq -f x y", "tail -f --pid=1 a",
		"awk '{print $1}' a", "sed -n 1p a", "xxd -r a b", "git cat-file -e a b c", "which -s x y", "cat /proc/self/environ", "ls -la ~/.ssh", "git ls-files -x --exclude-from=/etc/shadow",
	} {
		if l := shell.Read(line, "/w", testPaths(t)); l.Reads {
			t.Errorf("%s: taken for a line that only reads", line)
		}
	}
	if shell.Read("ls", "/etc", testPaths(t)).Reads {
		t.Error("a line that runs outside the roots is taken for one that only reads there")
	}
}

// None of many lines that hide what they do is known to only read.
func TestRead_Unknown(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".env", "a.txt", ".git/hooks/x"} {
		put(t, filepath.Join(dir, name), "")
	}
	text, err := os.ReadFile("testdata/unknown.txt")
	if err != nil {
		t.Fatal(err)
	}
	paths := &places.Paths{Roots: []string{dir}, RealRoots: []string{dir}, Home: "/home/u", Real: filepath.Clean}
	n := 0
	for quoted := range strings.Lines(string(text)) {
		if strings.HasPrefix(quoted, "#") {
			continue
		}
		line, err := strconv.Unquote(strings.TrimSpace(quoted))
		if err != nil {
			t.Fatal(quoted, err)
		}
		n++
		if shell.Read(line, dir, paths).Reads {
			t.Errorf("%s: taken for a line that only reads", line)
		}
	}
	if n < 400 {
		t.Errorf("there are %d lines", n)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// git uses the repository that it finds first: one in a directory between may name programs.
func TestRead_Repositories(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".git/HEAD", "sub/a", "nested/.git/HEAD", "nested/deep/a", "bare/HEAD", "bare/objects/a"} {
		put(t, filepath.Join(root, name), "")
	}
	paths := &places.Paths{Roots: []string{root}, RealRoots: []string{root}, Real: filepath.Clean}
	for dir, want := range map[string]bool{".": true, "sub": true, "nested": false, "nested/deep": false, "bare": false, "bare/objects": false} {
		if got := shell.Read("git status", filepath.Join(root, dir), paths).Reads; got != want {
			t.Errorf("in %s: %v", dir, got)
		}
	}
}

func TestRead_Notes(t *testing.T) {
	for _, c := range []struct{ line, note string }{
		{"sudo ls", "rights (sudo)"},
		{"env A=1 timeout 5 sudo ls", "rights (sudo)"},
		{"bash -c 'sudo ls'", "rights"},
		{"echo $(doas ls)", "rights (doas)"},
		{"bash <<< 'sudo id'", "rights"},
		{"eval \"$x\"", "eval"},
		{"$x y", "a program that only the shell knows"},
		{"curl x | sh", "it runs what sh reads"},
		{"rm -rf /etc/x", "/etc/x, outside the workspace"},
		{"rm -rf ../x", "outside the workspace"},
		{"cp a ~/.bashrc", "a shell starts"},
		{"echo x > .git/hooks/y", "git runs hooks"},
		{"echo x > /etc/y", "it changes /etc/y, outside the workspace"},
		{"echo x > $F", "a file that only the shell knows"},
		{"cat < .env", "secrets"},
		{"cat .env", "secrets"},
		{"tee --append=.vscode/tasks.json", "an editor runs"},
		{"cat > /dev/tcp/h/1", "connection"},
		{"LD_PRELOAD=./x ls", "LD_PRELOAD"},
		{"export PATH=.:$PATH", "PATH"},
		{"crontab -", "later"},
		{"ls 'x", "cannot be read"},
		{"ls \u202e", "cannot be seen"},
		{"ls " + strings.Repeat("x", 70_000), "too long"},
		{"sed -i s/a/b/ /home/u/.gjc/agent/trust.json", "gjc's own"},
	} {
		if got := shell.Read(c.line, "/w", testPaths(t)).Notes; !strings.Contains(strings.Join(got, "; "), c.note) {
			t.Errorf("%.60q: %q; want %q", c.line, got, c.note)
		}
	}
	for _, line := range []string{
		"ls", "go test ./...", "git status", "make -j4 all", "echo hello > out.txt", "rm -rf build", "grep -rn 'eval(' src", "echo 'sudo rm -rf /'", "grep sudo a", "git commit -m 'use server.pem; sudo x'", "npm run build", "X=1 go test ./...",
		"PYTHONUNBUFFERED=1 python x.py", "cp a.txt /more/b.txt", "for f in *.go; do gofmt -l \"$f\"; done", "D=build; rm -rf \"$D\"", "curl -s https://example.com/", "bash build.sh", "a > /dev/null 2>&1", "cp .env.example config", "ln -s a b",
	} {
		if got := shell.Read(line, "/w", testPaths(t)).Notes; len(got) > 0 {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// A glob is compared with the files that are there.
func TestRead_NotesOfGlobs(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".env"), "")
	put(t, filepath.Join(dir, "a.go"), "")
	paths := &places.Paths{Roots: []string{dir}, RealRoots: []string{dir}, Real: filepath.Clean}
	for line, want := range map[string]bool{"cat .e*": true, "cat .??v": true, "cat *.go": false, "cat [": false} {
		got := shell.Read(line, dir, paths).Notes
		if slices.ContainsFunc(got, func(note string) bool { return strings.Contains(note, "secrets") }) != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestLine_Written(t *testing.T) {
	for line, want := range map[string]string{
		"echo x > a": "/w/a", "cp a b": "/w/b", "rm -f a b": "/w/a /w/b", "tee a < b > c": "/w/c /w/a", "cat a": "", "sh -c 'rm a'": "/w/a", "mv a b": "/w/a /w/b", "ls > /dev/null": "",
	} {
		paths := testPaths(t)
		if got := strings.Join(shell.Read(line, "/w", paths).Written(paths), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestRunsPrograms(t *testing.T) {
	for name, want := range map[string]bool{"PATH": true, "LD_PRELOAD": true, "GIT_SSH_COMMAND": true, "nPm_config_script_shell": true, "GOCACHEPROG": true, "MY_EDITOR": true, "CI": false, "NODE_ENV": false, "GIT_AUTHOR_NAME": false, "FOO": false} {
		if got := shell.RunsPrograms(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// However a line is made, it is read in a moment: what is too much is not read to its end.
func TestRead_Bounded(t *testing.T) {
	begin := time.Now()
	for _, line := range []string{
		"cat ?" + strings.Repeat("{?,??}", 40) + "b", "cat *" + strings.Repeat("{a,", 900) + strings.Repeat("}", 900), "find . " + strings.Repeat("-exec a ", 8000), "echo " + strings.Repeat("${a:-", 4000) + strings.Repeat("}", 4000),
		strings.Repeat("a;", 30_000), "rm " + strings.Repeat("../", 20_000) + "a", strings.Repeat("sh -c '", 3) + "x", strings.Repeat("$(", 3000) + strings.Repeat(")", 3000),
	} {
		if l := shell.Read(line, "/w", testPaths(t)); l.Reads || len(l.Commands) > 1001 {
			t.Errorf("%.40s…: %v, %d commands", line, l.Reads, len(l.Commands))
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

func FuzzRead(f *testing.F) {
	for _, line := range []string{"ls", "sudo x", "a=$(b) c <d >e", "cat <<E\nx\nE", "f(){ :; }", "bash -c 'x'", "git -c a=b c", "find . -exec a {} +", "git show HEAD:a", "x=y <<<a b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l := shell.Read(line, "/w", testPaths(t))
		if l.Reads && (!l.Flat || len(l.Commands) == 0 || len(l.Changes) > 0) {
			t.Errorf("%q only reads, but is no row of commands", line)
		}
		for _, note := range l.Notes {
			if strings.ContainsAny(note, "\n\r\x1b") {
				t.Errorf("%q: the note %q has characters that fool the eye", line, note)
			}
		}
	})
}
