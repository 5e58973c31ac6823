package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// wakes configures sessions that begin turns by themselves as set says, for a client that shows them.
func wakes(set wake.Settings) func(*config) {
	return func(c *config) {
		c.server.Sessions.Settings = func(string) (*server.Settings, error) {
			return &server.Settings{Agent: agent.DefaultSettings(), Turns: set}, nil
		}
		c.editor.Capabilities = acptest.AllCapabilities()
		if err := c.editor.Capabilities.Meta.Set(content.TurnsMeta, true); err != nil {
			panic(err)
		}
	}
}

// dumb makes the client one that shows neither notices nor turns without a prompt.
func dumb(c *config) { c.editor.Capabilities = new(acp.ClientCapabilities) }

// timer is the answer that starts a timer of a minute, and the one after it.
func timer() []providertest.Step {
	return []providertest.Step{
		{providertest.Call("c1", "job", `{"after":60,"note":"look at the build"}`)},
		{providertest.Text("I will look later.")},
	}
}

// bubble runs fn with a server in fake time.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

// shown returns the updates of a session from the n-th on, one line each. Usage and titles are left out.
func (e *env) shown(id acp.SessionID, n int) []string {
	var lines []string
	for _, u := range e.Updates(id)[n:] {
		switch u := u.(type) {
		case *acp.Notice:
			lines = append(lines, "notice: "+u.Title+" | "+u.Description)
		case *acp.AgentMessageChunk:
			lines = append(lines, "agent: "+strings.TrimSpace(u.Content.(*acp.TextContent).Text))
		case *acp.UserMessageChunk:
			lines = append(lines, "user: "+u.Content.(*acp.TextContent).Text)
		case *acp.ToolCall:
			lines = append(lines, "call: "+u.Title)
		case *acp.SessionInfoUpdate:
			var state struct {
				State      string `json:"state"`
				StopReason string `json:"stopReason"`
			}
			if ok, err := u.Meta.Get(content.StateMeta, &state); ok && err == nil {
				lines = append(lines, strings.TrimSpace("state: "+state.State+" "+state.StopReason))
			}
		default:
		}
	}
	return lines
}

func (e *env) wantShown(id acp.SessionID, n int, want ...string) {
	e.t.Helper()
	synctest.Wait()
	if d := cmp.Diff(want, e.shown(id, n)); d != "" {
		e.t.Errorf("-want +got:\n%s", d)
	}
}

const (
	ended = "job-1 has ended: timer: look at the build"
	later = "The agent learns of it with your next prompt."
)

// When a timer ends in an idle session, a turn begins, whose updates follow each other between two states. It asks for permission like any
// turn. A loaded session shows why it began.
func TestWake_Turn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		e := start(t, scripted(append(
			timer(),
			providertest.Step{providertest.Text("Looking."), providertest.Call("c2", "bash", `{"command":"true"}`)},
			providertest.Step{providertest.Text("It is green.")},
		)...), wakes(wake.Settings{Auto: wake.On}), func(c *config) {
			c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				asked++
				return acptest.Choose("reject_once"), nil
			}
		})
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		n := len(e.Updates(id))
		time.Sleep(60500 * time.Millisecond)
		e.wantShown(id, n)
		time.Sleep(time.Minute)
		e.wantShown(id, n, "state: running", "notice: "+ended+" | gjc goes on without a prompt.", "agent: Looking.", "call: true", "agent: It is green.", "state: idle end_turn")
		if asked != 1 {
			t.Errorf("the user was asked %d times", asked)
		}
		if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		n = len(e.Updates(id))
		if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
			t.Fatal(err)
		}
		e.wantShown(id, n, "user: go", "call: Set a timer for 1m0s", "agent: I will look later.",
			"notice: "+ended+" | gjc goes on without a prompt.", "agent: Looking.", "call: true", "agent: It is green.")
	})
}

