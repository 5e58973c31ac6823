package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Compact replaces the older part of the conversation with a summary; focus, if not empty, says what the summary must preserve. If
// the conversation is no longer than what a compaction keeps, the summary covers all of it. The replaced part stays in the log.
// Compact may be called only in the functions of a [Prompt].
func (t *RunningTurn) Compact(ctx context.Context, focus string) (contextwindow.Compaction, error) {
	return t.compactor.compact(ctx, compacting{reason: contextwindow.ReasonManual, focus: strings.TrimSpace(focus)})
}

// compacting describes a compaction to make.
type compacting struct {
	reason contextwindow.Reason
	focus  string
	// depth is the number of compactions for the same request that did not free enough.
	depth int
}

// compact performs a compaction and emits its events. After an error the conversation is unchanged.
func (t *compactor) compact(ctx context.Context, how compacting) (contextwindow.Compaction, error) {
	none := contextwindow.Compaction{}
	view, branch, err := t.look(ctx)
	if err != nil {
		return none, err
	}
	cut := contextwindow.ChooseCut(branch, &contextwindow.CutOptions{
		Window: &view.window, Model: &view.model, Settings: &t.session.settings.Compaction, Reason: how.reason, Depth: how.depth,
	})
	if cut == nil {
		return none, contextwindow.ErrNothingToCompact
	}
	w, err := t.newSummaryWriter(ctx, view.model)
	if err != nil {
		return none, err
	}
	words, summary, err := t.hooks.compactHooks(ctx, hooks.BeforeCompact, how.reason)
	if err != nil {
		return none, err
	}
	how.focus = strings.TrimSpace(how.focus + "\n" + words)
	id, before := t.session.opts.NewID(), view.window.Next(&view.model)
	changed := func(status CompactionStatus) CompactionChanged {
		return CompactionChanged{ID: id, Status: status, Reason: how.reason, Before: before}
	}
	w.Say = func(text string) { t.emit(CompactionDelta{ID: id, Text: text}) }
	w.Restart = func(err error) {
		// Deltas cannot be withdrawn, so this compaction fails and another one begins.
		ev := changed(CompactionFailed)
		ev.Error = err.Error()
		t.emit(ev)
		id = t.session.opts.NewID()
		t.emit(changed(CompactionRunning))
	}
	t.emit(changed(CompactionRunning))
	done := contextwindow.Compaction{Summary: summary, ShortSummary: contextwindow.ShortSummary(summary)}
	if summary == "" {
		done, err = w.Compact(ctx, cut, how.focus, sessions.PrunedOf(branch))
	}
	open := t.openWork(branch)
	done.Summary += open
	if summary == "" && err == nil && open != "" {
		w.Say(open)
	}
	if err == nil {
		done.Before = before
		err = t.recordCompaction(ctx, cut, &done, how.reason)
	}
	ev := changed(CompactionCompleted)
	switch {
	case err == nil:
		ev.After, ev.ShortSummary = done.After, done.ShortSummary
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		ev.Status = CompactionCancelled
	default:
		ev.Status, ev.Error = CompactionFailed, err.Error()
	}
	t.emit(ev)
	if err != nil {
		return none, err
	}
	_, _, _ = t.hooks.compactHooks(ctx, hooks.AfterCompact, how.reason) // the hooks fail only if the turn ends
	return done, nil
}

// openWork returns the end of a summary that names the open work of the branch.
func (t *compactor) openWork(branch []sessions.Entry) string {
	var now work
	_ = t.do(func(st *state) error { // a turn that is over records no compaction
		now = st.work
		return nil
	})
	return contextwindow.OpenWork(openWork(branch, &now))
}

// look returns the state for a request, with the overhead of a request, and the branch.
func (t *compactor) look(ctx context.Context) (view requestState, branch []sessions.Entry, err error) {
	s := t.session
	err = t.do(func(st *state) error {
		t.model = st.model
		view = st.request()
		branch, err = s.opts.Log.Branch()
		return err
	})
	if err != nil || view.window.Overhead() > 0 {
		return view, branch, err
	}
	set, err := toolsFor(s, &view)
	if err != nil {
		return view, branch, err
	}
	overhead := contextwindow.RequestOverhead(s.assemble(ctx, &view, set))
	err = t.do(func(st *state) error {
		st.window.SetOverhead(overhead)
		view.window.SetOverhead(overhead)
		return nil
	})
	return view, branch, err
}

// newSummaryWriter returns a writer that asks the turn's model and then the models of the settings.
func (t *compactor) newSummaryWriter(ctx context.Context, info providers.ModelInfo) (*contextwindow.Writer, error) {
	s := t.session
	o := &s.opts
	w := &contextwindow.Writer{
		SessionID: o.ID, Hide: o.Secrets.Hide, Retry: o.Retry, Again: t.requester.again,
		Used: func(model providers.ModelInfo, used *contextwindow.Meter) { t.spend("a summary", model, used, "") },
		Warn: func(title, detail string) {
			t.emit(Noticed{Severity: SeverityWarning, Title: title, Detail: detail})
		},
	}
	if c := &s.settings.Compaction; c.RemoteEnabled && c.RemoteEndpoint != "" {
		w.Remote = &contextwindow.Remote{Endpoint: c.RemoteEndpoint, Transport: o.HTTP}
	}
	model, err := o.Models.Open(ctx, info)
	if err == nil {
		w.Models = append(w.Models, contextwindow.Model{Model: model, Info: info})
	}
	for _, ref := range s.settings.SummaryModels {
		other, _, ferr := o.Models.Find(ref)
		if ferr != nil || other.Ref() == info.Ref() {
			continue
		}
		if model, oerr := o.Models.Open(ctx, other); oerr == nil {
			w.Models = append(w.Models, contextwindow.Model{Model: model, Info: other})
		}
	}
	if len(w.Models) == 0 {
		return nil, err
	}
	return w, nil
}

