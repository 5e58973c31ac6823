package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// A tool whose Plan panics fails only its own call.
func TestTurn_PlanPanics(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "broken",
			Plan: func(context.Context, *agent.Call, *input) (*agent.CallPlan, error) { panic("oops") },
			Run:  func(context.Context, *agent.Call, *input) (*agent.Result, error) { return nil, errors.New("ran") },
		})}
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn {
			t.Errorf("result %+v", r)
		}
		w.wantStory("info go", "start c1 broken", "fail c1: internal error in the tool broken: oops", "agent: fine", "info go")
	}, providertest.Step{providertest.Call("c1", "broken", `{}`)}, providertest.Step{providertest.Text("fine")})
}

// hookedLog calls a function after each answer of the model that it stores.
type hookedLog struct {
	*memoryLog
	answered func()
}

func (l *hookedLog) AppendMessage(m *providers.Message) (string, error) {
	if m.Role == providers.RoleAssistant {
		l.answered()
	}
	return l.memoryLog.AppendMessage(m)
}

// A turn that was asked to stop is answered cancelled, even if it ended at the same time.
func TestCancel_CrossesTheEnd(t *testing.T) {
	for _, stop := range []providers.StopReason{providers.StopEnd, providers.StopRefusal, providers.StopLength} {
		var w *world
		run(t, func(o *agent.Options) {
			o.Log = &hookedLog{o.Log.(*memoryLog), func() { w.session.Cancel() }}
		}, func(it *world) {
			w = it
			if r := w.prompt("go"); r.Stop != agent.StopCancelled || r.Err != nil {
				t.Errorf("%s: result %+v", stop, r)
			}
		}, providertest.Step{providertest.Text("x"), providertest.Stop(stop)})
	}
}

// Settings that the user changes while a turn runs stay changed when the turn is refused and undone.
func TestRefusal_KeepsTheOptions(t *testing.T) {
	store := sessions.NewStore(t.TempDir(), nil)
	log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	info := providers.ModelInfo{Provider: "test", ID: "script", Thinking: []providers.ThinkingLevel{"low", "high"}}
	other := info
	other.ID = "other"
	gate := providertest.NewGate()
	script := providertest.NewScript(info, providertest.Step{gate.Hold(), providertest.Text("no"), providertest.Stop(providers.StopRefusal)})
	s := agent.New(agent.Options{
		ID:           log.ID(),
		Environment:  agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
		ModelOptions: agent.ModelOptions{Models: &world{script: script}, Model: info},
		Conversation: agent.Conversation{Log: log},
		Mode:         approval.ModeDefault,
		Emit:         func(agent.Event) {},
		NewID:        func() string { return "m" },
		OS:           "linux",
	})
	turn := s.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
	<-gate.Reached()
	for _, change := range []agent.Pending{s.SetMode(approval.ModeStrict), s.SetModel(other, "high")} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	gate.Open()
	if r := turn.Wait(t.Context()); r.Stop != agent.StopRefusal {
		t.Errorf("result %+v", r)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if st := again.State(); st.Mode != "strict" || st.Model != "test/other" || st.Thinking != "high" {
		t.Errorf("the loaded session has mode %q, model %q, thinking %q", st.Mode, st.Model, st.Thinking)
	}
	if msgs, err := again.Messages(); err != nil || len(msgs) != 0 {
		t.Errorf("the loaded session has %d messages", len(msgs))
	}
}

// A request is charged at the price of the model that answered it, not of a model selected meanwhile.
func TestUsage_OfTheModelThatAnswered(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Model.Cost.Output = 1e6
	}, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.Hold(), providertest.Text("x"), providertest.Use(providers.Usage{Input: 1, Output: 5})})
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		synctest.Wait()
		if err := w.session.SetModel(providers.ModelInfo{Provider: "test", ID: "free", ContextWindow: 7}, "")(); err != nil {
			t.Fatal(err)
		}
		gate.Open()
		turn.Wait(w.t.Context())
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ev := range w.events {
			if u, ok := ev.(agent.UsageChanged); ok && (u.CostUSD != 5 || u.Size != 1000) {
				t.Errorf("usage %+v", u)
			}
		}
	})
}

// A request is charged at the price of the service tier that it requested, not of a tier selected meanwhile.
func TestUsage_OfTheTierThatWasAsked(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Model.Cost.Output, o.Model.ServiceTiers, o.Model.TierPrices = 1e6, []string{"default", "priority"}, map[string]float64{"priority": 2}
	}, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.Hold(), providertest.Text("x"), providertest.Use(providers.Usage{Input: 1, Output: 5})})
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		synctest.Wait()
		if err := w.session.Change(agent.ToServiceTier("priority"), nil)(); err != nil {
			t.Fatal(err)
		}
		gate.Open()
		turn.Wait(w.t.Context())
		if snap, err := w.session.Snapshot(); err != nil || snap.CostUSD != 5 {
			t.Errorf("the session cost %v, %v", snap.CostUSD, err)
		}
	})
}

