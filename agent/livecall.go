package agent

import (
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// liveCall is a call of the running turn that has not ended: its result is not in the log yet. The actor owns it.
type liveCall struct {
	id string
	// started is nil until the call is announced. progress is the sum of the reports since.
	started  *ToolStarted
	progress *ToolProgress
}

// recorded makes the calls of an answer live, in the step that makes m part of the log.
func (t *turnState) recorded(m *providers.Message) {
	for _, c := range m.ToolCalls() {
		t.calls = append(t.calls, &liveCall{id: c.ID})
	}
}

// forget removes a live call.
func (t *turnState) forget(id string) {
	if i := slices.IndexFunc(t.calls, func(c *liveCall) bool { return c.id == id }); i >= 0 {
		t.calls = slices.Delete(t.calls, i, i+1)
	}
}

// note records an event of a live call and reports whether to emit it: each call starts and ends once, and has no
// events before and after.
func (t *turnState) note(ev Event) bool {
	switch ev := ev.(type) {
	case ToolStarted:
		for _, c := range t.calls {
			if c.id == ev.CallID && c.started == nil { // models give two calls one id
				c.started = &ev
				return true
			}
		}
		t.calls = append(t.calls, &liveCall{id: ev.CallID, started: &ev})
	case ToolProgress:
		c := t.open(ev.CallID)
		if c == nil {
			return false
		}
		last := ToolProgress{CallID: c.id, Running: ev.Running, Content: ev.Content, Locations: ev.Locations}
		if c.progress != nil {
			last.Running = last.Running || c.progress.Running
			if last.Content == nil {
				last.Content = c.progress.Content
			}
			if last.Locations == nil {
				last.Locations = c.progress.Locations
			}
		}
		c.progress = &last
	case ToolEnded:
		if t.open(ev.CallID) == nil {
			return false
		}
		t.forget(ev.CallID)
	default:
	}
	return true
}

// live returns the live call of that id; nil for none.
func (t *turnState) live(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// open returns the live call of that id that has been announced.
func (t *turnState) open(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id && c.started != nil {
			return c
		}
	}
	return nil
}

// openCalls counts the announced calls that have not ended.
func (t *turnState) openCalls() int {
	n := 0
	for _, c := range t.calls {
		if c.started != nil {
			n++
		}
	}
	return n
}

// endOpenCalls emits the end of every open call of a turn.
func (st *state) endOpenCalls(t *turnState, why string) {
	for _, c := range t.calls {
		if c.started != nil {
			st.emit(ToolEnded{CallID: c.id, Failed: true, Content: []Content{TextContent{why}}})
		}
	}
	t.calls = nil
}
