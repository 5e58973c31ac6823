// Package offline is a built-in model that needs no network and no key. It explains how to add a real model, and it runs tools
// on request, so that every part of the product can be tried and tested.
//
// It reads the last message of the user. A line that begins with "!" is a command; commands.txt lists them. Each command that
// calls a tool is one answer of the model; the next request, with the tool's result, gets the next line.
//
// A request to compact a conversation (a system prompt with the word "compaction", and a last message of the user that
// begins with "Summarise") gets a summary: it counts the messages and names the first prompt. Commands in it do not run.
package offline

import (
	"context"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// API is the name of the wire format in [providers.ModelInfo].
const API = "offline"

// Info returns the description of the model.
func Info() providers.ModelInfo {
	return providers.ModelInfo{
		Provider: "offline", ID: "demo", Name: "Offline demo (no model configured)", API: API,
		ContextWindow: 200_000, MaxOutput: 64_000, Images: true,
		Thinking: []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingHigh},
	}
}

// A model is offline/demo. Its answers depend only on the request.
type model struct{ info providers.ModelInfo }

var _ providers.Model = (*model)(nil)

// New returns the model that [Info] describes.
func New() providers.Model { return &model{info: Info()} }

// Open is the package's [providers.Factory].
func Open(cfg providers.Config) (providers.Model, error) {
	if cfg.Info.ID == "" {
		return New(), nil
	}
	return &model{info: cfg.Info}, nil
}

// Info implements [providers.Model].
func (m *model) Info() providers.ModelInfo { return m.info }

// Stream implements [providers.Model]. It ends with ctx's cause when ctx ends first.
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		a := &answer{ctx: ctx, req: req, yield: yield, info: m.info, stop: providers.StopEnd}
		a.run()
	}
}

// An answer is one response.
type answer struct {
	ctx   context.Context //nolint:containedctx // bounds one answer: that of its Stream call
	req   *providers.Request
	yield func(providers.Event, error) bool
	info  providers.ModelInfo
	build providers.Builder
	stop  providers.StopReason
	ended bool
	// input is the number of tokens that the request reports; nil for an estimate.
	input *int
}

func (a *answer) run() {
	if !a.tellUsage() {
		return
	}
	turn := readTurn(a.req.Messages)
	if strings.HasPrefix(turn.text, "Summarise") && strings.Contains(a.req.System, "compaction") {
		a.say(summaryOf(a.req.Messages))
		a.done()
		return
	}
	if strings.HasPrefix(turn.text, "<system-reminder>") {
		a.say("gjc has reminded the model of something unfinished. A real model would go on here.")
		a.done()
		return
	}
	if len(turn.commands) == 0 {
		a.say(explanation())
		a.done()
		return
	}
	for _, c := range turn.commands[min(turn.next, len(turn.commands)):] {
		a.command(turn, c)
		if a.ended {
			return
		}
	}
	a.text(turn.summary())
	a.done()
}

// send yields one event. It reports whether to continue.
func (a *answer) send(ev providers.Event) bool {
	if a.ended {
		return false
	}
	if a.ctx.Err() != nil {
		a.fail(context.Cause(a.ctx))
		return false
	}
	a.build.Add(ev)
	if !a.yield(ev, nil) {
		a.ended = true
	}
	return !a.ended
}

func (a *answer) fail(err error) {
	if !a.ended {
		a.ended = true
		a.yield(nil, err)
	}
}

func (a *answer) done() {
	if a.ended {
		return
	}
	if a.ctx.Err() != nil {
		a.fail(context.Cause(a.ctx))
		return
	}
	a.ended = true
	m := a.build.Message()
	m.API, m.Provider, m.Model, m.StopReason = a.info.API, a.info.Provider, a.info.ID, a.stop
	m.Usage = a.usage(&m)
	a.yield(providers.Done{Message: m}, nil)
}

// tellUsage yields the usage of the request. It reports whether to continue.
func (a *answer) tellUsage() bool {
	return a.send(providers.UsageSoFar{Usage: a.usage(new(providers.Message))})
}

func (a *answer) usage(m *providers.Message) providers.Usage {
	u := usage(a.req, m)
	if a.input != nil {
		u.Input = *a.input
	}
	return u
}

// text sends s as one delta.
func (a *answer) text(s string) {
	if s != "" {
		a.send(providers.TextDelta{Text: s})
	}
}

// say sends s word by word.
func (a *answer) say(s string) {
	for s != "" {
		n := len(s)
		if i := strings.IndexAny(s, " \n"); i >= 0 {
			n = i + 1
		}
		if !a.send(providers.TextDelta{Text: s[:n]}) {
			return
		}
		s = s[n:]
	}
}