// editorFiles counts the files that a session requests from its editor.
type editorFiles struct {
	noFiles
	asked []string
}

func (f *editorFiles) ReadFile(_ context.Context, path string) ([]byte, error) {
	f.asked = append(f.asked, path)
	return nil, fs.ErrNotExist
}

func (f *editorFiles) Stat(_ context.Context, path string) (os.FileInfo, error) {
	f.asked = append(f.asked, path)
	return nil, fs.ErrNotExist
}

// A replay describes another program's calls without reading the current files, because the editor waits for the end of
// session/load and answers no requests.
func TestReplay_AsksForNoFiles(t *testing.T) {
	files := new(editorFiles)
	run(t, func(o *agent.Options) {
		o.FS = files
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "peek",
			Plan: func(ctx context.Context, call *agent.Call, _ *input) (*agent.CallPlan, error) {
				_, err := call.FS.ReadFile(ctx, "/w/a")
				_, serr := call.FS.Stat(ctx, "/w/a")
				if err == nil || serr == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a replayed call's files: %v, %v", err, serr)
				}
				return &agent.CallPlan{Title: "Peek at a"}, nil
			},
			Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) { return nil, nil },
		})}
	}, func(w *world) {
		for _, m := range []providers.Message{
			{Role: providers.RoleAssistant, Parts: []providers.Part{providers.ToolCall{ID: "c1", Name: "peek", Input: []byte(`{}`)}}},
			{Role: providers.RoleTool, ToolCallID: "c1", Parts: []providers.Part{providers.Text{Text: "saw"}}},
		} {
			if _, err := w.log.AppendMessage(&m); err != nil {
				t.Fatal(err)
			}
		}
		events, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		for ev := range unfailing(events) {
			w.emit(ev)
		}
		w.wantStory("start c1 Peek at a", "end c1: saw", "notice The turn was interrupted.")
		if len(files.asked) > 0 {
			t.Errorf("the replay asked for %v", files.asked)
		}
	})
}

// The size of a call's events is bounded: a change in a large file is shown with the lines around it, and the input
// without its long texts.
func TestTool_HugeDiffAndInput(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	before := strings.Repeat(line, 5000) + "old\n" + strings.Repeat(line, 5000)
	after := strings.Repeat(line, 5000) + "new\n" + strings.Repeat(line, 5000)
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{testTool("change", true, nil, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "done", Content: []agent.Content{agent.DiffContent{Path: "/w/a", Old: &before, New: after}}}, nil
		})}
	}, func(w *world) {
		w.prompt("go")
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ev := range w.events {
			switch ev := ev.(type) {
			case agent.ToolStarted:
				var in input
				if err := jsonx.Unmarshal(ev.Input, &in); err != nil || len(ev.Input) > 20<<10 || !strings.HasPrefix(in.Say, "yyy") {
					t.Errorf("the input has %d bytes (%v)", len(ev.Input), err)
				}
				if len(ev.Title) > 1<<10 {
					t.Errorf("the title has %d bytes", len(ev.Title))
				}
			case agent.ToolEnded:
				d, ok := ev.Content[0].(agent.DiffContent)
				if !ok {
					t.Fatalf("%+v", ev)
				}
				if len(*d.Old)+len(d.New) > 5<<10 || !strings.Contains(*d.Old, line+"old\n"+line) || !strings.Contains(d.New, line+"new\n"+line) {
					t.Errorf("the diff has %d and %d bytes", len(*d.Old), len(d.New))
				}
			default:
			}
		}
	},
		providertest.Step{providertest.Call("c1", "change", `{"say":"`+strings.Repeat("y", 100_000)+`"}`)},
		providertest.Step{providertest.Text("fine")})
}

// An AGENTS.md that is a symlink out of its directory is not sent to the model, because the user has not allowed reading the
// target.
func TestSystemPrompt_FollowsNoLinks(t *testing.T) {
	files := &linkedFiles{fewFiles{files: map[string]string{"/w/AGENTS.md": "the key", "/AGENTS.md": "Be kind."}}}
	var prompt string
	run(t, func(o *agent.Options) { o.FS = files }, func(w *world) { w.prompt("go") },
		providertest.Step{providertest.Check(func(req *providers.Request) { prompt = req.System }), providertest.Text("ok")})
	if strings.Contains(prompt, "the key") || !strings.Contains(prompt, "Be kind.") {
		t.Errorf("the system prompt:\n%s", prompt)
	}
}

type linkedFiles struct{ fewFiles }

func (linkedFiles) RealPath(path string) string {
	if path == "/w/AGENTS.md" {
		return "/home/u/.ssh/id_rsa"
	}
	return path
}
