// Package rewind records the state of a session's directories before the agent can change them, and takes changes back.
package rewind

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/text"
)

// Options describe a session whose state is recorded.
type Options struct {
	// Session is the ID of the session.
	Session string
	// Roots are its directories, absolute.
	Roots []string
	// Checkpoints say where and what to record.
	Checkpoints checkpoint.Options
	// Notice shows the user what cannot be recorded. Optional.
	Notice func(severity agent.Severity, title, detail string)
	// Hide replaces the secrets in the title of a prompt or call. Optional.
	Hide func(string) string
}

// Recorder records the state of a session's directories. It is safe for concurrent use. Set as a value of the session, it learns of its
// prompts and calls, and is closed with it.
type Recorder struct {
	opts  Options
	trees []*recorded
	ctx   context.Context //nolint:containedctx // bounds what is recorded while no one waits
	end   context.CancelCauseFunc

	mu      sync.Mutex    // guards the fields below
	pending chan struct{} // closed when the state before the last prompt has been recorded; nil for none
	running int           // calls that may be changing files
}

// recorded is one directory.
type recorded struct {
	*checkpoint.Tree
	mu   sync.Mutex // guards the fields below
	off  bool       // it is too large
	said map[string]bool
}

// errEnded reports that the session has ended.
var errEnded = errors.New("the session has ended")

// New returns the recorder of a session. It does no I/O.
func New(opts Options) *Recorder {
	r := &Recorder{opts: opts}
	if r.opts.Hide == nil {
		r.opts.Hide = func(s string) string { return s }
	}
	for _, root := range opts.Roots {
		within := func(other string) bool {
			rel, err := filepath.Rel(other, root)
			return err == nil && other != root && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
		}
		known := func(t *recorded) bool { return t.Dir() == filepath.Clean(root) }
		if !slices.ContainsFunc(opts.Roots, within) && !slices.ContainsFunc(r.trees, known) {
			r.trees = append(r.trees, &recorded{Tree: checkpoint.Open(root, opts.Checkpoints), said: make(map[string]bool)})
		}
	}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	return r
}

// maxTitle bounds the title of a point, in characters.
const maxTitle = 120

func (r *Recorder) mark(kind checkpoint.Kind, entry, title string, byAgent bool) checkpoint.Mark {
	title, _, _ = strings.Cut(strings.TrimSpace(title), "\n")
	return checkpoint.Mark{Session: r.opts.Session, Kind: kind, Entry: entry, Title: text.Truncate(text.VisibleLine(r.opts.Hide(title)), maxTitle), Agent: byAgent}
}

// PromptStarts records the state before a prompt is answered. The first call that may change files waits for it.
func (r *Recorder) PromptStarts(entry, title string) {
	r.mu.Lock()
	before, done := r.pending, make(chan struct{})
	r.pending = done
	m := r.mark(checkpoint.Prompt, entry, title, r.running > 0)
	r.mu.Unlock()
	go func() { // ends with the recorder's context, for which Close waits
		defer close(done)
		if before != nil {
			<-before
		}
		r.record(r.ctx, m)
	}()
}

// CallStarts records the state before a call that may change files. The function that it returns records what the call has left, and must
// be called once.
func (r *Recorder) CallStarts(ctx context.Context, id, title string) func(context.Context) {
	if !r.wait(ctx) {
		return func(context.Context) {} // the call is cancelled
	}
	r.mu.Lock()
	m := r.mark(checkpoint.Call, id, title, r.running > 0)
	r.running++
	r.mu.Unlock()
	r.record(ctx, m)
	return func(ctx context.Context) {
		r.record(ctx, r.mark(checkpoint.After, id, title, true))
		r.mu.Lock()
		r.running--
		r.mu.Unlock()
	}
}

// busy returns how many calls may be changing files.
func (r *Recorder) busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// patience bounds the time that a call waits without a notice.
const patience = 3 * time.Second

// wait waits until the state before the last prompt is recorded. It reports false if ctx ends first.
func (r *Recorder) wait(ctx context.Context) bool {
	r.mu.Lock()
	pending := r.pending
	r.mu.Unlock()
	if pending == nil {
		return true
	}
	long := time.NewTimer(patience)
	defer long.Stop()
	for {
		select {
		case <-pending:
			return true
		case <-ctx.Done():
			return false
		case <-long.C:
			if r.opts.Notice != nil {
				r.opts.Notice(agent.SeverityInfo, "The files are being recorded, so that /rewind can restore them. The first time this takes a while.", "")
			}
		}
	}
}

// record records the state of all directories. The user is notified of what cannot be.
func (r *Recorder) record(ctx context.Context, m checkpoint.Mark) {
	for _, t := range r.trees {
		if _, err := t.record(ctx, m); err != nil && ctx.Err() == nil {
			r.report(t, err)
		}
	}
}

// errOff reports that a directory is not recorded.
var errOff = errors.New("its state is not recorded")

func (t *recorded) record(ctx context.Context, m checkpoint.Mark) (*checkpoint.Point, error) {
	t.mu.Lock()
	off := t.off
	t.mu.Unlock()
	if off {
		return nil, errOff
	}
	p, err := t.Record(ctx, m)
	if errors.Is(err, checkpoint.ErrTooLarge) {
		t.mu.Lock()
		t.off = true
		t.mu.Unlock()
	}
	return p, err
}

// report shows an error, once.
func (r *Recorder) report(t *recorded, err error) {
	t.mu.Lock()
	said := t.said[err.Error()] || errors.Is(err, errOff)
	t.said[err.Error()] = true
	t.mu.Unlock()
	if !said && r.opts.Notice != nil {
		r.opts.Notice(agent.SeverityWarning, "The state of the files cannot be recorded; /rewind cannot restore what changes now.", err.Error())
	}
}

// Close implements [agent.ValueCloser].
func (r *Recorder) Close(ctx context.Context) {
	r.end(errEnded)
	r.wait(ctx)
	for _, t := range r.trees {
		if err := t.Close(); err != nil {
			r.report(t, fmt.Errorf("closing the checkpoints of %s: %w", t.Dir(), err))
		}
	}
}
