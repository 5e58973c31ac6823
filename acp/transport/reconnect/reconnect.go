// Package reconnect passes the messages of an editor that only starts commands on to an agent elsewhere, over connections that may be lost.
//
// A connection that comes back is the transport's business, and goes unnoticed here. If one is lost for good, the editor gets an error for
// each request that no one will answer any more. The next connection begins with the editor's own initialize, and opens the sessions that the
// editor had open. An editor that has declared the extension of docs/attach.md is detached from them instead, and loads what it misses. The
// same follows when the agent ends the connection with [transport.ErrRestart]: then it has answered each request that it has begun.
package reconnect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gajae-code/gjc/acp/transport"
)

// Conn is a connection to an agent, such as [transport.Conn]. Read returns lines, and [io.EOF] after the agent has ended the connection as it
// should.
type Conn interface {
	io.ReadWriteCloser
	// CloseWrite ends the direction to the agent, after what has been written.
	CloseWrite()
}

// Options configure [Run]. Only Dial is required.
type Options struct {
	// Dial opens a connection. The first one is not tried again; for the others, again is set, and Dial tries as long as it makes sense.
	Dial func(ctx context.Context, again bool) (Conn, error)
	// Name is the agent's name for people, such as its address.
	Name string
	// Report, if not nil, receives what happens, one line at a time, for the editor's log.
	Report func(line string)
	// Farewell bounds the time that the agent has to end after the editor has; if zero, 1.5 seconds, since editors expect the end of a
	// command within two.
	Farewell time.Duration
}

// errEditor is the cause of an end that the editor wants.
var errEditor = errors.New("the editor has ended")

// ErrEnded reports that the agent has ended the connection.
var ErrEnded = errors.New("the agent has ended the connection")

// maxTries bounds how often in a row a new connection may be lost before it is initialized.
const maxTries = 10

// helloTime bounds the time for the answer to an initialize that is sent again.
const helloTime = time.Minute

// Run passes messages on in both directions, until the editor or the agent ends, the connection is lost for good, or ctx ends. The goroutine
// that reads the editor's messages ends with the editor.
func Run(ctx context.Context, editor io.Reader, out io.Writer, o Options) error {
	if o.Farewell == 0 {
		o.Farewell = 1500 * time.Millisecond
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	first, err := o.Dial(ctx, false)
	if err != nil {
		return err
	}
	p := &pump{o: o, out: out, in: newQueue(maxWaiting), ids: ids{report: o.Report}}
	go p.in.fill(ctx, editor)
	for conn := newLines(first); ; {
		err := p.carry(ctx, conn)
		_ = conn.Close() // it is over in any case
		switch {
		case p.gone || ctx.Err() != nil:
			return nil
		case err == nil:
			return fmt.Errorf("%s: %w", o.Name, ErrEnded)
		case errors.Is(err, errOut):
			return err
		}
		say := lost
		if errors.Is(err, transport.ErrRestart) {
			say = restart
			o.Report(fmt.Sprintf("%s shuts down, and has answered everything that it had begun; connecting again", o.Name))
		} else {
			o.Report(fmt.Sprintf("the connection to %s is lost: %v", o.Name, err))
		}
		if err := p.ids.lose(p.write, o.Name, say); err != nil {
			return err
		}
		if errors.Is(err, transport.ErrTime) {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		for tries := 1; ; tries++ {
			conn, err = p.renew(ctx)
			again := errors.Is(err, transport.ErrLost) && !errors.Is(err, transport.ErrTime) || errors.Is(err, transport.ErrRestart)
			if !again || tries == maxTries {
				break
			}
		}
		if errors.Is(err, errEditor) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("connecting again: %w", err)
		}
		o.Report(fmt.Sprintf("connected to %s again", o.Name))
	}
}

// words are the texts for an editor whose connection ends. Each has the name of the agent.
type words struct {
	load   string // the error of a request that no one will answer, if the editor has to load its sessions
	again  string // the same if they are opened again
	reason string // why a session is detached
}

var (
	// lost is for a connection that has broken.
	lost = words{
		load:   "the connection to %s is lost; the agent's answer will not come. Load the session again to go on.",
		again:  "the connection to %s is lost; the agent's answer will not come. Send the next prompt to go on, or load the session to see what was done.",
		reason: "the connection to %s was lost; load the session again",
	}
	// restart is for one that the agent has ended in order: it has not begun what it has not answered.
	restart = words{
		load:   "%s shuts down and has not begun this request. Load the session again, and send the request again.",
		again:  "%s shuts down and has not begun this request. Send it again.",
		reason: "%s shuts down; load the session again",
	}
)

// maxWaiting bounds the editor's messages that wait for a connection, in bytes.
const maxWaiting = 64 << 20

// lines is a connection with a reader of its lines.
type lines struct {
	Conn
	r *bufio.Reader
}

func newLines(conn Conn) *lines { return &lines{conn, bufio.NewReaderSize(conn, 64<<10)} }

// pump passes messages on. Its fields belong to the goroutine of Run, and during carry to the two that it starts.
type pump struct {
	o    Options
	out  io.Writer
	in   *queue // the editor's messages
	gone bool   // the editor has ended
	ids  ids
}

// errOut reports that the editor does not take its messages.
var errOut = errors.New("writing to the editor")

// write writes a line for the editor.
func (p *pump) write(line []byte) error {
	if _, err := p.out.Write(line); err != nil {
		return fmt.Errorf("%w: %w", errOut, err)
	}
	return nil
}

// carry passes messages on over one connection, until it ends. The error is nil if the agent, or the editor, has ended it.
func (p *pump) carry(ctx context.Context, conn *lines) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	up := make(chan struct{})
	go func() { // ends with ctx
		defer close(up)
		p.up(ctx, cancel, conn)
	}()
	err := p.down(conn)
	cancel(err)
	<-up
	return err
}

