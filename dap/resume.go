package dap

import (
	"context"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"
)

// Resume describes how to resume the program.
type Resume struct {
	// Command is continue, next, stepIn, stepOut, stepBack, reverseContinue, goto or restartFrame.
	Command string
	// Thread is the ID of a thread; zero for the one that stopped.
	Thread int
	// Target is the ID of a target (stepIn, goto). Frame is the handle of a frame (restartFrame); zero for the active one.
	Target, Frame int
	// Granularity is statement, line or instruction, for steps; empty for the adapter's default.
	Granularity string
	// Single resumes this thread only.
	Single bool
}

// resumeArguments are the arguments of all requests that resume a program.
type resumeArguments struct {
	ThreadID     int    `json:"threadId,omitzero"`
	SingleThread bool   `json:"singleThread,omitzero"`
	Granularity  string `json:"granularity,omitzero"`
	TargetID     *int   `json:"targetId,omitzero"`
	FrameID      *int   `json:"frameId,omitzero"`
}

// Resume resumes the program and returns when the adapter has accepted the request; [Session.Wait] waits for the next stop. Handles
// of frames and variables become stale. If ctx ends before the adapter answers, Resume returns nil and the program counts as
// running.
func (s *Session) Resume(ctx context.Context, r Resume) error {
	defer s.tree.use()()
	t, err := s.debuggee.stopped()
	if err != nil {
		return err
	}
	args, err := t.resumeArguments(ctx, &r)
	if err != nil {
		return err
	}
	tree, d := s.tree, t.debuggee
	tree.mu.Lock()
	if d.state != StateStopped || d.exec.stop == nil {
		tree.mu.Unlock()
		return fmt.Errorf("%w; wait for the next stop", ErrRunning)
	}
	before := d.exec
	tree.history.record(before.cache)
	d.runLocked(args.ThreadID, !r.Single)
	tree.waitFrom, tree.focus = tree.stops, d
	tree.announceLocked()
	tree.mu.Unlock()

	err = t.adapter.do(ctx, r.Command, args, nil)
	tree.mu.Lock()
	defer tree.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, ErrTimeout):
		return nil
	case d.exec.seq == before.seq && d.state == StateRunning: // no stop since
		if _, refused := errors.AsType[*RequestError](err); refused {
			d.state, d.exec.stop, d.exec.cache, d.exec.handles = StateStopped, before.stop, before.cache, before.handles
			tree.waitFrom = tree.stops - 1
			tree.announceLocked()
		}
	}
	return err
}

// resumeArguments returns the arguments of the request for r. It fails if the adapter does not support r.
func (t target) resumeArguments(ctx context.Context, r *Resume) (*resumeArguments, error) {
	d := t.debuggee
	d.tree.mu.Lock()
	caps, stop := d.caps, d.exec.stop
	d.tree.mu.Unlock()
	if r.Single && !caps.SupportsSingleThreadExecutionRequests {
		return nil, unsupported("running a single thread")
	}
	args := &resumeArguments{ThreadID: r.Thread, SingleThread: r.Single}
	if args.ThreadID == 0 && stop != nil {
		args.ThreadID = stop.Thread
	}
	if args.ThreadID == 0 && r.Command != "restartFrame" {
		thread, err := t.anyThread(ctx)
		if err != nil {
			return nil, err
		}
		args.ThreadID = thread
	}
	var err error
	if r.Command != "continue" {
		if args.Granularity, err = caps.granularity(r.Granularity); err != nil {
			return nil, err
		}
	}
	if err := caps.checkResume(r); err != nil {
		return nil, err
	}
	switch r.Command {
	case "stepIn":
		if r.Target != 0 {
			args.TargetID = &r.Target
		}
	case "goto":
		args.TargetID = &r.Target
	case "restartFrame":
		f, err := t.frame(ctx, r.Frame)
		if err != nil {
			return nil, err
		}
		args = &resumeArguments{FrameID: &f.id}
	}
	return args, nil
}

// granularity returns the granularity to send for a wanted one; empty for the adapter's default.
func (c *capabilities) granularity(wanted string) (string, error) {
	switch {
	case wanted == "":
		return "", nil
	case wanted != "statement" && wanted != "line" && wanted != "instruction":
		return "", fmt.Errorf("unknown granularity %q; use statement, line or instruction", wanted)
	case c.SupportsSteppingGranularity:
		return wanted, nil
	case wanted != "statement":
		return "", unsupported("stepping by " + wanted)
	}
	return "", nil
}

// checkResume returns an error if the command is unknown or the adapter does not support it.
func (c *capabilities) checkResume(r *Resume) error {
	switch r.Command {
	case "continue", "next", "stepOut":
	case "stepIn":
		if r.Target != 0 && !c.SupportsStepInTargetsRequest {
			return unsupported("step-in targets")
		}
	case "stepBack", "reverseContinue":
		if !c.SupportsStepBack {
			return unsupported("running backwards")
		}
	case "goto":
		if !c.SupportsGotoTargetsRequest {
			return unsupported("goto")
		}
	case "restartFrame":
		if !c.SupportsRestartFrame {
			return unsupported("restarting a frame")
		}
	default:
		return fmt.Errorf("unknown resume command %q", r.Command)
	}
	return nil
}

// Pause asks a running program to stop; [Session.Wait] waits for the stop. Thread zero means any thread.
func (s *Session) Pause(ctx context.Context, thread int) error {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return err
	}
	s.tree.mu.Lock()
	if t.debuggee.state == StateStopped {
		s.tree.waitFrom = s.tree.stops - 1
		s.tree.mu.Unlock()
		return nil
	}
	s.tree.waitFrom, s.tree.focus = s.tree.stops, t.debuggee
	s.tree.mu.Unlock()
	if thread == 0 {
		if thread, err = t.anyThread(ctx); err != nil {
			return err
		}
	}
	return t.adapter.do(ctx, "pause", &godap.PauseArguments{ThreadId: thread}, nil)
}
