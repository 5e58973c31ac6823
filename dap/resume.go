package dap

import (
	"context"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"
)

// Resume is a way to let the program run on.
type Resume struct {
	// Command is continue, next, stepIn, stepOut, stepBack, reverseContinue, goto or restartFrame.
	Command string
	// Thread is the thread's id; zero for the one that stopped.
	Thread int
	// Target is a target's id (stepIn, goto); Frame a frame's handle (restartFrame), zero for the top.
	Target, Frame int
	// Granularity is statement, line or instruction, for steps; empty for the adapter's default.
	Granularity string
	// Single asks for this thread alone to run.
	Single bool
}

// resumeArguments are those of all requests that let a program run on.
type resumeArguments struct {
	ThreadID     int    `json:"threadId,omitzero"`
	SingleThread bool   `json:"singleThread,omitzero"`
	Granularity  string `json:"granularity,omitzero"`
	TargetID     *int   `json:"targetId,omitzero"`
	FrameID      *int   `json:"frameId,omitzero"`
}

// continued is the answer to continue. An adapter that says nothing has continued all threads.
type continued struct {
	All *bool `json:"allThreadsContinued"`
}

// Resume lets the program run on and returns when the adapter has said yes; [Session.Wait] waits for the next stop. Frames
// and variables are stale from here on. Where ctx ends before the adapter answers, the program is taken to run.
func (s *Session) Resume(ctx context.Context, r Resume) error {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return err
	}
	args, err := t.resumeArguments(ctx, &r)
	if err != nil {
		return err
	}
	tree := s.tree
	tree.mu.Lock()
	if t.state != StateStopped || t.stop == nil {
		tree.mu.Unlock()
		return fmt.Errorf("%w. Wait for the next stop", ErrRunning)
	}
	stop, shot, table, seq := t.stop, t.shot, t.handles, t.stopSeq
	tree.remember(shot)
	t.runsLocked(args.ThreadID, !r.Single)
	tree.waitFrom, tree.focus = tree.stops, t
	tree.announceLocked()
	tree.mu.Unlock()

	var answer continued
	var body any
	if r.Command == "continue" {
		body = &answer
	}
	err = l.do(ctx, r.Command, args, body)
	tree.mu.Lock()
	defer tree.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, ErrTimeout):
		return nil
	case t.stopSeq == seq && t.state == StateRunning: // nothing has happened
		if _, refused := errors.AsType[*RequestError](err); refused {
			t.state, t.stop, t.shot, t.handles = StateStopped, stop, shot, table
			tree.waitFrom = tree.stops - 1
			tree.announceLocked()
		}
	}
	return err
}

func (s *Session) resumeArguments(ctx context.Context, r *Resume) (*resumeArguments, error) {
	s.tree.mu.Lock()
	caps, stop := s.caps, s.stop
	s.tree.mu.Unlock()
	args := &resumeArguments{ThreadID: r.Thread, SingleThread: r.Single}
	if r.Single && !caps.SupportsSingleThreadExecutionRequests {
		return nil, unsupported("running a single thread")
	}
	if args.ThreadID == 0 && stop != nil {
		args.ThreadID = stop.Thread
	}
	if args.ThreadID == 0 && r.Command != "restartFrame" {
		thread, err := s.anyThread(ctx)
		if err != nil {
			return nil, err
		}
		args.ThreadID = thread
	}
	if r.Granularity != "" && r.Command != "continue" {
		switch {
		case r.Granularity != "statement" && r.Granularity != "line" && r.Granularity != "instruction":
			return nil, fmt.Errorf("granularity is %q; it can be statement, line or instruction", r.Granularity)
		case !caps.SupportsSteppingGranularity && r.Granularity != "statement":
			return nil, unsupported("stepping by " + r.Granularity)
		case caps.SupportsSteppingGranularity:
			args.Granularity = r.Granularity
		}
	}
	switch r.Command {
	case "continue", "next", "stepOut":
	case "stepIn":
		if r.Target != 0 {
			if !caps.SupportsStepInTargetsRequest {
				return nil, unsupported("step-in targets")
			}
			args.TargetID = &r.Target
		}
	case "stepBack", "reverseContinue":
		if !caps.SupportsStepBack {
			return nil, unsupported("running backwards")
		}
	case "goto":
		if !caps.SupportsGotoTargetsRequest {
			return nil, unsupported("goto")
		}
		args.TargetID = &r.Target
	case "restartFrame":
		if !caps.SupportsRestartFrame {
			return nil, unsupported("restarting a frame")
		}
		frame := r.Frame
		if frame == 0 {
			f, err := s.active(ctx)
			if err != nil {
				return nil, err
			}
			frame = f.ID
		}
		s.tree.mu.Lock()
		h, err := s.raw(frame, true)
		s.tree.mu.Unlock()
		if err != nil {
			return nil, err
		}
		args = &resumeArguments{FrameID: &h.raw}
	default:
		return nil, fmt.Errorf("%q does not let a program run on", r.Command)
	}
	return args, nil
}