// What happens without a turn: the user is notified where the client can show it, and the model receives the report with the next prompt.
func TestWake_Otherwise(t *testing.T) {
	const cannot = " This client does not show turns that begin without a prompt, so turns.auto: on only notifies you here."
	for name, tt := range map[string]struct {
		set    wake.Settings
		client func(*config)
		idle   []string
		prompt []string
	}{
		"off":    {set: wake.Settings{Auto: wake.Off}, prompt: []string{"notice: " + ended + " | ", "agent: yes"}},
		"notify": {set: wake.Settings{Auto: wake.Notify}, idle: []string{"notice: " + ended + " | " + later}, prompt: []string{"agent: yes"}},
		"notify, no notices": {
			set: wake.Settings{Auto: wake.Notify}, client: dumb, prompt: []string{"agent: [" + ended + "\n" + later + "]", "agent: yes"},
		},
		"on, not shown": {
			set: wake.Settings{Auto: wake.On}, client: func(c *config) { c.editor.Capabilities = acptest.AllCapabilities() },
			idle: []string{"notice: " + ended + " | " + later + cannot}, prompt: []string{"agent: yes"},
		},
		"on, neither": {
			set: wake.Settings{Auto: wake.On}, client: dumb, prompt: []string{"agent: [" + ended + "\n" + later + cannot + "]", "agent: yes"},
		},
		"on, by name": {
			set: wake.Settings{Auto: wake.On, Clients: []string{"acptest"}}, client: func(c *config) { c.editor.Capabilities = acptest.AllCapabilities() },
			idle:   []string{"state: running", "notice: " + ended + " | gjc goes on without a prompt.", "agent: yes", "state: idle end_turn"},
			prompt: []string{"agent: yes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var script *providertest.Script
				change := tt.client
				if change == nil {
					change = func(*config) {}
				}
				e := start(t, scripted(timer()...), wakes(tt.set), change, func(c *config) {
					script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
					script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("yes")} })
				})
				id := e.session()
				e.say(id, "go", acp.StopReasonEndTurn)
				n := len(e.Updates(id))
				time.Sleep(2 * time.Minute)
				e.wantShown(id, n, tt.idle...)
				n = len(e.Updates(id))
				e.say(id, "and?", acp.StopReasonEndTurn)
				e.wantShown(id, n, tt.prompt...)
				heard := 0
				for _, m := range script.Requests()[2].Messages {
					heard += strings.Count(m.Text(), "Note: look at the build")
				}
				if heard != 1 {
					t.Errorf("the model received the note %d times", heard)
				}
			})
		})
	}
}

// session/cancel ends the turn. It begins no other until the next prompt.
func TestWake_Cancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := providertest.NewGate()
		defer gate.Open()
		e := start(t, scripted(append(timer(), providertest.Step{providertest.Text("Looking."), gate.Hold()})...), wakes(wake.Settings{Auto: wake.On}))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		n := len(e.Updates(id))
		time.Sleep(2 * time.Minute)
		e.wantShown(id, n, "state: running", "notice: "+ended+" | gjc goes on without a prompt.", "agent: Looking.")
		if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		e.wantShown(id, n, "state: running", "notice: "+ended+" | gjc goes on without a prompt.", "agent: Looking.", "state: idle cancelled")
	})
}

// A prompt during the turn waits for its end, and a steered message joins it.
func TestWake_PromptDuringIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := providertest.NewGate()
		defer gate.Open()
		e := start(t, scripted(append(timer(), providertest.Step{providertest.Text("Looking."), gate.Hold()}, providertest.Step{providertest.Text("Steered.")},
			providertest.Step{providertest.Text("Prompted.")})...), wakes(wake.Settings{Auto: wake.On}))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		n := len(e.Updates(id))
		time.Sleep(2 * time.Minute)
		answered := make(chan *acp.PromptResponse, 1)
		go func() {
			r, err := e.Prompt(t.Context(), id, "next")
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		synctest.Wait()
		prompt := []any{obj{"type": "text", "text": "use tabs"}}
		if got := call[steered](e, "_session/steering", obj{"sessionId": id, "prompt": prompt}); got.Outcome != "injected" {
			t.Errorf("steering: %+v", got)
		}
		gate.Open()
		if r := <-answered; r == nil || r.StopReason != acp.StopReasonEndTurn {
			t.Errorf("the prompt ended with %+v", r)
		}
		e.wantShown(id, n, "state: running", "notice: "+ended+" | gjc goes on without a prompt.", "agent: Looking.", "agent: Steered.", "state: idle end_turn", "agent: Prompted.")
	})
}

// A failed turn says why, and a closed session ends the turn.
func TestWake_Ends(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no such thing"}
		e := start(t, scripted(append(timer(), providertest.Step{providertest.Fail(failure)})...), wakes(wake.Settings{Auto: wake.On}))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		n := len(e.Updates(id))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got := strings.Join(e.shown(id, n), "\n")
		if !strings.Contains(got, "notice: The turn failed. | ") || !strings.Contains(got, "no such thing") || !strings.HasSuffix(got, "state: idle error") {
			t.Errorf("got:\n%s", got)
		}
	})
	bubble(t, func(t *testing.T) {
		gate := providertest.NewGate()
		e := start(t, scripted(append(timer(), providertest.Step{providertest.Text("Looking."), gate.Hold()})...), wakes(wake.Settings{Auto: wake.On}))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		time.Sleep(2 * time.Minute)
		if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		if all := e.shown(id, 0); !slices.Contains(all, "state: idle cancelled") {
			t.Errorf("got %q", all)
		}
	})
}

