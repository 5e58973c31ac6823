package conformance

import (
	"strings"
)

// onText modifies the text of the agent's chunks.
func onText(change func(text string) string) func(*fake, object) bool {
	return onUpdate("agent_message_chunk", inside("content", func(c object) bool {
		c["text"] = change(str(c, "text"))
		return true
	}))
}

// stopping replaces a stop reason.
func stopping(check, from, to string) defect {
	return defect{name: "stops-with-" + to, trips: ids(check), out: onResult("session/prompt", func(r object) bool {
		if r["stopReason"] == from {
			r["stopReason"] = to
		}
		return true
	})}
}

func turnDefects() []defect {
	done := object{"stopReason": "end_turn"}
	say := func(text string) func(*message) bool { return within(text) }
	return []defect{
		{name: "says-nothing", trips: ids("prompt.answers"), broad: true, out: onUpdate("agent_message_chunk", dropped)},
		{name: "never-ends", trips: ids("prompt.stop.end-turn"), broad: true, out: onResult("session/prompt", func(r object) bool {
			if r["stopReason"] == "end_turn" {
				r["stopReason"] = "max_turn_requests"
			}
			return true
		})},
		stopping("prompt.stop.known", "refusal", "refused"),
		stopping("prompt.stop.max-tokens", "max_tokens", "length"),
		stopping("prompt.stop.refusal", "refusal", "declined"),
		{name: "late-chunk", trips: ids("prompt.updates-first cancel.silence")},
		{name: "echoes", trips: ids("prompt.no-echo")},
		{name: "no-message-ids", trips: ids("prompt.chunks.message-id"), out: onUpdate("", cut("messageId"))},
		replayed("one-message", "prompt.chunks.one-role", "", func(u object) bool {
			if has(u, "messageId") {
				u["messageId"] = "one"
			}
			return true
		}),
		{name: "one-message-id", trips: ids("prompt.chunks.new-turn"), out: onUpdate("agent_message_chunk", set("messageId", "one"))},
		{name: "buffers", trips: ids("prompt.chunks.streamed"), out: func(f *fake, m object) bool {
			held, _ := f.noted("held").([]byte)
			if isUpdate("agent_message_chunk")(m) {
				f.note("held", append(append(held, encode(m)...), '\n'))
				return false
			}
			if has(m["result"], "stopReason") {
				f.note("held", []byte(nil))
				f.write(append(held, encode(m)...)) // in a single write
				return false
			}
			return true
		}},
		{name: "empty-chunks", trips: ids("prompt.chunks.not-empty"), out: after(isUpdate("agent_message_chunk"), func(_ *fake, m object) object {
			return chunk(m, "agent_message_chunk", "")
		})},
		{name: "afterthought", trips: ids("prompt.thoughts"), out: func(f *fake, m object) bool {
			if isUpdate("agent_thought_chunk")(m) {
				f.note("thought", m)
				return false
			}
			if thought, ok := f.noted("thought").(object); ok && isUpdate("agent_message_chunk")(m) {
				f.note("thought", nil)
				f.write(encode(m))
				f.write(encode(thought))
				return false
			}
			return true
		}},
		{name: "mojibake", trips: ids("prompt.unicode"), out: onText(func(s string) string { return strings.ReplaceAll(s, "ü", "Ã¼") })},
		{name: "cuts-characters", trips: ids("prompt.chunks.whole-characters"), out: onText(func(s string) string { return strings.ReplaceAll(s, "😀", "\ufffd") })},
		choosy("prompt.big", "session/prompt", func(m *message) bool { return len(m.line) > 200_000 }),
		{name: "any-session", trips: ids("prompt.unknown-session prompt.unknown-session-code"), in: on("session/prompt", equals("no-such-session", "sessionId"), replying(done))},
		{name: "odd-code-of-prompt", trips: ids("prompt.unknown-session-code"), in: on("session/prompt", equals("no-such-session", "sessionId"), refusing(-32603))},
		lax("prompt.missing", "session/prompt", both(paramHas("sessionId"), not(paramHas("prompt"))), done),
		lax("prompt.not-a-list", "session/prompt", equals("hello", "prompt"), done),
		lax("prompt.not-a-block", "session/prompt", equals("hello", "prompt", 0), done),
		lax("prompt.unknown-block", "session/prompt", equals("hologram", "prompt", 0, "type"), done),
		lax("prompt.block-without-type", "session/prompt", equals("x", "prompt", 0, "text"), done),
		mortal("prompt.empty", "session/prompt", func(m *message) bool { l, ok := at(m.params, "prompt").([]any); return ok && len(l) == 0 }),
		{name: "drops-second", trips: ids("prompt.second"), hangs: true},
		{name: "silent-failure", trips: ids("prompt.failure"), out: func(_ *fake, m object) bool {
			if e, ok := m["error"].(map[string]any); ok && strings.Contains(str(e, "message"), "model failed") {
				e["message"] = " "
			}
			return true
		}},
		{name: "forgets-after-failure", trips: ids("prompt.after-failure")},
		{name: "too-much-usage", trips: ids("prompt.usage"), out: onUpdate("usage_update", set("used", 5000))},
		{name: "title-is-a-number", trips: ids("prompt.title"), out: onUpdate("session_info_update", set("title", 7))},
		{name: "plan-without-entries", trips: ids("plan.entries"), out: onUpdate("plan", set("entries", object{}))},
		{name: "plan-without-words", trips: ids("plan.content"), out: onUpdate("plan", each("entries", set("content", " ")))},
		{name: "urgent-plan", trips: ids("plan.priority"), out: onUpdate("plan", each("entries", set("priority", "urgent")))},
		{name: "done-plan", trips: ids("plan.status"), out: onUpdate("plan", each("entries", set("status", "done")))},
		{name: "plan-in-parts", trips: ids("plan.whole"), out: func(f *fake, m object) bool {
			if isUpdate("plan")(m) && f.count("plan "+str(m, "params", "sessionId")) > 1 {
				u := at(m, "params", "update").(map[string]any)
				u["entries"] = list(u, "entries")[:1]
			}
			return true
		}},

		{name: "no-early-cancel", trips: ids("cancel.at-once"), hangs: true, broad: true, in: func(f *fake, m *message) bool {
			early := m.method == "session/cancel" && f.noted("last") == "session/prompt"
			f.note("last", m.method)
			return early
		}},
		{name: "cancel-is-end-turn", trips: ids("cancel.midway"), broad: true},
		{name: "cancel-once", trips: ids("cancel.twice"), in: func(f *fake, m *message) bool {
			if m.method == "session/cancel" && f.noted("last") == "session/cancel" {
				f.die()
			}
			f.note("last", m.method)
			return false
		}},
		{name: "forgets-after-cancel", trips: ids("cancel.next"), broad: true},
		{name: "cancel-sticks", trips: ids("cancel.next-at-once"), broad: true, in: func(f *fake, m *message) bool {
			if m.method == "session/cancel" {
				f.note("cancelled "+m.session(), true)
			}
			if m.method == "session/prompt" && f.noted("cancelled "+m.session()) != nil {
				f.reply(m, object{"stopReason": "cancelled"})
				return true
			}
			return false
		}},
		{name: "idle-cancel-sticks", trips: ids("cancel.after-end cancel.idle"), in: func(f *fake, m *message) bool {
			s := f.session(m.session())
			if s == nil {
				return false
			}
			s.mu.Lock()
			idle := len(s.queue) == 0
			s.mu.Unlock()
			if m.method == "session/cancel" && idle {
				f.note("cancelled "+m.session(), true)
			}
			if m.method == "session/prompt" && f.noted("cancelled "+m.session()) != nil {
				f.reply(m, object{"stopReason": "cancelled"})
				return true
			}
			return false
		}},
		mortal("cancel.unknown", "session/cancel", equals("no-such-session", "sessionId")),
		mortal("cancel.malformed", "session/cancel", func(m *message) bool { return string(encode(m.params)) == "{}" }),
		{name: "slow-cancel", trips: ids("cancel.soon")},
		{name: "cancel-leaves-tools", trips: ids("cancel.tools tool.ended")},
		{name: "drops-cancelled", trips: ids("cancel.queued"), hangs: true},
		{name: "permission-cancel-is-error", trips: ids("cancel.permission"), broad: true},
		{name: "waits-for-session-request_permission", trips: ids("cancel.permission.silent"), hangs: true},
		{name: "late-permission-counts", trips: ids("cancel.permission.late permission.second-answer"), line: func(f *fake, l []byte) bool {
			if strings.Contains(string(l), `"outcome"`) && f.count("outcomes") > 1 && strings.Contains(string(l), `"yes"`) {
				f.mu.Lock()
				defer f.mu.Unlock()
				for _, s := range f.sessions {
					(&fakeTurn{s: s, f: f}).ranAnyway()
				}
			}
			return false
		}},
		{name: "no-withdrawal", trips: ids("cancel.permission.withdrawn"), out: func(_ *fake, m object) bool { return m["method"] != "$/cancel_request" }},
		{name: "waits-for-terminal-wait_for_exit", trips: ids("cancel.terminal"), hangs: true, broad: true},
		{name: "waits-for-fs-read_text_file", trips: ids("cancel.read"), hangs: true},
		{name: "waits-for-fs-write_text_file", trips: ids("cancel.write"), hangs: true},
		{name: "waits-for-elicitation-create", trips: ids("cancel.elicitation"), hangs: true},
		{name: "forgets-late-terminal", trips: ids("cancel.terminal.created-late")},
		{name: "drops-cancelled-request", trips: ids("cancel-request.prompt cancel-request.prompt-outcome"), hangs: true, in: on("$/cancel_request", always, func(f *fake, m *message) bool {
			f.note("dropped "+string(encode(at(m.params, "requestId"))), true)
			return false
		}), out: func(f *fake, m object) bool { return f.noted("dropped "+string(rawID(m))) == nil }},
		{name: "no-cancel-request", trips: ids("cancel-request.prompt-outcome"), hangs: true, in: on("$/cancel_request", always, deaf)},
		{name: "answers-cancel-request", trips: ids("cancel-request.unknown"), in: on("$/cancel_request", equals("nobody", "requestId"), noting)},
		mortal("cancel-request.malformed", "$/cancel_request", not(param("requestId"))),
		{name: "cancels-finished", trips: ids("cancel-request.finished"), in: func(f *fake, m *message) bool {
			if m.method == "$/cancel_request" {
				f.note("cancelled", true)
			}
			if m.method == "session/prompt" && f.noted("cancelled") != nil {
				f.reply(m, object{"stopReason": "cancelled"})
				return true
			}
			return false
		}},
		{name: "drops-any-cancelled", trips: ids("cancel-request.other"), hangs: true, broad: true, in: func(f *fake, m *message) bool {
			if held, ok := f.noted("held").(*message); ok && held != nil {
				f.note("held", (*message)(nil))
				if m.method != "$/cancel_request" {
					f.handle(held)
				}
			}
			if m.method == "session/new" {
				f.note("held", m)
				return true
			}
			return false
		}},

		mortal("command.unknown", "session/prompt", say("/no-such-command")),
		{name: "slashed-commands", trips: ids("command.names"), out: onUpdate("available_commands_update", each("availableCommands", set("name", "/help")))},
		{name: "undescribed-commands", trips: ids("command.descriptions"), out: onUpdate("available_commands_update", each("availableCommands", set("description", "")))},
		{name: "load-without-commands", trips: ids("command.after-load")},

		choosy("content.text", "session/prompt", func(m *message) bool {
			return str(m.params, "prompt", 1, "text") == "more" && !has(at(m.params, "prompt", 1), "annotations")
		}),
		choosy("content.annotations", "session/prompt", param("prompt", 1, "annotations")),
		choosy("content.resource-link", "session/prompt", equals("linked.txt", "prompt", 1, "name")),
		choosy("content.resource-link.full", "session/prompt", param("prompt", 1, "size")),
		choosy("content.resource-link.missing", "session/prompt", equals("gone.txt", "prompt", 1, "name")),
		choosy("content.image", "session/prompt", equals(onePixel, "prompt", 1, "data")),
		choosy("content.audio", "session/prompt", equals("audio", "prompt", 1, "type")),
		choosy("content.embedded", "session/prompt", param("prompt", 1, "resource", "text")),
		{name: "takes-any-image", trips: ids("content.image.unadvertised"), out: advertising(inside("promptCapabilities", set("image", false)))},
		{name: "takes-any-audio", trips: ids("content.audio.unadvertised"), out: advertising(inside("promptCapabilities", set("audio", false)))},
		{name: "takes-any-resource", trips: ids("content.embedded.unadvertised"), out: advertising(inside("promptCapabilities", set("embeddedContext", false)))},
		choosy("content.embedded-blob", "session/prompt", param("prompt", 1, "resource", "blob")),
		lax("content.image.broken", "session/prompt", equals("%%%", "prompt", 1, "data"), done),
		lax("content.image.incomplete", "session/prompt", both(equals("image", "prompt", 0, "type"), equals(nil, "prompt", 0, "data")), done),
		lax("content.resource-link.incomplete", "session/prompt", both(equals("resource_link", "prompt", 0, "type"), equals(nil, "prompt", 0, "uri")), done),
	}
}
