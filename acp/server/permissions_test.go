package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// remembering is an editor whose user answers each question with one option.
type remembering struct {
	*env
	// choose is the option, and asked the options of each question.
	choose string
	asked  []string
}

func startRemembering(t *testing.T, store *permissions.Store, boundary boundary.Settings) *remembering {
	t.Helper()
	r := &remembering{choose: "allow_workspace"}
	r.env = start(t, func(c *config) {
		c.server.Sessions.Policy = func(cwd string) approval.Policy {
			return approval.Policy{Boundary: boundary, Home: t.TempDir(), Keeper: store.Keeper(cwd)}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			var names []string
			for _, o := range p.Options {
				names = append(names, o.Name)
			}
			r.asked = append(r.asked, strings.Join(names, " | "))
			return acptest.Choose(acp.PermissionOptionID(r.choose)), nil
		}
	})
	return r
}

// prompt runs a prompt and returns what the agent has said and shown.
func (r *remembering) prompt(t *testing.T, id acp.SessionID, text string) string {
	t.Helper()
	before := len(r.Updates(id))
	r.say(id, text, acp.StopReasonEndTurn)
	var all []string
	for _, u := range r.Updates(id)[before:] {
		raw, err := jsonx.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(raw))
	}
	return strings.Join(all, "\n")
}

func (r *remembering) session(t *testing.T, dir string) acp.SessionID {
	t.Helper()
	s, err := r.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.SessionID
}

// An answer for the workspace holds in later sessions and other editors, until it is revoked.
func TestPermissions_Workspace(t *testing.T) {
	needsBoundary(t)
	store, dir := permissions.Open(t.TempDir()), t.TempDir()
	one := startRemembering(t, store, testBoundary())
	id := one.session(t, dir)
	one.prompt(t, id, "!bash echo one")
	one.prompt(t, id, "!bash echo two")
	if len(one.asked) != 1 || one.asked[0] != "Allow once | Always allow (echo commands here) | Always allow in this workspace (echo commands here) | Reject | Always reject (echo commands here)" {
		t.Fatalf("asked %q", one.asked)
	}
	two := startRemembering(t, store, testBoundary())
	id = two.session(t, dir)
	if out := two.prompt(t, id, "!bash echo three"); len(two.asked) > 0 || !strings.Contains(out, "three") {
		t.Errorf("another editor asked %q: %s", two.asked, out)
	}
	if elsewhere := two.session(t, t.TempDir()); true {
		two.choose = "reject_once"
		two.prompt(t, elsewhere, "!bash echo four")
		if len(two.asked) != 1 {
			t.Errorf("another workspace asked %q", two.asked)
		}
	}
	if out := two.prompt(t, id, "/permissions"); !strings.Contains(out, "For this workspace, also in later sessions:") || !strings.Contains(out, "1. Allowed: echo commands here, in "+dir) {
		t.Errorf("/permissions: %s", out)
	}
	if out := two.prompt(t, id, "/permissions revoke 7"); !strings.Contains(out, "There is no answer 7") {
		t.Errorf("a wrong number: %s", out)
	}
	if out := two.prompt(t, id, "/permissions revoke 1"); !strings.Contains(out, "Forgotten: 1 answer") {
		t.Errorf("revoke: %s", out)
	}
	two.asked = nil
	two.prompt(t, id, "!bash echo five")
	if len(two.asked) != 1 {
		t.Errorf("after it was revoked: %q", two.asked)
	}
	// A session that has been open all the time asks again, too.
	one.asked, one.choose = nil, "reject_once"
	one.prompt(t, one.session(t, dir), "!bash echo six")
	if len(one.asked) != 1 {
		t.Errorf("the first editor after it was revoked: %q", one.asked)
	}
}

// An answer of the session ends with it, and /permissions forgets it.
func TestPermissions_Session(t *testing.T) {
	needsBoundary(t)
	r := startRemembering(t, permissions.Open(t.TempDir()), testBoundary())
	r.choose = "allow_always"
	dir := t.TempDir()
	id := r.session(t, dir)
	r.prompt(t, id, "!bash echo one")
	r.prompt(t, id, "!bash echo two")
	if out := r.prompt(t, id, "/permissions"); len(r.asked) != 1 || !strings.Contains(out, "For this session:") {
		t.Errorf("asked %q: %s", r.asked, out)
	}
	r.prompt(t, r.session(t, dir), "!bash echo three")
	if len(r.asked) != 2 {
		t.Errorf("another session: %q", r.asked)
	}
	r.prompt(t, id, "/permissions revoke all")
	r.prompt(t, id, "!bash echo four")
	if len(r.asked) != 3 {
		t.Errorf("after it was revoked: %q", r.asked)
	}
}

// Without a boundary, auto has no answer for more than this once; off has one for the exact line.
func TestPermissions_WithoutBoundary(t *testing.T) {
	r := startRemembering(t, permissions.Open(t.TempDir()), boundary.Settings{Use: boundary.Auto})
	r.choose = "allow_once"
	r.prompt(t, r.session(t, t.TempDir()), "!bash echo one > f")
	if len(r.asked) != 1 || strings.Contains(r.asked[0], "Always allow") {
		t.Errorf("auto: %q", r.asked)
	}
	r = startRemembering(t, permissions.Open(t.TempDir()), boundary.Settings{Use: boundary.Off})
	r.choose = "allow_always"
	id := r.session(t, t.TempDir())
	for _, line := range []string{"echo one > f", "echo one > f", "echo two > f"} {
		r.prompt(t, id, "!bash "+line)
	}
	if len(r.asked) != 2 || !strings.Contains(r.asked[0], "this exact command here") {
		t.Errorf("off: %q", r.asked)
	}
}
