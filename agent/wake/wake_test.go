package wake_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/memorylog"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// events is a value of the session with events, as background jobs are.
type events struct {
	values *agent.Values

	mu    sync.Mutex
	all   []string
	known int // to the user
}

func (e *events) add(name string) {
	e.mu.Lock()
	e.all = append(e.all, name)
	e.mu.Unlock()
	e.values.Wake()
}

func (e *events) Waits() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all) > 0
}

func (e *events) Notify() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	title := strings.Join(e.all[e.known:], "; ")
	e.known = len(e.all)
	return title
}

func (e *events) Report() agent.Report {
	title := e.Notify()
	e.mu.Lock()
	defer e.mu.Unlock()
	text := strings.Join(e.all, "; ")
	e.all, e.known = nil, 0
	return agent.Report{Title: title, Text: text}
}

// noFiles is a workspace without files.
type noFiles struct{ agent.FS }

func (noFiles) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

func (noFiles) Stat(context.Context, string) (os.FileInfo, error) { return nil, fs.ErrNotExist }

func (noFiles) ReadDir(context.Context, string) ([]os.DirEntry, error) { return nil, fs.ErrNotExist }
func (noFiles) RealPath(p string) string                               { return p }

// world is a session that wakes.
type world struct {
	t       *testing.T
	session *agent.Session
	script  *providertest.Script
	events  *events
	running atomic.Int32 // requests to the model

	mu    sync.Mutex
	story []string
}

func (w *world) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return providers.ModelInfo{}, "", fmt.Errorf("no model %q", ref)
}

func (w *world) Lookup(string) (providers.ModelInfo, bool) { return providers.ModelInfo{}, false }

func (w *world) Open(context.Context, providers.ModelInfo) (providers.Model, error) {
	return w.script, nil
}

func (w *world) say(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, line)
}

func (w *world) emit(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.OwnTurnChanged:
		if ev.Running {
			w.say("own turn")
		} else {
			w.say("own turn: " + string(ev.Stop))
			if ev.Err != nil {
				w.say(ev.Err.Error())
			}
		}
	case agent.MessageDelta:
		w.say(ev.Text)
	case agent.Noticed:
		w.say("[" + ev.Title + "]")
	}
}

// wants waits until the session is quiet and compares what has happened since the last call.
func (w *world) wants(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(w.story, "\n")); d != "" {
		w.t.Errorf("-want +got:\n%s", d)
	}
	w.story = nil
}

func (w *world) prompt(text string) *agent.Turn {
	wake.Prompted(w.session)
	return w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: text}}})
}

// run runs fn in a synctest bubble, so that all sleeps are of fake time. The model answers with the number of the request.
func run(t *testing.T, opts wake.Options, fn func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000, Cost: providers.Cost{Input: 1_000_000}}
		w := &world{t: t, script: providertest.NewScript(info)}
		n := 0
		w.script.Else(func(*providers.Request) providertest.Step {
			n++
			return providertest.Step{providertest.Text(fmt.Sprint("answer ", n)), providertest.Use(providers.Usage{Input: 1, Output: 1})}
		})
		ids := 0
		w.session = agent.New(agent.Options{
			ID: "s1", Environment: agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
			ModelOptions: agent.ModelOptions{Models: w, Model: info}, Conversation: agent.Conversation{Log: memorylog.New()},
			Mode: approval.ModeDefault, Emit: w.emit, OS: "linux", NewID: func() string { ids++; return fmt.Sprint("m", ids) },
		})
		w.events = &events{values: w.session.Values()}
		agent.SetValue(w.session.Values(), w.events)
		opts.Notice = func(title, detail string) { w.say("notice: " + title + ". " + detail) }
		wake.Start(w.session, opts)
		fn(w)
		if err := w.session.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func on() wake.Options {
	return wake.Options{Settings: wake.Settings{Auto: wake.On}, Shows: true}
}

