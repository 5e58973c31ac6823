package conformance

import (
	"os"
	"path/filepath"
)

// eachContent modifies tool call content of a type.
func eachContent(kind string, change func(c object) bool) func(*fake, object) bool {
	return onUpdate("", func(u object) bool {
		for _, c := range list(u, "content") {
			if c, ok := c.(map[string]any); ok && c["type"] == kind {
				change(c)
			}
		}
		return true
	})
}

// eachOption modifies the options of permission requests.
func eachOption(change func(o object) bool) func(*fake, object) bool {
	return onCall(permission, each("options", change))
}

// allowing returns a defect that treats an answer as consent.
func allowing(check string, match func(r any, err error) bool) defect {
	return defect{name: "allows-" + check, trips: ids(check), allows: func(t *fakeTurn, r any, err error) bool {
		return match(r, err) || err == nil && (str(r, "outcome", "optionId") == "yes" || str(r, "outcome", "optionId") == "always")
	}}
}

// ranAnyway runs a rejected command.
func (t *fakeTurn) ranAnyway() {
	_ = os.WriteFile(filepath.Join(t.s.Cwd, "ran.txt"), []byte("ran\n"), 0o666)
}

// ofKind modifies the announcements of tool calls of a kind.
func ofKind(kind string, change func(u object) bool) func(*fake, object) bool {
	return onUpdate("tool_call", func(u object) bool { return u["kind"] != kind || change(u) })
}

