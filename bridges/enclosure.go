package bridges

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/gajae-code/gjc/agent/approval"
	bounds "github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// Sandbox is the inside of the boundary for programs that gjc talks to over a network or their standard files, such as debug adapters.
type Sandbox struct{ boundary *boundary }

// Enclosure is where such a program runs, with what it starts.
type Enclosure struct {
	boundary *boundary
	box      *sandbox.Box
	temp     string
}

// errNoBox is the error for a program that needs a network of its own inside the boundary.
var errNoBox = errors.New("it must run in a sandbox with a network of its own, for which bubblewrap is needed; gjc doctor says what is missing")

// Enclose returns where the programs of the call with the permit of ctx run; nil if that is outside.
func (s Sandbox) Enclose(ctx context.Context) (*Enclosure, error) {
	if approval.PermitOf(ctx).Inside() == nil {
		return nil, nil
	}
	var probe start
	if err := s.boundary.enclose(ctx, &probe); err != nil {
		return nil, err
	}
	probe.inside.end()
	if probe.inside == nil || probe.inside.box == nil {
		return nil, errNoBox
	}
	temp, err := s.boundary.tempDir()
	return &Enclosure{boundary: s.boundary, box: probe.inside.box, temp: temp}, err
}

// Process returns the program and the command line of a process that the programs of a box know by this ID; ok is false for none.
func (s Sandbox) Process(ctx context.Context, pid int) (path, command string, ok bool) {
	for _, box := range s.boundary.open() {
		if path, command, ok = box.Process(ctx, pid); ok {
			return path, command, true
		}
	}
	return "", "", false
}

// Listens reports whether a program in a box listens on a port of 127.0.0.1.
func (s Sandbox) Listens(ctx context.Context, port int) bool {
	return slices.ContainsFunc(s.boundary.open(), func(box *sandbox.Box) bool { return box.Listens(ctx, port) })
}

// Start starts a program with an access. apart reports that it sees no other processes of the machine than those inside.
func (s Sandbox) Start(ctx context.Context, access *bounds.Access, children *proc.Group, o *proc.Options) (p *proc.Process, apart bool, err error) {
	begin := &start{path: o.Path, args: o.Args, dir: o.Dir, env: o.Env}
	if err := s.boundary.encloseWith(ctx, access, begin); err != nil {
		return nil, false, err
	}
	p, err = begin.run(ctx, children, o)
	return p, begin.inside != nil && begin.inside.box != nil, err
}

// Start starts a program inside.
func (e *Enclosure) Start(ctx context.Context, children *proc.Group, o *proc.Options) (*proc.Process, error) {
	s := &start{path: o.Path, args: o.Args, dir: o.Dir, env: o.Env}
	if err := e.boundary.enclose(ctx, s); err != nil {
		return nil, err
	}
	return s.run(ctx, children, o)
}

// run starts the program.
func (s *start) run(ctx context.Context, children *proc.Group, o *proc.Options) (*proc.Process, error) {
	inside := *o
	inside.Path, inside.Args, inside.Env = s.path, s.args, s.env
	p, err := children.Start(ctx, &inside)
	if err != nil {
		s.inside.end()
		return nil, err
	}
	go func() { // ends with the program
		<-p.Done()
		s.inside.end()
	}()
	return p, nil
}

// Dial connects to a TCP address inside.
func (e *Enclosure) Dial(ctx context.Context, address string) (net.Conn, error) {
	return e.box.Dial(ctx, address)
}

// Listen listens on a free port of 127.0.0.1 inside.
func (e *Enclosure) Listen(ctx context.Context) (net.Listener, error) { return e.box.Listen(ctx) }

// TempDir returns the session's directory for temporary files, which has the same path inside and outside.
func (e *Enclosure) TempDir() string { return e.temp }
