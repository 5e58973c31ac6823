package conformance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// watchTools returns a check of all messages about each tool call of the tours.
func watchTools(see func(c *toolCall) (bool, *message, string)) func(*trial) {
	return func(t *trial) {
		seen := false
		reason := ""
		for _, name := range []string{"full", "bare"} {
			tr := t.tour(name)
			bySession := make(map[string][]*message)
			for _, m := range tr.p.messages(0) {
				if m.sent && m.method == "session/load" {
					delete(bySession, m.session()) // the messages that follow replay the same calls
				}
				if !m.sent {
					bySession[m.session()] = append(bySession[m.session()], m)
				}
			}
			for _, messages := range bySession {
				for _, c := range toolCalls(messages) {
					concerned, m, complaint := see(c)
					seen = seen || concerned
					if complaint != "" {
						t.failAt(m, "%v: %s", c, complaint)
					}
				}
			}
			reason = tr.missing("tool call of that kind")
		}
		if !seen {
			t.notSeen("%s", reason)
		}
	}
}

// watchEvents is like watchTools, for each single message about a tool call.
func watchEvents(see look) func(*trial) {
	return watchTools(func(c *toolCall) (seen bool, _ *message, _ string) {
		for _, m := range c.events {
			concerned, complaint := see(m)
			seen = seen || concerned
			if complaint != "" {
				return true, m, complaint
			}
		}
		return seen, nil, ""
	})
}

// watchMember is like watchEvents, for a string member of the update.
func watchMember(member, complaint string, known ...string) func(*trial) {
	return watchEvents(func(m *message) (bool, string) {
		_, body := m.update()
		value := str(body, member)
		return value != "", when(value != "" && !slices.Contains(known, value), complaint+" "+value)
	})
}

// watchList is like watchEvents, for each element of a list in the update.
func watchList(name string, see rule) func(*trial) {
	return watchEvents(func(m *message) (bool, string) {
		_, body := m.update()
		return len(list(body, name)) > 0, eachOf(name, see)(body)
	})
}

// watchDiff is like watchEvents, for each diff.
func watchDiff(see rule) func(*trial) {
	return watchEvents(func(m *message) (seen bool, _ string) {
		_, body := m.update()
		for _, c := range list(body, "content") {
			if str(c, "type") == "diff" {
				seen = true
				if complaint := see(c); complaint != "" {
					return true, complaint + ": " + excerpt(c)
				}
			}
		}
		return seen, ""
	})
}

// toolOf returns a check of the tool call in a turn for a purpose.
func toolOf(purpose Purpose, see func(s *scene, c *toolCall), values ...string) func(*trial) {
	return inSession(func(s *scene) {
		s.exampleFiles()
		see(s, s.ask(purpose, values...).tool())
	})
}

// kindOfTool returns a check of the kind of the tool call in a turn for a purpose.
func kindOfTool(purpose Purpose, kind string, values ...string) func(*trial) {
	return toolOf(purpose, func(s *scene, c *toolCall) {
		if got := str(c.state, "kind"); got != kind {
			s.failAt(c.first, "%v has the kind %q, not %q", c, got, kind)
		}
	}, values...)
}

