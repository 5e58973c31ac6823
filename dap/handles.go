package dap

import (
	"fmt"
	"sync/atomic"

	godap "github.com/google/go-dap"
)

// maxHandles bounds the handles of one stop.
const maxHandles = 1 << 20

// handleCounter issues the handles of a [Debugger]. Each is issued once.
type handleCounter struct{ last atomic.Int64 }

func (c *handleCounter) next() int { return int(c.last.Add(1)) }

// issued reports whether a handle was ever issued.
func (c *handleCounter) issued(n int) bool { return n > 0 && int64(n) <= c.last.Load() }

// handles maps handles to the adapter's IDs of frames and variables. Adapters reuse these IDs at each stop, so an old ID would
// silently refer to something else; a handle is never reused. tree.mu guards it.
type handles struct {
	counter  *handleCounter
	byHandle map[int]handle
	frames   map[int]int       // by the adapter's frame ID
	refs     map[reference]int // by the adapter's variablesReference
	// scoped is the frame of the last scopes request, if the adapter keeps the scopes of only one frame (see [target.withScope]).
	scoped *int
}

// reference is an adapter's variablesReference. That of a scope includes the frame: some adapters use the same references
// for the scopes of all frames.
type reference struct {
	id, frame int
	scope     bool
}

type handle struct {
	id      int // the adapter's ID
	isFrame bool
	// scope is the frame of a scope; nil for other variables.
	scope *int
	// name, path and source are those of a frame.
	name, path string
	source     *godap.Source
}

// reset makes all handles stale.
func (h *handles) reset() { *h = handles{counter: h.counter} }

// frame returns the handle of a frame.
func (h *handles) frame(id int, f *Frame) int {
	return issue(h, &h.frames, id, handle{id: id, isFrame: true, name: f.Name, path: f.Path, source: f.Source})
}

// variables returns the handle of a variablesReference; zero for zero.
func (h *handles) variables(ref int) int {
	if ref <= 0 {
		return 0
	}
	return issue(h, &h.refs, reference{id: ref}, handle{id: ref})
}

// scope returns the handle of the variablesReference of a scope; zero for zero.
func (h *handles) scope(ref, frame int) int {
	if ref <= 0 {
		return 0
	}
	return issue(h, &h.refs, reference{ref, frame, true}, handle{id: ref, scope: &frame})
}

func issue[K comparable](h *handles, known *map[K]int, key K, v handle) int {
	if n, ok := (*known)[key]; ok {
		return n
	}
	if *known == nil {
		*known = make(map[K]int)
	}
	if h.byHandle == nil {
		h.byHandle = make(map[int]handle)
	}
	if len(h.byHandle) >= maxHandles {
		return -1 // never a valid handle; zero would mean the active frame
	}
	n := h.counter.next()
	(*known)[key] = n
	h.byHandle[n] = v
	return n
}

// lookup returns the frame, or the variables, of a handle. The error wraps [ErrStale] or [ErrUnknownHandle].
func (h *handles) lookup(n int, isFrame bool) (handle, error) {
	what, hint := "variables reference", "use scopes and variables to get new ones"
	if isFrame {
		what, hint = "frame", "use stack_trace to get new ones"
	}
	v, ok := h.byHandle[n]
	switch {
	case ok && v.isFrame == isFrame:
		return v, nil
	case ok && isFrame:
		return v, fmt.Errorf("%d is a variables reference and not a frame: %w", n, ErrUnknownHandle)
	case ok:
		return v, fmt.Errorf("%d is a frame and not a variables reference: %w", n, ErrUnknownHandle)
	case h.counter.issued(n):
		return v, fmt.Errorf("%s %d is no longer valid: %w; %s", what, n, ErrStale, hint)
	default:
		return v, fmt.Errorf("%s %d: %w; %s", what, n, ErrUnknownHandle, hint)
	}
}
