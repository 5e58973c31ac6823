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
	"github.com/gajae-code/gjc/internal/places"
)

var testPaths = &places.Paths{Roots: []string{"/w"}}

func TestJudge(t *testing.T) {
	outside := func(path string) bool {
		return path != "" && !places.Within("/w/p", filepath.Clean(path)) && !places.Within("/lib", path)
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
		{Effect{Action: ActionShare}, "ask ask deny ask"},
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

// Sharing asks each time: no rule and no earlier answer allows it, and the question offers none to keep.
func TestJudge_SharingAsks(t *testing.T) {
	share := Effect{Action: ActionShare}
	if v, _ := new(Policy).Judge(ModeAuto, &share, &Facts{Rule: Allow}); v != Ask {
		t.Errorf("with a rule that allows it the verdict is %d", v)
	}
	if v, why := new(Policy).Judge(ModeAuto, &share, &Facts{Rule: Deny, by: "share"}); v != Deny || !strings.Contains(why, "permissions.deny") {
		t.Errorf("with a rule that denies it the verdict is %d: %s", v, why)
	}
	if !new(Policy).Once(&share) {
		t.Error("the answer can be kept")
	}
}

func TestCommandScopes(t *testing.T) {
	remote := func(name string) string { return map[string]string{"origin": "https://git.example.com/a"}[name] }
	for line, want := range map[string][]string{ // "=" in front marks a whole line
		"ls -la":                               {"ls"},
		"git status --short":                   {"git status"},
		"go test ./... 2>&1 | tail -5":         {"go test", "tail"},
		"go build && go vet ./... && go build": {"go build", "go vet"},
		"npm run build -- --prod":              {"npm run build"},
		"npm test":                             {"npm test"},
		"make -k all":                          {"make"},
		"./run.sh x":                           {"./run.sh"},
		"NO_COLOR=1 go test .":                 {"go test"},
		"bash -c 'rm x'":                       {"bash", "rm"},
		"git push -u origin main":              {"git push origin (https://git.example.com/a)"},
		"git fetch origin":                     {"git fetch origin (https://git.example.com/a)"},
		// What goes elsewhere, or has the first words of a command not say what it does.
		"git push":                           {"="},
		"git push vendor HEAD:x":             {"="},
		"git push ./evil main":               {"="},
		"git push --force origin main":       {"="},
		"git push origin :main":              {"="},
		"git push origin +main":              {"="},
		"git push --receive-pack=./x origin": {"="},
		"git -C sub status":                  {"="},
		"git":                                {"="},
		"echo hi > file":                     {"="},
		"echo $(rm -rf /)":                   {"="},
		"cat <(id)":                          {"="},
		"LD_PRELOAD=./x make":                {"="},
		"$CMD x":                             {"="},
		"rm -rf $B":                          {"="},
		"wc -l *.go":                         {"wc"},
		"(ls)":                               {"="},
		"if true; then ls; fi":               {"="},
		"f() { ls; }; f":                     {"="},
		"ls 'unclosed":                       {"="},
		"":                                   {"="},
		"echo key >&keys":                    {"="},
		`echo $'\' ; rm x #'`:                {"="},
		"ls *(e:id:)":                        {"="},
		`\sh -c id`:                          {"="},
		"{sh,-c,id}":                         {"="},
		"/bin/s? -c id":                      {"="},
	} {
		if want[0] == "=" {
			want = []string{"=" + line}
		}
		known := shell.Read(line, "/w", testPaths)
		var got []string
		for _, s := range commandScopes(line, known, true, remote) {
			if s.whole {
				s.text = "=" + s.text
			}
			got = append(got, s.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
		// Outside of the boundary an answer is for the line alone.
		if got := commandScopes(line, known, false, remote); len(got) != 1 || !got[0].whole || got[0].text != line {
			t.Errorf("%q outside: %v", line, got)
		}
	}
}

func remember(t *testing.T, g *Grants, s *Scope, allowed bool) {
	t.Helper()
	if err := g.Remember(t.Context(), s, Answer{Allowed: allowed}); err != nil {
		t.Fatal(err)
	}
}

func TestGrants(t *testing.T) {
	var g Grants
	command := func(line string) *Effect { return &Effect{Action: ActionCommand, Command: line} }
	scoped := func(tool string, e *Effect) *Scope {
		s := scopeOf(t.Context(), tool, e, links{}, "linux", testPaths, true)
		return &s
	}
	check := func(e *Effect, want string) {
		t.Helper()
		allowed, known := g.lookup(scoped("bash", e))
		if got := fmt.Sprint(allowed && known, known); got != want {
			t.Errorf("%+v: allowed and known = %s, want %s", *e, got, want)
		}
	}
	check(command("git status"), "false false")
	remember(t, &g, scoped("bash", command("git status")), true)
	check(command("git status -s"), "true true")
	check(command("git push"), "false false")
	check(command("git status && git push"), "false false")
	check(command("git statusx"), "false false")
	check(command("git status; $(git push)"), "false false")
	remember(t, &g, scoped("bash", command("git commit -m x")), false)
	check(command("git status && git commit"), "false true")
	remember(t, &g, scoped("bash", command("cat > out")), true)
	check(command("cat > out"), "true true")
	check(command("cat > other"), "false false")

	outside := &Effect{Action: ActionEdit, Path: "/other/dir/a.go"}
	remember(t, &g, scoped("edit", outside), true)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/sub/b.go"}, "true true")
	check(&Effect{Action: ActionEdit, Path: "/other/b.go"}, "false false")
	check(&Effect{Action: ActionEdit, Path: "/other/dir-2/b.go"}, "false false")
	check(&Effect{Action: ActionDelete, Path: "/other/dir/a.go"}, "false false")
	remember(t, &g, scoped("edit", &Effect{Action: ActionEdit, Path: "/other/dir/keys/k"}), false)
	check(&Effect{Action: ActionEdit, Path: "/other/dir/keys/k2"}, "false true")

	remember(t, &g, scoped("mcp__a_b", &Effect{Action: ActionMCP}), true)
	if _, known := g.lookup(scoped("mcp__a_c", &Effect{Action: ActionMCP})); known {
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
		if places.Within(from, path) && to != "" {
			return to + strings.TrimPrefix(path, from)
		}
	}
	return path
}

// An answer covers the directory that was asked for and not the one above, and ends where a link resolves to a different file.
func TestGrants_Places(t *testing.T) {
	files := links{"/lib/": "", "/other/link": "/secret", "/w/p/note": "/etc/note"}
	scoped := func(a Action, path string) *Scope {
		s := scopeOf(t.Context(), "read", &Effect{Action: a, Path: path}, files, "linux", testPaths, true)
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
		if got := s.label(display); got != tt.label {
			t.Errorf("%s: the answer covers %q, want %q", tt.path, got, tt.label)
		}
		remember(t, &g, s, true)
		for _, path := range tt.in {
			if allowed, known := g.lookup(scoped(ActionRead, path)); !allowed || !known {
				t.Errorf("%s does not cover %s", tt.path, path)
			}
		}
		for _, path := range tt.out {
			if _, known := g.lookup(scoped(ActionRead, path)); known {
				t.Errorf("%s covers %s", tt.path, path)
			}
		}
	}
}

// cmd.exe knows no single quotes: what a POSIX shell takes for one word are three commands there.
func TestScope_Windows(t *testing.T) {
	e := &Effect{Action: ActionCommand, Command: "git status '& del x &'"}
	s := scopeOf(t.Context(), "bash", e, links{}, "windows", testPaths, true)
	if got := s.label(func(path string) string { return path }); got != "this exact command here" {
		t.Errorf("an answer to %q covers %s", e.Command, got)
	}
}
