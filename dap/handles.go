package dap

import (
	"fmt"

	godap "github.com/google/go-dap"
)

// handles maps numbers of ours to the adapter's for frames and variables. Adapters begin anew with theirs at each stop, so
// that an old one would silently mean something else; ours are used once.
type handles struct {
	byHandle map[int]handle
	frames   map[int]int // adapter's frame id → handle
	refs     map[ref]int // adapter's variablesReference → handle
	// scoped is the frame whose scopes the adapter was asked for last, where it keeps those of one alone (see inScope).
	scoped *int
}

// ref is an adapter's number for variables. That of a scope goes with the adapter's number of its frame: some have the same
// numbers for the scopes of all frames.
type ref struct {
	raw, frame int
	scope      bool
}

type handle struct {
	raw   int
	frame bool
	// scope is the frame of a scope; nil for what is none.
	scope *int
	// name, path and source are those of a frame.
	name, path string
	source     *godap.Source
}

// maxHandles bounds the handles of one stop.
const maxHandles = 1 << 20

func (h *handles) reset() { *h = handles{} }

// frameHandle returns the handle of a frame. tree.mu is held.
func (s *Session) frameHandle(raw int, f *Frame) int {
	return number(s, &s.handles.frames, raw, handle{raw: raw, frame: true, name: f.Name, path: f.Path, source: f.Source})
}

// refHandle returns the handle of a variablesReference; zero for zero. tree.mu is held.
func (s *Session) refHandle(raw int) int {
	if raw <= 0 {
		return 0
	}
	return number(s, &s.handles.refs, ref{raw: raw}, handle{raw: raw})
}

// scopeHandle returns the handle of a scope's variablesReference; zero for zero. tree.mu is held.
func (s *Session) scopeHandle(raw, frame int) int {
	if raw <= 0 {
		return 0
	}
	return number(s, &s.handles.refs, ref{raw, frame, true}, handle{raw: raw, scope: &frame})
}

func number[K comparable](s *Session, known *map[K]int, key K, h handle) int {
	if n, ok := (*known)[key]; ok {
		return n
	}
	if *known == nil {
		*known = make(map[K]int)
	}
	if s.handles.byHandle == nil {
		s.handles.byHandle = make(map[int]handle)
	}
	if len(s.handles.byHandle) >= maxHandles {
		return -1 // no number is that of a frame or a variable; zero would stand for the active frame
	}
	n := s.debugger.nextHandle()
	(*known)[key] = n
	s.handles.byHandle[n] = h
	return n
}

// raw returns what the adapter calls a frame or a variable. tree.mu is held.
func (s *Session) raw(n int, frame bool) (handle, error) {
	what, again := "variables reference", "scopes and variables give new ones"
	if frame {
		what, again = "frame", "stack_trace gives new ones"
	}
	h, ok := s.handles.byHandle[n]
	switch {
	case ok && h.frame == frame:
		return h, nil
	case ok && frame:
		return h, fmt.Errorf("%d is no frame but a variables reference: %w", n, ErrUnknownHandle)
	case ok:
		return h, fmt.Errorf("%d is no variables reference but a frame: %w", n, ErrUnknownHandle)
	case s.debugger.issued(n):
		return h, fmt.Errorf("%s %d can not be used any more: %w; %s", what, n, ErrStale, again)
	default:
		return h, fmt.Errorf("there is no %s %d: %w; %s", what, n, ErrUnknownHandle, again)
	}
}
