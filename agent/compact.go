package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

//go:embed compact.md
var compactPrompt string

// ErrNothingToCompact is returned for a conversation that is too short to be worth a summary.
var ErrNothingToCompact = errors.New("there is nothing to compact yet")

// Compaction is what [Turn.Compact] did.
type Compaction struct {
	Summary string
	// Before and After are how full the model's window was and is, in tokens. After is an estimate; Before is zero
	// where it is not known.
	Before, After int
}

// Compact replaces the conversation with a summary that the model writes; focus, if not empty, says what the summary
// has to keep. What was said before stays in the log. It is for the function that [Session.Answer] runs.
func (t *Turn) Compact(ctx context.Context, focus string) (Compaction, error) {
	s := t.session
	id := s.opts.NewID()
	model, req, err := t.request(ctx)
	if err != nil {
		return Compaction{}, err
	}
	if len(req.Messages) < 2 {
		return Compaction{}, ErrNothingToCompact
	}
	w := &summaryWriter{turn: t, id: id, model: model, ask: summaryRequest(focus)}
	t.emit(CompactionChanged{ID: w.id, Status: CompactionRunning})
	done, err := t.compact(ctx, w, req)
	switch {
	case err == nil:
		t.emit(CompactionChanged{ID: w.id, Status: CompactionCompleted})
	case ctx.Err() != nil:
		t.emit(CompactionChanged{ID: w.id, Status: CompactionCancelled})
		err = context.Cause(ctx)
	default:
		t.emit(CompactionChanged{ID: w.id, Status: CompactionFailed, Error: err.Error()})
	}
	return done, err
}

func summaryRequest(focus string) string {
	ask := "Summarise the conversation so far as the compaction instructions say."
	if focus = strings.TrimSpace(focus); focus != "" {
		ask += "\n\nKeep above all: " + focus
	}
	return ask
}

func (t *Turn) compact(ctx context.Context, w *summaryWriter, req *providers.Request) (Compaction, error) {
	summary, err := w.write(ctx, req)
	if err != nil {
		return Compaction{}, err
	}
	c := Compaction{Summary: summary}
	err = t.do(func(st *state) error {
		c.Before = st.usage.Context()
		if _, err := t.session.opts.Log.Append(sessions.Compaction{Summary: summary, TokensBefore: c.Before}); err != nil {
			return err
		}
		var err error
		if st.history, err = t.session.opts.Log.Messages(); err != nil {
			return err
		}
		c.After = estimate(st.history)
		st.usage = providers.Usage{Input: c.After}
		t.session.emit(UsageChanged{Used: c.After, Size: t.model.ContextWindow, CostUSD: st.cost})
		return nil
	})
	return c, err
}

// summaryWriter asks a model for the summary of a conversation.
type summaryWriter struct {
	turn  *Turn
	id    string // of the compaction
	model providers.Model
	ask   string
	// told says that some of a summary has been told under id.
	told bool
}

// write asks until there is a summary. A failure that may pass is tried again, visibly, as with every model call; a
// conversation that is too long is asked about with less of it.
func (w *summaryWriter) write(ctx context.Context, req *providers.Request) (string, error) {
	history := asText(req.Messages)
	req.System, req.Tools, req.Thinking = strings.TrimSpace(compactPrompt), nil, providers.ThinkingOff
	info := w.model.Info()
	room := summaryRoom(&info) - len(req.System) - len(w.ask)
	failed := 0
	for {
		req.Messages = append(slices.Clip(fit(history, room)), userText(w.ask))
		summary, err := w.stream(ctx, req)
		if err == nil || ctx.Err() != nil {
			return summary, err
		}
		if perr, ok := errors.AsType[*providers.Error](err); ok && perr.Kind == providers.KindContextOverflow && room > minSummaryRoom {
			room = min(room, size(history)) / 2
		} else if failed++; !w.turn.again(ctx, failed, err) {
			return "", err
		}
		w.anew(err)
	}
}

// anew begins another compaction where some of a summary has been told: what was told cannot be taken back.
func (w *summaryWriter) anew(err error) {
	if !w.told {
		return
	}
	w.turn.emit(CompactionChanged{ID: w.id, Status: CompactionFailed, Error: err.Error()})
	w.id, w.told = w.turn.session.opts.NewID(), false
	w.turn.emit(CompactionChanged{ID: w.id, Status: CompactionRunning})
}

