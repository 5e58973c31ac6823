package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// shownWork is a value with a preview.
type shownWork struct{ preview *agent.Preview }

func (s *shownWork) Preview() *agent.Preview { return s.preview }

// previewTools configures the tools show, which creates a preview, settle, which removes it, and echo.
func previewTools(o *agent.Options) {
	o.Values = agent.NewValues(nil)
	work := agent.Value(o.Values, func() *shownWork { return new(shownWork) })
	o.Tools = agent.Tools{
		testTool("show", true, nil, func(_ context.Context, in *input) (*agent.Result, error) {
			work.preview = &agent.Preview{Tool: "settle", Title: "work " + in.Say, Reminder: "Work " + in.Say + " is pending."}
			return &agent.Result{Text: "shown"}, nil
		}),
		testTool("settle", true, nil, func(_ context.Context, in *input) (*agent.Result, error) {
			if in.Say == "fail" {
				return nil, errors.New("it does not work")
			}
			work.preview = nil
			return &agent.Result{Text: "settled"}, nil
		}),
		echoTool(),
	}
}

// forced returns the tools that the requests force.
func forced(w *world) []string {
	var all []string
	for _, req := range w.script.Requests() {
		all = append(all, req.ForceTool)
	}
	return all
}

// reminded returns the messages of the last request that remind the model of a preview.
func reminded(w *world) []string {
	var all []string
	reqs := w.script.Requests()
	for _, m := range reqs[len(reqs)-1].Messages {
		if text := m.Text(); m.Role == providers.RoleUser && strings.Contains(text, " is pending.") {
			all = append(all, text)
		}
	}
	return all
}

func TestPreview(t *testing.T) {
	const one, two = "<system-reminder>\nWork 1 is pending.\n</system-reminder>", "<system-reminder>\nWork 2 is pending.\n</system-reminder>"
	show1 := providertest.Step{providertest.Call("a", "show", `{"say":"1"}`)}
	show2 := providertest.Step{providertest.Call("b", "show", `{"say":"2"}`)}
	settle := providertest.Step{providertest.Call("c", "settle", `{}`)}
	failing := providertest.Step{providertest.Call("d", "settle", `{"say":"fail"}`)}
	other := providertest.Step{providertest.Call("e", "echo", `{"say":"x"}`)}
	broken := providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindOverloaded, Message: "busy"})}
	says := providertest.Step{providertest.Text("ok")}
	for _, tt := range []struct {
		name    string
		steps   []providertest.Step
		change  func(*agent.Options)
		forced  []string
		remind  []string
		notices []string
	}{
		{name: "settled at once", steps: []providertest.Step{show1, settle, says}, forced: []string{"", "settle", ""}},
		{name: "another call first", steps: []providertest.Step{show1, other, settle, says}, forced: []string{"", "settle", "", ""}, remind: []string{one}},
		{name: "words first", steps: []providertest.Step{show1, says, settle, says}, forced: []string{"", "settle", "", ""}, remind: []string{one}},
		{name: "a failure keeps it", steps: []providertest.Step{show1, failing, says, settle, says}, forced: []string{"", "settle", "", "", ""}, remind: []string{one}},
		{name: "another preview", steps: []providertest.Step{show1, show2, other, settle, says}, forced: []string{"", "settle", "settle", "", ""}, remind: []string{two}},
		{
			name: "a failed request", steps: []providertest.Step{show1, broken, settle, says}, forced: []string{"", "settle", "settle", ""},
			notices: []string{"The model call failed; trying again"},
		},
		{
			name: "never settled", steps: []providertest.Step{show1, says, other, says}, forced: []string{"", "settle", "", ""}, remind: []string{one, one},
			notices: []string{"Neither applied nor discarded: work 1"},
		},
		{
			name: "no request is left", steps: []providertest.Step{show1, says}, forced: []string{"", "settle"},
			change:  func(o *agent.Options) { o.MaxRequests = 2 },
			notices: []string{"Neither applied nor discarded: work 1"},
		},
		{
			name: "the tool is not offered", steps: []providertest.Step{show1, says}, forced: []string{"", ""},
			change: func(o *agent.Options) {
				o.Tools = agent.Tools(slices.DeleteFunc(o.Tools.Tools(), func(t agent.Tool) bool { return t.Spec().Name == "settle" }))
			},
			notices: []string{"Neither applied nor discarded: work 1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				previewTools(o)
				if tt.change != nil {
					tt.change(o)
				}
			}, func(w *world) {
				if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Errorf("%+v", r)
				}
				if diff := cmp.Diff(tt.forced, forced(w)); diff != "" {
					t.Errorf("forced (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.remind, reminded(w)); diff != "" {
					t.Errorf("reminders (-want +got):\n%s", diff)
				}
				got := notices(w)
				if len(got) != len(tt.notices) || len(got) > 0 && !strings.HasPrefix(got[0], tt.notices[0]) {
					t.Errorf("noticed %q, want %q", got, tt.notices)
				}
			}, tt.steps...)
		})
	}
}

// A preview that is pending at the end of a turn stays: the user is notified once, and the next turn begins with a reminder and forces
// nothing, because the user may want something else.
func TestPreview_Left(t *testing.T) {
	run(t, previewTools, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Call("a", "show", `{"say":"1"}`)}, providertest.Step{providertest.Text("so"), gate.Hold()})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		<-gate.Reached()
		turn.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("%+v", r)
		}
		if got := notices(w); !slices.Equal(got, []string{"Neither applied nor discarded: work 1"}) {
			t.Errorf("noticed %q", got)
		}
		ok := providertest.Step{providertest.Text("ok")}
		w.speak(ok, ok, ok)
		w.prompt("something else")
		w.prompt("and more")
		if diff := cmp.Diff([]string{"", "", ""}, forced(w)); diff != "" {
			t.Errorf("forced (-want +got):\n%s", diff)
		}
		if got := reminded(w); len(got) != 2 {
			t.Errorf("reminded with %q", got)
		}
		first := w.script.Requests()[0].Messages
		if text := first[len(first)-1].Text(); !strings.Contains(text, "Work 1 is pending.") {
			t.Errorf("the next turn begins with %q", text)
		}
		if got := notices(w); len(got) != 1 {
			t.Errorf("noticed %q", got)
		}
	})
}
