package approval

import (
	"errors"
	"testing"

	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/places"
)

// A permit covers what the call's effects name and what its tool uses, and nothing else.
func TestPermit_RefusesUndeclared(t *testing.T) {
	files := links{"/lib/": "", "/w/link": "/etc"}
	gate := &Gate{Policy: new(Policy), Grants: new(Grants), Files: files, OS: "linux", Paths: &places.Paths{Roots: []string{"/w"}, Real: files.RealPath}}
	run := func(path string) permit.Effect { return permit.Effect{Action: permit.Run, Path: path} }
	read := func(path string) permit.Effect { return permit.Effect{Action: permit.Read, Path: path} }
	change := func(path string) permit.Effect { return permit.Effect{Action: permit.Change, Path: path} }
	reach := func(host string) permit.Effect { return permit.Effect{Action: permit.Reach, Host: host} }
	for name, tt := range map[string]struct {
		uses        Uses
		effects     []Effect
		may, mayNot []permit.Effect
	}{
		"nothing": {
			effects: []Effect{{Action: ActionRead}},
			may:     []permit.Effect{{Action: permit.Look, Path: "/etc/passwd"}},
			mayNot:  []permit.Effect{run("/usr/bin/rg"), read("/w/a"), read("/etc/passwd"), change("/w/a"), reach("example.com"), reach(""), {}},
		},
		"a helper program": {
			uses:    Uses{Programs: []string{"rg"}},
			effects: []Effect{{Action: ActionRead}},
			may:     []permit.Effect{run("/usr/bin/rg"), run("/bin/rg.exe")},
			mayNot:  []permit.Effect{run("/usr/bin/rgx"), run("/rg/sh"), run("rg.d/x"), run("")},
		},
		"reads in the roots": {
			uses:    Uses{Roots: true},
			effects: []Effect{{Action: ActionRead}},
			may:     []permit.Effect{read("/w/a"), read("/w/sub/b")},
			mayNot:  []permit.Effect{read("/w/.env"), read("/wx/a"), read("/w/../etc/passwd"), read("/w/link/passwd"), change("/w/a"), run("/bin/sh")},
		},
		"files": {
			effects: []Effect{{Action: ActionRead, Path: "/lib"}, {Action: ActionRead, Path: "/w/.env"}, {Action: ActionEdit, Path: "/w/a"}},
			may:     []permit.Effect{read("/lib"), read("/lib/a/b"), read("/w/.env"), read("/w/a"), change("/w/a")},
			mayNot:  []permit.Effect{read("/library/a"), read("/lib/.env"), read("/w/b"), change("/lib/a"), change("/w/.env"), run("/bin/sh")},
		},
		"a directory with a link": {
			effects: []Effect{{Action: ActionRead, Path: "/w"}},
			may:     []permit.Effect{read("/w/a")},
			mayNot:  []permit.Effect{read("/w/link/passwd")},
		},
		"a command": {
			effects: []Effect{{Action: ActionCommand, Command: "make"}},
			may:     []permit.Effect{run("/bin/sh"), change("/w/a")},
			mayNot:  []permit.Effect{change("/etc/passwd"), change("/w/.git/config"), read("/etc/passwd"), reach("example.com")},
		},
		"a debugged program": {
			effects: []Effect{{Action: ActionDebug, Path: "/w/a", Host: "127.0.0.1"}},
			may:     []permit.Effect{run("/bin/dlv"), reach("127.0.0.1")},
			mayNot:  []permit.Effect{change("/w/a"), reach("127.0.0.2")},
		},
		"a host": {
			effects: []Effect{{Action: ActionNetwork, Host: "Example.com"}},
			may:     []permit.Effect{reach("example.com"), reach("example.com."), reach("www.example.com")},
			mayNot:  []permit.Effect{reach("evil.example.com"), reach("example.com.evil"), reach(""), run("/bin/sh"), read("/w/a")},
		},
		"many hosts": {effects: []Effect{{Action: ActionNetwork}}, mayNot: []permit.Effect{reach("example.com"), reach("")}},
	} {
		l := &Permit{Uses: tt.uses}
		for i := range tt.effects {
			gate.Inquire(t.Context(), "x", &tt.effects[i], func(path string) string { return path }).Permit(l)
		}
		for _, e := range tt.may {
			if err := l.Check(e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, e := range tt.mayNot {
			if err := l.Check(e); !errors.Is(err, ErrNotPermitted) {
				t.Errorf("%s: %+v: %v", name, e, err)
			}
		}
	}
	for _, e := range []permit.Effect{run("/usr/bin/rg"), read("/w/a"), {Action: permit.Look, Path: "/w"}, change("/w/a"), reach("example.com")} {
		if err := new(Permit).Check(e); !errors.Is(err, ErrNotPermitted) {
			t.Errorf("the zero permit: %+v: %v", e, err)
		}
	}
}
