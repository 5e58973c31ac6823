package bridges

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// ErrNoBoundary is wrapped by the error for a program that must run inside the boundary, which this machine lacks.
var ErrNoBoundary = errors.New("the command did not run, because it must run in a sandbox and there is none here; gjc doctor says what is missing")

// boundary starts the programs of one session inside. Programs with the same access share a box, if the machine has boxes.
type boundary struct {
	find     func() (*sandbox.Sandbox, error)
	children *proc.Group

	mu    sync.Mutex // guards the fields below
	boxes map[string]*sandbox.Box
	temp  string // see tempDir; empty until it is needed
}

// start describes a program that is about to be started.
type start struct {
	path string
	args []string
	dir  string
	env  []string
}

// enclose makes a program start inside the boundary, if the permit of ctx says so.
func (b *boundary) enclose(ctx context.Context, s *start) error {
	access := approval.PermitOf(ctx).Inside()
	if access == nil {
		return nil
	}
	if b == nil || b.find == nil {
		return ErrNoBoundary
	}
	box, err := b.find()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	temp, err := b.tempDir()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	s.env = append(s.env[:len(s.env):len(s.env)], "TMPDIR="+temp)
	p := &sandbox.Policy{Write: access.Write, Keep: access.Keep, Hide: access.Hide, Network: access.Network}
	if box.Kind != sandbox.Bubblewrap {
		p.Write = append(p.Write[:len(p.Write):len(p.Write)], temp)
		s.path, s.args = box.Confine(p, s.path, s.args)
		return nil
	}
	p.Temp = temp
	opened, err := b.open(ctx, box, p)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBoundary, err)
	}
	s.path, s.args = opened.Wrap(s.dir, s.path, s.args)
	return nil
}

// open returns the box for a policy. A box that has ended is replaced.
func (b *boundary) open(ctx context.Context, s *sandbox.Sandbox, p *sandbox.Policy) (*sandbox.Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if box := b.boxes[string(key)]; box != nil {
		select {
		case <-box.Done():
			_ = box.Close(ctx) // its programs have ended with it
		default:
			return box, nil
		}
	}
	box, err := s.Open(ctx, b.children, p)
	if err != nil {
		return nil, err
	}
	if b.boxes == nil {
		b.boxes = make(map[string]*sandbox.Box)
	}
	b.boxes[string(key)] = box
	return box, nil
}

// tempDir returns the directory for the session's temporary files, without symbolic links. Programs inside have it at the same path, and
// those of a box as /tmp, too.
func (b *boundary) tempDir() (string, error) {
	if b == nil {
		return "", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.temp == "" {
		temp, err := os.MkdirTemp("", "gjc-tmp-")
		if err != nil {
			return "", err
		}
		if b.temp, err = filepath.EvalSymlinks(temp); err != nil {
			return "", err
		}
	}
	return b.temp, nil
}

// close ends all boxes with their programs, and removes the temporary files.
func (b *boundary) close(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, box := range b.boxes {
		_ = box.Close(ctx) // the group ends its process in any case
	}
	b.boxes = nil
	if b.temp != "" {
		_ = os.RemoveAll(b.temp) // best effort: it is in the temporary directory
		b.temp = ""
	}
}
