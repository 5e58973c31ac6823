package chat

import (
	"fmt"
	"path/filepath"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// view shows the updates of a session.
type view struct {
	*screen
	cwd    string
	answer markdown // the agent's message
	// message is the ID of the message whose text is shown, and thought says that it is a thought.
	message  acp.MessageID
	thoughts filler
	part     part   // what was shown last
	busy     string // the status of an agent that works
	calls    map[acp.ToolCallID]*call
	plan     string // the last one that was shown

	usage    acp.UsageUpdate
	commands []acp.AvailableCommand
	options  []acp.SessionConfigOption
	mode     acp.SessionModeID
	title    string
}

// call is a tool call.
type call struct {
	title   string
	kind    acp.ToolKind
	content []acp.ToolCallContent
	// asked says that the content was shown with a question, and ended that the call has ended.
	asked, ended bool
}

// part is a part of a turn. An empty line separates it from another one.
type part int

const (
	nothing part = iota
	texts
	thoughts
	calls
)

func newView(s *screen, cwd string) *view {
	columns := func() int {
		columns, _ := s.size()
		return columns
	}
	return &view{screen: s, cwd: cwd, answer: markdown{style: s.style, columns: columns}, calls: make(map[acp.ToolCallID]*call)}
}

// update shows an update.
func (v *view) update(u acp.SessionUpdate) {
	switch u := u.(type) {
	case *acp.AgentMessageChunk:
		v.chunk(u.MessageID, u.Content, texts)
	case *acp.AgentThoughtChunk:
		v.chunk(u.MessageID, u.Content, thoughts)
	case *acp.UserMessageChunk:
		v.finish()
		v.part = nothing
		if t, ok := u.Content.(*acp.TextContent); ok {
			v.line("\n" + v.bold("> "+strings.ReplaceAll(clean(t.Text), "\n", "\n  ")))
		}
	case *acp.ToolCall:
		v.began(u)
	case *acp.ToolCallUpdate:
		v.changed(u)
	case *acp.Plan:
		v.planned(u)
	case *acp.Notice:
		v.finish()
		mark := v.dim(v.mark("·", "-"))
		if u.Severity != acp.NoticeSeverityInfo {
			mark = v.yellow("!")
		}
		v.line(mark + " " + strings.TrimSpace(cleanLine(u.Title)+" "+v.dim(clean(u.Description))))
	case *acp.CompactionUpdate:
		v.compacted(u)
	case *acp.UsageUpdate:
		v.usage = *u
	case *acp.AvailableCommandsUpdate:
		v.commands = u.AvailableCommands
	case *acp.ConfigOptionUpdate:
		v.options = u.ConfigOptions
	case *acp.CurrentModeUpdate:
		v.mode = u.CurrentModeID
	case *acp.SessionInfoUpdate:
		v.title = u.Title.Or(v.title)
	}
}

// finish ends the text that is being shown, and its line.
func (v *view) finish() {
	v.print(v.answer.end())
	v.print(v.dim(v.thoughts.flush(v.answer.columns)))
	v.message, v.thoughts = "", filler{}
	if v.within {
		v.print("\n")
	}
}

// begin begins a part of the turn.
func (v *view) begin(p part) {
	if v.part != p {
		v.finish()
		if v.part != nothing {
			v.print("\n")
		}
		v.part = p
	}
}

func (v *view) chunk(id acp.MessageID, block acp.ContentBlock, p part) {
	var more string
	switch block := block.(type) {
	case *acp.TextContent:
		more = clean(block.Text)
	case *acp.ResourceLink:
		more = cleanLine(block.URI)
	case *acp.ImageContent:
		more = "(a picture)"
	}
	if id != v.message || p != v.part {
		if more = strings.TrimLeft(more, "\n"); more == "" {
			return
		}
		if id != v.message {
			v.finish()
		}
		v.begin(p)
		v.message = id
	}
	if v.status != "" {
		v.doing(v.busy)
	}
	if p == texts {
		v.print(v.answer.write(more))
		return
	}
	if !v.attributes {
		v.print(more)
		return
	}
	for line := range strings.Lines(more) {
		line, whole := strings.CutSuffix(line, "\n")
		v.print(v.dim(v.thoughts.fill(line, v.answer.columns)))
		if whole {
			v.print(v.dim(v.thoughts.flush(v.answer.columns)) + "\n")
			v.thoughts = filler{}
		}
	}
}

func (v *view) began(u *acp.ToolCall) {
	v.begin(calls)
	v.finish()
	c := &call{title: u.Title, kind: u.Kind, content: u.Content}
	v.calls[u.ToolCallID] = c
	v.line(v.cyan(v.mark("●", "*")) + " " + cleanLine(c.title))
	if u.Status == acp.ToolCallStatusCompleted || u.Status == acp.ToolCallStatusFailed { // as in a replay
		v.ended(c, u.Status, u.RawOutput)
	}
}

func (v *view) changed(u *acp.ToolCallUpdate) {
	c := v.calls[u.ToolCallID]
	if c == nil || c.ended {
		return
	}
	c.title, c.kind, c.content = u.Title.Or(c.title), u.Kind.Or(c.kind), u.Content.Or(c.content)
	switch status := u.Status.Or(""); status {
	case acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed:
		v.ended(c, status, u.RawOutput)
	default:
		if last := lastLine(c); last != "" && c.kind == acp.ToolKindExecute {
			v.doing("  " + cleanLine(last))
		}
	}
}

// lastLine returns the last line of a running command's output.
func lastLine(c *call) string {
	texts := textsOf(c.content)
	if len(texts) < 2 { // the first one is the command
		return ""
	}
	output := strings.TrimRight(texts[len(texts)-1], "\n")
	return output[strings.LastIndexByte(output, '\n')+1:]
}

func textsOf(parts []acp.ToolCallContent) []string {
	var texts []string
	for _, part := range parts {
		if c, ok := part.(*acp.Content); ok {
			if t, ok := c.Content.(*acp.TextContent); ok {
				texts = append(texts, t.Text)
			}
		}
	}
	return texts
}

// What is shown of a call's output, in lines, and of a diff.
const (
	maxOutput   = 12
	maxResult   = 3
	maxDiff     = 60
	maxDiffText = 1 << 20
)

// ended shows what came of a call.
func (v *view) ended(c *call, status acp.ToolCallStatus, output jsonx.Raw) {
	v.finish()
	c.ended = true
	if v.status != "" {
		v.doing(v.busy)
	}
	failed := status == acp.ToolCallStatusFailed
	diffs := v.diffs(c.content)
	texts := textsOf(c.content)
	switch {
	case failed && c.kind != acp.ToolKindExecute:
		if len(texts) > 0 {
			v.print(v.tail(texts[len(texts)-1], maxOutput))
		}
	case diffs != "":
		if !c.asked {
			v.print(diffs)
		}
	case c.kind == acp.ToolKindExecute && len(texts) > 0:
		texts = texts[1:]
		v.print(v.tail(strings.Join(texts, "\n"), maxOutput))
	case c.asked && len(texts) > 0:
		v.print(v.tail(texts[len(texts)-1], maxOutput))
	case c.kind == acp.ToolKindOther:
		v.print(v.tail(strings.Join(texts, "\n"), maxOutput))
	case c.kind != acp.ToolKindThink && len(texts) > 0:
		v.print(v.head(texts[len(texts)-1], maxResult))
	}
	var ended struct {
		ExitCode   *int    `json:"exitCode"`
		DurationMS float64 `json:"durationMs"`
	}
	_ = jsonx.Unmarshal(output, &ended) // another tool's output
	switch {
	case ended.ExitCode != nil && *ended.ExitCode != 0:
		v.line("  " + v.red(fmt.Sprintf("exit status %d", *ended.ExitCode)))
	case failed:
		v.line("  " + v.red("failed"))
	}
}

// bar begins each line of output.
func (v *view) bar() string { return "  " + v.dim(v.mark("│", "|")) + " " }

// tail shows the last lines of a text.
func (v *view) tail(s string, most int) string {
	lines := strings.Split(strings.TrimRight(clean(s), "\n "), "\n")
	var b strings.Builder
	if more := len(lines) - most; more > 0 {
		b.WriteString(v.bar() + v.dim(v.mark("… ", "... ")+text.Count(more, "more line")) + "\n")
		lines = lines[more:]
	}
	v.indent(&b, lines)
	return b.String()
}

// head shows the first lines of a text.
func (v *view) head(s string, most int) string {
	lines := strings.Split(strings.TrimRight(clean(s), "\n "), "\n")
	var b strings.Builder
	v.indent(&b, lines[:min(most, len(lines))])
	if more := len(lines) - most; more > 0 {
		b.WriteString(v.bar() + v.dim(v.mark("… ", "... ")+text.Count(more, "more line")) + "\n")
	}
	return b.String()
}

// maxLine bounds a line of output, in bytes.
const maxLine = 500

func (v *view) indent(b *strings.Builder, lines []string) {
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	for _, line := range lines {
		b.WriteString(v.bar() + v.dim(text.TruncateBytes(line, maxLine)) + "\n")
	}
}

// diffs shows the diffs of a call; "" if it has none.
func (v *view) diffs(parts []acp.ToolCallContent) string {
	var b strings.Builder
	for _, part := range parts {
		if d, ok := part.(*acp.Diff); ok {
			v.diff(&b, d)
		}
	}
	return b.String()
}

func (v *view) diff(b *strings.Builder, d *acp.Diff) {
	name := d.Path
	if rel, err := filepath.Rel(v.cwd, d.Path); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	before := ""
	if d.OldText != nil {
		before = *d.OldText
	}
	if len(before)+len(d.NewText) > maxDiffText {
		b.WriteString(v.bar() + v.dim("the file is too large for a diff here") + "\n")
		return
	}
	lines := strings.Split(strings.TrimRight(clean(udiff.Unified("a", "b", before, d.NewText)), "\n"), "\n")
	lines = lines[min(2, len(lines)):] // the names of the files
	added, removed := 0, 0
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	fmt.Fprintf(b, "%s%s %s %s\n", v.bar(), v.bold(cleanLine(name)), v.green(fmt.Sprintf("+%d", added)), v.red(fmt.Sprintf("-%d", removed)))
	for i, line := range lines {
		if i == maxDiff {
			b.WriteString(v.bar() + v.dim(v.mark("… ", "... ")+text.Count(len(lines)-i, "more line")) + "\n")
			return
		}
		line = text.TruncateBytes(line, maxLine)
		switch {
		case strings.HasPrefix(line, "+"):
			line = v.green(line)
		case strings.HasPrefix(line, "-"):
			line = v.red(line)
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"):
			line = v.dim(line)
		}
		b.WriteString(v.bar() + line + "\n")
	}
}

func (v *view) planned(p *acp.Plan) {
	v.finish()
	var b strings.Builder
	for _, e := range p.Entries {
		content := cleanLine(e.Content)
		switch e.Status {
		case acp.PlanEntryStatusCompleted:
			b.WriteString("  " + v.green(v.mark("✔", "[x]")) + " " + v.dim(content) + "\n")
		case acp.PlanEntryStatusInProgress:
			b.WriteString("  " + v.yellow(v.mark("▸", "[>]")) + " " + v.bold(content) + "\n")
		default:
			b.WriteString("  " + v.mark("○", "[ ]") + " " + content + "\n")
		}
	}
	if plan := b.String(); plan != v.plan {
		v.plan = plan
		v.print(plan)
	}
}

func (v *view) compacted(u *acp.CompactionUpdate) {
	switch u.Status {
	case acp.CompactionStatusInProgress:
		v.doing("  compacting the conversation")
	case acp.CompactionStatusFailed:
		v.finish()
		v.line(v.yellow("!") + " compacting the conversation failed: " + cleanLine(u.Error.Or("")))
	default:
		v.finish()
		v.line(v.note("the conversation was compacted"))
	}
}

// footer describes how full the context is and what the session has cost; "" if that is unknown.
func (v *view) footer() string {
	if v.usage.Size == 0 {
		return ""
	}
	cost := ""
	if c := v.usage.Cost; c != nil && c.Amount > 0 {
		cost = fmt.Sprintf("%.2f %s", c.Amount, c.Currency)
	}
	return v.join(fmt.Sprintf("%s of %s tokens", thousands(v.usage.Used), thousands(v.usage.Size)), cost)
}

// thousands returns a number of tokens in a short form.
func thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	default:
		return fmt.Sprintf("%dk", n/1000)
	}
}
