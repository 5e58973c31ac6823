package agent

import (
	"github.com/gajae-code/gjc/providers"
)

// liveCall is a call of the running turn whose result is not in the log yet, as it was told so far. It is the actor's.
type liveCall struct {
	id string
	// started is nil as long as the call is not announced, ended as long as it is open. progress is the last report that
	// says all of it.
	started  *ToolStarted
	progress *ToolProgress
	ended    *ToolEnded
	said     *MessageDelta
}

// recorded makes the calls of an answer live, and ends that for a call that has its result. It runs on the actor, in the
// step that makes m part of the log.
func (t *Turn) recorded(m *providers.Message) {
	for _, c := range m.ToolCalls() {
		t.calls = append(t.calls, &liveCall{id: c.ID})
	}
	if m.Role != providers.RoleTool {
		return
	}
	for i, c := range t.calls {
		if c.id == m.ToolCallID {
			t.calls = append(t.calls[:i:i], t.calls[i+1:]...)
			return
		}
	}
}

// note takes note of an event about a live call and reports whether it is to be told: each call starts and ends once,
// and has nothing to tell outside of that. It runs on the actor.
func (t *Turn) note(ev Event) bool {
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
		c := t.open(ev.CallID)
		if c == nil {
			return false
		}
		c.ended = &ev
	case MessageDelta:
		for _, c := range t.calls {
			if ev.MessageID == c.id+saidSuffix {
				c.said = &ev
			}
		}
	default:
	}
	return true
}

// live returns the live call of that id; nil for none.
func (t *Turn) live(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// open returns the live call of that id that has been told and has not ended.
func (t *Turn) open(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id && c.started != nil && c.ended == nil {
			return c
		}
	}
	return nil
}

// openCalls counts them.
func (t *Turn) openCalls() int {
	n := 0
	for _, c := range t.calls {
		if c.started != nil && c.ended == nil {
			n++
		}
	}
	return n
}

// endOpenCalls brings every open call of t to its terminal status. It runs on the actor.
func (s *Session) endOpenCalls(t *Turn, why string) {
	for _, c := range t.calls {
		if c.started != nil && c.ended == nil {
			s.emit(ToolEnded{CallID: c.id, Failed: true, Content: []Content{TextContent{why}}})
		}
	}
	t.calls = nil
}
