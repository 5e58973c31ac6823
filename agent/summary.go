package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

var (
	//go:embed prompts/summary-system.md
	summarySystem string
	//go:embed prompts/summary.md
	summaryFirst string
	//go:embed prompts/summary-update.md
	summaryUpdate string
	//go:embed prompts/summary-turn.md
	summaryTurn string
)

// summaryTask is what a summary is asked for.
type summaryTask struct {
	// blocks are the conversation, oldest first.
	blocks []string
	// previous is the summary of what was before; empty for none.
	previous string
	// instructions say what to write, focus what matters most; focus may be empty.
	instructions, focus string
}

// prompt is the task in words, with no more of the conversation than fits into room bytes.
func (s *summaryTask) prompt(room int) string {
	var head, tail strings.Builder
	head.WriteString("Summarise the conversation as the instructions behind it say.\n\n<conversation>\n")
	tail.WriteString("\n</conversation>\n\n")
	if s.previous != "" {
		previous := cutMiddle(s.previous, max(room/2, minSummaryRoom))
		tail.WriteString("<previous-summary>\n" + unclosed(previous, "previous-summary") + "\n</previous-summary>\n\n")
	}
	tail.WriteString(strings.TrimSpace(s.instructions))
	if s.focus != "" {
		tail.WriteString("\n\nKeep above all: " + s.focus)
	}
	conversation := strings.Join(fit(s.blocks, room-head.Len()-tail.Len()), "\n\n")
	return head.String() + unclosed(conversation, "conversation") + tail.String()
}

// unclosed makes sure that text does not end the tag that it stands in.
func unclosed(text, tag string) string {
	return strings.ReplaceAll(text, "</"+tag, "< /"+tag)
}

// summaryWriter asks for summaries.
type summaryWriter struct {
	turn   *Turn
	models []summaryModel
	// tell is told a summary while it comes. Optional.
	tell func(text string)
	// anew is told that what tell was told so far does not count. Optional.
	anew func(err error)
	// told says that tell was told something since.
	told bool
}

// summaryModel is a model that can be asked for a summary.
type summaryModel struct {
	providers.Model
	info providers.ModelInfo
}

// newSummaryWriter returns a writer with the model of the turn, and those of the settings behind it.
func (t *Turn) newSummaryWriter(ctx context.Context, info providers.ModelInfo) (*summaryWriter, error) {
	o := &t.session.opts
	w := &summaryWriter{turn: t}
	model, err := o.Models.Open(ctx, info)
	if err == nil {
		w.models = append(w.models, summaryModel{model, info})
	}
	for _, ref := range t.session.settings.SummaryModels {
		other, _, ferr := o.Models.Find(ref)
		if ferr != nil || other.Ref() == info.Ref() {
			continue
		}
		if model, oerr := o.Models.Open(ctx, other); oerr == nil {
			w.models = append(w.models, summaryModel{model, other})
		}
	}
	if len(w.models) == 0 {
		return nil, err
	}
	return w, nil
}