// stream makes one request and tells the summary while it comes.
func (w *summaryWriter) stream(ctx context.Context, req *providers.Request) (string, error) {
	for ev, err := range w.model.Stream(ctx, req) {
		if err != nil {
			return "", modelError(ctx, err)
		}
		switch ev := ev.(type) {
		case providers.TextDelta:
			w.told = true
			w.turn.emit(CompactionDelta{ID: w.id, Text: ev.Text})
		case providers.Done:
			w.turn.spend(ev.Message.Usage)
			text := strings.TrimSpace(ev.Message.Text())
			if text == "" {
				return "", errors.New("the model gave an empty summary; try again, or with another model")
			}
			if ev.Message.StopReason != providers.StopEnd {
				return "", errors.New("the model did not finish the summary (" + string(ev.Message.StopReason) + "); try again, or with another model")
			}
			return text, nil
		default:
		}
	}
	return "", errors.New("the model gave no summary; try again")
}

// spend takes note of what a summary has used, whether it was of use or not.
func (t *Turn) spend(usage providers.Usage) {
	t.spent = t.spent.Add(usage)
	_ = t.do(func(st *state) error { // a turn that is over is not counted any more
		st.cost += t.model.Cost.Of(usage)
		return nil
	})
}

// asText turns tool calls and their results into words: a request without tools must not have any.
func asText(history []providers.Message) []providers.Message {
	out := make([]providers.Message, 0, len(history)+1)
	for _, m := range history {
		var parts []providers.Part
		for _, p := range m.Parts {
			switch p := p.(type) {
			case providers.Text:
				parts = append(parts, p)
			case providers.Image:
				parts = append(parts, providers.Text{Text: "[image]"})
			case providers.ToolCall:
				parts = append(parts, providers.Text{Text: "[call of " + p.Name + ": " + cutMiddle(string(p.Input), maxCompactCall) + "]"})
			default: // what the model thought is not part of what happened
			}
		}
		if m.Role == providers.RoleTool {
			m.Role = providers.RoleUser
			parts = []providers.Part{providers.Text{Text: "[result of " + m.ToolName + ": " + cutMiddle(m.Text(), maxCompactCall) + "]"}}
		}
		if len(parts) > 0 {
			m = providers.Message{Role: m.Role, Parts: parts}
			if text := m.Text(); len(text) > maxCompactText {
				m.Parts = []providers.Part{providers.Text{Text: cutMiddle(text, maxCompactText)}}
			}
			out = append(out, m)
		}
	}
	return out
}

const (
	// maxCompactCall bounds what a summary's writer sees of one call's input or result, in bytes.
	maxCompactCall = 4 << 10
	// maxCompactText bounds what it sees of one message.
	maxCompactText = 32 << 10
	// minSummaryRoom is the least of a conversation that is worth a summary, in bytes.
	minSummaryRoom = 1 << 10
	// unknownWindow is what the window of a model is taken for that does not tell, in tokens.
	unknownWindow = 32_000
)

// summaryRoom is how much of a conversation a model can be sent for a summary, in bytes. A token has four of them as a
// rule of thumb, and less in code and in many languages; a quarter of the window is left for the summary.
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

// size counts the bytes of a conversation of texts.
func size(history []providers.Message) int {
	n := 0
	for i := range history {
		n += len(history[i].Text())
	}
	return n
}

// fit makes a conversation of texts fit into room bytes. The oldest messages are left out, with a note, but for the very
// first: it has what the user wants, or the summary of what was before.
func fit(history []providers.Message, room int) []providers.Message {
	room = max(room, minSummaryRoom)
	if size(history) <= room || len(history) == 0 {
		return history
	}
	cut := func(m providers.Message, most int) providers.Message {
		return providers.Message{Role: m.Role, Parts: []providers.Part{providers.Text{Text: cutMiddle(m.Text(), most)}}}
	}
	first := cut(history[0], room/4)
	room -= len(first.Text())
	from := len(history)
	for from > 1 {
		n := len(history[from-1].Text())
		if n > room && from < len(history) {
			break
		}
		room -= n
		from--
	}
	kept := history[from:]
	out := []providers.Message{first}
	if from > 1 {
		out = append(out, userText(fmt.Sprintf("[%d older messages are left out here: they do not fit.]", from-1)))
	}
	if len(kept) > 0 && room < 0 { // the last one alone is too long
		last := kept[len(kept)-1]
		return append(out, cut(last, len(last.Text())+room))
	}
	return append(out, kept...)
}

// estimate guesses how many tokens a conversation has. Four bytes make one, as a rule of thumb.
func estimate(history []providers.Message) int {
	n := 0
	for i := range history {
		n += len(history[i].Text())
		for _, c := range history[i].ToolCalls() {
			n += len(c.Input)
		}
	}
	return tokens(n)
}

func tokens(bytes int) int { return (bytes + 3) / 4 }
