package shell_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// bell counts how often the values of a session wake it.
type bell struct{ rung chan struct{} }

func (b bell) Wake() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// A timer is a job: it is listed, ends at its time, wakes the session, and gives its note back. Each event is reported once to the user and
// once to the model.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := toolstest.NewWorld(t, nil)
		ring := bell{make(chan struct{}, 1)}
		agent.SetValue(w.Values, ring)
		res := toolstest.Run(t, w, "job", toolstest.Input{"after": 90, "note": "look at\nthe build"})
		if !strings.HasPrefix(res.Text, "job-1 is a timer until 2000-01-01T00:01:30Z: look at the build\n") {
			t.Errorf("got %q", res.Text)
		}
		toolstest.Run(t, w, "job", toolstest.Input{"after": 1000})
		if text := toolstest.Run(t, w, "job", toolstest.Input{"list": true, "cancel": []string{"job-2"}}).Text; !strings.Contains(text, "job-1 runs for 0s: timer: look at the build") {
			t.Errorf("the list is %q", text)
		}
		if shell.JobsRunning(w.Values) {
			t.Error("a timer counts as a job that can change files")
		}
		time.Sleep(89 * time.Second)
		synctest.Wait()
		late(w)
		<-ring.rung // of the cancelled one
		if w.Values.Waits() {
			t.Error("the timer has ended too early")
		}
		time.Sleep(time.Second)
		<-ring.rung
		if !w.Values.Waits() {
			t.Error("nothing waits")
		}
		if d := cmp.Diff([]string{"job-1 has ended: timer: look at the build"}, w.Values.Notify()); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		if got := w.Values.Notify(); len(got) > 0 {
			t.Errorf("the user is notified twice: %q", got)
		}
		title, text := late(w)
		if title != "" || !strings.Contains(text, "Background job job-1 has ended after 1m30s: timer: look at the build\nThe time is over. Note: look at the build") {
			t.Errorf("report %q: %q", title, text)
		}
		if w.Values.Waits() {
			t.Error("a reported timer waits")
		}
	})
}

// A job that its user ends is no news: nothing waits, and the model learns of it with the next report.
func TestTimer_EndedByTheUser(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	toolstest.Run(t, w, "job", toolstest.Input{"after": 1000})
	if _, err := shell.CancelJobs(t.Context(), w.Values, []string{"job-1"}); err != nil {
		t.Fatal(err)
	}
	if got := w.Values.Notify(); w.Values.Waits() || len(got) > 0 {
		t.Errorf("waits %v, notifies %q", w.Values.Waits(), got)
	}
	if _, text := late(w); !strings.Contains(text, "The timer was cancelled.") {
		t.Errorf("report %q", text)
	}
}

func TestTimer_Refused(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	for _, in := range []toolstest.Input{{"after": 0.5}, {"after": -1}, {"after": 86401}, {"note": "x", "list": true}, {}} {
		toolstest.Fails(t, w, "job", in)
	}
}

// The timers that had not ended when a conversation was stored are lost, unless they were cancelled.
func TestLostTimers(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	job := func(id, input, result string) []providers.Message {
		c := providers.ToolCall{ID: id, Name: "job", Input: []byte(input)}
		r := providertest.ResultOf(c, result)
		return []providers.Message{{Role: providers.RoleAssistant, Parts: []providers.Part{c}, Time: at}, r}
	}
	var history []providers.Message
	history = append(history, job("1", `{"after":60}`, "job-1 is a timer until 2026-01-01T12:01:00Z: cancelled\n")...)
	history = append(history, job("2", `{"after":60}`, "job-2 is a timer until 2026-01-01T12:01:00Z: the build: green?\n\nMore.")...)
	history = append(history, job("3", `{"after":60}`, "job-3 is a timer until 2026-01-01T11:59:00Z: over\n")...)
	history = append(history, job("4", `{"after":60}`, "job-4 is a timer until noon: odd\n")...)
	history = append(history, job("5", `{"cancel":["job-1"]}`, "job-1 has ended")...)
	want := []string{"A timer of this session was lost when gjc ended: the build: green?."}
	if d := cmp.Diff(want, lost(history)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := lost(nil); got != nil {
		t.Errorf("no history lost %q", got)
	}
}

func lost(history []providers.Message) []string { return shell.LostJobs(agent.NewValues(nil), history) }

// The commands and helpers whose end is not in a stored conversation are lost, once.
func TestLostJobs(t *testing.T) {
	call := func(name, input, result string) []providers.Message {
		c := providers.ToolCall{ID: "c" + input, Name: name, Input: []byte(input)}
		return []providers.Message{{Role: providers.RoleAssistant, Parts: []providers.Part{c}}, providertest.ResultOf(c, result)}
	}
	says := func(text string) []providers.Message {
		return []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}}
	}
	history := slices.Concat(
		call("bash", `{"command":"make a"}`, "The command runs in the background as job-1. You will be notified when it ends."),
		call("bash", `{"command":"make b"}`, "The command is taking longer than 1m0s and continues in the background as job-2. You will be notified."),
		call("task", `{}`, "- job-3: the helper scout works on: look\n- job-4: the helper t.2 works on: see\n\nYou will be notified when each ends."),
		call("bash", `{"command":"cat notes"}`, "As notes say, the command runs in the background as job-9."),
		says("go on\n\nBackground job job-1 has failed after 2s: make a\n"),
		call("job", `{"poll":["job-3"]}`, "Background job job-3 has ended after 1s: helper scout: look\nthe report"),
	)
	want := []string{"A background command of this session was lost when gjc ended: make b.", "The helper t.2 of this session was lost when gjc ended: see."}
	values := agent.NewValues(nil)
	if d := cmp.Diff(want, shell.LostJobs(values, history)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	var report strings.Builder
	for _, r := range values.Reports() {
		report.WriteString(r.Text)
	}
	if !strings.Contains(report.String(), "job-2 was lost") || !strings.Contains(report.String(), "job-4 was lost") || strings.Contains(report.String(), "job-3") {
		t.Errorf("the model receives %q", report.String())
	}
	if again := values.Reports(); len(again) > 0 {
		t.Errorf("it receives %q again", again)
	}
	history = append(history, says("more\n\n"+report.String())...)
	if got := lost(history); got != nil {
		t.Errorf("the same are lost again: %q", got)
	}
	history = append(history, call("bash", `{"command":"make c"}`, "The command runs in the background as job-2. You will be notified.")...)
	if got := lost(history); len(got) != 1 || !strings.Contains(got[0], "make c") {
		t.Errorf("after a restart: %q", got)
	}
}

// late returns the reports that a session sends to the model after its calls.
func late(w *toolstest.World) (title, text string) {
	for _, r := range w.Values.Reports() {
		title, text = title+r.Title, text+r.Text
	}
	return title, text
}
