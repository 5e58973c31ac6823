package hub_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// part has the role of a client in a session, as the client receives it.
type part struct {
	Role      string `json:"role"`
	Elsewhere bool   `json:"elsewhere"`
	Reason    string `json:"reason"`
	Clients   int    `json:"clients"`
}

// watch loads a session and returns the client's part.
func (w *team) watch(e *editor, id acp.SessionID) part {
	w.t.Helper()
	var answer struct {
		Meta struct {
			Attach part `json:"gjc/attach"`
		} `json:"_meta"`
	}
	if err := e.Conn.Call(w.t.Context(), "session/load", obj{"sessionId": id, "cwd": w.dir, "mcpServers": []obj{}}, &answer); err != nil {
		w.t.Fatalf("session/load: %v", err)
	}
	return answer.Meta.Attach
}

// awaitPart waits until the client was shown another part.
func (e *editor) awaitPart(id acp.SessionID, match func(part) bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	err := e.Await(ctx, id, acptest.Update(func(u *acp.SessionInfoUpdate) bool {
		var p part
		ok, err := u.Meta.Get("gjc/attach", &p)
		return ok && err == nil && match(p)
	}))
	if err != nil {
		e.t.Fatalf("it has not become another part: %v", err)
	}
}

// controls is the part of a client whose server has the session open.
func controls(p part) bool { return p.Role == "controller" && !p.Elsewhere }

// takesPart is the part of a client of another server that can prompt.
func takesPart(p part) bool { return p.Role == "controller" && p.Elsewhere && p.Reason != "" }

// Clients of one server watch a session that another server has open, and share it when that one has closed it.
func TestServer_Elsewhere(t *testing.T) {
	testenv.NoLeaks(t)
	model := providertest.NewScript(
		scriptInfo,
		providertest.Step{providertest.Text("first answer")}, providertest.Step{providertest.Text("second answer")}, providertest.Step{providertest.Text("third answer")},
	)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "sessions")
	here, there := newServer(t, model, dir, store), newServer(t, model, dir, store)
	ann := here.editor("ann", acptest.EditorOptions{})
	resp, err := ann.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	id := resp.SessionID
	prompt := func(e *editor, text string) error { _, err := e.Prompt(t.Context(), id, text); return err }
	if err := prompt(ann, "first prompt"); err != nil {
		t.Fatal(err)
	}
	bob, carl := there.editor("bob", acptest.EditorOptions{}), there.editor("carl", acptest.EditorOptions{})
	if p := there.watch(bob, id); p.Role != "observer" || !p.Elsewhere || p.Reason == "" || p.Clients != 1 {
		t.Errorf("the first client there: %+v", p)
	}
	if p := there.watch(carl, id); !p.Elsewhere || p.Reason == "" || p.Clients != 2 {
		t.Errorf("the second client there: %+v", p)
	}
	eve := there.editor("eve", acptest.EditorOptions{})
	if err := prompt(ann, "second prompt"); err != nil {
		t.Fatal(err)
	}
	// One that comes from here is not shown less than it has seen.
	there.watch(eve, id)
	if got, want := told(eve.Updates(id)), "\nuser: first prompt\nagent: first answer\nuser: second prompt\nagent: second answer"; got != want {
		t.Errorf("a client that comes from the other server is shown %q, want %q", got, want)
	}
	for _, e := range []*editor{bob, carl} {
		e.await(id, "second answer")
	}
	// The engine replays it for a client that needs the whole conversation, and no client there loses what comes meanwhile.
	dora := there.editor("dora", acptest.EditorOptions{})
	there.watch(dora, id)
	var closed jsonx.Raw
	if err := ann.Conn.Call(t.Context(), "session/close", obj{"sessionId": id}, &closed); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*editor{bob, carl, dora} {
		e.awaitPart(id, controls)
	}
	if err := prompt(carl, "third prompt"); err != nil {
		t.Fatal(err)
	}
	want := "\nuser: first prompt\nagent: first answer\nuser: second prompt\nagent: second answer\nuser: third prompt\nagent: third answer"
	for _, e := range []*editor{bob, dora} {
		e.await(id, "third answer")
		if got := told(e.Updates(id)); got != want {
			t.Errorf("a client there shows %q, want %q", got, want)
		}
	}
	if p := here.watch(ann, id); p.Role != "observer" || !p.Elsewhere {
		t.Errorf("the server that has closed it: %+v", p)
	}
	if got := told(ann.Updates(id)); !strings.HasSuffix(got, want) {
		t.Errorf("it shows %q, want %q", got, want)
	}
}