// Prompts, cancellations and timers in the same moments never make two requests to the model at once.
func TestWake_OneTurnAtATime(t *testing.T) {
	for round := range 30 {
		bubble(t, func(t *testing.T) {
			var running, requests atomic.Int32
			info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 1_000_000}
			script := providertest.NewScript(info)
			script.Else(func(req *providers.Request) providertest.Step {
				if running.Add(1) > 1 {
					t.Error("two requests at once")
				}
				time.Sleep(time.Duration(round%4) * 100 * time.Millisecond)
				running.Add(-1)
				n := requests.Add(1)
				if m := req.Messages[len(req.Messages)-1]; m.Role == providers.RoleUser && n < 40 {
					return providertest.Step{providertest.Call(fmt.Sprint("c", n), "job", `{"after":1}`)}
				}
				return providertest.Step{providertest.Text("yes")}
			})
			e := start(t, wakes(wake.Settings{Auto: wake.On, MaxInARow: 50, MaxPerHour: 50}), func(c *config) {
				c.server.Models.Models = &models{list: []providers.Model{script}}
			})
			id := e.session()
			for i := range 8 {
				if resp, err := e.Prompt(t.Context(), id, "go"); err != nil || resp.StopReason != acp.StopReasonEndTurn {
					t.Errorf("prompt: %+v, %v", resp, err)
				}
				time.Sleep(2 * time.Second) // when the next turn would begin
				if (round+i)%5 == 4 {
					if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
						t.Error(err)
					}
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			depth := 0
			for _, line := range e.shown(id, 0) {
				switch {
				case line == "state: running":
					depth++
				case strings.HasPrefix(line, "state: idle"):
					depth--
				}
				if depth < 0 || depth > 1 {
					t.Fatalf("states %q", e.shown(id, 0))
				}
			}
			if depth != 0 {
				t.Error("a turn has no end")
			}
		})
	}
}

// An export shows why the turn began and not the words for the model, and /rewind lists it like a prompt.
func TestWake_Kept(t *testing.T) {
	checkpoints := recording(t)
	bubble(t, func(t *testing.T) {
		e := start(t, scripted(append(
			timer(),
			providertest.Step{providertest.Call("c2", "write", `{"path":"a.txt","content":"one\n"}`)},
			providertest.Step{providertest.Text("It is green.")},
		)...), wakes(wake.Settings{Auto: wake.On}), checkpoints)
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		n := len(e.Updates(id))
		e.say(id, "/rewind", acp.StopReasonEndTurn)
		if got := strings.Join(e.shown(id, n), "\n"); !containsAll(got, "1. "+ended+" (1 file,", "created a.txt", "2. go") {
			t.Errorf("/rewind: %s", got)
		}
		e.say(id, "/export "+filepath.Join(e.dir, "out.md"), acp.StopReasonEndTurn)
		page, err := os.ReadFile(filepath.Join(e.dir, "out.md"))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(page); !containsAll(got, ended, "gjc goes on without a prompt.", "It is green.") || strings.Contains(got, "not from the user") {
			t.Errorf("the export:\n%s", got)
		}
		n = len(e.Updates(id))
		e.say(id, "/rewind 1 both", acp.StopReasonEndTurn)
		if _, err := os.Stat(filepath.Join(e.dir, "a.txt")); !os.IsNotExist(err) {
			t.Errorf("/rewind 1 left the file: %v\n%s", err, strings.Join(e.shown(id, n), "\n"))
		}
	})
}

// A timer that had not ended when the session was closed is lost, and the loaded session says so.
func TestWake_LostTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := start(t, scripted(timer()...), wakes(wake.Settings{}))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		n := len(e.Updates(id))
		if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := e.shown(id, n); !slices.Contains(got, "notice: A timer of this session was lost when gjc ended: look at the build. | ") {
			t.Errorf("got %q", got)
		}
		n = len(e.Updates(id))
		time.Sleep(2 * time.Minute)
		e.wantShown(id, n)
	})
}

// The index of sessions shows that the session runs.
func TestWake_Index(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := providertest.NewGate()
		e := start(t, scripted(append(timer(), providertest.Step{gate.Hold(), providertest.Text("Looked.")})...), wakes(wake.Settings{Auto: wake.On, Clients: []string{"acptest"}}), asAir(indexOfAir))
		id := e.session()
		e.say(id, "go", acp.StopReasonEndTurn)
		state := func() string {
			l, err := airList(e, e.dir, "", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			return airRow(t, l, string(id)).State
		}
		before := state()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		during := state()
		gate.Open()
		synctest.Wait()
		if after := state(); before != "idle" || during != "running" || after != "idle" {
			t.Errorf("before %s, during %s, after %s", before, during, after)
		}
	})
}
