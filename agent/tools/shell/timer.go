package shell

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// The range of a timer, in seconds, and the bound of its note, in characters.
const (
	minTimer = 1.0
	maxTimer = 24 * 3600.0
	maxNote  = 1000
)

// timerLine describes a timer in the result of the call that has started it: its job, its end and its note. lostTimers reads it.
const timerLine = "%s is a timer until %s: %s"

// noNote stands for the note of a timer without one.
const noNote = "no note"

// startTimer starts a job that ends after a time, and describes it.
func startTimer(ctx context.Context, call *agent.Call, in *jobInput) (string, error) {
	all := jobsOf(call)
	if err := all.room(); err != nil {
		return "", err
	}
	d := time.Duration(in.After * float64(time.Second))
	note := cmp.Or(text.Truncate(text.OneLine(in.Note), maxNote), noNote)
	due := time.Now().Add(d)
	b := all.adopt(ctx, &job{title: "timer: " + note, timer: true}, func(ctx context.Context) *agent.Result {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return &agent.Result{Text: "The time is over. Note: " + note}
		case <-ctx.Done():
			return &agent.Result{Text: "The timer was cancelled."}
		}
	})
	return fmt.Sprintf(timerLine, b.id, due.UTC().Format(time.RFC3339), note), nil
}

// lostTimers describes the timers of a conversation that was stored before they ended. They have ended with its process.
func lostTimers(history []providers.Message) []string {
	type timer struct{ id, note string }
	var open []timer
	var last time.Time
	for i := range history {
		if t := history[i].Time; t.After(last) {
			last = t
		}
	}
	for i := range history {
		m := &history[i]
		for _, c := range m.ToolCalls() {
			var in jobInput
			if c.Name == jobTool && jsonx.Unmarshal(c.Input, &in) == nil {
				open = slices.DeleteFunc(open, func(t timer) bool { return slices.Contains(in.Cancel, t.id) })
			}
		}
		if m.Role != providers.RoleTool || m.ToolName != jobTool || m.IsError {
			continue
		}
		for line := range strings.Lines(m.Text()) {
			id, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " is a timer until ")
			until, note, ok2 := strings.Cut(rest, ": ")
			due, err := time.Parse(time.RFC3339, until)
			if ok && ok2 && err == nil && due.After(last) && strings.HasPrefix(id, "job-") {
				open = append(open, timer{id, note})
			}
		}
	}
	var lost []string
	for _, t := range open {
		lost = append(lost, "A timer of this session was lost when gjc ended: "+t.note+".")
	}
	return lost
}
