package agent

import (
	"context"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
)

// Handoff has the model write a document for another session or model that continues the work; focus, if not empty, says what
// matters most. The conversation is unchanged. A session that continues from the document begins with
// [contextwindow.HandoffMessage].
//
// The request is the next one of the conversation with one more message, at the same thinking level, so that it uses the
// provider's cache.
func (t *RunningTurn) Handoff(ctx context.Context, focus string) (document string, err error) {
	view, _, err := t.compactor.look(ctx)
	if err != nil {
		return "", err
	}
	if len(view.window.Messages) < 2 {
		return "", contextwindow.ErrNothingToHandOff
	}
	model, err := t.session.opts.Models.Open(ctx, view.model)
	if err != nil {
		return "", err
	}
	req := t.session.assemble(ctx, &view, t.session.offered(&view.model, view.mode))
	req.Messages = append(req.Messages, contextwindow.HandoffRequest(focus))
	for failed := 1; ; failed++ {
		var used contextwindow.Meter
		document, err = contextwindow.HandoffDocument(ctx, model, req, &used)
		t.spend("a handoff", view.model, &used, req.ServiceTier)
		if err == nil {
			return document, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := t.requester.again(ctx, failed, err); err != nil {
			return "", err
		}
	}
}

// Restored returns a document with the values of secrets, for the log of another session: that session does not know the
// placeholders of this one, and hides the values itself.
func (t *RunningTurn) Restored(document string) string {
	return t.session.opts.Secrets.Restore(document)
}

// handOver replaces the conversation with a handoff document and the prompt that has no answer yet, if there is one. After an
// error the conversation is unchanged.
func (t *compactor) handOver(ctx context.Context, reason contextwindow.Reason) error {
	s := t.session
	words, err := t.hooks.compactHooks(ctx, hooks.BeforeCompact, reason)
	if err != nil {
		return err
	}
	id, before := s.opts.NewID(), 0
	_ = t.do(func(st *state) error { // if the turn is over, Handoff fails
		before = st.window.Next(&st.model)
		return nil
	})
	ev := CompactionChanged{ID: id, Status: CompactionRunning, Reason: reason, Before: before}
	t.emit(ev)
	document, err := t.Handoff(ctx, words)
	if err == nil {
		t.emit(CompactionDelta{ID: id, Text: document})
		ev.After, err = t.beginWith(ctx, document, &ev)
	}
	ev.Status = CompactionCompleted
	switch {
	case err == nil:
		ev.ShortSummary = contextwindow.ShortSummary(document)
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

// beginWith records a handoff document as a compaction of the conversation, and returns the size of the new one.
func (t *compactor) beginWith(ctx context.Context, document string, ev *CompactionChanged) (after int, err error) {
	_, branch, err := t.look(ctx)
	if err != nil {
		return 0, err
	}
	done := contextwindow.Compaction{
		Summary: contextwindow.HandoffText(document), ShortSummary: contextwindow.ShortSummary(document), Before: ev.Before,
	}
	err = t.recordCompaction(ctx, contextwindow.CutAll(branch, t.unanswered), &done, ev.Reason)
	if err != nil {
		return 0, err
	}
	return done.After, nil
}

// saveHandoff saves the document of an automatic handoff as an artifact, if the settings say so. The conversation has the
// document anyway, so the user is notified of a failure and the turn continues.
func (t *compactor) saveHandoff(ctx context.Context, document string) {
	s := t.session
	if !s.settings.Compaction.HandoffSaveToDisk || s.opts.Artifacts == nil {
		return
	}
	url, err := s.opts.Artifacts.Put(ctx, contextwindow.HandoffType, []byte(document+"\n"))
	if err != nil {
		t.emit(Noticed{Severity: SeverityWarning, Title: "The handoff document could not be saved.", Detail: err.Error()})
		return
	}
	t.emit(Noticed{Severity: SeverityInfo, Title: "The handoff document is saved as " + url + "."})
}

// promotionTarget returns the model with a larger window that the session changes to; false for none.
func (t *compactor) promotionTarget(ctx context.Context, from *providers.ModelInfo) (providers.ModelInfo, bool) {
	s := t.session
	p := contextwindow.Promotion{
		Find: func(ref string) (providers.ModelInfo, error) {
			info, _, err := s.opts.Models.Find(ref)
			return info, err
		},
		Usable: func(info providers.ModelInfo) bool {
			_, err := s.opts.Models.Open(ctx, info)
			return err == nil
		},
		All: func() []providers.ModelInfo {
			if lister, ok := s.opts.Models.(modelLister); ok {
				return lister.Models()
			}
			return nil
		},
	}
	return p.Target(from)
}
