package dap

import (
	"context"
	"strings"
	"sync"

	godap "github.com/google/go-dap"
)

// shot is what was asked of the adapter for one stop. Its answers are shared by all who ask.
type shot struct {
	stop      *Stop
	place     once[*place]
	vars      once[*localVariables]
	exception once[*godap.ExceptionInfoResponseBody]
	// compared is what the variables were at the last stop in the same function; nil where there was none.
	compared map[string]string
	looked   bool
}

func newShot(stop *Stop) *shot { return &shot{stop: stop} }

// place is where a program stands still.
type place struct {
	// frame is what calls that name no frame are about: the top one, or the nearest one of the user's own code where that is
	// somewhere in a library or the runtime. top is set only in the second case.
	frame, top *Frame
}

// drop forgets what may have changed without the program running on.
func (s *shot) drop() { s.vars.drop() }

// once keeps an answer that was got. Who comes while it is being got gets it too.
type once[T any] struct {
	mu    sync.Mutex // held while the answer is being got
	has   bool
	value T
	// dropped counts the calls of drop.
	stale sync.Mutex
	drops int
}

func (o *once[T]) get(fn func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stale.Lock()
	drops, has := o.drops, o.has
	o.stale.Unlock()
	if has {
		return o.value, nil
	}
	v, err := fn()
	o.stale.Lock()
	defer o.stale.Unlock()
	if err == nil && o.drops == drops {
		o.has, o.value = true, v
	}
	return v, err
}

// known returns the answer if there is one and nobody is getting it.
func (o *once[T]) known() (v T, ok bool) {
	if !o.mu.TryLock() {
		return v, false
	}
	defer o.mu.Unlock()
	o.stale.Lock()
	defer o.stale.Unlock()
	return o.value, o.has
}

func (o *once[T]) drop() {
	o.stale.Lock()
	defer o.stale.Unlock()
	o.has = false
	o.drops++
}

// localVariables are those of the top frame that a snapshot shows.
type localVariables struct {
	list []Variable
	more int
}

// forgetVariables has the next snapshot ask for the variables anew. tree.mu is held.
func (s *Session) forgetVariables() {
	if s.shot != nil {
		s.shot.drop()
	}
}

// seen keeps the variables of the functions that the program stopped in last.
type seen struct {
	functions map[string]map[string]string
	order     []string
}

// maxSeen is of how many functions the variables are kept.
const maxSeen = 16

func functionKey(f *Frame) string { return f.Name + "\x00" + f.Path }

// remember keeps the variables of a stop that is over. tree.mu is held.
func (t *tree) remember(s *shot) {
	if s == nil {
		return
	}
	at, ok := s.place.known()
	vars, known := s.vars.known()
	if !ok || !known || at == nil || vars == nil {
		return
	}
	key := functionKey(at.frame)
	if t.seen.functions == nil {
		t.seen.functions = make(map[string]map[string]string)
	}
	if _, again := t.seen.functions[key]; !again {
		if len(t.seen.order) >= maxSeen {
			delete(t.seen.functions, t.seen.order[0])
			t.seen.order = t.seen.order[1:]
		}
		t.seen.order = append(t.seen.order, key)
	}
	values := make(map[string]string, len(vars.list))
	for _, v := range vars.list {
		values[v.Name] = v.Value
	}
	t.seen.functions[key] = values
}

