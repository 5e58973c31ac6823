package agent_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func reportUsage(input, output int) providertest.Action {
	return providertest.ReportUsage(providers.Usage{Input: input, Output: output})
}

// spent checks the sums of the session, of the log, and of a session made from the log: the number of answers, their
// usage and cost, and the number of those with unknown usage. It returns how many of the others were interrupted.
func (w *world) spent(requests, input, output, unreported int) (cut int) {
	w.t.Helper()
	check := func(who string, s *agent.Session) {
		w.t.Helper()
		all, err := s.Spending()
		if err != nil {
			w.t.Fatal(err)
		}
		if who == "the session" && len(all.Models) > 0 {
			cut = all.Models[0].Cut
		}
		var want []sessions.Use
		if requests > 0 {
			price := float64(input + 10*output)
			want = []sessions.Use{{
				Provider: "test", Model: w.script.Info().ID, Requests: requests, Unreported: unreported, Cut: cut, Usage: providers.Usage{Input: input, Output: output},
				Price: providers.Price{Input: float64(input), Output: 10 * float64(output), Total: price},
			}}
		}
		if d := cmp.Diff(want, all.Models); d != "" {
			w.t.Errorf("%s (-want +got):\n%s", who, d)
		}
		// An answer with unknown usage does not hide the cost of the others.
		wantCost := float64(input + 10*output)
		if snap, err := s.Snapshot(); err != nil || snap.CostUSD != wantCost {
			w.t.Errorf("%s: the cost is %v, want %v; %v", who, snap.CostUSD, wantCost, err)
		}
	}
	check("the session", w.session)
	before, err := w.session.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	history, err := w.log.Messages()
	if err != nil {
		w.t.Fatal(err)
	}
	again := agent.New(agent.Options{
		ID:           "s2",
		Environment:  agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
		Interaction:  agent.Interaction{Approver: w},
		ModelOptions: agent.ModelOptions{Models: w, Model: before.Model},
		Conversation: agent.Conversation{Log: new(memoryLog), History: history, Uses: sessions.UsesOf(branchOf(w.t, w.log))},
		Emit:         func(agent.Event) {},
	})
	defer func() {
		if err := again.Close(w.t.Context()); err != nil {
			w.t.Error(err)
		}
	}()
	check("loaded", again)
	if after, err := again.Snapshot(); err != nil || after.Usage != before.Usage {
		w.t.Errorf("loaded: the window is filled by %+v, before by %+v; %v", after.Usage, before.Usage, err)
	}
	return cut
}

// usages returns the events about the window and the cost.
func usages(w *world) (all []agent.UsageChanged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		if ev, ok := ev.(agent.UsageChanged); ok {
			all = append(all, ev)
		}
	}
	return all
}

func priced(o *agent.Options) {
	noJitter(o)
	o.Model.Cost = dear
}