var toolChecks = []Check{
	{"tool.announced", TierMust, "A tool call begins with tool_call; tool_call_update is about a known one.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		kind, _ := c.first.update()
		return true, c.first, when(kind != "tool_call", "it begins with a "+kind)
	})},
	{"tool.ids", TierMust, "Tool calls of a session have different ids.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		for _, m := range c.events[1:] {
			if kind, _ := m.update(); kind == "tool_call" {
				return true, m, "two tool calls have this id"
			}
		}
		return true, c.first, when(c.id == "", "the id is empty")
	})},
	{"tool.title", TierMust, "A tool call has a title.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		_, body := c.first.update()
		return true, c.first, when(blank(body, "title"), "it has no title")
	})},
	{"tool.ended", TierMust, "Every tool call is completed or failed when its turn is answered.", pageTools, watch("tool call", func() look {
		open := make(map[string]*toolCall)
		prompts := make(map[string]string)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			switch {
			case m.sent && m.method == "session/prompt":
				prompts[m.id] = m.session()
			case kind == "tool_call" || kind == "tool_call_update":
				key := m.session() + " " + str(body, "toolCallId")
				if over(str(body, "status")) {
					delete(open, key)
				} else if kind == "tool_call" {
					open[key] = &toolCall{id: str(body, "toolCallId"), state: body.(map[string]any)}
				}
				return true, ""
			case !m.sent && m.isResponse() && prompts[m.id] != "":
				for key, c := range open {
					if strings.HasPrefix(key, prompts[m.id]+" ") {
						return true, fmt.Sprintf("the prompt is answered and %v is left open", c)
					}
				}
			}
			return false, ""
		}
	})},
	{"tool.over-is-over", TierMust, "A tool call that is completed or failed does not run again.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		end := ""
		for _, m := range c.events {
			_, body := m.update()
			status := str(body, "status")
			if end != "" && status != "" && status != end {
				return true, m, "it was " + end + " and is " + status + " then"
			}
			if over(status) {
				end = status
			}
		}
		return end != "", nil, ""
	})},
	{"tool.status.known", TierMust, "The status is one that the protocol has.", pageTools, watchMember("status", "there is no status", "pending", "in_progress", "completed", "failed")},
	{"tool.status.forward", TierMust, "A tool call that is in progress does not become pending again.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		running := false
		for _, m := range c.events {
			_, body := m.update()
			if str(body, "status") == "pending" && running {
				return true, m, "it is pending again"
			}
			running = running || str(body, "status") == "in_progress"
		}
		return true, nil, ""
	})},
	{"tool.kind.known", TierMust, "The kind is one that the protocol has.", pageTools, watchMember("kind", "there is no kind",
		"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")},
	{"tool.kind.read", TierShould, "Reading a file is a tool call of the kind read.", pageTools, kindOfTool(PurposeRead, "read", "file", "notes.txt")},
	{"tool.kind.edit", TierShould, "Changing a file is a tool call of the kind edit.", pageTools, kindOfTool(PurposeEdit, "edit", "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"tool.kind.execute", TierShould, "Running a command is a tool call of the kind execute.", pageTools, kindOfTool(PurposeCommand, "execute", "file", "ran.txt", "text", "ran")},
	{"tool.locations.absolute", TierMust, "A location's path is absolute.", pageTools, watchList("locations", absolutePath)},
	{"tool.locations.lines", TierMust, "A location's line, if any, counts from 1.", pageTools, watchList("locations", lineFrom1)},
	{"tool.locations.read", TierShould, "Reading a file reports its location.", pageTools, toolOf(PurposeRead, func(s *scene, c *toolCall) {
		path := filepath.Join(s.work, "notes.txt")
		if !slices.ContainsFunc(list(c.state, "locations"), func(l any) bool { return str(l, "path") == path }) {
			s.failAt(c.first, "%v does not have the location notes.txt", c)
		}
	}, "file", "notes.txt")},
	{"tool.diff.absolute", TierMust, "A diff's path is absolute.", pageTools, watchDiff(absolutePath)},
	{"tool.diff.new-text", TierMust, "A diff has the new text.", pageTools, watchDiff(func(d any) string {
		_, ok := at(d, "newText").(string)
		return when(!ok, "there is no newText")
	})},
	{"tool.diff.new-file", TierMust, "The diff of a new file has no old text.", pageTools, toolOf(PurposeWrite, func(s *scene, c *toolCall) {
		if old := at(diffOf(s, c), "oldText"); old != nil {
			s.failAt(c.last(), "the file is new and the diff has the old text %s", excerpt(old))
		}
	}, "file", "new.txt", "text", "written")},
	{"tool.diff.old-text", TierMust, "The diff of a change has the old text and the new one.", pageTools, toolOf(PurposeEdit, func(s *scene, c *toolCall) {
		d := diffOf(s, c)
		if !strings.Contains(str(d, "oldText"), "alpha") || !strings.Contains(str(d, "newText"), "omega") {
			s.failAt(c.last(), "alpha was replaced by omega and the diff is %s", excerpt(d))
		}
	}, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"tool.content.known", TierMust, "Tool call content is a content block, a diff or a terminal.", pageTools, watchList("content", oneOf("type", "unknown type of content", "content", "diff", "terminal"))},
	{"tool.failure", TierMust, "A tool that fails makes a failed tool call, not an error of the prompt.", pageTools, toolOf(PurposeRead, func(s *scene, c *toolCall) {
		s.wants(c, "failed", "the file is not there")
	}, "file", "no-such-file.txt")},
	{"tool.failure.told", TierShould, "A failed tool call says why.", pageTools, toolOf(PurposeRead, func(s *scene, c *toolCall) {
		if c.status() == "failed" && len(list(c.state, "content")) == 0 && c.state["rawOutput"] == nil {
			s.failAt(c.last(), "%v failed without a word", c)
		}
	}, "file", "no-such-file.txt")},
	{"tool.raw-input", TierShould, "A tool call shows what the tool was asked for.", pageTools, toolOf(PurposeRead, func(s *scene, c *toolCall) {
		if c.state["rawInput"] == nil {
			s.failAt(c.first, "%v has no rawInput", c)
		}
	}, "file", "notes.txt")},
	{"tool.success", TierMust, "A tool that succeeds makes a completed tool call.", pageTools, toolOf(PurposeRead, func(s *scene, c *toolCall) {
		s.wants(c, "completed", "the file was read")
	}, "file", "notes.txt")},
	{"tool.terminal.known", TierMust, "A terminal in a tool call is one that the client created.", pageTerminals, watch("terminal in a tool call", func() look {
		known := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent {
				known[str(m.result, "terminalId")] = true
				return false, ""
			}
			c := m.content("terminal")
			return c != nil, when(c != nil && !known[str(c, "terminalId")], "the tool call shows a terminal that the client did not create")
		}
	})},
}

// diffOf returns the last diff of a tool call. It skips the check if there is none.
func diffOf(s *scene, c *toolCall) any {
	for _, m := range slices.Backward(c.events) {
		if d := m.content("diff"); d != nil {
			return d
		}
	}
	s.notSeen("%v has no diff", c)
	return nil
}
