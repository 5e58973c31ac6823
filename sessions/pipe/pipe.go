// Package pipe connects a process that follows a session with the one that has it open, through two files of the store that both have: each
// end appends lines to its own, and follows the other's. It needs no network between the processes.
package pipe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/follow"
)

// The ends of the names of the files: the one that calls writes up, the one that has the session open writes down.
const (
	up   = ".up.jsonl"
	down = ".down.jsonl"
)

// Holder identifies the process that has a session open, for as long as it has it.
func Holder(l *sessions.LockedError) string {
	return strconv.Itoa(l.PID) + " " + strconv.FormatInt(l.Since.UnixMicro(), 10)
}

// Pipe is one end of a connection. One goroutine reads from it, and one writes to it, complete lines.
type Pipe struct {
	fs      sessions.FileSystem
	in      *follow.File
	out     sessions.File
	name    string          // of the files, without their ends
	calls   bool            // this end has made the call, and removes the files
	ctx     context.Context //nolint:containedctx // ends with Close
	cancel  context.CancelCauseFunc
	closing sync.Once
	rest    []byte // that was followed, and not read
}

// Call offers a connection to the process that has a session open, given by [Holder]. dir is the directory of the pipes of the store. That
// process may never accept; what is written before waits for it. The caller closes the pipe.
func Call(fsys sessions.FileSystem, dir, session, holder string) (*Pipe, error) {
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := newPipe(fsys, filepath.Join(dir, session+"."+rand.Text()), true)
	answers, err := create(fsys, p.name+down)
	if err == nil {
		err = answers.Close()
	}
	if err == nil {
		p.out, err = create(fsys, p.name+up)
	}
	if err == nil {
		_, err = io.WriteString(p.out, holder+"\n")
	}
	if err != nil {
		_ = p.Close() // the first error counts
		return nil, err
	}
	p.in = follow.Open(fsys, p.name+down)
	return p, nil
}

func newPipe(fsys sessions.FileSystem, name string, calls bool) *Pipe {
	p := &Pipe{fs: fsys, name: name, calls: calls}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

func create(fsys sessions.FileSystem, name string) (sessions.File, error) {
	return fsys.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
}

// Read implements [io.Reader]. It returns [io.EOF] when the other end is closed, and [fs.ErrClosed] when this one is. While the store does
// not answer, it waits.
func (p *Pipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		lines, err := p.in.Next(p.ctx)
		_, changed := errors.AsType[*follow.ChangedError](err)
		switch {
		case p.ctx.Err() != nil:
			return 0, context.Cause(p.ctx)
		case changed:
			return 0, io.EOF // the files are removed
		case err != nil:
			if err := p.in.Wait(p.ctx, follow.Interval); err != nil {
				return 0, err
			}
		}
		for _, line := range lines {
			if len(line) == 0 {
				return p.take(b), io.EOF
			}
			p.rest = append(append(p.rest, line...), '\n')
		}
	}
	return p.take(b), nil
}

func (p *Pipe) take(b []byte) int {
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n
}

// Write implements [io.Writer]. b ends with a newline, and has no empty line.
func (p *Pipe) Write(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.out.Write(b)
}

// Close ends the connection. The end that has called loses what it has not read; the other end can still be read to its last line. Close is
// idempotent, and frees a blocked Read.
func (p *Pipe) Close() error {
	var err error
	p.closing.Do(func() {
		p.cancel(fs.ErrClosed)
		if p.in != nil {
			p.in.Close()
		}
		if p.out != nil && !p.calls {
			_, err = p.out.Write([]byte("\n"))
			err = ignoreMissing(err)
		}
		if p.out != nil {
			err = errors.Join(err, p.out.Close())
		}
		if p.calls {
			err = errors.Join(err, remove(p.fs, p.name))
		}
	})
	return err
}

func remove(fsys sessions.FileSystem, name string) error {
	return errors.Join(ignoreMissing(fsys.Remove(name+up)), ignoreMissing(fsys.Remove(name+down)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Offer is a connection that another process wants.
type Offer struct {
	Session string
	// Time is the time of the last line that the other process has written.
	Time time.Time
	fs   sessions.FileSystem
	name string
}

// Name identifies the offer.
func (o *Offer) Name() string { return o.name }

// Offers lists what is offered, to whomever, in no particular order.
func Offers(fsys sessions.FileSystem, dir string) ([]*Offer, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var all []*Offer
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), up)
		if at := strings.LastIndexByte(name, '.'); ok && at > 0 {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has just ended
			}
			if err != nil {
				return nil, err
			}
			all = append(all, &Offer{name[:at], info.ModTime(), fsys, filepath.Join(dir, name)})
		}
	}
	return all, nil
}

// Remove removes an offer whose process is gone.
func (o *Offer) Remove() error { return remove(o.fs, o.name) }

// The errors of [Offer.Accept].
var (
	// ErrEarly reports an offer that is not complete yet.
	ErrEarly = errors.New("the offer is not complete")
	// ErrOther reports an offer to a process that does not have the session open any more. It was removed.
	ErrOther = errors.New("the offer was to another process")
)

// Accept opens the connection for the process that has the session open, given by [Holder]. The caller closes the pipe.
func (o *Offer) Accept(holder string) (*Pipe, error) {
	p := newPipe(o.fs, o.name, false)
	p.in = follow.Open(o.fs, o.name+up)
	lines, err := p.in.Read()
	switch {
	case err != nil:
	case len(lines) == 0:
		err = ErrEarly
	case string(lines[0]) != holder:
		err = errors.Join(ErrOther, remove(o.fs, o.name))
	default:
		p.out, err = o.fs.OpenFile(o.name+down, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		p.in.Close()
		return nil, fmt.Errorf("accepting a connection to session %s: %w", o.Session, err)
	}
	for _, line := range lines[1:] {
		p.rest = append(append(p.rest, line...), '\n')
	}
	return p, nil
}
