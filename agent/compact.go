package agent

import (
	"context"
	_ "embed"
	"errors"
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
	t.emit(CompactionChanged{ID: id, Status: CompactionRunning})
	done, err := t.compact(ctx, id, model, req, focus)
	switch {
	case err == nil:
		t.emit(CompactionChanged{ID: id, Status: CompactionCompleted})
	case ctx.Err() != nil:
		t.emit(CompactionChanged{ID: id, Status: CompactionCancelled})
		err = context.Cause(ctx)
	default:
		t.emit(CompactionChanged{ID: id, Status: CompactionFailed, Error: err.Error()})
	}
	return done, err
}

func (t *Turn) compact(ctx context.Context, id string, model providers.Model, req *providers.Request, focus string) (Compaction, error) {
	ask := "Summarise the conversation so far as the compaction instructions say."
	if focus = strings.TrimSpace(focus); focus != "" {
		ask += "\n\nKeep above all: " + focus
	}
	req.System, req.Tools, req.Thinking = strings.TrimSpace(compactPrompt), nil, providers.ThinkingOff
	req.Messages = append(asText(req.Messages), providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: ask}}})
	summary, usage, err := t.summarise(ctx, id, model, req)
	if err != nil {
		return Compaction{}, err
	}
	c := Compaction{Summary: summary}
	err = t.do(func(st *state) error {
		c.Before = st.usage.Context()
		if _, err := t.session.opts.Log.Append(sessions.Compaction{Summary: summary, TokensBefore: c.Before}); err != nil {
			return err
		}
		st.history = t.session.opts.Log.Messages()
		st.cost += t.model.Cost.Of(usage)
		c.After = estimate(st.history)
		st.usage = providers.Usage{Input: c.After}
		t.session.emit(UsageChanged{Used: c.After, Size: t.model.ContextWindow, CostUSD: st.cost})
		return nil
	})
	return c, err
}

// summarise asks the model for the summary and tells it while it comes.
func (t *Turn) summarise(ctx context.Context, id string, model providers.Model, req *providers.Request) (string, providers.Usage, error) {
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", providers.Usage{}, modelError(ctx, err)
		}
		switch ev := ev.(type) {
		case providers.TextDelta:
			t.emit(CompactionDelta{ID: id, Text: ev.Text})
		case providers.Done:
			text := strings.TrimSpace(ev.Message.Text())
			if text == "" {
				return "", ev.Message.Usage, errors.New("the model gave an empty summary; try again, or with another model")
			}
			if ev.Message.StopReason != providers.StopEnd {
				return "", ev.Message.Usage, errors.New("the model did not finish the summary (" + string(ev.Message.StopReason) + "); try again, or with another model")
			}
			return text, ev.Message.Usage, nil
		default:
		}
	}
	return "", providers.Usage{}, errors.New("the model gave no summary; try again")
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
			out = append(out, providers.Message{Role: m.Role, Parts: parts})
		}
	}
	return out
}

// maxCompactCall bounds what a summary's writer sees of one call's input or result, in bytes.
const maxCompactCall = 4 << 10

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
