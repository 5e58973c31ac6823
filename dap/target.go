package dap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	godap "github.com/google/go-dap"
)

const (
	// defaultLevels is the default number of frames in a stack trace, and maxLevels the maximum.
	defaultLevels = 20
	maxLevels     = 1000
)

var (
	errResumed   = fmt.Errorf("%w: it was resumed meanwhile; wait for the next stop", ErrRunning)
	errNoFrame   = errors.New("no active stack frame; run stack_trace first or supply frame_id")
	errNoThreads = errors.New("the debugger reported no threads")
)

// A target is the debuggee that a call on a session applies to, with its adapter at the time of the call.
type target struct {
	debuggee *debuggee
	adapter  *adapter
}

// stoppedFor is like [debuggee.stopped], for a call that needs a feature of the adapter ("memory reads").
func (d *debuggee) stoppedFor(feature string, supported bool) (target, error) {
	t, err := d.stopped()
	if err == nil && !supported {
		err = unsupported(feature)
	}
	return t, err
}

// request makes a request of an adapter and returns the body of the answer.
func request[T any](ctx context.Context, t target, command string, arguments any) (body T, err error) {
	err = t.adapter.do(ctx, command, arguments, &body)
	return body, err
}

// threads returns the threads of the program.
func (t target) threads(ctx context.Context) ([]Thread, error) {
	body, err := request[godap.ThreadsResponseBody](ctx, t, "threads", nil)
	if err != nil {
		return nil, err
	}
	d := t.debuggee
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	list := make([]Thread, 0, len(body.Threads))
	for _, th := range body.Threads {
		list = append(list, Thread{ID: th.Id, Name: valid(th.Name), Stopped: d.exec.isStopped(d.state, th.Id)})
	}
	return list, nil
}

// anyThread returns the ID of a thread, of a stopped one if there is one.
func (t target) anyThread(ctx context.Context) (int, error) {
	threads, err := t.threads(ctx)
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, errNoThreads
	}
	for _, th := range threads {
		if th.Stopped {
			return th.ID, nil
		}
	}
	return threads[0].ID, nil
}

// stackTrace implements [Session.StackTrace].
func (t target) stackTrace(ctx context.Context, thread, start, levels int) (frames []Frame, total int, err error) {
	if levels <= 0 {
		levels = defaultLevels
	}
	levels = min(levels, maxLevels)
	d := t.debuggee
	d.tree.mu.Lock()
	stop := d.exec.stop
	d.tree.mu.Unlock()
	if thread == 0 && stop != nil {
		thread = stop.Thread
	}
	if thread == 0 {
		if thread, err = t.anyThread(ctx); err != nil {
			return nil, 0, err
		}
	}
	body, err := request[godap.StackTraceResponseBody](ctx, t, "stackTrace", &godap.StackTraceArguments{ThreadId: thread, StartFrame: start, Levels: levels})
	if err != nil {
		return nil, 0, err
	}
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	if d.exec.stop != stop || stop == nil {
		return nil, 0, errResumed
	}
	for i := range body.StackFrames {
		if len(frames) == levels { // an adapter may send all frames
			break
		}
		frames = append(frames, d.frameLocked(&body.StackFrames[i], thread))
	}
	return frames, body.TotalFrames, nil
}

func (d *debuggee) frameLocked(f *godap.StackFrame, thread int) Frame {
	out := Frame{
		Name: valid(f.Name), Source: f.Source, Line: f.Line, Column: f.Column,
		InstructionPointer: f.InstructionPointerReference, Thread: thread, CanRestart: f.CanRestart,
		Subtle: f.PresentationHint == "subtle" || f.PresentationHint == "label",
	}
	if f.Source != nil && f.Source.SourceReference == 0 && filepath.IsAbs(f.Source.Path) {
		out.Path = filepath.Clean(f.Source.Path)
	}
	out.Own = d.isUserCode(out.Path)
	out.ID = d.exec.handles.frame(f.Id, &out)
	return out
}

// location returns where the program is stopped. It asks the adapter once for each stop.
func (d *debuggee) location(ctx context.Context) (*location, error) {
	t, err := d.stopped()
	if err != nil {
		return nil, err
	}
	d.tree.mu.Lock()
	cache := d.exec.cache
	d.tree.mu.Unlock()
	if cache == nil {
		return nil, errResumed
	}
	return cache.location.get(func() (*location, error) {
		frames, _, err := t.stackTrace(ctx, 0, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(frames) == 0 {
			return nil, errNoFrame
		}
		top := &frames[0]
		if top.Own {
			return &location{frame: top}, nil
		}
		frames, _, err = t.stackTrace(ctx, 0, 0, defaultLevels)
		if err == nil {
			for i := range frames {
				if f := &frames[i]; f.Own && !f.Subtle {
					return &location{frame: f, top: top}, nil
				}
			}
		}
		return &location{frame: top}, nil
	})
}

// activeFrame returns the frame that calls without a frame apply to.
func (t target) activeFrame(ctx context.Context) (*Frame, error) {
	at, err := t.debuggee.location(ctx)
	if err != nil {
		return nil, err
	}
	return at.frame, nil
}

// frame returns the frame of a handle; zero is the active frame (see [Snapshot]).
func (t target) frame(ctx context.Context, n int) (handle, error) {
	if n == 0 {
		f, err := t.activeFrame(ctx)
		if err != nil {
			return handle{}, err
		}
		n = f.ID
	}
	return t.lookup(n, true)
}

// variables returns the variables of a handle.
func (t target) variables(n int) (handle, error) { return t.lookup(n, false) }

func (t target) lookup(n int, isFrame bool) (handle, error) {
	d := t.debuggee
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.exec.handles.lookup(n, isFrame)
}

// invalidate makes the next snapshot ask for the variables again.
func (t target) invalidate() {
	d := t.debuggee
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	d.exec.invalidate()
}

// kindLLDB is the kind of the adapters (see [Spec.Kind]) that use the same references for the scopes of all frames, at least up to
// version 19. There a reference means the scope of the frame in the last scopes request.
const kindLLDB = "lldb-dap"

// withScope calls do, which makes a request about the variables of a scope. It first makes the adapter resolve the reference for
// the given frame. frame is nil for variables that do not belong to a scope. isScopes reports whether do makes the scopes request
// itself.
func (t target) withScope(ctx context.Context, frame *int, isScopes bool, do func() error) error {
	d := t.debuggee
	if spec := d.start.Adapter; frame == nil || spec == nil || spec.Kind != kindLLDB {
		return do()
	}
	select {
	case t.adapter.client.scoping <- struct{}{}:
		defer func() { <-t.adapter.client.scoping }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.tree.mu.Lock()
	current := d.exec.handles.scoped != nil && *d.exec.handles.scoped == *frame
	d.exec.handles.scoped = nil
	d.tree.mu.Unlock()
	if !current && !isScopes {
		if err := t.adapter.do(ctx, "scopes", &godap.ScopesArguments{FrameId: *frame}, nil); err != nil {
			return err
		}
	}
	err := do()
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	if err == nil && d.state == StateStopped {
		d.exec.handles.scoped = frame
	}
	return err
}

// isWithin reports whether a path is dir or is inside it.
func isWithin(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
