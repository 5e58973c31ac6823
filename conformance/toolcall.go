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
					delete(bySession, m.session()) // what follows replays the same calls
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
func watchEvents(see func(body any) (bool, string)) func(*trial) {
	return watchTools(func(c *toolCall) (seen bool, _ *message, _ string) {
		for _, m := range c.events {
			_, body := m.update()
			concerned, complaint := see(body)
			seen = seen || concerned
			if complaint != "" {
				return true, m, complaint
			}
		}
		return seen, nil, ""
	})
}

// watchContent is like watchEvents, for tool call content of one type.
func watchContent(kind string, see func(c any) string) func(*trial) {
	return watchEvents(func(body any) (seen bool, _ string) {
		for _, c := range list(body, "content") {
			if str(c, "type") == kind {
				seen = true
				if complaint := see(c); complaint != "" {
					return true, complaint + ": " + excerpt(c)
				}
			}
		}
		return seen, ""
	})
}

// toolOf returns a check of the tool call of a purpose.
func toolOf(purpose Purpose, see func(t *trial, p *peer, c *toolCall), values ...string) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		p.file("notes.txt", "The first line.\n")
		p.file("edit.txt", "before\nalpha\nafter\n")
		u := p.purpose(id, purpose, values...)
		u.stop()
		see(t, p, u.tool())
	}
}

// kindOfTool returns a check of the kind of a purpose's tool call.
func kindOfTool(purpose Purpose, kind string, values ...string) func(*trial) {
	return toolOf(purpose, func(t *trial, _ *peer, c *toolCall) {
		if got := str(c.state, "kind"); got != kind {
			t.failAt(c.first, "%v has the kind %q, not %q", c, got, kind)
		}
	}, values...)
}

var toolStatuses = []string{"pending", "in_progress", "completed", "failed"}