// recordCompaction stores a compaction in the log and applies it to the conversation. It sets done.After.
func (t *compactor) recordCompaction(ctx context.Context, cut *contextwindow.Cut, done *contextwindow.Compaction, reason contextwindow.Reason) error {
	return t.do(func(st *state) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		log := t.session.opts.Log
		done.After = st.window.AfterCompaction(cut, done.Summary)
		entry, err := cut.Entry(done, reason)
		if err != nil {
			return err
		}
		if _, err := log.Append(entry); err != nil {
			return st.unsaved(err)
		}
		st.branch++
		messages, err := log.Messages()
		if err != nil {
			return err
		}
		st.window.Compacted(&st.model, messages)
		st.emit(st.used(st.window.Next(&st.model)))
		return nil
	})
}

// prune removes old results from the model's view if that saves enough.
func (t *compactor) prune() error {
	return t.do(func(st *state) error {
		log := t.session.opts.Log
		branch, err := log.Branch()
		if err != nil {
			return err
		}
		entry, saved, err := contextwindow.Prune(branch)
		if err != nil || saved == 0 {
			return err
		}
		if _, err := log.Append(entry); err != nil {
			return st.unsaved(err)
		}
		messages, err := log.Messages()
		if err != nil {
			return err
		}
		st.emit(st.used(st.window.Pruned(&st.model, messages, saved)))
		return nil
	})
}

// SummarizeBranch asks the model to summarize entries, those of a branch that the conversation leaves, oldest first. instructions,
// if not empty, replace gjc's own. The caller must set FromID of the result and append it. SummarizeBranch may be called only in
// the functions of a [Prompt].
func (t *RunningTurn) SummarizeBranch(ctx context.Context, entries []sessions.Entry, instructions string) (sessions.BranchSummary, error) {
	view, _, err := t.compactor.look(ctx)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	s := t.session
	task, err := contextwindow.NewBranchTask(entries, &view.window, &view.model, &s.settings.BranchSummary, instructions, s.opts.Secrets.Hide)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	w, err := t.compactor.newSummaryWriter(ctx, view.model)
	if err != nil {
		return sessions.BranchSummary{}, err
	}
	return task.Write(ctx, w)
}

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
	set, err := toolsFor(t.session, &view)
	if err != nil {
		return "", err
	}
	req := t.session.assemble(ctx, &view, set)
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

// handOver replaces the conversation with a handoff document, followed by the unanswered prompt, if any. After an error the
// conversation is unchanged.
func (t *compactor) handOver(ctx context.Context, reason contextwindow.Reason) error {
	s := t.session
	words, document, err := t.hooks.compactHooks(ctx, hooks.BeforeCompact, reason)
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
	if document == "" {
		document, err = t.Handoff(ctx, words)
	}
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
		Summary: contextwindow.HandoffText(document) + t.openWork(branch), ShortSummary: contextwindow.ShortSummary(document), Before: ev.Before,
	}
	err = t.recordCompaction(ctx, contextwindow.CutAll(branch, t.unanswered), &done, ev.Reason)
	if err != nil {
		return 0, err
	}
	return done.After, nil
}

// saveHandoff saves the document of an automatic handoff as an artifact, if the settings say so. The conversation contains the
// document anyway, so after a failure the user is notified and the turn continues.
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
	t.emit(Noticed{Severity: SeverityInfo, Title: "The handoff document was saved as " + url + "."})
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

// watchIdle starts the timer that compacts a long conversation when no prompt arrives. The actor calls it when a turn is over and
// no other turn is waiting.
func (st *state) watchIdle() {
	s := st.session
	c := &s.settings.Compaction
	if !c.Automatic() || !c.IdleEnabled || c.IdleTimeoutSeconds <= 0 || s.child || st.closing || st.window.Next(&st.model) < c.IdleThresholdTokens {
		return
	}
	st.idle = time.AfterFunc(time.Duration(c.IdleTimeoutSeconds)*time.Second, func() {
		s.do(func(st *state) error {
			if st.idle == nil || st.closing || st.turn != nil || len(st.waiting) > 0 {
				return nil
			}
			st.idle = nil
			t := s.newTurn(Prompt{Answer: compactIdle})
			t.idle = true
			st.queue(t)
			return nil
		})
	})
}

// stopIdle stops the timer and any idle compaction, so that the next turn starts immediately.
func (st *state) stopIdle() {
	if st.idle != nil {
		st.idle.Stop()
		st.idle = nil
	}
	if st.turn != nil && st.turn.idle {
		st.cancelTurn(st.turn, ErrCancelled)
	}
}

// compactIdle compacts the conversation of an idle session.
func compactIdle(ctx context.Context, t *RunningTurn) error {
	err := t.compactor.prune()
	still := false
	if err == nil {
		err = t.do(func(st *state) error {
			still = st.window.Next(&st.model) >= t.session.settings.Compaction.IdleThresholdTokens
			return nil
		})
	}
	if err == nil && still {
		_, err = t.compactor.compact(ctx, compacting{reason: contextwindow.ReasonIdle})
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, contextwindow.ErrNothingToCompact) && !errors.Is(err, errTurnOver) {
		t.emit(Noticed{Severity: SeverityWarning, Title: "Auto-compaction failed: " + err.Error()})
	}
	return nil
}
