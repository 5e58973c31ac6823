package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// refusesPrompt returns a check that a prompt with some parameters is refused.
func refusesPrompt(prompt any, codes ...int) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		params := object{"sessionId": id}
		if prompt != nil {
			params["prompt"] = prompt
		}
		p.fails("session/prompt", params, codes...)
		p.purpose(id, PurposeSay, "text", "alive").stop()
	}
}

// stopsWith returns a check of the stop reason for a purpose.
func stopsWith(purpose Purpose, reason string) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		p.purpose(id, purpose).ends(reason)
	}
}

var promptChecks = []Check{
	{"prompt.answers", TierMust, "A prompt is answered with text of the agent's, and then with a stop reason.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeSay, "text", "lighthouse")
		u.stop()
		if strings.TrimSpace(u.text()) == "" {
			t.failf("the agent said nothing before it answered the prompt")
		}
	}},
	{"prompt.stop.end-turn", TierMust, "A turn that comes to its end stops with end_turn.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		p.purpose(id, PurposeSay, "text", "lighthouse").ends("end_turn")
	}},
	{"prompt.stop.known", TierMust, "The stop reason is one that the protocol has.", pagePrompt, watchOne("stop reason", func(m *message) (bool, string) {
		reason := str(m.result, "stopReason")
		if reason == "" {
			return false, ""
		}
		known := []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
		return true, map[bool]string{false: fmt.Sprintf("the protocol has no stop reason %q", reason)}[slices.Contains(known, reason)]
	})},
	{"prompt.stop.max-tokens", TierCapability, "A turn that the output limit ends stops with max_tokens.", pagePrompt, stopsWith(PurposeLength, "max_tokens")},
	{"prompt.stop.refusal", TierCapability, "A turn that the model refuses stops with refusal.", pagePrompt, stopsWith(PurposeRefusal, "refusal")},
	{"prompt.updates-first", TierMust, "All updates of a turn come before its response.", pagePrompt, watch("turn", func(*tour) look {
		busy := make(map[string]string) // request IDs and their sessions
		return func(m *message) (bool, string) {
			kind, _ := m.update()
			switch {
			case m.sent && (m.method == "session/prompt" || m.method == "session/load") && m.id != "":
				busy[m.id] = m.session()
			case !m.sent && m.isResponse():
				delete(busy, m.id)
			case turnKind(kind):
				for _, session := range busy {
					if session == m.session() {
						return true, ""
					}
				}
				return true, "a " + kind + " comes while no prompt of its session is open"
			}
			return false, ""
		}
	})},
	{"prompt.no-echo", TierShould, "The user's own prompt is not sent back in the turn.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeSay, "text", "lighthouse")
		u.stop()
		if len(u.updates("user_message_chunk")) > 0 {
			t.failf("the prompt comes back as a user_message_chunk")
		}
	}},
	{"prompt.chunks.message-id", TierShould, "Chunks have a message id.", pagePrompt, watchOne("chunk", func(m *message) (bool, string) {
		kind, body := m.update()
		if !strings.HasSuffix(kind, "_message_chunk") && kind != "agent_thought_chunk" {
			return false, ""
		}
		return true, map[bool]string{true: "a " + kind + " has no message id"}[str(body, "messageId") == ""]
	})},
	{"prompt.chunks.one-role", TierMust, "A message of the user's and one of the agent's have different ids.", pagePrompt, watch("chunk with a message id", func(*tour) look {
		roles := make(map[string]string)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			id := str(body, "messageId")
			if id == "" {
				return false, ""
			}
			role, _, _ := strings.Cut(kind, "_")
			if was := cmp.Or(roles[m.session()+id], role); was != role {
				return true, fmt.Sprintf("the message id %q is that of the %s and that of the %s", id, was, role)
			}
			roles[m.session()+id] = role
			return true, ""
		}
	})},
	{"prompt.chunks.new-turn", TierMust, "Messages of different turns have different ids.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		var ids [2]string
		for i := range ids {
			u := p.purpose(id, PurposeSay, "text", "lighthouse")
			u.stop()
			if ids[i] = str(u.updates("agent_message_chunk"), 0, "messageId"); ids[i] == "" {
				t.notSeen("the chunks have no message ids")
			}
		}
		if ids[0] == ids[1] {
			t.failf("two turns have messages with the id %q", ids[0])
		}
	}},
	{"prompt.chunks.streamed", TierShould, "A long answer comes in pieces while the model writes it.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		n := 0
		u.sees("a second chunk", func(m *message) bool {
			if kind, _ := m.update(); kind == "agent_message_chunk" || kind == "agent_thought_chunk" {
				n++
			}
			return n == 2
		})
		p.settle()
		if p.answered(u.call) {
			t.failf("the answer came only at the end of the turn")
		}
		u.cancel()
		u.answer()
	}},
	{"prompt.chunks.not-empty", TierShould, "Text chunks are not empty.", pagePrompt, watchUpdate("agent_message_chunk", func(body any) string {
		return map[bool]string{true: "an agent_message_chunk has no text"}[str(body, "content", "type") == "text" && str(body, "content", "text") == ""]
	})},
	{"prompt.thoughts", TierCapability, "What the model thinks comes as agent_thought_chunk, before the answer.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeThink, "text", "pondering")
		u.stop()
		thoughts := u.updates("agent_thought_chunk")
		if len(thoughts) == 0 {
			t.notSeen("the model did not think aloud")
		}
		if u.updates("agent_thought_chunk", "agent_message_chunk")[0].(map[string]any)["sessionUpdate"] != "agent_thought_chunk" {
			t.failf("the answer begins before the thought")
		}
	}},
	{"prompt.unicode", TierMust, "Text of any script comes through unharmed.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		const word = "Grüße-目录-😀"
		u := p.purpose(id, PurposeSay, "text", word)
		u.stop()
		switch text := u.text(); {
		case strings.Contains(text, word):
		case strings.Contains(text, "Gr"):
			t.failf("%q comes back as %q", word, text)
		default:
			t.notSeen("the model did not repeat the word")
		}
	}},
	{"prompt.chunks.whole-characters", TierMust, "A chunk does not cut a character in two.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeSay, "text", strings.Repeat("😀目", 40))
		u.stop()
		if strings.ContainsRune(u.text(), '\ufffd') {
			t.failf("a character was cut in two")
		}
	}},
	{"prompt.big", TierShould, "A prompt of 256 KiB is taken.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		u := p.begin(id, object{"type": "text", "text": t.prompt(PurposeSay, "text", "big")},
			object{"type": "text", "text": strings.Repeat("\nThis line is only here for its length.", 7000)})
		u.stop()
	}},
	{"prompt.unknown-session", TierMust, "A prompt to an unknown session is refused.", pagePrompt, func(t *trial) {
		p := t.agent(bare)
		p.failsWith(p.say("no-such-session", "x").answer(), "a prompt to an unknown session")
		p.lives()
	}},
	{"prompt.unknown-session-code", TierShould, "A prompt to an unknown session is refused with -32002.", pagePrompt, func(t *trial) {
		p := t.agent(bare)
		p.failsWith(p.say("no-such-session", "x").answer(), "a prompt to an unknown session", codeNotFound)
	}},
	{"prompt.missing", TierMust, "session/prompt without a prompt is refused with -32602.", pagePrompt, refusesPrompt(nil, codeParams)},
	{"prompt.not-a-list", TierMust, "A prompt that is no array is refused with -32602.", pagePrompt, refusesPrompt("hello", codeParams)},
	{"prompt.not-a-block", TierMust, "A prompt of something else than content blocks is refused with -32602.", pagePrompt, refusesPrompt([]any{"hello", 7}, codeParams)},
	{"prompt.unknown-block", TierMust, "A content block of an unknown type is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "hologram", "data": "x"}}, codeParams)},
	{"prompt.block-without-type", TierMust, "A content block without a type is refused with -32602.", pageContent, refusesPrompt([]any{object{"text": "x"}}, codeParams)},
	{"prompt.empty", TierMust, "An empty prompt is answered and does not end the agent.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		p.response(p.request("session/prompt", object{"sessionId": id, "prompt": []any{}}))
		p.purpose(id, PurposeSay, "text", "alive").stop()
	}},
	{"prompt.second", TierMust, "A prompt while a turn runs is answered: refused, or after the turn.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		first := p.purpose(id, PurposeLong)
		first.running()
		second := p.purpose(id, PurposeSay, "text", "second")
		p.lives()
		first.cancel()
		first.answer()
		second.answer()
		p.purpose(id, PurposeSay, "text", "third").ends("end_turn")
	}},
	{"prompt.failure", TierCapability, "A model that fails makes an error of the prompt, with a message.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		m := p.purpose(id, PurposeFail).answer()
		if m.err == nil {
			t.notSeen("the turn did not fail")
		}
		if strings.TrimSpace(m.err.message) == "" {
			t.failAt(m, "the error says nothing")
		}
	}},
	{"prompt.after-failure", TierCapability, "A session goes on after a model has failed.", pagePrompt, func(t *trial) {
		p, id := t.session(bare)
		if m := p.purpose(id, PurposeFail).answer(); m.err == nil {
			t.notSeen("the turn did not fail")
		}
		p.purpose(id, PurposeSay, "text", "again").ends("end_turn")
	}},
	{"prompt.usage", TierCapability, "usage_update tells how much of the context is used, not below zero and not above its size.", pagePrompt, watchUpdate("usage_update", func(body any) string {
		used, ok1 := at(body, "used").(float64)
		size, ok2 := at(body, "size").(float64)
		return map[bool]string{true: "the usage is " + excerpt(body)}[!ok1 || !ok2 || used < 0 || size < 0 || used > size]
	})},
	{"prompt.title", TierCapability, "session_info_update has a title that is a text, if any.", pageList, watchUpdate("session_info_update", func(body any) string {
		_, isText := at(body, "title").(string)
		return map[bool]string{true: "the title is " + excerpt(at(body, "title"))}[at(body, "title") != nil && !isText]
	})},
}

