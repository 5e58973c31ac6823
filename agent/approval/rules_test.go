package approval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/internal/places"
)

func TestRules_Judge(t *testing.T) {
	paths := &places.Paths{Roots: []string{"/w", "/more"}, Home: "/home/u", Own: []string{"/home/u/.gjc/agent"}}
	command := func(line string) approval.Step {
		c := shell.Read(line, "/w", paths)
		return approval.Step{Tool: "bash", Action: "bash", Line: line, Command: c, Special: len(c.Notes) > 0}
	}
	inside := func(line string) approval.Step {
		step := command(line)
		step.Inside = true
		return step
	}
	file := func(tool, action, path string) approval.Step {
		special := paths.Protected(path) != ""
		if action == "read" {
			special = paths.Secret(path)
		}
		return approval.Step{Tool: tool, Action: action, Path: path, Real: path, Special: special, Outside: paths.Outside(path)}
	}
	const un, allow, ask, deny = approval.Unruled, approval.Allow, approval.Ask, approval.Deny
	for _, c := range []struct {
		allow, ask, deny string
		step             approval.Step
		want             approval.Verdict
	}{
		{"bash(git status)", "", "", command("git status -s"), allow},
		{"bash(git status)", "", "", command("git push"), un},
		{"bash(git *)", "", "", command("git push"), allow},
		{"bash(git:*)", "", "", command("git push"), allow},
		{"bash(git *)", "", "bash(git push)", command("git push -f"), deny},
		{"bash(git *)", "bash(git push)", "", command("git push -f"), ask},
		{"bash(ls)", "", "", command("ls && make"), un},
		{"bash(ls) bash(make)", "", "", command("ls && make"), allow},
		{"bash(ls)", "", "", command("ls; $(make)"), un},
		{"bash(ls) bash(make)", "", "bash(rm)", command("ls && make; echo `/bin/rm -rf x`"), deny},
		{"bash", "", "bash(rm)", command("ls | xargs rm"), deny},
		{"bash", "", "bash(rm)", command("sh -c 'rm x'"), deny},
		{"bash", "", "", command("make"), allow},
		{"bash", "", "", command("sudo make"), un},
		{"bash(sudo *)", "", "", command("sudo make"), un},
		{"bash(sudo make)", "", "", command("sudo  make"), allow},
		{"bash(npm run test*)", "", "", command("npm run test:unit"), allow},
		{"bash(git statusx)", "", "", command("git status"), un},
		// Inside the boundary, the first words are enough.
		{"bash(go test)", "", "", inside("go test -run X -exec ./x ./..."), allow},
		{"bash(sudo)", "", "", inside("sudo make"), allow},
		{"bash(go test)", "", "", inside("go test > a"), un},
		{"bash(go test)", "", "", inside("go test; $(make)"), un},
		{"bash(go test)", "", "", command("go test -exec ./x"), un},
		{"bash(go test)", "", "", command("go test ./..."), allow},
		{"bash(go test *)", "", "", command("go test -run X ./..."), allow},
		// A rule that allows is for what provably runs just that.
		{"bash(ls)", "", "", command("ls -la *.go"), un},
		{"bash(ls *)", "", "", command("ls -la *.go"), allow},
		{"bash(ls)", "", "", command("ls; [[ 'a[$(touch x)]' -eq 0 ]]"), un},
		{"bash(ls)", "", "", command("ls; [[ a -eq 0 ]]"), un},
		{"bash(ls)", "", "", command("x='a[$(touch x)]'; ls $((x))"), un},
		{"bash(ls)", "", "", command("ls; declare -i x=y"), un},
		{"bash(ls)", "", "", command("ls; let 'a[$(touch x)]'"), un},
		{"bash(ls)", "", "", command("ls; export 'a[$(touch x)]=1'"), un},
		{"bash(ls)", "", "", command("for ((i=x;0;)); do ls; done"), un},
		{"bash(ls)", "", "", command("ls ${a['b[$(touch x)]']}"), un},
		{"bash(ls)", "", "", command("ls *(e:'touch x':)"), un},
		{"bash(ls)", "", "", command("PATH=1 ls"), un},
		{"bash(ls)", "", "", command("LC_ALL=C ls"), allow},
		{"bash(ls)", "", "", command("ls > Makefile"), un},
		{"bash(ls)", "", "", command("ls > /dev/null 2>&1"), allow},
		{"bash(make)", "", "", command("MAKEFILES=./x make"), un},
		{"bash(make)", "", "", command("make SHELL=./x"), un},
		{"bash(make SHELL=./x)", "", "", command("make SHELL=./x all"), allow},
		{"bash(echo)", "", "", command("echo evil > a.txt"), un},
		{"bash(printf)", "", "", command("printf -v 'a[$(touch x)]' y"), un},
		{"bash(rg)", "", "", command("rg --pre ./x y"), un},
		{"bash(sort -o out.txt)", "", "", command("sort -o out.txt a"), allow},
		{"bash(git log)", "", "", command("git log --output F"), un},
		{"bash(git log)", "", "", command("git -C sub --no-pager log -5"), un},
		{"bash(git log)", "", "", command("git log -5"), allow},
		{"bash(git status)", "", "", command("GIT_TRACE=/w/F git status"), un},
		{"bash(xargs)", "", "", command("ls | xargs rm"), un},
		{"bash(xargs) bash(ls)", "", "", command("ls | xargs rm"), un},
		{"bash(xargs) bash(ls)", "", "", inside("ls | xargs wc -l"), allow},
		{"bash(xargs) bash(ls)", "", "", command("echo x | xargs ./ls"), un},
		{"bash(bash) bash(ls)", "", "", command("bash -c 'ls'"), un},
		{"bash(bash) bash(ls *)", "", "", inside("bash -c 'ls -l'"), allow},
		{"bash(bash) bash(ls)", "", "", inside("bash -c 'make -k'"), un},
		{"bash(bash) bash(ls)", "", "", command("bash -c 'ls > x'"), un},
		{"bash(env) bash(ls)", "", "", command("env CI=1 ls"), un},
		{"bash(env) bash(make)", "", "", command("env NOT_KNOWN=1 make"), un},
		{"bash(./run.sh)", "", "", command("./run.sh --anything"), allow},
		{"bash(sudo -n ls)", "", "", command("sudo   -n ls"), allow},
		{"bash(sudo -n ls)", "", "", command("sudo\n-n\nls"), un},
		{"bash(sudo echo 'a  b')", "", "", command("sudo echo 'a b'"), un},
		// One that denies is for what may be that.
		{"", "", "bash(git push)", command("git -C . push"), deny},
		{"", "", "bash(git push)", command("git --no-pager push"), deny},
		{"", "", "bash(git push)", command("git -c user.name=x --git-dir .git push origin"), deny},
		{"", "", "bash(git push --force)", command("git push origin main --force"), deny},
		{"", "", "bash(kubectl delete)", command("kubectl -n x delete pod y"), deny},
		{"bash", "", "bash(git push)", command("git log push"), allow},
		{"bash", "", "edit", command("echo x > a.txt"), deny},
		{"bash", "", "edit(docs)", command("cp a docs/b"), deny},
		{"bash", "", "edit(docs)", command("cp a src/b"), allow},
		{"bash", "edit", "", command("tee a.txt < b"), ask},
		{"", "", "bash", command("ls"), deny},
		{"", "", "*", command("ls"), deny},
		{"edit(docs/**)", "", "", file("edit", "edit", "/w/docs/a/b.md"), allow},
		{"edit(docs)", "", "", file("edit", "edit", "/w/docs/a/b.md"), allow},
		{"edit(docs/**)", "", "", file("edit", "edit", "/w/src/a.md"), un},
		{"edit(*.md)", "", "", file("write", "edit", "/w/src/a.md"), allow},
		{"edit", "", "", file("edit", "edit", "/etc/passwd"), un},
		{"edit(~/notes/**)", "", "", file("edit", "edit", "/home/u/notes/x"), allow},
		{"edit(**)", "", "", file("edit", "edit", "/home/u/notes/x"), un},
		{"edit(**)", "", "", file("edit", "edit", "/w/.git/hooks/x"), un},
		{"edit(.git/hooks/x)", "", "", file("edit", "edit", "/w/.git/hooks/x"), allow},
		{"read(**)", "", "", file("read", "read", "/w/.env"), un},
		{"read(.env)", "", "", file("read", "read", "/w/.env"), allow},
		{"", "", "read(.env)", file("read", "read", "/w/sub/.env"), deny},
		{"", "", "read(secret/**)", file("read", "read", "/w/secret/a"), deny},
		{"", "", "read(secret/**)", approval.Step{Tool: "read", Action: "read", Path: "/w/link", Real: "/w/secret/a"}, deny},
		{"edit(docs/**)", "", "", approval.Step{Tool: "edit", Action: "edit", Path: "/w/docs/link", Real: "/w/src/a"}, un},
		{"mcp__files_*", "", "", approval.Step{Tool: "mcp__files_read", Action: "mcp"}, allow},
		{"", "", "mcp__files_*", approval.Step{Tool: "mcp__files_read"}, deny},
		{"network(*.example.com)", "", "", approval.Step{Tool: "web_fetch", Action: "network", Host: "docs.Example.com"}, allow},
		{"network(*.example.com)", "", "", approval.Step{Tool: "web_fetch", Action: "network", Host: "example.com.evil.org"}, un},
		{"", "", "network(*.example.com)", approval.Step{Tool: "web_fetch", Action: "network", Host: "docs.example.com."}, deny},
	} {
		var rules approval.Rules
		for _, part := range []struct {
			v    approval.Verdict
			text string
		}{{allow, c.allow}, {ask, c.ask}, {deny, c.deny}} {
			for _, text := range strings.SplitAfter(part.text, ") ") {
				if text == "" {
					continue
				}
				r, err := approval.ParseRule(part.v, text)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, r)
			}
		}
		got, by := rules.Judge(&c.step, paths)
		if got != c.want || (got == un) != (by == "") {
			t.Errorf("allow %q, ask %q, deny %q of %s%s: %d by %q; want %d", c.allow, c.ask, c.deny, c.step.Line, c.step.Path, got, by, c.want)
		}
	}
}

func TestParseRule_Bad(t *testing.T) {
	for _, text := range []string{"", "()", "bash(", "bash()", "(x)", "a b", "bash(x", "edit([)", "/etc/passwd"} {
		if _, err := approval.ParseRule(approval.Allow, text); !errors.Is(err, approval.ErrRule) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
