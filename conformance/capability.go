package conformance

import (
	"fmt"
	"strings"
)

// never returns a check that a client without a capability does not receive a method, in a turn that would use it.
func never(methods ...string) func(*trial) {
	return func(t *trial) {
		tr := t.toured("bare")
		for _, m := range tr.p.messages(0) {
			for _, method := range methods {
				if !m.sent && m.method == method {
					t.failAt(m, "the client did not advertise %s and is called", method)
				}
			}
		}
	}
}

// neverUpdates returns a check that a client does not receive a kind of update that it did not ask for.
func neverUpdates(tour string, kinds ...string) func(*trial) {
	return func(t *trial) {
		tr := t.toured(tour)
		for _, m := range tr.p.messages(0) {
			got, _ := m.update()
			for _, kind := range kinds {
				if !m.sent && got == kind {
					t.failAt(m, "the client did not advertise that it takes %s", kind)
				}
			}
		}
	}
}

// spared returns a check that a client with some capabilities does not receive a method in a turn for a purpose.
func spared(capabilities object, method string, purpose Purpose, values ...string) func(*trial) {
	return func(t *trial) {
		p, id := t.session(capabilities)
		p.file("notes.txt", "The first line.\n")
		p.file("edit.txt", "before\nalpha\nafter\n")
		u := p.purpose(id, purpose, values...)
		u.stop()
		if m := p.find(0, func(m *message) bool { return !m.sent && m.method == method }); m != nil {
			t.failAt(m, "the client did not advertise %s and is called", method)
		}
	}
}

var clientChecks = []Check{
	{"client.no-reads", TierMust, "fs/read_text_file is not called unless advertised.", pageFiles, never("fs/read_text_file")},
	{"client.no-writes", TierMust, "fs/write_text_file is not called unless advertised.", pageFiles, never("fs/write_text_file")},
	{"client.no-terminals", TierMust, "terminal methods are not called unless advertised.", pageTerminals, never("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")},
	{"client.no-forms", TierMust, "elicitation/create is not called unless advertised.", pageElicitation, never("elicitation/create", "elicitation/complete")},
	{"client.no-mcp", TierMust, "mcp/message is not called by an agent that was given no such server.", pageSession, never("mcp/message")},
	{"client.reads-only", TierMust, "A client that only reads files is not asked to write them.", pageFiles, spared(object{"fs": object{"readTextFile": true}}, "fs/write_text_file", PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"client.writes-only", TierMust, "A client that only writes files is not asked to read them.", pageFiles, spared(object{"fs": object{"writeTextFile": true}}, "fs/read_text_file", PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"client.false-is-no", TierMust, "A capability that is false is not there.", pageInitialize, spared(object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false}, "fs/read_text_file", PurposeRead, "file", "notes.txt")},
	{"client.empty-elicitation", TierMust, "An empty elicitation capability is no mode.", pageElicitation, spared(object{"elicitation": object{}}, "elicitation/create", PurposeAsk)},
	{"client.no-url-mode", TierMust, "A client without elicitation.url is not asked by URL.", pageElicitation, func(t *trial) {
		p, id := t.session(withForms)
		p.purpose(id, PurposeAsk).stop()
		if m := p.find(0, func(m *message) bool { return !m.sent && str(m.params, "mode") == "url" }); m != nil {
			t.failAt(m, "the client has forms only")
		}
	}},
	{"client.no-terminal-content", TierMust, "A client without terminals is not shown any.", pageTerminals, func(t *trial) {
		tr := t.toured("bare")
		for _, m := range tr.p.messages(0) {
			_, body := m.update()
			for _, c := range list(body, "content") {
				if !m.sent && str(c, "type") == "terminal" {
					t.failAt(m, "the client has no terminals")
				}
			}
		}
	}},
	{"client.no-notices", TierMust, "notice updates come only if session.notices is advertised.", pageSession, neverUpdates("bare", "notice")},
	{"client.no-compaction", TierMust, "compaction updates come only if session.compaction is advertised.", pageSession, neverUpdates("bare", "compaction_update", "compaction_summary_chunk")},
	{"client.no-plan-updates", TierMust, "plan_update and plan_removed come only if plan is advertised.", pagePlan, neverUpdates("full", "plan_update", "plan_removed")},
	{"client.no-subagents", TierMust, "subagent updates come only if subagents is advertised.", pageSession, neverUpdates("full", "subagent_update", "session_message", "session_message_chunk")},
	{"client.known-methods", TierMust, "The agent calls only methods that the protocol has, or such with an underscore.", pageExtension, watchOne("request or notification", func(m *message) (bool, string) {
		if m.method == "" || strings.HasPrefix(m.method, "_") {
			return false, ""
		}
		_, request := rootShapes["request "+m.method]
		_, notification := rootShapes["notification "+m.method]
		ok := request && m.id != "" || notification && m.id == ""
		return true, map[bool]string{false: fmt.Sprintf("the protocol has no method %q of that kind", m.method)}[ok]
	})},
	{"client.known-updates", TierMust, "The agent sends only updates that the protocol has.", pageSchema, watchOne("update", func(m *message) (bool, string) {
		if m.method != "session/update" {
			return false, ""
		}
		kind, _ := m.update()
		for _, a := range allShapes["SessionUpdate"].any {
			if d := a.members["sessionUpdate"]; d != nil && d.literal == kind {
				return true, ""
			}
		}
		return true, fmt.Sprintf("the protocol has no update %q", kind)
	})},
}