// The usage of an interrupted or dropped answer counts once in the turn, the session and the log.
func TestCutOff_Counts(t *testing.T) {
	fail := func(kind providers.ErrorKind) providertest.Action {
		return providertest.Fail(&providers.Error{Kind: kind, Provider: "test", Message: "no"})
	}
	whole := providertest.Step{providertest.Text("ok"), using(4, 1)}
	repeated := func(begin ...providertest.Action) providertest.Step {
		return append(begin, loop("", "I will do it.\n")...)
	}
	for _, tt := range []struct {
		name                                string
		steps                               []providertest.Step
		requests, input, output, unreported int
		cut                                 int
		failed                              bool
	}{
		{
			"broken and asked for again",
			[]providertest.Step{{reportUsage(3, 0), providertest.Text("half"), reportUsage(3, 2), fail(providers.KindNetwork)}, whole},
			2, 3 + 4, 2 + 1, 0, 1, false,
		},
		{
			"broken twice, the first time before it began",
			[]providertest.Step{{fail(providers.KindOverloaded)}, {reportUsage(3, 1), fail(providers.KindServer)}, whole},
			2, 3 + 4, 1 + 1, 0, 1, false,
		},
		{"refused", []providertest.Step{{fail(providers.KindAuth)}}, 0, 0, 0, 0, 0, true},
		{"never reached", slices.Repeat([]providertest.Step{{fail(providers.KindNetwork)}}, 4), 0, 0, 0, 0, 0, true},
		{
			"broken each time",
			slices.Repeat([]providertest.Step{{reportUsage(3, 1), providertest.Text("half"), fail(providers.KindNetwork)}}, 4),
			4, 4 * 3, 4 * 1, 0, 4, true,
		},
		{"failed for good with nothing said", []providertest.Step{{reportUsage(3, 1), fail(providers.KindInvalid)}}, 1, 3, 1, 0, 1, true},
		{
			"failed for good in a call",
			[]providertest.Step{{reportUsage(3, 1), providertest.Call("c", "echo", `{"a`), fail(providers.KindInvalid)}},
			1, 3, 1, 0, 1, true,
		},
		{"the end has the last word", []providertest.Step{{reportUsage(9, 9), providertest.Text("a"), reportUsage(8, 8), using(4, 1)}}, 1, 4, 1, 0, 0, false},
		{"repeated", []providertest.Step{repeated(reportUsage(3, 2)), whole}, 2, 3 + 4, 2 + 1, 0, 1, false},
		{"repeated twice", []providertest.Step{repeated(reportUsage(3, 2)), repeated(reportUsage(5, 2))}, 2, 8, 4, 0, 2, true},
		{
			"repeated in a call",
			[]providertest.Step{{reportUsage(3, 2), providertest.Call("c", "echo", slices.Repeat([]string{"\n\n  "}, 100_000)...)}, whole},
			2, 3 + 4, 2 + 1, 0, 1, false,
		},
		{
			"empty each time", slices.Repeat([]providertest.Step{{reportUsage(9, 9), providertest.Text(" "), using(3, 1)}}, 3),
			3, 9, 3, 0, 0, true,
		},
		{"begun, and no word of the usage", []providertest.Step{{reportUsage(0, 0), fail(providers.KindNetwork)}, whole}, 2, 4, 1, 1, 0, false},
		{"something said, and no word of the usage", []providertest.Step{{providertest.Think("hm"), fail(providers.KindInvalid)}}, 1, 0, 0, 1, 0, true},
		{"repeated, and no word of the usage", []providertest.Step{repeated(), whole}, 2, 4, 1, 1, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, priced, func(w *world) {
				r := w.prompt("go")
				if (r.Err != nil) != tt.failed || r.Usage != (providers.Usage{Input: tt.input, Output: tt.output}) {
					t.Errorf("the turn: %+v", r)
				}
				if cut := w.spent(tt.requests, tt.input, tt.output, tt.unreported); cut != tt.cut {
					t.Errorf("%d answers were cut off, want %d", cut, tt.cut)
				}
			}, tt.steps...)
		})
	}
}

// A protocol leak is detected when the answer is complete. Usage reported earlier is not added to the usage at its end.
func TestCutOff_Leak(t *testing.T) {
	run(
		t, func(o *agent.Options) { priced(o); o.Model.ID = "gpt-5.4" }, func(w *world) {
			w.script = providertest.NewScript(
				providers.ModelInfo{Provider: "test", ID: "gpt-5.4"},
				providertest.Step{reportUsage(3, 1), providertest.Text("analysis to=functions.echo code 大发时时彩"), using(3, 5)},
				providertest.Step{reportUsage(4, 0), providertest.Text("ok"), using(4, 1)},
			)
			if r := w.prompt("go"); r.Err != nil || r.Usage != (providers.Usage{Input: 7, Output: 6}) {
				t.Errorf("%+v", r)
			}
			w.spent(2, 7, 6, 0)
		},
	)
}

// An answer that the user cancels is charged with the usage reported so far. The cost is reported with the turn's end; the fill
// level of the window stays as of the last complete answer.
func TestCutOff_Cancelled(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		step                      providertest.Step
		input, output, unreported int
		kept                      bool
	}{
		{"in a text", providertest.Step{reportUsage(3, 0), providertest.Text("half"), reportUsage(3, 2)}, 3, 2, 0, true},
		{"before a word", providertest.Step{reportUsage(3, 0)}, 3, 0, 0, false},
		{"nothing known", providertest.Step{providertest.Text("half")}, 0, 0, 1, true},
		{"begun, nothing known", providertest.Step{reportUsage(0, 0)}, 0, 0, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, priced, func(w *world) {
				gate := providertest.NewGate()
				w.speak(providertest.Step{providertest.Text("one"), using(10, 1)}, append(tt.step, gate.Hold()))
				if r := w.prompt("go"); r.Err != nil {
					t.Fatal(r.Err)
				}
				turn := w.session.Prompt(agent.Prompt{Parts: words("more")})
				<-gate.Reached()
				synctest.Wait()
				w.session.Cancel()
				r := turn.Wait(w.t.Context())
				if r.Stop != agent.StopCancelled || r.Usage != (providers.Usage{Input: tt.input, Output: tt.output}) {
					t.Errorf("the turn: %+v", r)
				}
				w.spent(2, 10+tt.input, 1+tt.output, tt.unreported)
				snap, err := w.session.Snapshot()
				if err != nil || snap.Usage != (providers.Usage{Input: 10, Output: 1}) {
					t.Errorf("the window is filled by %+v; %v", snap.Usage, err)
				}
				want := []agent.UsageChanged{{Used: 11, Size: 1000, CostUSD: 20}}
				if snap.CostUSD != 20 {
					want = append(want, agent.UsageChanged{Used: 11, Size: 1000, CostUSD: snap.CostUSD})
				}
				if d := cmp.Diff(want, usages(w)); d != "" {
					t.Errorf("got (-want +got):\n%s", d)
				}
				if history, _ := w.log.Messages(); (len(history) == 4) != tt.kept {
					t.Errorf("%d messages", len(history))
				}
			})
		})
	}
}

