package dap

import (
	"context"
	"strings"
	"sync"

	godap "github.com/google/go-dap"
)

// Snapshot returns the state of the session. It includes the output since the last snapshot, and compares the variables of the
// active frame with those of the last stop in the same function. If the adapter fails to report something, Snapshot omits it and
// adds a note.
func (s *Session) Snapshot(ctx context.Context) (*Snapshot, error) {
	defer s.tree.use()()
	s.tree.readTerminals(ctx)
	s.tree.mu.Lock()
	d := s.debuggee.targetLocked()
	t := target{d, d.adapter}
	cache, stopped := d.exec.cache, d.state == StateStopped && d.exec.stop != nil
	s.tree.mu.Unlock()
	var in inspection
	if stopped && cache != nil {
		in = t.inspect(ctx, cache)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	snap := s.Peek()
	s.tree.mu.Lock()
	snap.Output, snap.Dropped = s.tree.output.unreported()
	if d.exec.cache != cache || cache == nil { // the program was resumed meanwhile
		in = inspection{notes: in.notes}
	}
	var observers []*observer
	if frame := in.at.frame; frame != nil {
		if !cache.compared {
			cache.compared, cache.previous = true, s.tree.history.functions[functionKey(frame)]
			observers = s.tree.observers
		}
		snap.Frame, snap.Top, snap.Exception = frame, in.at.top, in.exception
		if in.variables != nil {
			snap.Variables, snap.More = in.variables.list, in.variables.more
			snap.Compared = cache.previous != nil
			snap.Changes = changes(cache.previous, in.variables.list)
		}
	}
	snap.Notes = append(snap.Notes, in.notes...)
	s.tree.mu.Unlock()
	if frame := in.at.frame; frame != nil {
		snap.Lines = t.sourceLines(ctx, frame)
		for _, o := range observers {
			if o.Location != nil && frame.Path != "" {
				o.Location(frame.Path, frame.Line)
			}
		}
	}
	return snap, nil
}

// inspection holds the adapter's answers about a stop. notes say what is missing.
type inspection struct {
	at        location
	variables *frameVariables
	exception *godap.ExceptionInfoResponseBody
	notes     []string
}

func (t target) inspect(ctx context.Context, cache *stopCache) inspection {
	d := t.debuggee
	var exception *godap.ExceptionInfoResponseBody
	var all sync.WaitGroup
	if cache.stop.Reason == "exception" && d.capabilities().SupportsExceptionInfoRequest {
		all.Go(func() {
			exception, _ = cache.exception.get(func() (*godap.ExceptionInfoResponseBody, error) { return d.session.ExceptionInfo(ctx, 0) })
		})
	}
	var in inspection
	if at, err := d.location(ctx); err != nil {
		in.notes = append(in.notes, "No frame: "+err.Error())
	} else {
		in.at = *at
		in.variables, err = cache.variables.get(func() (*frameVariables, error) { return d.session.localVariables(ctx, at.frame) })
		if err != nil {
			in.notes = append(in.notes, "No variables: "+err.Error())
		}
	}
	all.Wait()
	in.exception = exception
	return in
}

// Peek returns a snapshot without requests to the adapter. It does not include output.
func (s *Session) Peek() *Snapshot {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d := s.debuggee
	snap := d.peekLocked()
	t := d.targetLocked()
	snap.State = d.stateLocked()
	snap.setStop(t.exec.stop)
	if cache := t.exec.cache; cache != nil {
		if t != d {
			snap.Notes = append(snap.Notes, "The child session "+t.id+" is stopped.")
		}
		if at, ok := cache.location.cached(); ok {
			snap.Frame, snap.Top = at.frame, at.top
		}
	}
	return snap
}

// peekLocked returns a snapshot of the debuggee itself and its children. tree.mu is held.
func (d *debuggee) peekLocked() *Snapshot {
	snap := &Snapshot{
		ID: d.id, Program: d.start.Program, Dir: d.start.Dir, Request: d.start.Request, State: d.state,
		Pending: d.state == StateConfiguring, ExitCode: d.exitCode, PID: d.pid, Ended: d.ended,
	}
	if d.start.Adapter != nil {
		snap.Adapter = d.start.Adapter.Name
	}
	snap.setStop(d.exec.stop)
	for _, c := range d.children {
		snap.Children = append(snap.Children, c.peekLocked())
	}
	return snap
}

func (s *Snapshot) setStop(stop *Stop) {
	s.Stop = nil
	if stop != nil {
		c := *stop
		s.Stop = &c
	}
}

// localVariables returns the arguments and locals of a frame, in at most two requests after the one for the scopes.
func (s *Session) localVariables(ctx context.Context, frame *Frame) (*frameVariables, error) {
	scopes, err := s.Scopes(ctx, frame.ID)
	if err != nil {
		return nil, err
	}
	chosen := localScopes(scopes)
	lists, more, errs := make([][]Variable, len(chosen)), make([]bool, len(chosen)), make([]error, len(chosen))
	var all sync.WaitGroup
	for i, sc := range chosen {
		if sc.Ref != 0 {
			all.Go(func() { lists[i], more[i], errs[i] = s.Variables(ctx, sc.Ref, Page{Count: MaxSnapshotVariables + 1}) })
		}
	}
	all.Wait()
	out := new(frameVariables)
	for i, list := range lists {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, v := range list {
			if v.Value == "" && v.Type == "" && strings.HasSuffix(v.Name, " variables") {
				continue // debugpy's groups of variables
			}
			if len(out.list) >= MaxSnapshotVariables {
				out.more++
				continue
			}
			out.list = append(out.list, v)
		}
		if more[i] && out.more == 0 && chosen[i].Named > MaxSnapshotVariables {
			out.more = chosen[i].Named - MaxSnapshotVariables
		}
	}
	return out, nil
}

// localScopes returns the scopes with a function's own variables, at most two.
func localScopes(scopes []Scope) []Scope {
	var chosen []Scope
	for _, sc := range scopes {
		name := strings.ToLower(sc.Name)
		switch {
		case sc.Expensive:
		case sc.Hint == "arguments", sc.Hint == "locals", sc.Hint == "" && (strings.HasPrefix(name, "local") || strings.HasPrefix(name, "arg")):
			chosen = append(chosen, sc)
		}
	}
	if len(chosen) == 0 {
		for _, sc := range scopes {
			if name := strings.ToLower(sc.Name); !sc.Expensive && sc.Hint != "registers" && !strings.Contains(name, "global") && !strings.Contains(name, "register") {
				chosen = append(chosen, sc)
				break
			}
		}
	}
	return chosen[:min(len(chosen), 2)]
}