// up passes the editor's messages on. When the editor ends, it closes the connection, after the agent has had the time to end.
func (p *pump) up(ctx context.Context, cancel context.CancelCauseFunc, conn Conn) {
	for {
		line, err := p.in.next(ctx)
		if errors.Is(err, io.EOF) {
			p.gone = true
			late := time.AfterFunc(p.o.Farewell, func() { cancel(errEditor) })
			defer late.Stop()
			conn.CloseWrite()
			<-ctx.Done()
			return
		}
		if err != nil {
			return
		}
		if line = p.ids.fromEditor(line); line == nil {
			continue
		}
		if _, err := conn.Write(line); err != nil {
			return // the reader has the cause
		}
	}
}

// down passes the agent's messages on. The error is nil if the agent has ended.
func (p *pump) down(conn *lines) error {
	for {
		line, err := conn.r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = p.ids.fromAgent(line); line == nil {
			continue
		}
		if err := p.write(line); err != nil {
			return err
		}
	}
}

// renew opens the next connection, initializes it as the editor has initialized the first one, and opens the editor's sessions again: the
// requests for that come before the editor's next messages. It gives up a while after the editor has ended.
func (p *pump) renew(ctx context.Context) (*lines, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		select {
		case <-p.in.ended:
		case <-ctx.Done():
			return
		}
		late := time.NewTimer(p.o.Farewell)
		defer late.Stop()
		select {
		case <-late.C:
			cancel(errEditor)
		case <-ctx.Done():
		}
	}()
	dialed, err := p.o.Dial(ctx, true)
	if err != nil {
		return nil, err
	}
	conn := newLines(dialed)
	hello, greeted := p.ids.renew()
	if hello == nil {
		return conn, nil
	}
	if _, err = conn.Write(hello); err == nil && greeted {
		err = p.greet(ctx, conn)
		for _, line := range p.ids.reopen() {
			if err == nil {
				_, err = conn.Write(line)
			}
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("initializing %s: %w", p.o.Name, err)
	}
	return conn, nil
}

// greet waits for the answer to an initialize that the editor has had one to.
func (p *pump) greet(ctx context.Context, conn *lines) error {
	ctx, cancel := context.WithTimeoutCause(ctx, helloTime, errors.New("it does not answer"))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	for {
		line, err := conn.r.ReadBytes('\n')
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if done, err := p.ids.greeted(line); done || err != nil {
			return err
		}
		if err := p.write(p.ids.fromAgent(line)); err != nil {
			return err
		}
	}
}
