package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A scene is an agent with an open session.
type scene struct {
	*peer
	session string
}

// session starts an agent and opens a session.
func (t *trial) session(capabilities object) *scene {
	p := t.agent(capabilities)
	return &scene{p, p.newSession()}
}

// inSession returns a check that opens a session for a client without capabilities.
func inSession(run func(s *scene)) func(*trial) { return inSessionFor(bare, run) }

// inSessionFor returns a check that opens a session for a client with capabilities.
func inSessionFor(capabilities object, run func(s *scene)) func(*trial) {
	return func(t *trial) { run(t.session(capabilities)) }
}

// inTurn returns a check that opens a session, starts a turn for a purpose, and takes further steps.
func inTurn(purpose Purpose, steps ...func(*turn)) func(*trial) {
	return inSession(func(s *scene) {
		u := s.ask(purpose)
		for _, step := range steps {
			step(u)
		}
	})
}

// A turn is a prompt of the suite and its effects.
type turn struct {
	call
	*scene
}

// begin starts a turn with content blocks.
func (s *scene) begin(blocks ...object) *turn {
	return &turn{s.request("session/prompt", object{"sessionId": s.session, "prompt": blocks}), s}
}

// say starts a turn with text.
func (s *scene) say(text string) *turn { return s.begin(textBlock(text)) }

func textBlock(text string) object { return object{"type": "text", "text": text} }

// ask starts a turn for a purpose.
func (s *scene) ask(purpose Purpose, values ...string) *turn {
	return s.say(s.prompt(purpose, values...))
}

// long starts a turn that does not end by itself, and waits until it runs.
func (s *scene) long() *turn {
	u := s.ask(PurposeLong)
	u.running()
	return u
}

// command starts a turn that runs a command which creates the file ran.txt.
func (s *scene) command() *turn { return s.ask(PurposeCommand, "file", "ran.txt", "text", "ran") }

// alive checks that the session still completes a turn.
func (s *scene) alive() { s.ask(PurposeSay, "text", "alive").ends("end_turn") }

// answer waits for the turn's response, result or error.
func (u *turn) answer() *message { return u.response(u.call) }

// stop waits for the end of the turn, which must succeed, and returns it.
func (u *turn) stop() *turn {
	m := u.answer()
	if m.err != nil {
		u.failAt(m, "the prompt has to be answered with a stop reason and got %v", m.err)
	}
	if str(m.result, "stopReason") == "" {
		u.failAt(m, "the prompt is answered without a stop reason: %s", excerpt(m.result))
	}
	return u
}

// ends waits for the end of the turn with a stop reason.
func (u *turn) ends(reason string) {
	u.stop()
	if got := str(u.answer().result, "stopReason"); got != reason {
		u.failf("the turn ends with %q, not with %q", got, reason)
	}
}

// cancel cancels the session's turn.
func (u *turn) cancel() { u.notify("session/cancel", ref(u.session)) }

// cancels cancels the turn and checks that it ends as cancelled. It skips the check if the turn has already ended.
func (u *turn) cancels() {
	over := u.answered(u.call)
	u.cancel()
	if over {
		u.notSeen("the turn was over before it could be cancelled; give a prompt that takes longer")
	}
	u.endsCancelled()
}

func (u *turn) endsCancelled() { u.ends("cancelled") }

// abort cancels the turn and waits for its response, whatever it is.
func (u *turn) abort() {
	u.cancel()
	u.answer()
}

// all returns the agent's messages for this session from the prompt to its response, or until now.
func (u *turn) all() []*message {
	var own []*message
	for _, m := range u.fromAgent(u.index) {
		if u.answeredBy(m) {
			break
		}
		if m.session() == u.session {
			own = append(own, m)
		}
	}
	return own
}

// updates returns the bodies of the turn's updates of some kinds, or of all.
func (u *turn) updates(kinds ...string) []any { return updates(u.all(), kinds...) }

func updates(messages []*message, kinds ...string) []any {
	var found []any
	for _, m := range messages {
		kind, body := m.update()
		if kind != "" && (len(kinds) == 0 || slices.Contains(kinds, kind)) {
			found = append(found, body)
		}
	}
	return found
}

