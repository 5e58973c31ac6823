package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

//go:embed prompts/handoff.md
var handoffPrompt string

var (
	// ErrNothingToHandOff is returned for a conversation of fewer than two messages.
	ErrNothingToHandOff = errors.New("there is nothing to hand off yet")
	// ErrEmptyHandoff is returned when the model wrote no document.
	ErrEmptyHandoff = errors.New("the model wrote no handoff document; try again, or with another model")
)

// handoffType is the type of the message that a conversation begins with that was handed over.
const handoffType = "handoff"

// Handoff has the model write a document for whoever takes over the work; focus, if not empty, says what matters most.
// The conversation stays as it is: a session that goes on from the document begins with [HandoffMessage].
//
// The request is the next one of the conversation with one message more, so that the provider's cache holds; the thinking
// level stays for the same reason. Tools that the model calls do not run.
func (t *Turn) Handoff(ctx context.Context, focus string) (document string, err error) {
	snap, _, err := t.look(ctx)
	if err != nil {
		return "", err
	}
	if len(snap.history) < 2 {
		return "", ErrNothingToHandOff
	}
	model, err := t.session.opts.Models.Open(ctx, snap.model)
	if err != nil {
		return "", err
	}
	ask := strings.TrimSpace(handoffPrompt)
	if focus = strings.TrimSpace(focus); focus != "" {
		ask += "\n\nWhat matters above all: " + focus
	}
	req := t.session.assemble(ctx, &snap, t.session.offered(&snap.model, snap.mode))
	req.Messages = append(req.Messages, userText(ask))
	for failed := 1; ; failed++ {
		document, err = t.handoffDocument(ctx, summaryModel{model, snap.model}, req)
		if err == nil {
			return document, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := t.again(ctx, failed, err); err != nil {
			return "", err
		}
	}
}

func (t *Turn) handoffDocument(ctx context.Context, model summaryModel, req *providers.Request) (string, error) {
	var used meter
	defer func() { t.spend("a handoff", model.info, &used, req.ServiceTier) }()
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", modelError(ctx, err)
		}
		used.add(ev)
		if done, ok := ev.(providers.Done); ok {
			m := &done.Message
			if m.StopReason != providers.StopEnd && m.StopReason != providers.StopTools {
				return "", fmt.Errorf("the model did not finish the handoff document (%s); try again, or with another model", m.StopReason)
			}
			var texts []string
			for _, p := range m.Parts {
				if text, ok := p.(providers.Text); ok && strings.TrimSpace(text.Text) != "" {
					texts = append(texts, strings.TrimSpace(text.Text))
				}
			}
			if len(texts) == 0 {
				return "", ErrEmptyHandoff
			}
			return strings.Join(texts, "\n"), nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return "", ErrEmptyHandoff
}

// Restored is a document with the values of secrets in it, as they are kept in a session's log: another session need not
// know the placeholders of this one, and hides the values itself.
func (t *Turn) Restored(document string) string { return t.session.opts.Secrets.Restore(document) }

// HandoffMessage returns the message that a conversation begins with that goes on from a document of [Turn.Handoff].
func HandoffMessage(document string) sessions.CustomMessage {
	text := "<handoff-context>\n" + strings.TrimSpace(document) + "\n</handoff-context>\n\n" +
		"This is a handoff document from an earlier conversation. Go on with the work from it."
	return sessions.CustomMessage{
		CustomType: handoffType, Parts: []providers.Part{providers.Text{Text: text}}, Display: true, Attribution: "agent",
	}
}

// handOver begins the conversation anew with a handoff document, in the same session. A prompt that has no answer yet
// comes behind it. With an error the conversation is as it was.
func (t *Turn) handOver(ctx context.Context, reason CompactionReason) error {
	s := t.session
	words, err := t.compactHooks(ctx, hooks.BeforeCompact, reason)
	if err != nil {
		return err
	}
	id, before := s.opts.NewID(), 0
	_ = t.do(func(st *state) error { // a turn that is over fails below
		before = st.next()
		return nil
	})
	ev := CompactionChanged{ID: id, Status: CompactionRunning, Reason: reason, Before: before}
	t.emit(ev)
	document, err := t.Handoff(ctx, words)
	if err == nil {
		t.emit(CompactionDelta{ID: id, Text: document})
		err = t.beginWith(ctx, document, &ev)
	}
	ev.Status = CompactionCompleted
	switch {
	case err == nil:
		ev.ShortSummary = shortSummary(document)
	case ctx.Err() != nil:
		ev.Status, err = CompactionCancelled, context.Cause(ctx)
	default:
		ev.Status, ev.Error = CompactionFailed, err.Error()
	}
	t.emit(ev)
	if err == nil {
		t.saveHandoff(ctx, document)
	}
	return err
}

// beginWith puts a handoff document in the place of the conversation, as a compaction does: what was said before stays
// for people. It fills in ev.After.
func (t *Turn) beginWith(ctx context.Context, document string, ev *CompactionChanged) error {
	_, branch, err := t.look(ctx)
	if err != nil {
		return err
	}
	text := HandoffMessage(document).Parts[0].(providers.Text).Text
	kept := new(cut)
	kept.older, _, kept.previous = inContext(branch)
	if t.unanswered != nil {
		for _, e := range slices.Backward(branch) {
			if m, ok := e.(sessions.MessageEntry); ok && m.Message.ID == t.unanswered.ID {
				kept.first, kept.kept = e.Ref().ID, messageTokens(t.unanswered)
				break
			}
		}
	}
	done := Compaction{Summary: text, ShortSummary: shortSummary(document), Before: ev.Before}
	if err := t.keepCompaction(ctx, kept, &done, ev.Reason, branch); err != nil {
		return err
	}
	ev.After = done.After
	return nil
}

// saveHandoff keeps a document that nobody has asked for where the settings want it. It is there anyway, so a failure is
// only told.
func (t *Turn) saveHandoff(ctx context.Context, document string) {
	s := t.session
	if !s.settings.Compaction.HandoffSaveToDisk || s.opts.Artifacts == nil {
		return
	}
	url, err := s.opts.Artifacts.Put(ctx, handoffType, []byte(document+"\n"))
	if err != nil {
		t.emit(Noticed{Severity: SeverityWarning, Title: "The handoff document could not be saved.", Detail: err.Error()})
		return
	}
	t.emit(Noticed{Severity: SeverityInfo, Title: "The handoff document is saved as " + url + "."})
}
