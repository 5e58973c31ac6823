package conformance

// assuming returns a defect that assumes a client capability.
func assuming(name, trips string, path ...any) defect {
	return defect{name: "assumes-" + name, trips: ids(trips), assume: path}
}

// telling returns a defect that sends every client an update that only some clients support.
func telling(check, kind string, body object) defect {
	return defect{name: "tells-" + kind, trips: ids(check), out: after(isUpdate("usage_update"), func(_ *fake, m object) object {
		return object{"method": "session/update", "params": object{"sessionId": str(m, "params", "sessionId"), "update": with(body, "sessionUpdate", kind)}}
	})}
}

// formFails returns a defect that fails a turn if the answer to a form matches.
func formFails(check string, match func(r any, err error) bool) defect {
	return defect{name: "fails-" + check, trips: ids(check), form: func(t *fakeTurn, r any, err error) {
		if match(r, err) {
			t.failure = "a bad answer"
			return
		}
		t.say("The answer is " + str(r, "content", "answer"))
	}}
}

func clientDefects() []defect {
	action := func(name string) func(any, error) bool {
		return func(r any, err error) bool {
			_, isText := at(r, "content", "answer").(string)
			return err == nil && str(r, "action") == name && (isText || name != "accept")
		}
	}
	return []defect{
		assuming("reading", "client.no-reads client.writes-only client.false-is-no", "fs", "readTextFile"),
		assuming("writing", "client.no-writes client.reads-only", "fs", "writeTextFile"),
		assuming("terminals", "client.no-terminals", "terminal"),
		assuming("forms", "client.no-forms client.empty-elicitation", "elicitation", "form"),
		{name: "messages-mcp", trips: ids("client.no-mcp"), out: after(isUpdate("usage_update"), func(*fake, object) object {
			return object{"id": "mcp", "method": "mcp/message", "params": object{"serverId": "x", "requestId": "y", "method": "ping"}}
		})},
		{name: "asks-by-url", trips: ids("client.no-url-mode"), out: onCall(elicitation, func(p object) bool {
			p["mode"], p["url"], p["elicitationId"] = "url", "https://example.com", "e"
			delete(p, "requestedSchema")
			return true
		})},
		{name: "shows-terminals", trips: ids("client.no-terminal-content tool.terminal.known"), out: onUpdate("tool_call_update", whenStatus("in_progress", set("content", []any{object{"type": "terminal", "terminalId": "own"}})))},
		telling("client.no-notices", "notice", object{"severity": "info", "title": "Hello"}),
		telling("client.no-compaction", "compaction_update", object{"compactionId": "c", "status": "completed"}),
		telling("client.no-plan-updates", "plan_removed", object{"planId": "p"}),
		telling("client.no-subagents", "subagent_update", object{"sessionId": "s"}),
		telling("client.known-updates", "mood", object{"mood": "good"}),
		{name: "odd-notifications", trips: ids("client.known-methods"), out: after(isUpdate("usage_update"), func(*fake, object) object {
			return object{"method": "fake/hello", "params": object{}}
		})},

		{name: "reads-itself", trips: ids("files.read.used files.write.buffer")},
		{name: "reads-relative", trips: ids("files.read.absolute"), out: onCall("fs/read_text_file", set("path", "notes.txt"))},
		{name: "reads-line-zero", trips: ids("files.read.lines"), out: onCall("fs/read_text_file", set("line", 0))},
		{name: "reads-for-nobody", trips: ids("files.read.session"), out: onCall("fs/read_text_file", cut("sessionId"))},
		{name: "read-error-ends-turn", trips: ids("files.read.error"), line: func(f *fake, l []byte) bool {
			m := readMessage(l)
			if m.err != nil && m.err.message == "the editor has a problem" {
				f.die()
			}
			return false
		}},
		{name: "dies-of-malformed", trips: ids("files.read.malformed terminal.create.malformed")},
		{name: "writes-itself", trips: ids("files.write.used")},
		{name: "writes-relative", trips: ids("files.write.absolute"), out: onCall("fs/write_text_file", set("path", "new.txt"))},
		{name: "writes-else", trips: ids("files.write.content"), out: onCall("fs/write_text_file", set("content", "else"))},
		{name: "writes-anyway", trips: ids("files.write.no-way-round")},
		{name: "write-error-is-success", trips: ids("files.write.error"), out: onUpdate("tool_call_update", whenStatus("failed", set("status", "completed")))},

		{name: "own-terminal", trips: ids("terminal.used")},
		{name: "no-command", trips: ids("terminal.create.command"), out: onCall("terminal/create", set("command", ""))},
		{name: "relative-terminal", trips: ids("terminal.create.cwd"), out: onCall("terminal/create", set("cwd", "sub"))},
		{name: "terminal-elsewhere", trips: ids("terminal.create.session-cwd"), out: onCall("terminal/create", set("cwd", "/"))},
		{name: "no-limit", trips: ids("terminal.create.limit"), out: onCall("terminal/create", cut("outputByteLimit"))},
		{name: "terminal-for-nobody", trips: ids("terminal.create.session"), out: onCall("terminal/output", cut("sessionId"))},
		{name: "no-terminal-no-matter", trips: ids("terminal.create.error")},
		{name: "any-terminal", trips: ids("terminal.own"), out: onCall("terminal/output", set("terminalId", "term-99"))},
		{name: "releases-twice", trips: ids("terminal.dead")},
		{name: "hides-terminal", trips: ids("terminal.embedded"), out: onUpdate("tool_call_update", whenStatus("in_progress", cut("content")))},
		{name: "never-releases", trips: ids("terminal.released terminal.released.cancel cancel.terminal.killed session.close.terminals")},
		{name: "releases-only-success", trips: ids("terminal.released.wait-error terminal.released.output-error terminal.released.failure terminal.released.cancel")},
		{name: "exit-code-is-no-matter", trips: ids("terminal.exit-code"), out: onUpdate("tool_call_update", whenStatus("failed", set("status", "completed")))},

		{name: "wordless-form", trips: ids("elicitation.message"), out: onCall(elicitation, set("message", ""))},
		{name: "odd-form", trips: ids("elicitation.mode"), out: onCall(elicitation, set("mode", "popup"))},
		{name: "form-for-nobody", trips: ids("elicitation.scope"), out: onCall(elicitation, cut("sessionId"))},
		{name: "nested-form", trips: ids("elicitation.flat"), out: onCall(elicitation, inside("requestedSchema", inside("properties", set("answer", object{"type": "object"}))))},
		{name: "form-requires-more", trips: ids("elicitation.required"), out: onCall(elicitation, inside("requestedSchema", set("required", []any{"answer", "more"})))},
		formFails("elicitation.accept", action("accept")),
		formFails("elicitation.decline", action("decline")),
		formFails("elicitation.cancel", action("cancel")),
		formFails("elicitation.malformed", func(r any, err error) bool { return has(r, "answer") }),
		formFails("elicitation.wrong-values", func(r any, err error) bool { return at(r, "content", "answer", "nested") != nil }),
		formFails("elicitation.error", func(_ any, err error) bool { return err != nil }),
	}
}