// write asks until there is a summary: the remote endpoint if there is one, then one model after the other.
func (w *summaryWriter) write(ctx context.Context, task *summaryTask) (string, error) {
	t := w.turn
	if c := &t.session.settings.Compaction; c.RemoteEnabled && c.RemoteEndpoint != "" {
		summary, err := t.remoteSummary(ctx, c.RemoteEndpoint, task.prompt(summaryRoom(&w.models[0].info)-len(summarySystem)))
		if err == nil {
			w.say(summary)
			return summary, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		t.emit(Noticed{Severity: SeverityWarning, Title: "The remote summary failed; the model writes it.", Detail: err.Error()})
	}
	var first error
	for i, model := range w.models {
		summary, err := w.ask(ctx, model, task, i+1 < len(w.models))
		if err == nil || ctx.Err() != nil {
			return summary, err
		}
		if first == nil {
			first = err
		}
		if i+1 < len(w.models) {
			next := &w.models[i+1].info
			t.emit(Noticed{
				Severity: SeverityWarning, Title: "The model gave no summary; asking " + next.Ref() + ".", Detail: err.Error(),
			})
			w.again(err)
		}
	}
	return "", first
}

// longWait is a wait that is not worth it where another model can be asked.
const longWait = 15 * time.Second

// ask asks one model. A failure that may pass is tried again, visibly, as with every model call; a conversation that is
// too long is asked about with less of it.
func (w *summaryWriter) ask(ctx context.Context, model summaryModel, task *summaryTask, others bool) (string, error) {
	t := w.turn
	room := summaryRoom(&model.info) - len(summarySystem)
	for failed := 0; ; {
		prompt := task.prompt(room)
		summary, err := w.stream(ctx, model, &providers.Request{
			System: strings.TrimSpace(summarySystem), Messages: []providers.Message{userText(prompt)},
			Thinking: providers.ThinkingOff, SessionID: t.session.opts.ID,
		})
		if err == nil || ctx.Err() != nil {
			return summary, err
		}
		if overflowed(err) && room > minSummaryRoom {
			room = min(room, len(prompt)) / 2
		} else {
			failed++
			if wait, again := t.session.opts.Retry.Next(failed, err); again && others && wait > longWait {
				return "", err
			}
			if err := t.again(ctx, failed, err); err != nil {
				return "", err
			}
		}
		w.again(err)
	}
}

// again takes back what was told of a summary.
func (w *summaryWriter) again(err error) {
	if w.told && w.anew != nil {
		w.anew(err)
	}
	w.told = false
}

func (w *summaryWriter) say(text string) {
	if w.tell != nil && text != "" {
		w.told = true
		w.tell(text)
	}
}

// stream makes one request and tells the summary while it comes.
func (w *summaryWriter) stream(ctx context.Context, model summaryModel, req *providers.Request) (string, error) {
	var used meter
	defer func() { w.turn.spend("a summary", model.info, &used, "") }()
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", modelError(ctx, err)
		}
		used.add(ev)
		switch ev := ev.(type) {
		case providers.TextDelta:
			w.say(ev.Text)
		case providers.Done:
			text := withoutTags(ev.Message.Text())
			if text == "" {
				return "", errors.New("the model gave an empty summary; try again, or with another model")
			}
			if ev.Message.StopReason != providers.StopEnd {
				return "", errors.New("the model did not finish the summary (" + string(ev.Message.StopReason) + "); try again, or with another model")
			}
			return text, nil
		default:
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return "", errors.New("the model gave no summary; try again")
}

// serialised is a conversation in words, one block for each message: a request without tools must not have calls. Long
// texts are cut, and so hide comes first: nobody finds half of a secret.
func serialised(entries []sessions.Entry, pruned map[string]bool, hide func(string) string) []string {
	var blocks []string
	for _, e := range entries {
		if c, ok := e.(sessions.Compaction); ok {
			blocks = append(blocks, "[Summary of what was before]: "+cutMiddle(hide(c.Summary), maxCompactText))
			continue
		}
		m, ok := sessions.MessageOf(e)
		if !ok {
			continue
		}
		if m.Role == providers.RoleTool && pruned[e.Ref().ID] {
			m.Parts = []providers.Part{providers.Text{Text: "(left out: it was old and long)"}}
		}
		if text := messageText(&m, hide); text != "" {
			blocks = append(blocks, text)
		}
	}
	return blocks
}

func messageText(m *providers.Message, hide func(string) string) string {
	if m.Role == providers.RoleTool {
		what := "[Result of " + m.ToolName + "]: "
		if m.IsError {
			what = "[Error of " + m.ToolName + "]: "
		}
		return what + cutMiddle(hide(m.Text()), maxCompactCall)
	}
	var lines []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			if p.Text != "" {
				lines = append(lines, cutMiddle(hide(p.Text), maxCompactText))
			}
		case providers.Image:
			lines = append(lines, "(an image)")
		case providers.ToolCall:
			lines = append(lines, "[Call of "+p.Name+"]: "+cutMiddle(hide(string(p.Input)), maxCompactCall))
		default: // what the model thought is not part of what happened
		}
	}
	if len(lines) == 0 {
		return ""
	}
	who := "[User]: "
	if m.Role == providers.RoleAssistant {
		who = "[Agent]: "
	}
	return who + strings.Join(lines, "\n")
}

const (
	// maxCompactCall bounds what a summary's writer sees of one call's input or result, in bytes.
	maxCompactCall = 4 << 10
	// maxCompactText bounds what it sees of one text.
	maxCompactText = 32 << 10
	// minSummaryRoom is the least of a conversation that is worth a summary, in bytes.
	minSummaryRoom = 1 << 10
	// unknownWindow is what the window of a model is taken for that does not tell, in tokens.
	unknownWindow = 32_000
)

// summaryRoom is how much a model can be sent for a summary, in bytes. A token has four of them as a rule of thumb, and
// less in code and in many languages; a quarter of the window is left for the summary.
func summaryRoom(info *providers.ModelInfo) int {
	window := info.ContextWindow
	if window <= 0 {
		window = unknownWindow
	}
	return window * 3 * 3 / 4
}

func userText(text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}

func size(blocks []string) int {
	n := 0
	for _, b := range blocks {
		n += len(b) + len("\n\n")
	}
	return n
}

// fit makes a conversation fit into room bytes. The oldest blocks are left out, with a note, but for the very first: it
// has what the user wants.
func fit(blocks []string, room int) []string {
	room = max(room, minSummaryRoom)
	if size(blocks) <= room || len(blocks) == 0 {
		return blocks
	}
	first := cutMiddle(blocks[0], room/4)
	room -= len(first)
	from := len(blocks)
	for from > 1 {
		n := len(blocks[from-1]) + len("\n\n")
		if n > room && from < len(blocks) {
			break
		}
		room -= n
		from--
	}
	kept := blocks[from:]
	out := []string{first}
	if from > 1 {
		out = append(out, fmt.Sprintf("[%d older messages are left out here: they do not fit.]", from-1))
	}
	if len(kept) > 0 && room < 0 { // the last one alone is too long
		last := kept[len(kept)-1]
		return append(out, cutMiddle(last, max(len(last)+room, 0)))
	}
	return append(out, kept...)
}

// maxShort bounds a short summary, in characters.
const maxShort = 120

// shortSummary is a summary in one line: the first of its own words that is no heading.
func shortSummary(summary string) string {
	for line := range strings.Lines(summary) {
		line = text.OneLine(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<") || strings.Trim(line, "-*_ ") == "" {
			continue
		}
		line = strings.TrimLeft(line, "-*> ")
		return text.Truncate(line, maxShort)
	}
	return ""
}

func overflowed(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Kind == providers.KindContextOverflow
}