// call calls a tool and ends the answer.
func (a *answer) call(id, tool string, input []byte) {
	if !a.send(providers.ToolCallStart{ID: id, Name: tool}) {
		return
	}
	// Two pieces, so that readers must join them.
	half := len(input) / 2
	for _, piece := range [][]byte{input[:half], input[half:]} {
		if len(piece) > 0 && !a.send(providers.ToolCallDelta{ID: id, Input: string(piece)}) {
			return
		}
	}
	a.stop = providers.StopTools
	a.done()
}

// A turn is the state of the commands in the conversation.
type turn struct {
	text     string
	commands []command
	// next is the index of the first command that has not run.
	next int
	// id is the prefix of the ids of this turn's tool calls.
	id      string
	results []*providers.Message
}

// readTurn finds the last message of the user and what followed it.
func readTurn(messages []providers.Message) *turn {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != providers.RoleUser {
		last--
	}
	if last < 0 {
		return &turn{}
	}
	user := &messages[last]
	t := &turn{text: userText(user)}
	t.commands = parse(t.text)
	// The id differs between two turns with the same text, and is constant within a turn.
	h := fnv.New64a()
	h.Write([]byte(t.text))
	h.Write(strconv.AppendInt(strconv.AppendInt(nil, int64(last), 36), user.Time.UnixNano(), 36))
	t.id = "demo_" + strconv.FormatUint(h.Sum64(), 36) + "_"
	for i := range messages[last+1:] {
		m := &messages[last+1+i]
		if m.Role == providers.RoleTool {
			t.results = append(t.results, m)
		}
		for _, c := range m.ToolCalls() {
			rest, mine := strings.CutPrefix(c.ID, t.id)
			if n, err := strconv.Atoi(rest); mine && err == nil && n >= t.next {
				t.next = n + 1
			}
		}
	}
	return t
}

func userText(m *providers.Message) string {
	var lines []string
	for _, p := range m.Parts {
		if t, ok := p.(providers.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// summary ends a turn whose commands have all run.
func (t *turn) summary() string {
	failed := 0
	var s strings.Builder
	for _, r := range t.results {
		if r.IsError {
			failed++
			s.WriteString("\n- " + r.ToolName + " failed: " + failure(r.Text()))
		}
	}
	switch n := len(t.results); {
	case n == 0:
		return "\nDone."
	case failed == 0:
		return "\nDone: " + text.Count(n, "tool call") + ", all of them succeeded."
	default:
		return "\nDone: " + text.Count(n, "tool call") + ", " + strconv.Itoa(failed) + " of them failed:" + s.String()
	}
}

// failure returns the most telling line of a failed tool's result: the exit line of a command, or the first line.
func failure(s string) string {
	if i := strings.LastIndex(s, "Command exited with code "); i >= 0 {
		s = s[i:]
	}
	return text.Truncate(text.FirstLine(s), 200)
}

// summaryOf summarizes the conversation that the last message contains as text.
func summaryOf(messages []providers.Message) string {
	last := ""
	if n := len(messages); n > 0 {
		last = userText(&messages[n-1])
	}
	_, conversation, _ := strings.Cut(last, "<conversation>\n")
	conversation, _, _ = strings.Cut(conversation, "\n</conversation>")
	all, said, first := 0, 0, ""
	for block := range strings.SplitSeq(conversation, "\n\n[") {
		who, words, ok := strings.Cut(strings.TrimPrefix(block, "["), "]: ")
		if !ok {
			continue
		}
		all++
		if who != "User" {
			continue
		}
		if said++; first == "" {
			first = text.Truncate(text.FirstLine(words), 200)
		}
	}
	s := "The conversation had " + text.Count(all, "message") + ", " + strconv.Itoa(said) + " of them from the user."
	if first != "" {
		s += " It began with: " + first
	}
	return s
}

// usage estimates tokens at four bytes each.
func usage(req *providers.Request, m *providers.Message) providers.Usage {
	in := len(req.System)
	for i := range req.Messages {
		in += size(&req.Messages[i])
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return providers.Usage{Input: in/4 + 1, Output: size(m)/4 + 1}
}

func size(m *providers.Message) int {
	n := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			n += len(p.Text)
		case providers.Thinking:
			n += len(p.Text)
		case providers.ToolCall:
			n += len(p.Name) + len(p.Input)
		case providers.Image:
			n += 4 * 1000
		}
	}
	return n
}