// text returns what the agent said in the turn.
func (u *turn) text() string { return textOf(u.updates("agent_message_chunk")) }

func textOf(chunks []any) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(str(c, "content", "text"))
	}
	return b.String()
}

// sees waits for the first message of the turn for which ok returns true. It skips the check if the turn ends without
// one.
func (u *turn) sees(what string, ok func(*message) bool) *message {
	m := u.wait(u.index, what+" or the end of the turn", func(m *message) bool {
		return u.answeredBy(m) || m.session() == u.session && ok(m)
	})
	if u.answeredBy(m) {
		u.notSeen("the turn ended without %s (%s)", what, m.kind())
	}
	return m
}

// seesCall waits for a request by the agent.
func (u *turn) seesCall(method string) *message {
	return u.sees("a call of "+method, func(m *message) bool { return m.method == method && m.id != "" })
}

// running waits for the first sign that the model is working.
func (u *turn) running() {
	u.sees("agent_message_chunk or agent_thought_chunk", func(m *message) bool {
		kind, _ := m.update()
		return kind == "agent_message_chunk" || kind == "agent_thought_chunk"
	})
}

// seesRunningTool waits until a tool call is in progress, or until the agent waits for the exit of a command in the client's
// terminal.
func (u *turn) seesRunningTool() {
	u.sees("a running tool call", func(m *message) bool {
		_, body := m.update()
		return str(body, "status") == "in_progress" || m.method == "terminal/wait_for_exit"
	})
}

// called reports whether the agent has called a method since the prompt.
func (u *turn) called(method string) bool {
	return u.find(u.index, func(m *message) bool { return m.method == method }) != nil
}

// ran reports whether the command of [scene.command] was run, in the client's terminal or by the agent itself.
func (u *turn) ran() bool { return u.exists("ran.txt") || u.called("terminal/create") }

// turnKind reports whether an update belongs to a turn or a replay.
func turnKind(kind string) bool {
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}

// saysNothing checks that the messages contain no updates of a turn. complaint is a format with a verb for the update's kind.
func (t *trial) saysNothing(messages []*message, complaint string) {
	for _, m := range messages {
		if kind, _ := m.update(); turnKind(kind) {
			t.failAt(m, complaint, kind)
		}
	}
}

// A toolCall is the combined state of one tool call, from the agent's messages.
type toolCall struct {
	id     string
	first  *message
	events []*message
	state  object // the current members
}

func (c *toolCall) status() string { return cmp.Or(str(c.state, "status"), "pending") }

func (c *toolCall) String() string {
	return fmt.Sprintf("the tool call %q (%s)", c.id, str(c.state, "title"))
}

func (c *toolCall) last() *message { return c.events[len(c.events)-1] }

func over(status string) bool { return status == "completed" || status == "failed" }

// wants checks the status of a tool call. why describes what preceded it, for the report.
func (t *trial) wants(c *toolCall, status, why string) {
	if c.status() != status {
		t.failAt(c.last(), "%s, and %v is %s", why, c, c.status())
	}
}

// toolCalls combines the messages about each tool call, in the order of the calls.
func toolCalls(messages []*message) []*toolCall {
	var calls []*toolCall
	for _, m := range messages {
		kind, body := m.update()
		if kind != "tool_call" && kind != "tool_call_update" {
			continue
		}
		id := str(body, "toolCallId")
		i := slices.IndexFunc(calls, func(c *toolCall) bool { return c.id == id })
		if i < 0 {
			i = len(calls)
			calls = append(calls, &toolCall{id: id, first: m, state: object{}})
		}
		calls[i].events = append(calls[i].events, m)
		members, _ := body.(map[string]any)
		for name, v := range members {
			if v != nil {
				calls[i].state[name] = v
			}
		}
	}
	return calls
}

// tool returns the first tool call of the turn, after its end. It skips the check if there is none.
func (u *turn) tool() *toolCall {
	calls := toolCalls(u.stop().all())
	if len(calls) == 0 {
		u.notSeen("the model called no tool")
	}
	return calls[0]
}
