package rewind

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/checkpoint"
)

// Step is a state that can be restored: that before a prompt or before a rewind.
type Step struct {
	// N numbers the steps, 1 is the latest.
	N     int
	Kind  checkpoint.Kind
	Entry string // the prompt's entry in the session's log
	Title string
	Time  time.Time
	// Changed are the files that differ from the next step, or from now. They are relative to their directory.
	Changed []checkpoint.Change
	// Skipped counts the files that are only noted: they are too large, hold secrets, or cannot be read.
	Skipped int
}

// errBusy reports that a call may be changing files.
var errBusy = errors.New("a call of this session is changing files; wait for its end or cancel it, and try again")

// ErrNoStep reports that there is no such step.
var ErrNoStep = errors.New("there is no such prompt; /rewind lists them")

// Steps lists the steps, the latest first. It records the present state.
func (r *Recorder) Steps(ctx context.Context) ([]Step, error) {
	if !r.wait(ctx) {
		return nil, context.Cause(ctx)
	}
	var all []Step
	for _, t := range r.trees {
		now, err := t.record(ctx, r.mark(checkpoint.After, "", "", r.busy() > 0))
		if errors.Is(err, errOff) || errors.Is(err, checkpoint.ErrTooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		points, err := t.Points(ctx, r.opts.Session)
		if err != nil {
			return nil, err
		}
		if all, err = merge(ctx, t, all, points, now); err != nil {
			return nil, err
		}
	}
	if len(r.trees) > 1 { // in one directory the order is that of the points, whatever the clock has shown
		slices.SortStableFunc(all, func(a, b Step) int { return b.Time.Compare(a.Time) })
	}
	for i := range all {
		all[i].N = i + 1
	}
	return all, nil
}

// merge adds the steps of one directory.
func merge(ctx context.Context, t *recorded, all []Step, points []checkpoint.Point, now *checkpoint.Point) ([]Step, error) {
	next := now
	for _, p := range slices.Backward(points) {
		if p.Kind != checkpoint.Prompt && p.Kind != checkpoint.Rewind {
			continue
		}
		changed, err := t.Changes(ctx, &p, next)
		if err != nil {
			return nil, err
		}
		point := p
		next = &point
		changed = slices.DeleteFunc(changed, func(c checkpoint.Change) bool { return isDirectory(&c) })
		i := slices.IndexFunc(all, func(s Step) bool { return s.Kind == p.Kind && s.Entry == p.Entry })
		if i < 0 {
			all = append(all, Step{Kind: p.Kind, Entry: p.Entry, Title: p.Title, Time: p.Time})
			i = len(all) - 1
		}
		all[i].Changed = append(all[i].Changed, changed...)
		all[i].Skipped += p.Skipped
	}
	return all, nil
}

// isDirectory reports whether a change is only about a directory.
func isDirectory(c *checkpoint.Change) bool {
	return (c.From == nil || c.From.Directory()) && (c.To == nil || c.To.Directory())
}

// Plan lists what a rewind changes.
type Plan struct {
	Step Step
	// ByUser are files that differ, and that the user, or a program that is none of the session's, has changed last. They are absolute.
	ByUser []string
	// Others are other sessions that have recorded changes of the same files since.
	Others []string
	// Missing are directories whose state before the step is not recorded.
	Missing []string
	parts   []part
}

// part lists what a rewind changes in one directory.
type part struct {
	tree    *recorded
	now     *checkpoint.Point
	changes []checkpoint.Change
}

// Files returns the absolute paths of the files that change, with how.
func (p *Plan) Files() []File {
	var all []File
	for _, part := range p.parts {
		for _, c := range part.changes {
			if !isDirectory(&c) {
				all = append(all, File{filepath.Join(part.tree.Dir(), filepath.FromSlash(c.Path)), c, part.tree})
			}
		}
	}
	return all
}

// File is a file that a rewind changes.
type File struct {
	Path string
	checkpoint.Change
	tree *recorded
}

// Plan records the present state and returns what going back to the state before a step changes.
func (r *Recorder) Plan(ctx context.Context, step *Step) (*Plan, error) {
	if !r.wait(ctx) {
		return nil, context.Cause(ctx)
	}
	if r.busy() > 0 {
		return nil, errBusy
	}
	p := &Plan{Step: *step}
	m := r.mark(checkpoint.After, "", "", false)
	for _, t := range r.trees {
		now, err := t.record(ctx, m)
		if errors.Is(err, errOff) {
			p.Missing = append(p.Missing, t.Dir())
			continue
		}
		if err != nil {
			return nil, err
		}
		points, err := t.Points(ctx, "")
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(points, func(q checkpoint.Point) bool {
			return q.Session == r.opts.Session && q.Kind == step.Kind && q.Entry == step.Entry
		})
		if i < 0 {
			p.Missing = append(p.Missing, t.Dir())
			continue
		}
		changes, err := t.Changes(ctx, now, &points[i])
		if err != nil {
			return nil, err
		}
		if err := p.authors(ctx, t, r.opts.Session, points[i:], changes); err != nil {
			return nil, err
		}
		p.parts = append(p.parts, part{t, now, changes})
	}
	return p, nil
}

// RestoreIn makes copies of the session's directories what the directories were before the step. to returns the copy of a directory. The
// directories themselves stay as they are.
func (p *Plan) RestoreIn(ctx context.Context, to func(dir string) (string, error)) error {
	if len(p.Missing) > 0 {
		return fmt.Errorf("the state of %s at that time is not recorded", strings.Join(p.Missing, ", "))
	}
	for _, part := range p.parts {
		dir, err := to(part.tree.Dir())
		if err != nil {
			return err
		}
		problems, err := part.tree.RestoreIn(ctx, dir, part.changes)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return fmt.Errorf("the files of that time cannot be restored: %s", problems[0])
		}
	}
	return nil
}

// errChanged reports that files have changed since the plan was made.
var errChanged = errors.New("the files have changed meanwhile, so nothing was changed; run /rewind again")

// begin records the state before a rewind, which a later one can restore.
func (r *Recorder) begin(ctx context.Context, p *Plan) error {
	m := r.mark(checkpoint.Rewind, rand.Text(), "before the rewind to: "+p.Step.Title, false)
	for _, part := range p.parts {
		now, err := part.tree.record(ctx, m)
		if err != nil {
			return err
		}
		if !now.Same(part.now) {
			return errChanged
		}
	}
	return nil
}

// authors finds out who has changed the files of changes last. points begin with the one to go back to.
func (p *Plan) authors(ctx context.Context, t *recorded, session string, points []checkpoint.Point, changes []checkpoint.Change) error {
	differs := make(map[string]bool)
	for i := range changes {
		differs[changes[i].Path] = !isDirectory(&changes[i])
	}
	byUser := make(map[string]bool)
	last := &points[0]
	for i := range points[1:] {
		q := &points[1+i]
		if q.Session != session {
			if !q.Same(last) && !slices.Contains(p.Others, q.Session) {
				p.Others = append(p.Others, q.Session)
			}
			continue
		}
		made, err := t.Changes(ctx, last, q)
		if err != nil {
			return err
		}
		for j := range made {
			byUser[made[j].Path] = !q.Agent
		}
		last = q
	}
	for path, user := range byUser {
		if user && differs[path] {
			p.ByUser = append(p.ByUser, filepath.Join(t.Dir(), filepath.FromSlash(path)))
		}
	}
	slices.Sort(p.ByUser)
	return nil
}