// Events that follow each other are gathered in one turn, but not for longer than five seconds.
func TestGather(t *testing.T) {
	run(t, on(), func(w *world) {
		w.events.add("a")
		time.Sleep(900 * time.Millisecond)
		w.events.add("b")
		w.wants()
		time.Sleep(time.Second)
		w.wants("own turn", "[a; b]", "answer 1", "own turn: end_turn")
		reqs := w.script.Requests()
		if len(reqs) != 1 {
			t.Fatalf("%d requests, want one", len(reqs))
		}
		last := reqs[0].Messages[len(reqs[0].Messages)-1]
		if text := last.Text(); !strings.HasPrefix(text, "<system-reminder>") || !strings.Contains(text, "not from the user") || !strings.Contains(text, "a; b") {
			t.Errorf("the model received %q", text)
		}
		for range 20 {
			w.events.add("x")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(w.script.Requests()) - 1; n != 2 && n != 3 {
			t.Errorf("events for ten seconds made %d turns", n)
		}
	})
}

// Each setting does what it says, and events during a turn of the user wait for its end.
func TestSettings(t *testing.T) {
	const later = "The agent learns of it with your next prompt."
	for name, tt := range map[string]struct {
		opts wake.Options
		want []string
	}{
		"off":     {wake.Options{Settings: wake.Settings{Auto: wake.Off}, Shows: true}, []string{"[job ended]", "answer 1"}},
		"notify":  {wake.Options{Settings: wake.Settings{Auto: wake.Notify}, Shows: true}, []string{"notice: job ended. " + later, "answer 1"}},
		"default": {wake.Options{}, []string{"notice: job ended. " + later, "answer 1"}},
		"not shown": {wake.Options{Settings: wake.Settings{Auto: wake.On}}, []string{
			"notice: job ended. " + later + " This client does not show turns that begin without a prompt, so turns.auto: on only notifies you here.", "answer 1",
		}},
		"on": {on(), []string{"own turn", "[job ended]", "answer 1", "own turn: end_turn", "answer 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tt.opts, func(w *world) {
				w.events.add("job ended")
				time.Sleep(time.Minute)
				w.prompt("go")
				w.wants(tt.want...)
				var received strings.Builder
				for _, m := range w.script.Requests()[len(tt.want)/4].Messages {
					received.WriteString(m.Text())
				}
				if strings.Count(received.String(), "job ended") != 1 {
					t.Errorf("the model received %q, want the event once", received.String())
				}
			})
		})
	}
}

// What keeps turns from beginning is said once, and a prompt lifts it.
func TestBounds(t *testing.T) {
	const later = ". The agent learns of it with your next prompt."
	own := func(name string, n int) []string {
		return []string{"own turn", "[" + name + "]", fmt.Sprint("answer ", n), "own turn: end_turn"}
	}
	t.Run("in a row", func(t *testing.T) {
		opts := on()
		opts.MaxInARow = 1
		run(t, opts, func(w *world) {
			w.events.add("a")
			time.Sleep(time.Minute)
			w.wants(own("a", 1)...)
			w.events.add("b")
			time.Sleep(time.Minute)
			w.wants("notice: b" + later + " 1 turn has begun since your last prompt (turns.maxInARow), so the next one waits for your prompt.")
			w.events.add("c")
			time.Sleep(time.Minute)
			w.wants("notice: c" + later)
			w.prompt("go")
			w.wants("answer 2")
			w.events.add("d")
			time.Sleep(time.Minute)
			w.wants(own("d", 3)...)
		})
	})
	t.Run("per hour", func(t *testing.T) {
		opts := on()
		opts.MaxPerHour, opts.MaxInARow = 2, 100
		run(t, opts, func(w *world) {
			for range 2 {
				w.events.add("a")
				time.Sleep(time.Minute)
				w.prompt("go") // does not count
				synctest.Wait()
			}
			w.wants(append(append(own("a", 1), "answer 2"), append(own("a", 3), "answer 4")...)...)
			w.events.add("b")
			time.Sleep(time.Minute)
			w.wants("notice: b" + later + " 2 turns have begun without a prompt in the last hour (turns.maxPerHour), so the next one waits for your prompt.")
			time.Sleep(57*time.Minute + 2*time.Second)
			w.events.add("c")
			time.Sleep(time.Minute)
			w.wants("own turn", "[c]", "answer 5", "own turn: end_turn")
		})
	})
	t.Run("cost", func(t *testing.T) {
		opts := on()
		opts.MaxCost = 2 // one answer costs a dollar
		run(t, opts, func(w *world) {
			w.prompt("go")
			w.wants("answer 1")
			for i, name := range []string{"a", "b"} {
				w.events.add(name)
				time.Sleep(time.Minute)
				w.wants(own(name, i+2)...)
			}
			w.events.add("c")
			time.Sleep(time.Minute)
			w.wants("notice: c" + later + " The session has spent $2.00 since it answered your last prompt (turns.maxCost is 2), so no turn begins until your next one.")
			w.prompt("go on")
			w.wants("answer 4")
			w.events.add("d")
			time.Sleep(time.Minute)
			w.wants(own("d", 5)...)
		})
	})
}

