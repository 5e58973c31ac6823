package agent_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// world is a session with everything around it under a test's control.
type world struct {
	t       *testing.T
	session *agent.Session
	log     *memoryLog
	script  *providertest.Script

	usage bool // whether the story includes usage

	// onEvent, if set, is called with each event by the session's actor.
	onEvent func(agent.Event)

	mu     sync.Mutex
	events []agent.Event
	asked  []agent.Question
	answer func(ctx context.Context, q agent.Question) (agent.Decision, error)
}

func (w *world) emit(ev agent.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
	if w.onEvent != nil {
		w.onEvent(ev)
	}
}

func (w *world) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	w.mu.Lock()
	w.asked = append(w.asked, q)
	answer := w.answer
	w.mu.Unlock()
	if answer == nil {
		return agent.AllowOnce, nil
	}
	return answer(ctx, q)
}

func (w *world) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return providers.ModelInfo{}, "", fmt.Errorf("no model %q", ref)
}

func (w *world) Lookup(string) (providers.ModelInfo, bool) { return providers.ModelInfo{}, false }

func (w *world) Open(context.Context, providers.ModelInfo) (providers.Model, error) {
	return w.script, nil
}

// story returns the events, one line each, with text deltas joined.
func (w *world) story() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	last := ""
	for _, ev := range w.events {
		line, id := "", ""
		switch ev := ev.(type) {
		case agent.MessageDelta:
			id = fmt.Sprint(ev.Speaker, ev.MessageID)
			if id == last {
				lines[len(lines)-1] += ev.Text
				continue
			}
			line = [...]string{"user: ", "agent: ", "thought: "}[ev.Speaker] + ev.Text
		case agent.ToolStarted:
			line = "start " + ev.CallID + " " + ev.Title
		case agent.ToolProgress:
			line = "run " + ev.CallID
		case agent.ToolEnded:
			line = "end " + ev.CallID
			if ev.Failed {
				line = "fail " + ev.CallID
			}
			for _, c := range ev.Content {
				if t, ok := c.(agent.TextContent); ok {
					line += ": " + t.Text
				}
			}
		case agent.PlanChanged:
			line = fmt.Sprintf("plan %d", len(ev.Entries))
		case agent.UsageChanged:
			if !w.usage {
				continue
			}
			line = fmt.Sprintf("usage %d/%d", ev.Used, ev.Size)
		case agent.InfoChanged:
			line = "info " + ev.Title
		case agent.PromptStored: // TestTurn_PromptStored
			continue
		case agent.Noticed:
			line = "notice " + ev.Title
		}
		last = id
		lines = append(lines, line)
	}
	return lines
}

func (w *world) prompt(text string) agent.TurnResult {
	return w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: text}}}).Wait(w.t.Context())
}

// speak replaces the model's script. Gates belong to the synctest bubble, so steps that contain one must be created inside it.
func (w *world) speak(steps ...providertest.Step) {
	w.script = providertest.NewScript(w.script.Info(), steps...)
}

func (w *world) wantStory(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.story()); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// noFiles is a workspace without files.
type noFiles struct{}

func (noFiles) ReadFile(context.Context, string) ([]byte, error)  { return nil, fs.ErrNotExist }
func (noFiles) WriteFile(context.Context, string, []byte) error   { return fs.ErrPermission }
func (noFiles) Remove(context.Context, string) error              { return fs.ErrNotExist }
func (noFiles) Rename(context.Context, string, string) error      { return fs.ErrNotExist }
func (noFiles) Stat(context.Context, string) (os.FileInfo, error) { return nil, fs.ErrNotExist }

func (noFiles) ReadDir(context.Context, string) ([]os.DirEntry, error) { return nil, fs.ErrNotExist }
func (noFiles) RealPath(p string) string                               { return p }

// input is the input of the test tools.
type input struct {
	Say string `json:"say,omitzero"`
}

// testTool returns a tool that runs fn.
func testTool(name string, exclusive bool, effects []approval.Effect, fn func(ctx context.Context, in *input) (*agent.Result, error)) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: name, Kind: agent.KindOther, Exclusive: exclusive,
		Plan: func(_ context.Context, _ *agent.Call, in *input) (*agent.CallPlan, error) {
			return &agent.CallPlan{Title: name + " " + in.Say, Effects: effects}, nil
		},
		Run: func(ctx context.Context, _ *agent.Call, in *input) (*agent.Result, error) { return fn(ctx, in) },
	})
}

func echoTool() agent.Tool {
	return testTool("echo", false, nil, func(_ context.Context, in *input) (*agent.Result, error) {
		return &agent.Result{Text: in.Say}, nil
	})
}

// fakeBoundary is a boundary in which commands are said to run. The tools of these tests run none.
func fakeBoundary() boundary.Settings {
	return boundary.Settings{Use: boundary.Auto, Find: func() (string, error) { return "bubblewrap", nil }}
}

// run runs fn in a synctest bubble with a session whose model follows steps.
func run(t *testing.T, change func(*agent.Options), fn func(w *world), steps ...providertest.Step) {
	synctest.Test(t, func(t *testing.T) {
		info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 1000}
		w := &world{t: t, log: new(memoryLog), script: providertest.NewScript(info, steps...)}
		var ids atomic.Int64 // children of one call get their IDs concurrently
		opts := agent.Options{
			ID:           "s1",
			Environment:  agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
			Interaction:  agent.Interaction{Approver: w, Policy: approval.Policy{Boundary: fakeBoundary()}},
			ModelOptions: agent.ModelOptions{Models: w, Model: info},
			Conversation: agent.Conversation{Log: w.log},
			Tools:        agent.Tools{echoTool()},
			Mode:         approval.ModeDefault,
			Emit:         w.emit,
			OS:           "linux",
			NewID:        func() string { return fmt.Sprintf("m%d", ids.Add(1)) },
		}
		opts.Subagent = around(w)
		if change != nil {
			change(&opts)
		}
		w.session = agent.New(opts)
		fn(w)
		if err := w.session.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if opts.Log == agent.Log(w.log) && !w.log.closed {
			t.Error("the log was not closed")
		}
	})
}