// Snapshot tells how things are. It takes the output that came since the last one with it, and compares the variables of
// the top frame with those of the last stop. What the adapter does not tell is left out, with a note.
func (s *Session) Snapshot(ctx context.Context) (*Snapshot, error) {
	defer s.use()()
	s.readTerminals(ctx)
	s.tree.mu.Lock()
	t := s.targetLocked()
	shot, still := t.shot, t.state == StateStopped && t.stop != nil
	l := t.life
	s.tree.mu.Unlock()
	var notes []string
	var frame, top *Frame
	var vars *localVariables
	var exception *godap.ExceptionInfoResponseBody
	if still && shot != nil {
		var all sync.WaitGroup
		if shot.stop.Reason == "exception" && s.Capabilities().SupportsExceptionInfoRequest {
			all.Go(func() {
				exception, _ = shot.exception.get(func() (*godap.ExceptionInfoResponseBody, error) { return t.ExceptionInfo(ctx, 0) })
			})
		}
		at, err := t.at(ctx)
		if err == nil {
			frame, top = at.frame, at.top
		}
		if err != nil {
			notes = append(notes, "No frame: "+err.Error())
		} else if vars, err = shot.vars.get(func() (*localVariables, error) { return t.locals(ctx, l, frame) }); err != nil {
			notes = append(notes, "No variables: "+err.Error())
		}
		all.Wait()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	snap := s.Peek()
	s.tree.mu.Lock()
	snap.Output, snap.Dropped = s.tree.output.take()
	if t.shot != shot || shot == nil { // it runs again
		frame, vars, exception = nil, nil, nil
	}
	var observers []*observer
	if frame != nil {
		if !shot.looked {
			shot.looked, shot.compared = true, s.tree.seen.functions[functionKey(frame)]
			observers = s.tree.observers
		}
		snap.Frame, snap.Top, snap.Exception = frame, top, exception
		if vars != nil {
			snap.Variables, snap.More = vars.list, vars.more
			snap.Compared = shot.compared != nil
			snap.Changes = changes(shot.compared, vars.list)
		}
	}
	snap.Notes = append(snap.Notes, notes...)
	s.tree.mu.Unlock()
	if frame != nil {
		if frame.Path != "" {
			snap.Lines = linesAround(frame.Path, frame.Line)
		} else if frame.Source != nil && frame.Source.SourceReference != 0 {
			if text, err := l.source(ctx, frame.Source); err == nil {
				snap.Lines = scanLines(strings.NewReader(text), frame.Line)
			}
		}
		for _, o := range observers {
			if o.Location != nil && frame.Path != "" {
				o.Location(frame.Path, frame.Line)
			}
		}
	}
	return snap, nil
}

func changes(before map[string]string, now []Variable) []Change {
	if before == nil {
		return nil
	}
	var list []Change
	for _, v := range now {
		old, known := before[v.Name]
		if !known || old != v.Value {
			list = append(list, Change{Name: v.Name, Old: old, Value: v.Value, Type: v.Type, New: !known})
		}
	}
	return list
}

// Peek is a snapshot without requests to the adapter, which takes nothing with it.
func (s *Session) Peek() *Snapshot {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.peekLocked(true)
}

func (s *Session) peekLocked(target bool) *Snapshot {
	snap := &Snapshot{
		ID: s.id, Program: s.start.Program, Dir: s.start.Dir, Request: s.start.Request, State: s.state,
		Pending: s.state == StateConfiguring, ExitCode: s.exitCode, PID: s.pid, Ended: s.ended,
	}
	if s.start.Adapter != nil {
		snap.Adapter = s.start.Adapter.Name
	}
	stop := s.stop
	if target {
		t := s.targetLocked()
		snap.State, stop = s.stateLocked(), t.stop
		if t != s && t.shot != nil {
			snap.Notes = append(snap.Notes, "The child session "+t.id+" stands still.")
		}
		if shot := t.shot; shot != nil {
			if at, ok := shot.place.known(); ok {
				snap.Frame, snap.Top = at.frame, at.top
			}
		}
	}
	if stop != nil {
		c := *stop
		snap.Stop = &c
	}
	for _, c := range s.children {
		snap.Children = append(snap.Children, c.peekLocked(false))
	}
	return snap
}

// locals asks for the variables of a frame: its arguments and locals, in at most two requests beside that for the scopes.
func (s *Session) locals(ctx context.Context, _ *life, frame *Frame) (*localVariables, error) {
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
	out := new(localVariables)
	for i, list := range lists {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, v := range list {
			if v.Value == "" && v.Type == "" && strings.HasSuffix(v.Name, " variables") {
				continue // a group of debugpy's
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

// localScopes chooses the scopes with a function's own variables, at most two.
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
