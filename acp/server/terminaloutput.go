package server

import (
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// A client without terminals can still show one for a command that gjc runs. It advertises that in its _meta, and receives the
// output as it arrives, in the _meta of the tool call's updates. Clients use two names for this member; both append the data.
const (
	metaOutput      = "terminal_output"
	metaOutputDelta = "terminal_output_delta"
	metaInfo        = "terminal_info"
	metaExit        = "terminal_exit"
)

type (
	terminalInfo struct {
		TerminalID string `json:"terminal_id"`
	}
	terminalData struct {
		TerminalID string `json:"terminal_id"`
		Data       string `json:"data"`
	}
	terminalExit struct {
		TerminalID string  `json:"terminal_id"`
		ExitCode   *int    `json:"exit_code"`
		Signal     *string `json:"signal"`
	}
)

// printing is a command whose output is sent in _meta.
type printing struct {
	// shown is the content next to the terminal.
	shown []agent.Content
	// cut reports whether part of the output was not sent as it arrived.
	cut bool
}

// progress returns the updates about the progress of a call.
func (m *mapper) progress(ev agent.ToolProgress) []acp.SessionUpdate {
	if m.output == "" {
		return []acp.SessionUpdate{m.toolProgress(ev)}
	}
	p := m.printing[ev.CallID]
	if p == nil && ev.Output == "" {
		return []acp.SessionUpdate{m.toolProgress(ev)}
	}
	var all []acp.SessionUpdate
	if p == nil {
		p = &printing{shown: ev.Content[:max(len(ev.Content)-1, 0)]} // the last block is the output
		m.printing[ev.CallID] = p
		u := m.toolProgress(agent.ToolProgress{CallID: ev.CallID, Running: true, Content: p.content(ev.CallID)})
		setMeta(&u.Meta, metaInfo, terminalInfo{ev.CallID})
		all = append(all, u)
	}
	if ev.Output == "" {
		p.cut = true
		return all
	}
	u := &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(ev.CallID)}
	setMeta(&u.Meta, m.output, terminalData{ev.CallID, terminalText(ev.Output)})
	return append(all, u)
}

// content returns the content of the call, with its terminal at the end.
func (p *printing) content(call string) []agent.Content {
	return append(p.shown[:len(p.shown):len(p.shown)], agent.TerminalContent{TerminalID: call})
}

// ended returns the updates about the end of a call and of its terminal.
func (m *mapper) ended(ev agent.ToolEnded) []acp.SessionUpdate {
	p := m.printing[ev.CallID]
	if p == nil {
		return []acp.SessionUpdate{m.toolEnded(ev)}
	}
	delete(m.printing, ev.CallID)
	var all []acp.SessionUpdate
	if text, last := lastText(ev.Content); p.cut && last {
		u := &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(ev.CallID)}
		setMeta(&u.Meta, m.output, terminalData{ev.CallID, terminalText("\n…\n" + text)})
		all = append(all, u)
	}
	exit := terminalExit{TerminalID: ev.CallID}
	var raw struct {
		ExitCode *int   `json:"exitCode"`
		Signal   string `json:"signal"`
	}
	if jsonx.Unmarshal(ev.Raw, &raw) == nil {
		exit.ExitCode = raw.ExitCode
		if raw.Signal != "" {
			exit.Signal = &raw.Signal
		}
	}
	ev.Content = p.content(ev.CallID)
	u := m.toolEnded(ev)
	setMeta(&u.Meta, metaExit, exit)
	return append(all, u)
}

func lastText(content []agent.Content) (string, bool) {
	if len(content) == 0 {
		return "", false
	}
	t, ok := content[len(content)-1].(agent.TextContent)
	return t.Text, ok
}

// terminalText returns text with the line endings of terminals.
func terminalText(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