// A cancelled turn ends at once, and no other begins until the user's next prompt.
func TestCancel(t *testing.T) {
	run(t, on(), func(w *world) {
		gate := providertest.NewGate()
		defer gate.Open()
		w.script.Add(providertest.Step{gate.Hold()})
		w.events.add("a")
		time.Sleep(time.Minute)
		w.wants("own turn", "[a]")
		w.events.add("b")
		wake.Cancelled(w.session)
		w.session.Cancel()
		time.Sleep(time.Minute)
		w.wants("own turn: cancelled", "notice: b. The agent learns of it with your next prompt. You have cancelled, so no turn begins by itself until your next prompt.")
		w.prompt("go")
		w.wants("answer 1")
		w.events.add("c")
		time.Sleep(time.Minute)
		w.wants("own turn", "[c]", "answer 2", "own turn: end_turn")
	})
}

// A cancellation while events are gathered keeps their turn from beginning.
func TestCancel_WhileGathering(t *testing.T) {
	run(t, on(), func(w *world) {
		w.events.add("a")
		time.Sleep(500 * time.Millisecond)
		wake.Cancelled(w.session)
		w.session.Cancel()
		time.Sleep(time.Minute)
		w.wants("notice: a. The agent learns of it with your next prompt. You have cancelled, so no turn begins by itself until your next prompt.")
	})
}

// A prompt that arrives in the same moment as the turn would begin takes the reports, or waits. The requests never overlap.
func TestPromptRaces(t *testing.T) {
	for i := range 50 {
		opts := on()
		opts.MaxInARow, opts.MaxPerHour = 100, 100
		run(t, opts, func(w *world) {
			w.script.Else(func(*providers.Request) providertest.Step {
				if w.running.Add(1) > 1 {
					w.t.Error("two requests at once")
				}
				time.Sleep(time.Duration(i%3) * time.Millisecond)
				w.running.Add(-1)
				return providertest.Step{providertest.Text("yes")}
			})
			for j := range 5 {
				w.events.add("a")
				time.Sleep(time.Second) // when the turn begins
				turn := w.prompt("go")
				if (i+j)%2 == 0 {
					w.events.add("b")
				}
				if r := turn.Wait(context.Background()); r.Stop != agent.StopEndTurn {
					w.t.Errorf("the prompt ended with %+v", r)
				}
			}
		})
	}
}

// A session that is closed while events are gathered, or while their turn runs, ends at once.
func TestClose(t *testing.T) {
	run(t, on(), func(w *world) {
		w.events.add("a")
		time.Sleep(500 * time.Millisecond)
	})
	run(t, on(), func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(providertest.Step{gate.Hold()})
		w.events.add("a")
		time.Sleep(time.Minute)
		w.wants("own turn", "[a]")
		if err := w.session.Close(context.Background()); err != nil {
			t.Error(err)
		}
		w.wants("own turn: cancelled")
	})
}

// An event that has been reported meanwhile begins no turn. An event that occurs after the last request of a turn begins one afterwards.
func TestDuringATurn(t *testing.T) {
	run(t, on(), func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(providertest.Step{gate.Hold(), providertest.Text("done")})
		w.events.add("a")
		w.prompt("go") // takes a along
		time.Sleep(time.Minute)
		w.wants("[a]")
		w.events.add("b")
		time.Sleep(time.Minute)
		w.wants()
		gate.Open()
		w.wants("done")
		time.Sleep(time.Minute)
		w.wants("own turn", "[b]", "answer 1", "own turn: end_turn")
	})
}

// A loaded session shows why the turn began, and not the words for the model.
func TestReplay(t *testing.T) {
	run(t, on(), func(w *world) {
		w.events.add("a")
		time.Sleep(time.Minute)
		w.wants("own turn", "[a]", "answer 1", "own turn: end_turn")
		all, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ev, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case agent.Noticed:
				got = append(got, "["+ev.Title+"] "+ev.Detail)
			case agent.MessageDelta:
				got = append(got, fmt.Sprint(ev.Speaker)+" "+ev.Text)
			}
		}
		if d := cmp.Diff([]string{"[a] gjc goes on without a prompt.", fmt.Sprint(agent.SpeakerAgent) + " answer 1"}, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}