var toolChecks = []Check{
	{"tool.announced", TierMust, "A tool call begins with tool_call; tool_call_update is about a known one.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		kind, _ := c.first.update()
		return true, c.first, map[bool]string{false: "the first that is told about it is a " + kind}[kind == "tool_call"]
	})},
	{"tool.ids", TierMust, "Tool calls of a session have different ids.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		for _, m := range c.events[1:] {
			if kind, _ := m.update(); kind == "tool_call" {
				return true, m, "two tool calls have this id"
			}
		}
		return true, c.first, map[bool]string{true: "the id is empty"}[c.id == ""]
	})},
	{"tool.title", TierMust, "A tool call has a title.", pageTools, watchTools(func(c *toolCall) (bool, *message, string) {
		_, body := c.first.update()
		return true, c.first, map[bool]string{true: "it has no title"}[strings.TrimSpace(str(body, "title")) == ""]
	})},
	{"tool.ended", TierMust, "Every tool call is completed or failed when its turn is answered.", pageTools, watch("tool call", func(*tour) look {
		open := make(map[string]*toolCall)
		prompts := make(map[string]string)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			switch {
			case m.sent && m.method == "session/prompt":
				prompts[m.id] = m.session()
			case kind == "tool_call" || kind == "tool_call_update":
				key := m.session() + " " + str(body, "toolCallId")
				if status := str(body, "status"); status == "completed" || status == "failed" {
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
		over := ""
		for _, m := range c.events {
			_, body := m.update()
			status := str(body, "status")
			if over != "" && status != "" && status != over {
				return true, m, "it was " + over + " and is " + status + " then"
			}
			if status == "completed" || status == "failed" {
				over = status
			}
		}
		return over != "", nil, ""
	})},
	{"tool.status.known", TierMust, "The status is one that the protocol has.", pageTools, watchEvents(func(body any) (bool, string) {
		status := str(body, "status")
		return status != "", map[bool]string{true: "there is no status " + status}[status != "" && !slices.Contains(toolStatuses, status)]
	})},
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
	{"tool.kind.known", TierMust, "The kind is one that the protocol has.", pageTools, watchEvents(func(body any) (bool, string) {
		kind := str(body, "kind")
		known := []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
		return kind != "", map[bool]string{true: "there is no kind " + kind}[kind != "" && !slices.Contains(known, kind)]
	})},
	{"tool.kind.read", TierShould, "Reading a file is a tool call of the kind read.", pageTools, kindOfTool(PurposeRead, "read", "file", "notes.txt")},
	{"tool.kind.edit", TierShould, "Changing a file is a tool call of the kind edit.", pageTools, kindOfTool(PurposeEdit, "edit", "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"tool.kind.execute", TierShould, "Running a command is a tool call of the kind execute.", pageTools, kindOfTool(PurposeCommand, "execute", "file", "ran.txt", "text", "ran")},
	{"tool.locations.absolute", TierMust, "A location's path is absolute.", pageTools, watchEvents(func(body any) (bool, string) {
		for _, l := range list(body, "locations") {
			if !filepath.IsAbs(str(l, "path")) {
				return true, "a location is not absolute: " + excerpt(l)
			}
		}
		return len(list(body, "locations")) > 0, ""
	})},
	{"tool.locations.lines", TierMust, "A location's line, if any, counts from 1.", pageTools, watchEvents(func(body any) (bool, string) {
		for _, l := range list(body, "locations") {
			if line, ok := at(l, "line").(float64); ok && line < 1 {
				return true, "a location has the line " + excerpt(line)
			}
		}
		return len(list(body, "locations")) > 0, ""
	})},
	{"tool.locations.read", TierShould, "Reading a file tells its location.", pageTools, toolOf(PurposeRead, func(t *trial, p *peer, c *toolCall) {
		for _, l := range list(c.state, "locations") {
			if str(l, "path") == filepath.Join(p.work, "notes.txt") {
				return
			}
		}
		t.failAt(c.first, "%v does not tell that it is about notes.txt", c)
	}, "file", "notes.txt")},
	{"tool.diff.absolute", TierMust, "A diff's path is absolute.", pageTools, watchContent("diff", func(c any) string {
		return map[bool]string{false: "the path is not absolute"}[filepath.IsAbs(str(c, "path"))]
	})},
	{"tool.diff.new-text", TierMust, "A diff has the new text.", pageTools, watchContent("diff", func(c any) string {
		_, ok := at(c, "newText").(string)
		return map[bool]string{false: "there is no newText"}[ok]
	})},
	{"tool.diff.new-file", TierMust, "The diff of a new file has no old text.", pageTools, toolOf(PurposeWrite, func(t *trial, _ *peer, c *toolCall) {
		d := diffOf(t, c)
		if at(d, "oldText") != nil {
			t.failAt(c.events[len(c.events)-1], "the file is new and the diff has the old text %s", excerpt(at(d, "oldText")))
		}
	}, "file", "new.txt", "text", "written")},
	{"tool.diff.old-text", TierMust, "The diff of a change has the old text and the new one.", pageTools, toolOf(PurposeEdit, func(t *trial, _ *peer, c *toolCall) {
		d := diffOf(t, c)
		if !strings.Contains(str(d, "oldText"), "alpha") || !strings.Contains(str(d, "newText"), "omega") {
			t.failAt(c.events[len(c.events)-1], "alpha was replaced by omega and the diff is %s", excerpt(d))
		}
	}, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"tool.content.known", TierMust, "Tool call content is a content block, a diff or a terminal.", pageTools, watchEvents(func(body any) (bool, string) {
		for _, c := range list(body, "content") {
			if kind := str(c, "type"); !slices.Contains([]string{"content", "diff", "terminal"}, kind) {
				return true, "there is no content of the type " + kind
			}
		}
		return len(list(body, "content")) > 0, ""
	})},
	{"tool.failure", TierMust, "A tool that fails makes a failed tool call, not an error of the prompt.", pageTools, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeRead, "file", "no-such-file.txt")
		u.stop()
		if c := u.tool(); c.status() != "failed" {
			t.failAt(c.events[len(c.events)-1], "the file is not there and %v is %s", c, c.status())
		}
	}},
	{"tool.failure.told", TierShould, "A failed tool call tells why.", pageTools, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeRead, "file", "no-such-file.txt")
		u.stop()
		c := u.tool()
		if c.status() == "failed" && len(list(c.state, "content")) == 0 && c.state["rawOutput"] == nil {
			t.failAt(c.events[len(c.events)-1], "%v failed without a word", c)
		}
	}},
	{"tool.raw-input", TierShould, "A tool call shows what the tool was asked for.", pageTools, toolOf(PurposeRead, func(t *trial, _ *peer, c *toolCall) {
		if c.state["rawInput"] == nil {
			t.failAt(c.first, "%v has no rawInput", c)
		}
	}, "file", "notes.txt")},
	{"tool.success", TierMust, "A tool that succeeds makes a completed tool call.", pageTools, toolOf(PurposeRead, func(t *trial, _ *peer, c *toolCall) {
		if c.status() != "completed" {
			t.failAt(c.events[len(c.events)-1], "%v is %s", c, c.status())
		}
	}, "file", "notes.txt")},
	{"tool.terminal.known", TierMust, "A terminal in a tool call is one that the client created.", pageTerminals, watch("terminal in a tool call", func(*tour) look {
		known := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent {
				known[str(m.result, "terminalId")] = true
				return false, ""
			}
			_, body := m.update()
			for _, c := range list(body, "content") {
				if str(c, "type") == "terminal" {
					return true, map[bool]string{false: "the tool call shows a terminal that nobody created"}[known[str(c, "terminalId")]]
				}
			}
			return false, ""
		}
	})},
}

// diffOf returns the diff of a tool call. It skips the check if there is none.
func diffOf(t *trial, c *toolCall) any {
	for _, m := range slices.Backward(c.events) {
		_, body := m.update()
		for _, e := range list(body, "content") {
			if str(e, "type") == "diff" {
				return e
			}
		}
	}
	t.notSeen("%v has no diff", c)
	return nil
}
