package main

import (
	"encoding/json"
	"fmt"
)

// rules are the protocol's rules of order that a schema cannot express: no update of a session before the editor knows
// it, nothing of a turn outside of it, and every tool call ends in its turn.
type rules struct {
	sessions map[string]*sessionRules
	client   *capabilities
}

// capabilities are those of a client that permit updates and requests.
type capabilities struct {
	FS struct {
		ReadTextFile, WriteTextFile bool
	}
	Terminal bool
	Session  *struct {
		Notices, Compaction json.RawMessage
	}
	Plan, Subagents json.RawMessage
	Elicitation     *struct {
		Form, URL json.RawMessage
	}
	// Meta has the extension with which a client sees the turns of others, and outlives its servers.
	Meta struct {
		Attach bool `json:"gjc/attach"`
	} `json:"_meta"`
}

// attaches reports whether the client has the extension.
func (c *capabilities) attaches() bool { return c != nil && c.Meta.Attach }

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// allows reports whether the client has asked for an update or a request, by its name.
func (c *capabilities) allows(name string) bool {
	switch name {
	case "fs/read_text_file":
		return c.FS.ReadTextFile
	case "fs/write_text_file":
		return c.FS.WriteTextFile
	case "terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release":
		return c.Terminal
	case "elicitation/create":
		return c.Elicitation != nil && (given(c.Elicitation.Form) || given(c.Elicitation.URL))
	case "notice":
		return c.Session != nil && given(c.Session.Notices)
	case "compaction_update", "compaction_summary_chunk":
		return c.Session != nil && given(c.Session.Compaction)
	case "plan_update", "plan_removed":
		return given(c.Plan)
	case "subagent_update", "session_message", "session_message_chunk":
		return given(c.Subagents)
	default:
		return true
	}
}

type sessionRules struct {
	// known is set if the editor has received or sent the session's ID.
	known bool
	// busy counts the open prompts and loads.
	busy int
	// cut is set from when "gjc connect" has lost the connection in a turn until the next turn is over: what becomes of the former follows outside
	// it, or not at all.
	cut bool
	// calls has the tool calls, and whether they have ended.
	calls map[string]bool
}

func newRules() rules {
	return rules{sessions: make(map[string]*sessionRules), client: new(capabilities)}
}

func (r rules) session(id string) *sessionRules {
	s := r.sessions[id]
	if s == nil {
		s = &sessionRules{calls: make(map[string]bool)}
		r.sessions[id] = s
	}
	return s
}

// asks records a request from the editor.
func (r rules) asks(a asked) {
	switch a.method {
	case "initialize":
		*r.client = a.ClientCapabilities
	case "session/load":
		r.session(a.SessionID).known = true
		r.session(a.SessionID).busy++
	case "session/resume":
		r.session(a.SessionID).known = true
	case "session/prompt":
		r.session(a.SessionID).busy++
	}
}

// answered records a response from gjc; an error has no result.
func (r rules) answered(a asked, result json.RawMessage) error {
	switch a.method {
	case "session/new", "session/fork":
		var resp struct {
			SessionID string `json:"sessionId"`
		}
		if err := json.Unmarshal(result, &resp); result != nil && err != nil {
			return err
		}
		if result != nil {
			r.session(resp.SessionID).known = true
		}
	case "session/load", "session/prompt":
		s := r.session(a.SessionID)
		s.busy--
		if s.cut && result != nil {
			clear(s.calls)
			s.cut = false
		}
		for id, ended := range s.calls {
			if !ended && s.busy == 0 && !s.cut && !r.client.attaches() {
				return fmt.Errorf("%s is answered, but the tool call %s is left open", a.method, id)
			}
		}
	}
	return nil
}

// request checks a request from gjc.
func (r rules) request(method string, params json.RawMessage) error {
	var p struct {
		SessionID string `json:"sessionId"`
		ToolCall  struct {
			ToolCallID string `json:"toolCallId"`
		} `json:"toolCall"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	if !r.client.allows(method) {
		return fmt.Errorf("%s was not advertised by the editor", method)
	}
	if method == "mcp/message" {
		return nil // it is about a server, not a session
	}
	s := r.session(p.SessionID)
	if !s.known {
		return fmt.Errorf("%s for the session %q, which the editor does not know", method, p.SessionID)
	}
	if id := p.ToolCall.ToolCallID; id != "" {
		if ended, known := s.calls[id]; !known || ended {
			return fmt.Errorf("%s for the tool call %q, which is not open", method, id)
		}
	}
	return nil
}

// notification checks a notification from gjc.
func (r rules) notification(method string, params json.RawMessage) error {
	if method != "session/update" {
		return nil
	}
	var p struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			SessionUpdate string `json:"sessionUpdate"`
			ToolCallID    string `json:"toolCallId"`
			Status        string `json:"status"`
			SessionID     string `json:"sessionId"` // of a child
		} `json:"update"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	u := p.Update
	if !r.client.allows(u.SessionUpdate) {
		return fmt.Errorf("%s was not advertised by the editor", u.SessionUpdate)
	}
	s := r.session(p.SessionID)
	if !s.known {
		return fmt.Errorf("%s for the session %q, which the editor does not know", u.SessionUpdate, p.SessionID)
	}
	ended := u.Status == "completed" || u.Status == "failed"
	switch u.SessionUpdate {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		if s.busy == 0 && !s.cut && !r.client.attaches() {
			return fmt.Errorf("a %s while there is no turn", u.SessionUpdate)
		}
	}
	switch u.SessionUpdate {
	case "subagent_update":
		child := r.session(u.SessionID)
		child.known, child.busy = true, 1 // it may send updates as long as its parent's turn runs
	case "tool_call":
		s.calls[u.ToolCallID] = ended
	case "tool_call_update":
		if was, known := s.calls[u.ToolCallID]; !known || was {
			return fmt.Errorf("an update of the tool call %q, which is not open", u.ToolCallID)
		}
		s.calls[u.ToolCallID] = ended
	}
	return nil
}