// Pause asks a running program to stop; Wait waits for that. Zero stands for any thread.
func (s *Session) Pause(ctx context.Context, thread int) error {
	defer s.use()()
	t, l, err := s.current()
	if err != nil {
		return err
	}
	s.tree.mu.Lock()
	if t.state == StateStopped {
		s.tree.waitFrom = s.tree.stops - 1
		s.tree.mu.Unlock()
		return nil
	}
	s.tree.waitFrom, s.tree.focus = s.tree.stops, t
	s.tree.mu.Unlock()
	if thread == 0 {
		if thread, err = t.anyThread(ctx); err != nil {
			return err
		}
	}
	return l.do(ctx, "pause", &godap.PauseArguments{ThreadId: thread}, nil)
}

// anyThread returns a thread's id: one that stands still if there is one.
func (s *Session) anyThread(ctx context.Context) (int, error) {
	threads, err := s.Threads(ctx)
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

var errNoThreads = errors.New("Debugger reported no threads.")

// Restart starts the program anew, by the adapter's own request or by ending it and starting it as before. One that has ended
// takes the breakpoints that are planned (see [Debugger.Plan]) with those that it had.
func (s *Session) Restart(ctx context.Context) error {
	defer s.use()()
	root, planned := s.tree.root, s.debugger.Planned()
	s.tree.mu.Lock()
	l, state, caps := root.life, root.state, root.caps
	ended := state == StateTerminated
	byRequest := caps.SupportsRestartRequest && !ended && l != nil && l.configured && root.beginning == nil
	var b *beginning
	err := error(nil)
	switch {
	case root.start.Address != "" && ended:
		err = fmt.Errorf("%w: the adapter at %s is not gjc's to start again; attach to it", ErrTerminated, root.start.Address)
	case root.start.Request == "attach" && !byRequest:
		// It would have to be killed, and the id may be another process's by now.
		err = unsupported("restart of a program that was attached to")
	case !byRequest:
		b, err = root.reserveLocked(ctx)
	}
	if err != nil {
		s.tree.mu.Unlock()
		return err
	}
	if ended {
		for _, b := range planned {
			s.tree.breakpoints = put(s.tree.breakpoints, b)
		}
	}
	s.tree.waitFrom = s.tree.stops
	if byRequest && root.state == StateStopped {
		s.tree.remember(root.shot)
		root.runsLocked(0, true)
	}
	root.restarting = !byRequest
	if byRequest {
		l.restarting = true
		root.exitCode = nil
		if l.exit != nil { // what has ended is started anew
			l.exit.Stop()
			l.exit = nil
		}
	}
	s.tree.mu.Unlock()
	if byRequest {
		err := l.do(ctx, "restart", map[string]any{"arguments": root.start.Arguments}, nil)
		if err != nil {
			s.tree.mu.Lock()
			l.restarting = false
			s.tree.mu.Unlock()
		}
		return err
	}
	defer root.settle(b)
	if !ended {
		err = root.end(ctx, nil, finishing{kill: true, disconnect: terminateDisconnect})
	}
	if err == nil {
		err = root.begin(b)
	}
	if err == nil && ended {
		for _, b := range planned {
			s.debugger.Unplan(b)
		}
	}
	s.tree.mu.Lock()
	root.restarting = false
	if err != nil && root.state == StateLaunching {
		root.state, root.ended = StateTerminated, err
		s.tree.announceLocked()
	}
	s.tree.mu.Unlock()
	return err
}
