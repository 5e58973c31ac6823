package conformance

import (
	"maps"
	"slices"
	"strings"
)

// hidden returns a defect that does not advertise a capability.
func hidden(check, name string) defect {
	return defect{name: "hides-" + name, trips: []string{check}, out: advertising(inside("sessionCapabilities", cut(name)))}
}

// replaying modifies the messages sent during session/load.
func replaying(change func(f *fake, m object) bool) (func(*fake, *message) bool, func(*fake, object) bool) {
	in := func(f *fake, m *message) bool {
		f.note("loading", m.method == "session/load")
		return false
	}
	out := func(f *fake, m object) bool { return f.noted("loading") != true || change(f, m) }
	return in, out
}

// replayed returns a defect that modifies the replayed updates of a kind.
func replayed(name, trips, kind string, change func(u object) bool) defect {
	update := onUpdate(kind, change)
	d := defect{name: name, trips: ids(trips)}
	d.in, d.out = replaying(update)
	return d
}

// whenStatus applies a change to updates with a status.
func whenStatus(status string, change func(u object) bool) func(object) bool {
	return func(u object) bool { return u["status"] != status || change(u) }
}

func sessionDefects() []defect {
	somewhere := setting("cwd", "/")
	return []defect{
		{name: "no-ids", trips: ids("session.new.id"), broad: true, out: onResult("session/new", cut("sessionId"))},
		{name: "same-ids", trips: ids("session.new.ids-unique robustness.sessions"), broad: true, out: func(f *fake, m object) bool {
			if id := str(m, "result", "sessionId"); id != "" {
				if f.noted("id") == nil {
					f.note("id", id)
				}
				m["result"].(map[string]any)["sessionId"] = f.noted("id")
			}
			return true
		}},
		{name: "relative-cwd", trips: ids("session.new.relative-cwd session.load.relative-cwd session.resume.relative-cwd")},
		{name: "dot-cwd", trips: ids("session.new.dot-cwd"), in: on("session/new", equals(".", "cwd"), somewhere)},
		{name: "empty-cwd", trips: ids("session.new.empty-cwd"), in: on("session/new", equals("", "cwd"), somewhere)},
		{name: "missing-cwd", trips: ids("session.new.missing-cwd"), in: on("session/new", both(paramHas("mcpServers"), not(paramHas("cwd"))), somewhere)},
		{name: "wrong-cwd", trips: ids("session.new.wrong-cwd"), in: on("session/new", equals(7.0, "cwd"), somewhere)},
		mortal("session.new.wrong-servers", "session/new", equals("none", "mcpServers")),
		choosy("session.new.odd-cwd", "session/new", func(m *message) bool { return strings.Contains(str(m.params, "cwd"), "ünï") }),
		{name: "own-cwd", trips: ids("session.new.cwd-honoured isolation.cwd")},
		{name: "early-commands", trips: ids("session.new.first-word")},
		{name: "greets", trips: ids("session.new.silent"), out: after(isUpdate("available_commands_update"), func(_ *fake, m object) object {
			return chunk(m, "agent_message_chunk", "Welcome")
		})},
		choosy("session.new.directories", "session/new", func(m *message) bool { return strings.HasPrefix(str(m.params, "additionalDirectories", 0), "/") }),
		{name: "relative-directories", trips: ids("session.new.directories-relative")},
		mortal("session.new.broken-server", "session/new", equals("broken", "mcpServers", 0, "name")),
		mortal("session.new.odd-servers", "session/new", equals("", "mcpServers", 0, "name")),

		{name: "hides-load", trips: ids("session.load.as-advertised"), out: advertising(set("loadSession", false))},
		{name: "keeps-nothing", trips: ids("session.load.other-process session.list.other-process session.list.has"), broad: true},
		replayed("forgets-user", "session.load.user session.load.order", "user_message_chunk", dropped),
		replayed("forgets-agent", "session.load.agent session.load.order", "agent_message_chunk", dropped),
		{name: "replays-backwards", trips: ids("session.load.order")},
		{name: "replays-late", trips: ids("session.load.before-response")},
		replayed("forgets-tools", "session.load.tools", "", func(u object) bool { return !strings.HasPrefix(str(u, "sessionUpdate"), "tool_call") }),
		replayed("forgets-results", "session.load.tools-ended", "tool_call_update", cut("status")),
		replayed("forgets-calls", "session.load.tools-announced", "tool_call", dropped),
		{name: "replays-all", trips: ids("session.load.own")},
		replayed("new-message-ids", "session.load.message-ids", "agent_message_chunk", set("messageId", "new")),
		{name: "load-opens-nothing", trips: ids("session.load.goes-on session.close.loadable")},
		{name: "load-without-options", trips: ids("session.load.options"), out: onResult("session/load", cut("configOptions"))},
		{name: "knows-all", trips: ids("session.load.unknown session.resume.unknown session.load.unknown-code")},
		{name: "odd-code-of-load", trips: ids("session.load.unknown-code"), in: on("session/load", equals("no-such-session", "sessionId"), refusing(-32603))},
		{name: "follows-paths", trips: ids("session.load.odd-id")},
		{name: "relative-load", trips: ids("session.load.relative-cwd"), in: on("session/load", equals("some/dir", "cwd"), somewhere)},
		hidden("session.resume.as-advertised", "resume"),
		{name: "resume-replays", trips: ids("session.resume.no-replay")},
		{name: "resume-opens-nothing", trips: ids("session.resume.goes-on")},
		{name: "resume-without-options", trips: ids("session.resume.options"), out: onResult("session/resume", cut("configOptions"))},
		lax("session.resume.unknown", "session/resume", equals("no-such-session", "sessionId"), object{}),
		{name: "relative-resume", trips: ids("session.resume.relative-cwd"), in: on("session/resume", equals("some/dir", "cwd"), somewhere)},

		hidden("session.list.as-advertised", "list"),
		{name: "null-list", trips: ids("session.list.empty"), out: onResult("session/list", func(r object) bool {
			if len(list(r, "sessions")) == 0 {
				r["sessions"] = nil
			}
			return true
		})},
		{name: "lists-nothing", trips: ids("session.list.has session.list.pages"), out: onResult("session/list", set("sessions", []any{}))},
		{name: "lists-elsewhere", trips: ids("session.list.cwd"), out: onResult("session/list", each("sessions", set("cwd", "/elsewhere")))},
		{name: "vague-times", trips: ids("session.list.updated"), out: onResult("session/list", each("sessions", set("updatedAt", "yesterday")))},
		{name: "lists-own", trips: ids("session.list.other-process")},
		{name: "filter-hides-all", trips: ids("session.list.filter"), in: on("session/list", param("cwd"), setting("cwd", "/nowhere"))},
		{name: "lists-all", trips: ids("session.list.filter-others")},
		{name: "page-skips", trips: ids("session.list.pages")},
		choosy("session.list.null-cursor", "session/list", both(paramHas("cursor"), equals(nil, "cursor"))),
		{name: "any-cursor", trips: ids("session.list.bad-cursor")},
		{name: "close-deletes", trips: ids("session.list.closed session.close.loadable")},
		{name: "lists-no-directories", trips: ids("session.list.directories"), out: onResult("session/list", each("sessions", set("additionalDirectories", []any{})))},

		hidden("session.close.as-advertised", "close"),
		{name: "close-fails", trips: ids("session.close.answers"), in: on("session/close", always, refusing(-32603))},
		{name: "close-leaves-open", trips: ids("session.close.ends")},
		{name: "close-is-end-turn", trips: ids("session.close.cancels")},
		{name: "close-leaves-terminal", trips: ids("session.close.terminals")},
		{name: "close-closes-all", trips: ids("session.close.others")},
		{name: "close-once", trips: ids("session.close.twice"), in: on("session/close", always, func(f *fake, m *message) bool {
			if f.count("close "+m.session()) > 1 {
				f.die()
			}
			return false
		})},

		hidden("session.delete.as-advertised", "delete"),
		{name: "delete-does-nothing", trips: ids("session.delete.unlists session.delete.unloadable session.delete.other-process")},
		{name: "delete-deletes-all", trips: ids("session.delete.others")},
		{name: "delete-leaves-open", trips: ids("session.delete.unloadable")},
		{name: "delete-hides", trips: ids("session.delete.other-process")},
		{name: "delete-once", trips: ids("session.delete.twice"), in: on("session/delete", always, func(f *fake, m *message) bool {
			if f.count("delete "+m.session()) > 1 {
				f.refuse(m, codeNotFound, "gone")
				return true
			}
			return false
		})},
		choosy("session.delete.unknown", "session/delete", equals("no-such-session", "sessionId")),
		{name: "delete-drops-turn", trips: ids("session.delete.running"), hangs: true},

		{name: "first-cwd", trips: ids("isolation.cwd")},
		{name: "one-turn-at-a-time", trips: ids("isolation.turns"), hangs: true},
		{name: "cancels-all", trips: ids("isolation.cancel"), in: on("session/cancel", always, func(f *fake, m *message) bool {
			f.mu.Lock()
			all := slices.Collect(maps.Values(f.sessions))
			f.mu.Unlock()
			for _, s := range all {
				if s.ID != m.session() {
					s.cancel()
					s.over()
				}
			}
			return false
		})},
		{name: "last-session", trips: ids("isolation.updates"), in: on("session/new", always, func(f *fake, _ *message) bool {
			f.note("newest", true)
			return false
		}), out: func(f *fake, m object) bool {
			if id := str(m, "result", "sessionId"); id != "" {
				f.note("last", id)
			}
			if last, ok := f.noted("last").(string); ok && turnKind(str(m, "params", "update", "sessionUpdate")) {
				m["params"].(map[string]any)["sessionId"] = last
			}
			return true
		}},
		{name: "mode-for-all", trips: ids("isolation.mode")},
		{name: "options-for-all", trips: ids("isolation.options")},
	}
}

// chunk returns a text update for the session that m belongs to.
func chunk(m object, kind, text string) object {
	return object{"method": "session/update", "params": object{
		"sessionId": str(m, "params", "sessionId"),
		"update":    object{"sessionUpdate": kind, "messageId": "extra", "content": object{"type": "text", "text": text}},
	}}
}
