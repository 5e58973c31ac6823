package approval

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/places"
)

// Uses declares what the calls of a tool do in addition to their effects. It never asks.
type Uses struct {
	// Programs are the names of the helper programs that they start: "rg".
	Programs []string
	// Roots says that they read files in the roots that no effect names.
	Roots bool
}

// Starts reports whether the program at a path is one of the helpers.
func (u *Uses) Starts(path string) bool {
	name := filepath.Base(path)
	return slices.Contains(u.Programs, name) || slices.Contains(u.Programs, strings.TrimSuffix(name, filepath.Ext(name))) // rg.exe
}

// Permit lists what a running call may do: what its tool uses, and what was judged before it ran. Of files it has where each of them led
// then, with all symbolic links resolved. It comes with the context of [Tool.Run], and all that acts holds to it: what a path leads to can
// change between the user's answer and the work. The zero Permit permits nothing.
type Permit struct {
	// Uses holds what the call's tool declares.
	Uses  Uses
	files map[string]permitted
	// open says that the call was allowed to run a program whose changes are not known before: those inside the roots are allowed, except
	// of protected files. starts says that it may start programs that it does not name.
	open, starts bool
	// hosts are where the call may connect to; see [plainHost].
	hosts []string
	paths *places.Paths // nil as long as nothing was judged
	// inside lists what the call's commands may do, if they run inside the boundary.
	inside *boundary.Access

	mu sync.Mutex // guards files
}

type permitted struct {
	real, parent string
	change       bool
}

var (
	// ErrMoved is wrapped by the error for a path that leads elsewhere than it did when leave was given for it.
	ErrMoved = errors.New("the path resolves to a different file than the one that was approved; nothing was done; check the links in the path")
	// ErrNotPermitted is wrapped by the error for a step that was not part of what the call was allowed.
	ErrNotPermitted = errors.New("the call's permission does not cover this step")
)

// give notes that an effect on a path, which led to real when it was judged, is leave for it.
func (l *Permit) give(files Files, paths *places.Paths, e *Effect, real string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paths = paths
	if e.Host != "" {
		l.hosts = append(l.hosts, plainHost(e.Host))
	}
	switch e.Action {
	case ActionRead, ActionEdit, ActionDelete, ActionMove:
	case ActionCommand:
		l.open, l.starts = true, true
		return
	case ActionDebug, ActionShare:
		l.starts = true
		return
	default:
		return
	}
	if e.Path == "" {
		return
	}
	if l.files == nil {
		l.files = make(map[string]permitted)
	}
	before := l.files[e.Path]
	l.files[e.Path] = permitted{real, files.RealPath(filepath.Dir(e.Path)), e.Action != ActionRead || before.change}
}

// Enclose makes the call's commands run inside the boundary.
func (l *Permit) Enclose(a *boundary.Access) { l.inside = a }

// Inside returns what the call's commands may do inside the boundary; nil if they run outside.
func (l *Permit) Inside() *boundary.Access {
	if l == nil {
		return nil
	}
	return l.inside
}

// Moved returns an error for a path that leads elsewhere than when it was judged. Files are opened by where they led; this is for directories
// and for programs, which open what they find.
func (l *Permit) Moved(files Files) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, f := range l.files {
		if !f.change && files.RealPath(path) != f.real {
			return fmt.Errorf("%s: %w", path, ErrMoved)
		}
	}
	return nil
}

// WithPermit returns a context of a call that has leave.
func WithPermit(ctx context.Context, l *Permit) context.Context {
	return permit.With(ctx, permit.New(l))
}

// PermitOf returns the leave that the call of a context has; nil where there is no call.
func PermitOf(ctx context.Context) *Permit {
	l, _ := permit.From(ctx).Holder().(*Permit)
	return l
}

// Check implements [permit.Holder]: what a call does must be one of its effects, or what its tool uses. It may look at the names and
// attributes of all files, because they say whether an effect has to be declared, and what the error for one is. Whether the user is asked
// before a directory is shown, its effect decides.
func (l *Permit) Check(e permit.Effect) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.paths == nil: // nothing was judged
	case e.Action == permit.Change:
		_, _, err := l.changingLocked(e.Path)
		return err
	case e.Action == permit.Read:
		return l.readLocked(e.Path)
	case e.Action == permit.Look,
		e.Action == permit.Run && (l.starts || l.Uses.Starts(e.Path)),
		e.Action == permit.Reach && slices.Contains(l.hosts, plainHost(e.Host)):
		return nil
	}
	return fmt.Errorf("%s %s%s: %w", e.Action, e.Path, e.Host, ErrNotPermitted)
}

// readLocked returns an error unless path may be read: it was judged, or is below a directory that was, or in the roots if the tool reads
// there. A file with secrets must have been judged itself. l.mu is held.
func (l *Permit) readLocked(path string) error {
	if _, judged := l.files[path]; judged {
		return nil
	}
	if l.paths.Secret(path) {
		return fmt.Errorf("%s: %w: %s", path, ErrNotPermitted, secretByName)
	}
	if l.Uses.Roots && !l.paths.Outside(path) {
		return nil
	}
	real := l.paths.Resolve(path)
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if f, judged := l.files[at]; judged && places.Within(f.real, real) {
			return nil
		}
		if at == filepath.Dir(at) {
			return fmt.Errorf("reading %s: %w", path, ErrNotPermitted)
		}
	}
}

// plainHost returns a host's name as permits compare it: a site answers with and without "www.".
func plainHost(host string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "www.")
}

// Reading returns where path must lead, for who reads it in a context. ok is false for a path that was not judged: then it is read as it
// is found.
func Reading(ctx context.Context, path string) (real string, ok bool, err error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Read, Path: path}); err != nil {
		return "", false, err
	}
	real, ok = PermitOf(ctx).reading(path)
	return real, ok, nil
}

// Changing returns where path and the directory that it is in must lead, for who changes it in a context. Both are empty for gjc's own
// work, outside of calls.
func Changing(ctx context.Context, path string) (real, parent string, err error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Change, Path: path}); err != nil {
		return "", "", err
	}
	return PermitOf(ctx).changing(path)
}

// reading returns where path must lead, for who reads it. ok is false for a path that was not judged.
func (l *Permit) reading(path string) (real string, ok bool) {
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.files[path]
	return f.real, ok
}

// changing returns where path must lead, and where the directory that it is in must, for who changes it. What is allowed for a
// directory is so for what is in it. Without a leave at all, outside of calls, both are empty.
func (l *Permit) changing(path string) (real, parent string, err error) {
	if l == nil {
		return "", "", nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changingLocked(path)
}

func (l *Permit) changingLocked(path string) (real, parent string, err error) {
	for at := path; ; at = filepath.Dir(at) {
		if f, ok := l.files[at]; ok && f.change {
			if at == path {
				return f.real, f.parent, nil
			}
			real = filepath.Join(f.real, path[len(at):])
			return real, filepath.Dir(real), nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if l.open && !l.paths.Outside(path) && l.paths.Protected(path) == "" {
		return l.paths.Real(path), l.paths.Real(filepath.Dir(path)), nil
	}
	return "", "", fmt.Errorf("%s: %w", path, ErrNotPermitted)
}

// AllowSibling lets the call use another name in the directory of a file that it may change: for a file that is renamed meanwhile.
func (l *Permit) AllowSibling(path, aside string) {
	if l == nil || filepath.Dir(path) != filepath.Dir(aside) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.files[path]; ok && f.change {
		f.real = filepath.Join(f.parent, filepath.Base(aside))
		l.files[aside] = f
	}
}