// A turn that ends before an answer reports no cost.
func TestCutOff_NothingBegan(t *testing.T) {
	run(t, priced, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.Hold()})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		<-gate.Reached()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled || r.Usage != (providers.Usage{}) {
			t.Errorf("the turn: %+v", r)
		}
		w.spent(0, 0, 0, 0)
		if all := usages(w); len(all) != 0 {
			t.Errorf("got %+v", all)
		}
	})
}

// stubborn is a model that ignores its context.
type stubborn struct {
	providers.Model
	release chan struct{}
}

func (s stubborn) Stream(context.Context, *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		if !yield(providers.UsageSoFar{Usage: providers.Usage{Input: 3}}, nil) || !yield(providers.TextDelta{Text: "half"}, nil) {
			return
		}
		<-s.release
		if yield(providers.UsageSoFar{Usage: providers.Usage{Input: 3, Output: 2}}, nil) {
			yield(nil, errors.New("the answer goes on after its end"))
		}
	}
}

// opening provides a single model.
type opening struct {
	*world
	model providers.Model
}

func (o opening) Open(context.Context, providers.ModelInfo) (providers.Model, error) {
	return o.model, nil
}

// Usage that becomes known only after its turn was disowned belongs to the session, and is reported.
func TestCutOff_OfATurnThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, log: new(memoryLog), script: providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", Cost: dear})}
		model := stubborn{w.script, make(chan struct{})}
		w.session = agent.New(agent.Options{
			ID:           "s1",
			Environment:  agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
			Interaction:  agent.Interaction{Approver: w},
			ModelOptions: agent.ModelOptions{Models: opening{w, model}, Model: w.script.Info()},
			Conversation: agent.Conversation{Log: w.log},
			Emit:         w.emit,
			NewID:        func() string { return "m" },
		})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("%+v", r)
		}
		w.spent(0, 0, 0, 0)
		close(model.release)
		synctest.Wait()
		w.spent(1, 3, 2, 0)
		if all := usages(w); len(all) != 1 || all[0].CostUSD != 3+10*2 {
			t.Errorf("got %+v", all)
		}
		if err := w.session.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Interrupted answers of titles and helper agents count too.
func TestCutOff_TitlesAndHelpers(t *testing.T) {
	run(t, func(o *agent.Options) {
		priced(o)
		o.TitleModel = func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }
	}, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		synctest.Wait() // wait for the title
		w.spent(2, 4+3, 1+2, 0)
	}, providertest.Step{providertest.Text("ok"), using(4, 1)}, providertest.Step{reportUsage(3, 2), providertest.Fail(busy())})

	helper := agent.NewTool(agent.ToolFuncs[input]{
		Name: "helper", Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
			_, err := call.Task(ctx, agent.Task{Title: "sub", Prompt: "do it"})
			return &agent.Result{}, err
		},
	})
	invalid := providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})
	for _, tt := range []struct {
		broken                       []providertest.Step
		n, input, output, unreported int
	}{
		{[]providertest.Step{{reportUsage(3, 2), providertest.Text("half"), invalid}}, 1, 3, 2, 0},
		{[]providertest.Step{{reportUsage(3, 2), providertest.Fail(busy())}, {providertest.Text("half"), invalid}}, 2, 3, 2, 1},
	} {
		steps := append([]providertest.Step{{providertest.Call("c", "helper", `{}`), using(1, 1)}}, tt.broken...)
		run(t, func(o *agent.Options) { priced(o); o.Tools = agent.Tools{helper} }, func(w *world) {
			if r := w.prompt("go"); r.Err != nil || r.Usage != (providers.Usage{Input: 5 + tt.input, Output: 2 + tt.output}) {
				t.Errorf("%+v", r)
			}
			if cut := w.spent(2+tt.n, 5+tt.input, 2+tt.output, tt.unreported); cut != 1 {
				t.Errorf("%d answers were cut off", cut)
			}
		}, append(steps, providertest.Step{providertest.Text("ok"), using(4, 1)})...)
	}
}
