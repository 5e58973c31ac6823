package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// wireMessage is any message.
type wireMessage struct {
	ID     jsonx.Raw `json:"id"`
	Method string    `json:"method"`
	Params jsonx.Raw `json:"params"`
	Result jsonx.Raw `json:"result"`
	Error  jsonx.Raw `json:"error"`
}

// messageMembers has the members of params or a result that the rules need.
type messageMembers struct {
	SessionID acp.SessionID `json:"sessionId"`
	Cwd       string        `json:"cwd"`
	Mode      string        `json:"mode"`
	Update    jsonx.Raw     `json:"update"`
	Options   []struct {
		Type string `json:"type"`
	} `json:"configOptions"`
	AuthMethods []struct {
		Type string    `json:"type"`
		Meta jsonx.Raw `json:"_meta"`
	} `json:"authMethods"`
}

// updateMembers has the members of an update that the rules need.
type updateMembers struct {
	Kind string `json:"sessionUpdate"`
	// SessionID is that of a child session.
	SessionID acp.SessionID `json:"sessionId"`
	Options   []struct {
		Type string `json:"type"`
	} `json:"configOptions"`
	Meta jsonx.Raw `json:"_meta"`
}

// Line checks one line in either direction; sent marks those of the editor. The error says why the editor does not tolerate the
// line. Line may be called from any goroutine.
func (w *editorWatch) Line(sent bool, line []byte) error {
	var m wireMessage
	if err := jsonx.Unmarshal(line, &m); err != nil {
		if sent {
			return nil // junk that a test sends
		}
		return fmt.Errorf("not a message: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if sent {
		w.sent(&m)
		return nil
	}
	err := w.received(&m)
	if w.profile.closedDecoder {
		err = errors.Join(err, w.decode(&m))
	}
	if m.Method == "" {
		delete(w.asked, string(m.ID))
	}
	return err
}

func (w *editorWatch) session(id acp.SessionID) *watchedSession {
	s := w.sessions[id]
	if s == nil {
		s = new(watchedSession)
		w.sessions[id] = s
	}
	return s
}

func (w *editorWatch) sent(m *wireMessage) {
	if m.Method == "" {
		delete(w.questions, string(m.ID))
		return
	}
	var p messageMembers
	_ = jsonx.Unmarshal(m.Params, &p) // a test's params may be anything
	if len(m.ID) == 0 {
		return
	}
	w.asked[string(m.ID)] = openRequest{m.Method, p.SessionID, p.Cwd}
	switch m.Method {
	case acp.MethodSessionLoad.Name, acp.MethodSessionResume.Name:
		// The editor knows the session as soon as it requests it.
		s := w.session(p.SessionID)
		s.cwd = p.Cwd
		if m.Method == acp.MethodSessionLoad.Name {
			s.turns++
		}
	case acp.MethodSessionPrompt.Name:
		w.session(p.SessionID).turns++
	}
}

func (w *editorWatch) received(m *wireMessage) error {
	if m.Method == "" {
		return w.answered(m)
	}
	var p messageMembers
	if err := jsonx.Unmarshal(m.Params, &p); err != nil {
		return fmt.Errorf("the params of %s: %w", m.Method, err)
	}
	switch {
	case m.Method == acp.MethodSessionUpdate.Name:
		return w.updated(&p)
	case len(m.ID) == 0 || strings.HasPrefix(m.Method, "_"):
		return nil // what it does not know is ignored
	case m.Method == acp.MethodSessionRequestPermission.Name:
		if w.profile.oneQuestion && len(w.questions) > 0 {
			return errors.New("a question while another one is open")
		}
		w.questions[string(m.ID)] = true
	}
	if !w.calls(m.Method, p.Mode) {
		return fmt.Errorf("%s is called, but was not advertised", strings.TrimSpace(m.Method+" "+p.Mode))
	}
	if w.sessions[p.SessionID] == nil && m.Method != acp.MethodElicitationCreate.Name {
		return fmt.Errorf("%s for the session %q, which the editor does not know", m.Method, p.SessionID)
	}
	return nil
}

// calls reports whether the agent may call a method.
func (w *editorWatch) calls(method, mode string) bool {
	c := w.profile.Capabilities
	switch method {
	case acp.MethodSessionRequestPermission.Name:
		return true
	case acp.MethodFSReadTextFile.Name:
		return c.FS.ReadTextFile
	case acp.MethodFSWriteTextFile.Name:
		return c.FS.WriteTextFile
	case acp.MethodElicitationCreate.Name:
		return c.Elicitation != nil && (mode == "form" && c.Elicitation.Form != nil || mode == "url" && c.Elicitation.URL != nil)
	case acp.MethodTerminalCreate.Name, acp.MethodTerminalOutput.Name, acp.MethodTerminalWaitForExit.Name, acp.MethodTerminalKill.Name, acp.MethodTerminalRelease.Name:
		return c.Terminal
	default:
		return false
	}
}

func (w *editorWatch) answered(m *wireMessage) error {
	a, known := w.asked[string(m.ID)]
	switch a.method {
	case acp.MethodSessionPrompt.Name, acp.MethodSessionLoad.Name:
		w.session(a.session).turns--
	}
	if len(m.Error) > 0 {
		return nil
	}
	if !known {
		return fmt.Errorf("an answer to %s, which is no open request", m.ID)
	}
	var r messageMembers
	if err := jsonx.Unmarshal(m.Result, &r); err != nil {
		return fmt.Errorf("the answer to %s: %w", a.method, err)
	}
	switch a.method {
	case acp.MethodSessionNew.Name, acp.MethodSessionFork.Name:
		w.session(r.SessionID).cwd = a.cwd
	case acp.MethodInitialize.Name:
		return w.methods(&r)
	}
	for _, o := range r.Options {
		if o.Type == "boolean" && !w.switches() {
			return errors.New("an option that is a switch, but switches were not advertised")
		}
	}
	return nil
}

func (w *editorWatch) switches() bool {
	s := w.profile.Capabilities.Session
	return s != nil && s.ConfigOptions != nil && s.ConfigOptions.Boolean != nil
}

// methods checks the ways to sign in that the agent offers.
func (w *editorWatch) methods(r *messageMembers) error {
	for _, m := range r.AuthMethods {
		if m.Type == "terminal" && !w.profile.Capabilities.Auth.Terminal {
			return errors.New("a sign-in in a terminal, but these were not advertised")
		}
		if jsonx.Lookup(m.Meta, "terminal-auth") != nil && !w.meta("terminal-auth") {
			return errors.New("a sign-in in a terminal by _meta, but these were not advertised")
		}
	}
	return nil
}

func (w *editorWatch) meta(key string) bool {
	return string(w.profile.Capabilities.Meta[key]) == "true"
}

func (w *editorWatch) updated(p *messageMembers) error {
	var u updateMembers
	if err := jsonx.Unmarshal(p.Update, &u); err != nil {
		return fmt.Errorf("an update: %w", err)
	}
	s := w.sessions[p.SessionID]
	if s == nil {
		return fmt.Errorf("a %s for the session %q, which the editor does not know", u.Kind, p.SessionID)
	}
	c := w.profile.Capabilities
	allowed := true
	switch u.Kind {
	case "notice":
		allowed = c.Session != nil && c.Session.Notices != nil
	case "compaction_update", "compaction_summary_chunk":
		allowed = c.Session != nil && c.Session.Compaction != nil
	case "plan_update", "plan_removed":
		allowed = c.Plan != nil
	case "subagent_update", "session_message", "session_message_chunk":
		allowed = c.Subagents != nil
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		if w.profile.needsTurns && s.turns == 0 {
			return fmt.Errorf("a %s outside of a turn", u.Kind)
		}
	}
	if !allowed {
		return fmt.Errorf("a %s, but these were not advertised", u.Kind)
	}
	for _, o := range u.Options {
		if o.Type == "boolean" && !w.switches() {
			return errors.New("an option that is a switch, but switches were not advertised")
		}
	}
	for _, key := range []string{"terminal_info", "terminal_output", "terminal_exit"} {
		if jsonx.Lookup(u.Meta, key) != nil && !w.meta("terminal_output") {
			return fmt.Errorf("_meta %s, but terminal_output was not advertised", key)
		}
	}
	return nil
}
