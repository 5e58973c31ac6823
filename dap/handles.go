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
	refs     map[int]int // adapter's variablesReference → handle
}

type handle struct {
	raw   int
	frame bool
	// name, path and source are those of a frame.
	name, path string
	source     *godap.Source
}

// maxHandles bounds the handles of one stop.
const maxHandles = 1 << 20

func (h *handles) reset() { *h = handles{} }

// frameHandle returns the handle of a frame. tree.mu is held.
func (s *Session) frameHandle(raw int, f *Frame) int {
	return s.handle(&s.handles.frames, handle{raw: raw, frame: true, name: f.Name, path: f.Path, source: f.Source})
}

// refHandle returns the handle of a variablesReference; zero for zero. tree.mu is held.
func (s *Session) refHandle(raw int) int {
	if raw <= 0 {
		return 0
	}
	return s.handle(&s.handles.refs, handle{raw: raw})
}

func (s *Session) handle(known *map[int]int, h handle) int {
	if n, ok := (*known)[h.raw]; ok {
		return n
	}
	if *known == nil {
		*known = make(map[int]int)
	}
	if s.handles.byHandle == nil {
		s.handles.byHandle = make(map[int]handle)
	}
	if len(s.handles.byHandle) >= maxHandles {
		return 0
	}
	n := s.debugger.nextHandle()
	(*known)[h.raw] = n
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
