package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A turn is a prompt of the suite and its effects.
type turn struct {
	call
	p       *peer
	session string
}

// say starts a turn with a text.
func (p *peer) say(session, text string) *turn {
	return p.begin(session, object{"type": "text", "text": text})
}

// begin starts a turn with content blocks.
func (p *peer) begin(session string, blocks ...object) *turn {
	prompt := make([]any, 0, len(blocks))
	for _, b := range blocks {
		prompt = append(prompt, b)
	}
	return &turn{call: p.request("session/prompt", object{"sessionId": session, "prompt": prompt}), p: p, session: session}
}

// purpose starts a turn for a purpose.
func (p *peer) purpose(session string, purpose Purpose, values ...string) *turn {
	return p.say(session, p.t.prompt(purpose, values...))
}

// answer waits for the turn's response, result or error.
func (u *turn) answer() *message { return u.p.response(u.call) }

// stop waits for the end of the turn, which must succeed, and returns its stop reason.
func (u *turn) stop() string {
	m := u.answer()
	if m.err != nil {
		u.p.t.failAt(m, "the prompt has to be answered with a stop reason and got %v", m.err)
	}
	reason := str(m.result, "stopReason")
	if reason == "" {
		u.p.t.failAt(m, "the prompt is answered without a stop reason: %s", excerpt(m.result))
	}
	return reason
}

// ends waits for the end of the turn with one of the stop reasons.
func (u *turn) ends(reasons ...string) {
	if got := u.stop(); !slices.Contains(reasons, got) {
		u.p.t.failf("the turn ends with %q, not with %q", got, strings.Join(reasons, `" or "`))
	}
}

// cancel cancels the session's turn.
func (u *turn) cancel() { u.p.notify("session/cancel", object{"sessionId": u.session}) }

// cancels cancels the turn and checks that it ends as cancelled. It skips the check if the turn has already ended.
func (u *turn) cancels() {
	over := u.p.answered(u.call)
	u.cancel()
	if over {
		u.p.t.notSeen("the turn was over before it could be cancelled; give a prompt that takes longer")
	}
	u.ends("cancelled")
}

// all returns the agent's messages for this session from the prompt to its response, or until now.
func (u *turn) all() []*message {
	var own []*message
	for _, m := range u.p.messages(u.index) {
		if m.sent {
			continue
		}
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
	m := u.p.wait(u.index, what+" or the end of the turn", func(m *message) bool {
		return u.answeredBy(m) || m.session() == u.session && ok(m)
	})
	if u.answeredBy(m) {
		u.p.t.notSeen("the turn ended without %s (%s)", what, m.kind())
	}
	return m
}

// seesUpdate waits for an update of one of the kinds.
func (u *turn) seesUpdate(kinds ...string) *message {
	return u.sees(strings.Join(kinds, " or "), func(m *message) bool {
		kind, _ := m.update()
		return slices.Contains(kinds, kind)
	})
}

// seesCall waits for a request by the agent.
func (u *turn) seesCall(method string) *message {
	return u.sees("a call of "+method, func(m *message) bool { return m.method == method && m.id != "" })
}

// running waits for the first sign that the model is working.
func (u *turn) running() { u.seesUpdate("agent_message_chunk", "agent_thought_chunk") }

// A toolCall is what the agent has sent about one tool call.
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

func (c *toolCall) ended() bool { return c.status() == "completed" || c.status() == "failed" }

// toolCalls combines the messages about tool calls, in their order.
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
	calls := toolCalls(u.all())
	if len(calls) == 0 {
		u.p.t.notSeen("the model called no tool")
	}
	return calls[0]
}