func toolDefects() []defect {
	firstLocation := func(change func(o object) bool) func(*fake, object) bool {
		return onUpdate("tool_call", each("locations", change))
	}
	return []defect{
		{name: "unannounced", trips: ids("tool.announced"), out: onUpdate("tool_call", set("sessionUpdate", "tool_call_update"))},
		{name: "one-tool-id", trips: ids("tool.ids"), out: func(_ *fake, m object) bool {
			if u, ok := at(m, "params", "update").(map[string]any); ok && has(u, "toolCallId") {
				u["toolCallId"] = "one"
			}
			return true
		}},
		{name: "untitled", trips: ids("tool.title"), out: onUpdate("tool_call", set("title", ""))},
		{name: "never-completes", trips: ids("tool.ended"), out: onUpdate("tool_call_update", whenStatus("completed", cut("status")))},
		{name: "runs-again", trips: ids("tool.over-is-over"), out: after(func(m object) bool {
			return str(m, "params", "update", "status") == "completed"
		}, func(_ *fake, m object) object {
			return object{"method": "session/update", "params": object{"sessionId": str(m, "params", "sessionId"), "update": object{
				"sessionUpdate": "tool_call_update", "toolCallId": str(m, "params", "update", "toolCallId"), "status": "in_progress",
			}}}
		})},
		{name: "odd-status", trips: ids("tool.status.known"), out: onUpdate("tool_call_update", whenStatus("in_progress", set("status", "running")))},
		{name: "backwards", trips: ids("tool.status.forward"), out: after(func(m object) bool {
			return str(m, "params", "update", "status") == "in_progress"
		}, func(_ *fake, m object) object {
			return object{"method": "session/update", "params": object{"sessionId": str(m, "params", "sessionId"), "update": object{
				"sessionUpdate": "tool_call_update", "toolCallId": str(m, "params", "update", "toolCallId"), "status": "pending",
			}}}
		})},
		{name: "odd-kind", trips: ids("tool.kind.known tool.kind.execute"), out: ofKind("execute", set("kind", "shell"))},
		{name: "read-is-other", trips: ids("tool.kind.read"), out: ofKind("read", set("kind", "other"))},
		{name: "edit-is-other", trips: ids("tool.kind.edit"), out: ofKind("edit", set("kind", "other"))},
		{name: "execute-is-other", trips: ids("tool.kind.execute"), out: ofKind("execute", set("kind", "other"))},
		{name: "relative-locations", trips: ids("tool.locations.absolute tool.locations.read"), out: firstLocation(set("path", "notes.txt"))},
		{name: "line-zero", trips: ids("tool.locations.lines"), out: firstLocation(set("line", 0))},
		{name: "no-locations", trips: ids("tool.locations.read"), out: ofKind("read", cut("locations"))},
		{name: "relative-diffs", trips: ids("tool.diff.absolute"), out: eachContent("diff", set("path", "new.txt"))},
		{name: "diffs-without-text", trips: ids("tool.diff.new-text"), out: eachContent("diff", cut("newText"))},
		{name: "new-is-empty", trips: ids("tool.diff.new-file"), out: eachContent("diff", func(c object) bool {
			if c["oldText"] == nil {
				c["oldText"] = ""
			}
			return true
		})},
		{name: "old-is-nothing", trips: ids("tool.diff.old-text"), out: eachContent("diff", set("oldText", nil))},
		{name: "odd-content", trips: ids("tool.content.known"), out: eachContent("content", set("type", "markdown"))},
		{name: "failed-is-completed", trips: ids("tool.failure permission.reject.told files.write.error terminal.exit-code"), out: onUpdate("tool_call_update", whenStatus("failed", set("status", "completed")))},
		{name: "tool-error-ends-turn", trips: ids("tool.failure files.read.error files.read.malformed terminal.create.malformed terminal.create.error")},
		{name: "wordless-failure", trips: ids("tool.failure.told"), out: onUpdate("tool_call_update", whenStatus("failed", cut("content")))},
		{name: "no-raw-input", trips: ids("tool.raw-input"), out: onUpdate("tool_call", cut("rawInput"))},
		{name: "completed-is-failed", trips: ids("tool.success"), out: onUpdate("tool_call_update", whenStatus("completed", set("status", "failed")))},
		{name: "unknown-terminal", trips: ids("tool.terminal.known"), out: eachContent("terminal", set("terminalId", "nobody's"))},

		{name: "permission-for-nothing", trips: ids("permission.announced"), out: onCall(permission, inside("toolCall", set("toolCallId", "nobody's")))},
		{name: "no-options", trips: ids("permission.options"), out: onCall(permission, set("options", []any{}))},
		{name: "same-options", trips: ids("permission.options.ids"), out: eachOption(set("optionId", "yes"))},
		{name: "odd-options", trips: ids("permission.options.kinds"), out: eachOption(set("kind", "maybe"))},
		{name: "nameless-options", trips: ids("permission.options.names"), out: eachOption(set("name", ""))},
		{name: "no-way-out", trips: ids("permission.options.choice"), out: onCall(permission, func(p object) bool {
			p["options"] = list(p, "options")[:2]
			return true
		})},
		{name: "runs-first", trips: ids("permission.waits"), broad: true},
		{name: "allowed-in-vain", trips: ids("permission.allow")},
		allowing("permission.reject", func(r any, _ error) bool { return str(r, "outcome", "optionId") == "no" }),
		{name: "rejection-ends-session", trips: ids("permission.reject.goes-on"), allows: func(t *fakeTurn, r any, err error) bool {
			if str(r, "outcome", "optionId") == "no" {
				t.failure = "rejected"
			}
			return str(r, "outcome", "optionId") == "yes"
		}},
		allowing("permission.unknown-option", func(r any, _ error) bool { return str(r, "outcome", "optionId") == "never-offered" }),
		allowing("permission.malformed", func(r any, _ error) bool { return has(r, "decision") }),
		allowing("permission.wrong-type", func(r any, _ error) bool { return str(r, "outcome") == "allow_once" }),
		allowing("permission.null", func(r any, err error) bool { return r == nil && err == nil }),
		allowing("permission.empty-option", func(r any, _ error) bool {
			return str(r, "outcome", "outcome") == "selected" && !has(at(r, "outcome"), "optionId")
		}),
		allowing("permission.error", func(_ any, err error) bool { return err != nil }),
		allowing("permission.cancelled", func(r any, _ error) bool { return str(r, "outcome", "outcome") == "cancelled" }),
		{name: "asks-twice", trips: ids("permission.one-at-a-time"), out: after(isCall(permission), func(_ *fake, m object) object {
			return object{"id": "once-more", "method": permission, "params": m["params"]}
		})},
		{name: "strict-answers", trips: ids("extension.meta.answer"), allows: func(_ *fakeTurn, r any, err error) bool {
			return err == nil && !has(r, "mood") && str(r, "outcome", "optionId") == "yes"
		}},
	}
}
