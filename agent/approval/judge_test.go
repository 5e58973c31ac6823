package approval

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

var testPaths = &shell.Paths{Roots: []string{"/w"}}

func TestJudge(t *testing.T) {
	outside := func(path string) bool {
		return path != "" && !shell.Within("/w/p", filepath.Clean(path)) && !shell.Within("/lib", path)
	}
	tests := []struct {
		effect Effect
		// what default, strict, plan and auto say
		want string
	}{
		{Effect{Action: ActionRead, Path: "/w/p/a.go"}, "allow allow allow allow"},
		{Effect{Action: ActionRead, Path: "/lib/a.go"}, "allow allow allow allow"},
		{Effect{Action: ActionRead, Path: "/etc/passwd"}, "ask ask ask ask"},
		{Effect{Action: ActionRead, Path: "/w/private"}, "ask ask ask ask"},
		{Effect{Action: ActionEdit, Path: "/w/p/a.go"}, "allow ask deny allow"},
		{Effect{Action: ActionEdit, Path: "/w/p2/a.go"}, "ask ask deny ask"},
		{Effect{Action: ActionEdit, Path: "/w/p/../q/a.go"}, "ask ask deny ask"},
		{Effect{Action: ActionDelete, Path: "/w/p/a.go"}, "ask ask deny allow"},
		{Effect{Action: ActionMove, Path: "/w/p/a.go"}, "ask ask deny allow"},
		{Effect{Action: ActionCommand, Command: "ls"}, "ask ask deny allow"},
		{Effect{Action: ActionNetwork}, "ask ask deny allow"},
		{Effect{Action: ActionMCP}, "ask ask deny allow"},
	}
	for _, tt := range tests {
		var got []string
		for _, m := range []Mode{ModeDefault, ModeStrict, ModePlan, ModeAuto} {
			v, reason := new(Policy).Judge(m, &tt.effect, &Facts{outside: outside(tt.effect.Path)})
			got = append(got, [...]string{"", "allow", "ask", "deny"}[v])
			if (v == Deny) != (reason != "") {
				t.Errorf("%+v in %s: verdict %d with reason %q", tt.effect, m, v, reason)
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.effect, g, tt.want)
		}
	}
}

