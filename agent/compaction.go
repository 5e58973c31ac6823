package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// ErrNothingToCompact is returned for a conversation that is too short to be worth a summary, or that was compacted just
// now.
var ErrNothingToCompact = errors.New("there is nothing to compact yet")

// Compaction is what [Turn.Compact] did.
type Compaction struct {
	Summary string
	// ShortSummary is one line of it.
	ShortSummary string
	// Before and After are how full the model's window was and is, in tokens. After is an estimate.
	Before, After int
}

// CompactionReason says why a conversation is compacted.
type CompactionReason string

// The reasons.
const (
	CompactionManual     CompactionReason = "manual"
	CompactionThreshold  CompactionReason = "threshold"
	CompactionOverflow   CompactionReason = "overflow"
	CompactionIncomplete CompactionReason = "incomplete"
	CompactionIdle       CompactionReason = "idle"
)

// Compact puts a summary that the model writes in the place of the older part of the conversation; focus, if not empty,
// says what the summary has to keep. Of a conversation that is no longer than what is kept, all is summarised: it was
// asked for. What was said before stays in the log. It is for the function that [Session.Answer] runs.
func (t *Turn) Compact(ctx context.Context, focus string) (Compaction, error) {
	return t.compact(ctx, compacting{reason: CompactionManual, focus: strings.TrimSpace(focus)})
}

// compacting is one compaction to be made.
type compacting struct {
	reason CompactionReason
	focus  string
	// deeper counts the compactions of the same request that were not enough.
	deeper int
}

// deepest is how often a request that does not fit is tried with less of the conversation. The last time nothing of it
// is kept but the summary.
const deepest = 4

// compact makes a compaction and tells it. With an error the conversation is as it was.
func (t *Turn) compact(ctx context.Context, how compacting) (Compaction, error) {
	snap, branch, err := t.look(ctx)
	if err != nil {
		return Compaction{}, err
	}
	c := t.chooseCut(&snap, branch, how)
	if c == nil {
		return Compaction{}, ErrNothingToCompact
	}
	w, err := t.newSummaryWriter(ctx, snap.model)
	if err != nil {
		return Compaction{}, err
	}
	words, err := t.compactHooks(ctx, hooks.BeforeCompact, how.reason)
	if err != nil {
		return Compaction{}, err
	}
	how.focus = strings.TrimSpace(how.focus + "\n" + words)
	id, before := t.session.opts.NewID(), snap.next()
	changed := func(status CompactionStatus) CompactionChanged {
		return CompactionChanged{ID: id, Status: status, Reason: how.reason, Before: before}
	}
	w.tell = func(text string) { t.emit(CompactionDelta{ID: id, Text: text}) }
	w.anew = func(err error) {
		// What was told cannot be taken back: another compaction begins.
		ev := changed(CompactionFailed)
		ev.Error = err.Error()
		t.emit(ev)
		id = t.session.opts.NewID()
		t.emit(changed(CompactionRunning))
	}
	t.emit(changed(CompactionRunning))
	done, err := t.summarise(ctx, w, c, how, sessions.PrunedOf(branch))
	if err == nil {
		done.Before = before
		err = t.keepCompaction(ctx, c, &done, how.reason, branch)
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
		return Compaction{}, err
	}
	_, _ = t.compactHooks(ctx, hooks.AfterCompact, how.reason) // an error is that the turn ends
	return done, nil
}

// look returns how the session stands, with what a request needs beside the conversation, and the branch.
func (t *Turn) look(ctx context.Context) (snap state, branch []sessions.Entry, err error) {
	s := t.session
	err = t.do(func(st *state) error {
		t.model = st.model
		snap = st.copied()
		branch, err = s.opts.Log.Branch()
		return err
	})
	if err != nil || snap.overhead > 0 {
		return snap, branch, err
	}
	overhead := requestOverhead(s.assemble(ctx, &snap, s.offered(&snap.model, snap.mode)))
	err = t.do(func(st *state) error {
		st.overhead, snap.overhead = overhead, overhead
		return nil
	})
	return snap, branch, err
}

// chooseCut says what a compaction summarises and what it keeps; nil for nothing.
func (t *Turn) chooseCut(snap *state, branch []sessions.Entry, how compacting) *cut {
	settings := &t.session.settings.Compaction
	// The settings are in real tokens, the rule in estimated ones.
	scale := snap.scale()
	rule := cutRule{keep: int(float64(settings.KeepRecentTokens) / scale), most: 1 << 40, again: how.deeper > 0}
	if threshold := settings.threshold(snap.model.ContextWindow); threshold > 0 {
		// A window that is small for what is to be kept must have room behind the compaction all the same.
		room := max(int(float64(threshold)/scale)-snap.overhead, 0)
		rule.keep, rule.most = min(rule.keep, room/2), room*3/4
	}
	for range how.deeper {
		rule.keep, rule.most = rule.keep/4, rule.most/2
	}
	switch how.deeper {
	case deepest - 2:
		rule.keep, rule.most = 1, 1<<40 // only what has no answer yet, however long it is
	case deepest - 1:
		rule.all = true
	default:
	}
	c := findCut(branch, rule)
	switch how.reason {
	case CompactionManual:
		if c == nil || c.tiny() {
			rule.all = true
			c = findCut(branch, rule)
		}
		if c != nil && c.tiny() {
			return nil
		}
	case CompactionThreshold, CompactionIdle:
		// A summary has a length too. One that saves next to nothing would be made again with each request.
		if c != nil && c.saved < snap.model.ContextWindow/leastGain {
			return nil
		}
	default:
	}
	return c
}

