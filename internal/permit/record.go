package permit

import (
	"context"
	"slices"
	"sync"
)

// Record keeps what was about to be changed and run under a permit. It is safe for concurrent use.
type Record struct {
	mu             sync.Mutex // guards the fields below
	changed, aside []string
	started        []string
}

func (r *Record) add(e Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Action == Change && !slices.Contains(r.changed, e.Path):
		r.changed = append(r.changed, e.Path)
	case e.Action == Run && !slices.Contains(r.started, e.Path):
		r.started = append(r.started, e.Path)
	}
}

// Changed returns the paths that were changed, or were about to be, in that order.
func (r *Record) Changed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.changed), func(path string) bool { return slices.Contains(r.aside, path) })
}

// Ran reports whether a program was started that is not one of the helpers.
func (r *Record) Ran(helper func(path string) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.started, func(path string) bool { return !helper(path) })
}

// Aside keeps a path out of the record of a context: a file has this name only while it is being changed.
func Aside(ctx context.Context, path string) {
	r := From(ctx).record
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aside = append(r.aside, path)
}