func TestCommandScopes(t *testing.T) {
	tests := []struct {
		line string
		want []string // "=" in front marks a whole line
	}{
		{"ls -la", []string{"ls"}},
		{"git status --short", []string{"git status"}},
		{"go test ./... 2>&1 | tail -5", []string{"go test", "tail"}},
		{"go build && go vet ./... && go build .", []string{"go build", "go vet"}},
		{"grep -rn 'a b' . > /dev/null", []string{"grep"}},
		{"echo hi; pwd", []string{"echo", "pwd"}},
		{"echo $HOME", []string{"echo"}},
		{"sleep 1 &", []string{"sleep"}},
		{"git -c alias.x='!sh' x", []string{"=git -c alias.x='!sh' x"}},
		{"git", []string{"=git"}},
		{"echo hi > file", []string{"=echo hi > file"}},
		{"echo $(rm -rf /)", []string{"=echo $(rm -rf /)"}},
		{"echo `id`", []string{"=echo `id`"}},
		{"cat <(id)", []string{"=cat <(id)"}},
		{"FOO=1 make", []string{"=FOO=1 make"}},
		{"bash -c 'rm x'", []string{"=bash -c 'rm x'"}},
		{"/bin/sh x", []string{"=/bin/sh x"}},
		{"$CMD x", []string{"=$CMD x"}},
		{"sudo ls", []string{"=sudo ls"}},
		{"(ls)", []string{"=(ls)"}},
		{"if true; then ls; fi", []string{"=if true; then ls; fi"}},
		{"f() { ls; }; f", []string{"=f() { ls; }; f"}},
		{"ls 'unclosed", []string{"=ls 'unclosed"}},
		{"cat <<E\nx\nE", []string{"=cat <<E\nx\nE"}},
		{"", []string{"="}},
		// bash writes a file here; it only looks like the joining of two streams.
		{"echo key >&keys", []string{"=echo key >&keys"}},
		{"ls 2>&-", []string{"ls"}},
		// dash ends the quote at its second mark and runs rm.
		{`echo $'\' ; rm x #'`, []string{`=echo $'\' ; rm x #'`}},
		{`echo $"a"`, []string{`=echo $"a"`}},
		// zsh runs code in a glob's qualifiers.
		{"ls *(e:id:)", []string{"=ls *(e:id:)"}},
		{"echo ${HOME} $1 $?", []string{"echo"}},
		{"echo ${x:-y}", []string{"=echo ${x:-y}"}},
		{"echo ${x@P}", []string{"=echo ${x@P}"}},
		{"echo ${x[1]}", []string{"=echo ${x[1]}"}},
		// A name that the shell reads differently from how it stands there.
		{`\sh -c id`, []string{`=\sh -c id`}},
		{`s\h -c id`, []string{`=s\h -c id`}},
		{"{sh,-c,id}", []string{"={sh,-c,id}"}},
		{"/bin/s? -c id", []string{"=/bin/s? -c id"}},
		{`git pu\sh`, []string{"git push"}},
		{"git {push,x}", []string{"=git {push,x}"}},
		{"./run.sh x", []string{"=./run.sh x"}},
		{"~/bin/tool x", []string{"=~/bin/tool x"}},
		// Programs that run others, by any name.
		{"/usr/bin/git push", []string{"/usr/bin/git push"}},
		{"/usr/bin/git -c alias.x='!sh' x", []string{"=/usr/bin/git -c alias.x='!sh' x"}},
		{"python3.12 -c x", []string{"=python3.12 -c x"}},
		{"/bin/SH -c id", []string{"=/bin/SH -c id"}},
		{"sed s/a/b/e x", []string{"=sed s/a/b/e x"}},
		{"fd -x rm", []string{"=fd -x rm"}},
		{"alias ls=rm", []string{"=alias ls=rm"}},
		{"noglob rm x", []string{"=noglob rm x"}},
		{"uv run rm x", []string{"=uv run rm x"}},
		{"npm exec rm", []string{"=npm exec rm"}},
		{"npm run build", []string{"npm run build"}},
		{"docker exec c rm x", []string{"=docker exec c rm x"}},
		{"git rebase -x id", []string{"=git rebase -x id"}},
		{"go run ./cmd/x", []string{"=go run ./cmd/x"}},
		// What is asked for all day keeps a scope of some use.
		{"go test ./... -run 'TestA|TestB' -count=1 -v", []string{"go test"}},
		{"go build ./... && go vet ./agent/...", []string{"go build", "go vet"}},
		{"git -C sub --no-pager log --oneline -5 --stat", []string{"git log"}},
		{"git diff HEAD~1 -- a.go | head -50", []string{"git diff", "head"}},
		{"git add -A && git commit -m 'a; b'", []string{"git add", "git commit"}},
		{"npm test", []string{"npm test"}},
		{"make -k all", []string{"make all"}},
		{"cargo test --workspace", []string{"cargo test"}},
		{"rg -n 'a.*b' src -g '*.go'", []string{"rg"}},
		{"find . -name '*.go' -type f", []string{"find"}},
		{"sed -n '1,20p' a.go", []string{"sed"}},
		{"awk '{print $1}' a.txt", []string{"awk"}},
		{"wc -l *.go", []string{"wc"}},
		{"sort -rn -k2 src/*.txt | uniq -c", []string{"sort", "uniq"}},
		{"NO_COLOR=1 go test .", []string{"go test"}},
		// Options that run or write, in all spellings.
		{"git log --output F", []string{"=git log --output F"}},
		{"git log --outpu=F", []string{"=git log --outpu=F"}},
		{"git push --force", []string{"=git push --force"}},
		{"git push -uf origin main", []string{"=git push -uf origin main"}},
		{"git push origin :main", []string{"=git push origin :main"}},
		{"git push -u origin main", []string{"git push"}},
		{"git push ./evil main", []string{"=git push ./evil main"}},
		{"git fetch --upload-pac=./x origin", []string{"=git fetch --upload-pac=./x origin"}},
		{"git branch -D x", []string{"=git branch -D x"}},
		{"git config core.pager ./x", []string{"=git config core.pager ./x"}},
		{"git remote add x y", []string{"=git remote add x y"}},
		{"test -v 'a[$(id)]'", []string{"=test -v 'a[$(id)]'"}},
		{"[ 'a[$(id)]' -eq 0 ]", []string{"=[ 'a[$(id)]' -eq 0 ]"}},
		{"printf -v 'a[$(id)]' x", []string{"=printf -v 'a[$(id)]' x"}},
		{"printf '%d' 'a[$(id)]'", []string{"=printf '%d' 'a[$(id)]'"}},
		{"rg --pre ./x y", []string{"=rg --pre ./x y"}},
		{"sort --compress-program=./x a", []string{"=sort --compress-program=./x a"}},
		{"sort -uoOUT a", []string{"=sort -uoOUT a"}},
		{"sort --outp=OUT a", []string{"=sort --outp=OUT a"}},
		{"sort *", []string{"=sort *"}}, // a file may be called -oOUT
		{"sort {-o,OUT}", []string{"=sort {-o,OUT}"}},
		{"sort $X", []string{"=sort $X"}},
		{"uniq a OUT", []string{"=uniq a OUT"}},
		{"uniq a*", []string{"=uniq a*"}},
		{"curl -soF file:///x", []string{"=curl -soF file:///x"}},
		{"go vet -vettool=./x .", []string{"=go vet -vettool=./x ."}},
		{"go vet --vettool ./x .", []string{"=go vet --vettool ./x ."}},
		{"go test -exec ./x .", []string{"=go test -exec ./x ."}},
		{"go test -coverprofile=F .", []string{"=go test -coverprofile=F ."}},
		{"go test . -args -test.cpuprofile=F", []string{"=go test . -args -test.cpuprofile=F"}},
		{"go build -o F .", []string{"=go build -o F ."}},
		{"go env -w A=b", []string{"=go env -w A=b"}},
		{"npm test --script-shell=./x", []string{"=npm test --script-shell=./x"}},
		{"make SHELL=./x", []string{"=make SHELL=./x"}},
		{"make -f x", []string{"=make -f x"}},
		{"kubectl get --kubeconfig=x pods", []string{"=kubectl get --kubeconfig=x pods"}},
		{"xxd -r a F", []string{"=xxd -r a F"}},
		{"xxd a F", []string{"=xxd a F"}},
		{"find . -fprint F", []string{"=find . -fprint F"}},
		{"find . -delete", []string{"=find . -delete"}},
		{"sed -n '1!e id' a", []string{"=sed -n '1!e id' a"}},
		{"sed 's/a/b/w F' a", []string{"=sed 's/a/b/w F' a"}},
		{"awk '{print > $1}' a", []string{"=awk '{print > $1}' a"}},
		{"awk 'BEGIN{c=\"id\";c|getline}'", []string{"=awk 'BEGIN{c=\"id\";c|getline}'"}},
		{"tree -o F", []string{"=tree -o F"}},
		{"cp --target=D a", []string{"=cp --target=D a"}},
		{"PATH=1 ls", []string{"=PATH=1 ls"}},
		{"MAKEFILES=x make", []string{"=MAKEFILES=x make"}},
		{"XDG_CONFIG_HOME=. git status", []string{"=XDG_CONFIG_HOME=. git status"}},
		{"./ls", []string{"=./ls"}},
		{"ls; [[ 'a[$(id)]' -eq 0 ]]", []string{"=ls; [[ 'a[$(id)]' -eq 0 ]]"}},
		{"ls $x['b[$(id)]']", []string{"=ls $x['b[$(id)]']"}},
	}
	for _, tt := range tests {
		var got []string
		for _, s := range commandScopes(tt.line) {
			if s.whole {
				s.text = "=" + s.text
			}
			got = append(got, s.text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestGrants(t *testing.T) {
	var g Grants
	command := func(line string) *Effect { return &Effect{Action: ActionCommand, Command: line} }
	scoped := func(tool string, e *Effect) *Scope {
		s := ScopeOf(t.Context(), tool, e, links{}, "linux", testPaths)
		return &s
	}
	check := func(e *Effect, want string) {
		t.Helper()
		allowed, known := g.Lookup(scoped("bash", e))
		if got := fmt.Sprint(allowed && known, known); got != want {
			t.Errorf("%+v: allowed and known = %s, want %s", *e, got, want)
		}
	}
	check(command("git status"), "false false")
	g.Remember(scoped("bash", command("git status")), true, 0)
	check(command("git status -s"), "true true")
	check(command("git push"), "false false")
	check(command("git status && git push"), "false false")
	check(command("git statusx"), "false false")
	check(command("git status; $(git push)"), "false false")
	g.Remember(scoped("bash", command("git push origin")), false, 0)
	check(command("git status && git push"), "false true")
	g.Remember(scoped("bash", command("cat > out")), true, 0)
	check(command("cat > out"), "true true")
	check(command("cat > other"), "false false")

	outside := &Effect{Action: ActionEdit, Path: "/other/dir/a.go"}
	g.Remember(scoped("edit", outside), true, 0)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/sub/b.go"}, "true true")
	check(&Effect{Action: ActionEdit, Path: "/other/b.go"}, "false false")
	check(&Effect{Action: ActionEdit, Path: "/other/dir-2/b.go"}, "false false")
	check(&Effect{Action: ActionDelete, Path: "/other/dir/a.go"}, "false false")
	g.Remember(scoped("edit", &Effect{Action: ActionEdit, Path: "/other/dir/keys/k"}), false, 0)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/keys/k2"}, "false true")

	g.Remember(scoped("mcp__a_b", &Effect{Action: ActionMCP}), true, 0)
	if _, known := g.Lookup(scoped("mcp__a_c", &Effect{Action: ActionMCP})); known {
		t.Error("a grant for one tool covers another")
	}
}

// links is a file system with directories whose names end in "/", and links.
type links map[string]string

func (l links) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	if _, ok := l[path+"/"]; ok {
		return os.Stat(os.TempDir())
	}
	return nil, fs.ErrNotExist
}

func (l links) RealPath(path string) string {
	for from, to := range l {
		if shell.Within(from, path) && to != "" {
			return to + strings.TrimPrefix(path, from)
		}
	}
	return path
}

// An answer covers the directory that was asked for and not the one above, and ends where a link resolves to a different file.
func TestGrants_Places(t *testing.T) {
	files := links{"/lib/": "", "/other/link": "/secret", "/w/p/note": "/etc/note"}
	scoped := func(a Action, path string) *Scope {
		s := ScopeOf(t.Context(), "read", &Effect{Action: a, Path: path}, files, "linux", testPaths)
		return &s
	}
	display := func(path string) string { return path }
	var g Grants
	for _, tt := range []struct {
		path, label string
		in, out     []string
	}{
		{"/lib", "reading in /lib", []string{"/lib/a", "/lib/b/c"}, []string{"/usr/a", "/a"}},
		{"/other/a", "reading in /other", []string{"/other/b"}, []string{"/other/link/key"}},
		{"/w/p/note", "reading in /etc", []string{"/etc/other"}, []string{"/w/p/a"}},
	} {
		s := scoped(ActionRead, tt.path)
		if got := s.Label(display); got != tt.label {
			t.Errorf("%s: the answer covers %q, want %q", tt.path, got, tt.label)
		}
		g.Remember(s, true, 0)
		for _, path := range tt.in {
			if allowed, known := g.Lookup(scoped(ActionRead, path)); !allowed || !known {
				t.Errorf("%s does not cover %s", tt.path, path)
			}
		}
		for _, path := range tt.out {
			if _, known := g.Lookup(scoped(ActionRead, path)); known {
				t.Errorf("%s covers %s", tt.path, path)
			}
		}
	}
}

// cmd.exe knows no single quotes: what a POSIX shell takes for one word are three commands there.
func TestScope_Windows(t *testing.T) {
	e := &Effect{Action: ActionCommand, Command: "git status '& del x &'"}
	s := ScopeOf(t.Context(), "bash", e, links{}, "windows", testPaths)
	if got := s.Label(func(path string) string { return path }); got != "this exact command here" {
		t.Errorf("an answer to %q covers %s", e.Command, got)
	}
}