// leastGain is which part of the window a compaction must take away to be made without being asked for.
const leastGain = 20

// tiny reports whether what is cut off is one message: no summary says it shorter.
func (c *cut) tiny() bool {
	n := 0
	for _, part := range [][]sessions.Entry{c.older, c.prefix} {
		for _, e := range part {
			if isMessage(e) {
				n++
			}
		}
	}
	return n < 2 && c.previous == nil
}

// Of a turn that is cut in its middle the beginning has a summary of its own, behind this.
const turnHeading = "\n\n---\n\n**Turn Context (split turn):**\n\n"

// noHistory stands for the summary of nothing.
const noHistory = "Nothing was before this turn."

// summarise writes the summary of what c takes away.
func (t *Turn) summarise(ctx context.Context, w *summaryWriter, c *cut, how compacting, pruned map[string]bool) (Compaction, error) {
	previous := ""
	if c.previous != nil {
		previous = t.session.opts.Secrets.Hide(withoutTags(c.previous.Summary))
	}
	hide := t.session.opts.Secrets.Hide
	older, prefix := serialised(c.older, pruned, hide), serialised(c.prefix, pruned, hide)
	var summary string
	switch {
	case len(older) > 0:
		task := &summaryTask{blocks: older, previous: previous, instructions: summaryFirst, focus: how.focus}
		if previous != "" {
			task.instructions = summaryUpdate
		}
		var err error
		if summary, err = w.write(ctx, task); err != nil {
			return Compaction{}, err
		}
	case previous != "":
		summary = previous
		w.say(summary)
	default:
		summary = noHistory
		w.say(summary)
	}
	short := shortSummary(summary)
	if len(prefix) > 0 {
		// Should the second one break off and begin anew, what was told begins with the first again.
		done, anew := summary+turnHeading, w.anew
		w.say(turnHeading)
		w.anew = func(err error) {
			anew(err)
			w.tell(done)
		}
		turn, err := w.write(ctx, &summaryTask{blocks: prefix, instructions: summaryTurn, focus: how.focus})
		if err != nil {
			return Compaction{}, err
		}
		if summary == noHistory {
			short = shortSummary(turn)
		}
		summary = done + turn
	}
	if tag := c.files().tag(); tag != "" {
		summary += tag
		w.say(tag)
	}
	return Compaction{Summary: summary, ShortSummary: short}, nil
}

// files are those that the conversation has touched up to the cut.
func (c *cut) files() *fileOps {
	ops := newFileOps()
	if c.previous != nil {
		ops.details(c.previous.Details, c.previous.FromExtension)
	}
	ops.entries(c.older)
	ops.entries(c.prefix)
	return ops
}

// compactionDetails is what a compaction keeps beside its summary.
type compactionDetails struct {
	fileDetails
	Reason      CompactionReason `json:"reason,omitzero"`
	TokensAfter int              `json:"tokensAfter,omitzero"`
}

// keepCompaction makes a compaction durable and part of the conversation. It fills in done.After.
func (t *Turn) keepCompaction(ctx context.Context, c *cut, done *Compaction, reason CompactionReason, branch []sessions.Entry) error {
	details := compactionDetails{fileDetails: c.files().lists(), Reason: reason}
	return t.do(func(st *state) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		log := t.session.opts.Log
		// The file says how full the window is now, so it must be known before the log makes the new conversation.
		details.TokensAfter = int(float64(st.overhead+c.kept+tokens(len(done.Summary))) * st.scale())
		raw, err := jsonx.Marshal(details)
		if err != nil {
			return err
		}
		entry := sessions.Compaction{
			Summary: done.Summary, ShortSummary: done.ShortSummary, FirstKeptEntryID: c.first, TokensBefore: done.Before, Details: raw,
		}
		if _, err := log.Append(entry); err != nil {
			return t.session.unsaved(st, err)
		}
		st.branch++
		if st.history, err = log.Messages(); err != nil {
			return err
		}
		st.guessed()
		done.After = details.TokensAfter
		t.session.emit(st.used(st.next()))
		return nil
	})
}

// compactionEvent is how a stored compaction is told.
func compactionEvent(id string, e *sessions.Compaction) CompactionChanged {
	ev := CompactionChanged{
		ID: id, Status: CompactionCompleted, Summary: e.Summary, ShortSummary: e.ShortSummary, Before: e.TokensBefore,
	}
	var d compactionDetails
	if !e.FromExtension && jsonx.Unmarshal(e.Details, &d) == nil {
		ev.Reason, ev.After = d.Reason, d.TokensAfter
	}
	return ev
}

// assemble makes a request of how the session stands.
func (s *Session) assemble(ctx context.Context, snap *state, tools []Tool) *providers.Request {
	req := &providers.Request{
		System:   s.briefed(s.systemPrompt(ctx, snap, tools)),
		Messages: conversation(snap.history, snap.model.Images),
		Thinking: snap.thinking, ServiceTier: snap.tier,
		SessionID: s.opts.ID,
		HasCall:   s.opts.Log.HasCall,
	}
	for _, tool := range tools {
		spec := tool.Spec()
		description := spec.Description
		if spec.Name == TaskTool {
			description += s.helperList(ctx)
		}
		req.Tools = append(req.Tools, providers.Tool{Name: spec.Name, Description: description, Schema: spec.Schema})
	}
	return req
}