// watchEntries checks each entry of each plan.
func watchEntries(see func(entry any) string) func(*trial) {
	return watchUpdate("plan", func(body any) string {
		for _, e := range list(body, "entries") {
			if complaint := see(e); complaint != "" {
				return complaint + ": " + excerpt(e)
			}
		}
		return ""
	})
}

var planChecks = []Check{
	{"plan.entries", TierCapability, "A plan has a list of entries.", pagePlan, watchUpdate("plan", func(body any) string {
		_, ok := at(body, "entries").([]any)
		return map[bool]string{false: "the plan has no list of entries"}[ok]
	})},
	{"plan.content", TierCapability, "A plan's entry says what is to be done.", pagePlan, watchEntries(func(e any) string {
		return map[bool]string{true: "an entry says nothing"}[strings.TrimSpace(str(e, "content")) == ""]
	})},
	{"plan.priority", TierCapability, "A plan's entry has the priority high, medium or low.", pagePlan, watchEntries(func(e any) string {
		return map[bool]string{false: "the priority is none that there is"}[slices.Contains([]string{"high", "medium", "low"}, str(e, "priority"))]
	})},
	{"plan.status", TierCapability, "A plan's entry is pending, in_progress or completed.", pagePlan, watchEntries(func(e any) string {
		return map[bool]string{false: "the status is none that there is"}[slices.Contains([]string{"pending", "in_progress", "completed"}, str(e, "status"))]
	})},
	{"plan.whole", TierCapability, "Each plan update has the whole plan.", pagePlan, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposePlan)
		u.stop()
		plans := u.updates("plan")
		if len(plans) < 2 {
			t.notSeen("the plan was not updated in the turn")
		}
		var before []string
		for _, plan := range plans {
			var now []string
			for _, e := range list(plan, "entries") {
				now = append(now, str(e, "content"))
			}
			if len(now) < len(before) && subset(now, before) {
				t.failf("an update has %d of the plan's %d entries", len(now), len(before))
			}
			before = now
		}
	}},
}

// subset reports whether every element of a is in b.
func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(e string) bool { return !slices.Contains(b, e) })
}
