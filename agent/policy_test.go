package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	ws := &Workspace{Cwd: "/w/p", Additional: []string{"/lib"}}
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
			v, reason := judge(m, &tt.effect, outside(ws, &tt.effect, func(p string) string { return p }))
			got = append(got, [...]string{"allow", "ask", "deny"}[v])
			if (v == deny) != (reason != "") {
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
		{"git", []string{"git"}},
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
	var g grants
	command := func(line string) *Effect { return &Effect{Action: ActionCommand, Command: line} }
	check := func(e *Effect, want string) {
		t.Helper()
		allowed, known := g.lookup("bash", e)
		if got := fmt.Sprint(allowed && known, known); got != want {
			t.Errorf("%+v: allowed and known = %s, want %s", *e, got, want)
		}
	}
	check(command("git status"), "false false")
	g.remember("bash", command("git status"), true)
	check(command("git status -s"), "true true")
	check(command("git push"), "false false")
	check(command("git status && git push"), "false false")
	check(command("git statusx"), "false false")
	check(command("git status; $(git push)"), "false false")
	g.remember("bash", command("git push --force"), false)
	check(command("git status && git push"), "false true")
	g.remember("bash", command("cat > out"), true)
	check(command("cat > out"), "true true")
	check(command("cat > other"), "false false")

	outside := &Effect{Action: ActionEdit, Path: "/other/dir/a.go"}
	g.remember("edit", outside, true)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/sub/b.go"}, "true true")
	check(&Effect{Action: ActionEdit, Path: "/other/b.go"}, "false false")
	check(&Effect{Action: ActionEdit, Path: "/other/dir-2/b.go"}, "false false")
	check(&Effect{Action: ActionDelete, Path: "/other/dir/a.go"}, "false false")
	g.remember("edit", &Effect{Action: ActionEdit, Path: "/other/dir/keys/k"}, false)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/keys/k2"}, "false true")

	g.remember("mcp__a_b", &Effect{Action: ActionMCP}, true)
	if _, known := g.lookup("mcp__a_c", &Effect{Action: ActionMCP}); known {
		t.Error("a grant for one tool covers another")
	}
}

// A link inside the workspace that leads out of it does not make what is behind it part of the workspace.
func TestOutside_FollowsLinks(t *testing.T) {
	ws := &Workspace{Cwd: "/w/p"}
	real := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "/w/p"); ok {
			p = "/mnt/p" + rest // the root itself may be reached through a link
		}
		if rest, ok := strings.CutPrefix(p, "/mnt/p/link"); ok {
			p = "/etc" + rest
		}
		return p
	}
	for path, want := range map[string]bool{
		"/w/p/a.go": false, "/w/p/link/passwd": true, "/mnt/p/a.go": true, "/etc/passwd": true,
	} {
		if got := outside(ws, &Effect{Action: ActionRead, Path: path}, real); got != want {
			t.Errorf("%s: outside = %v, want %v", path, got, want)
		}
	}
}
