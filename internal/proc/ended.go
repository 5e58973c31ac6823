package proc

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/text"
)

const (
	// stderrInError bounds the part of a stderr in an error, in bytes.
	stderrInError = 2 << 10
	// exitTimeout bounds the wait for the exit status of a process that has closed its output. It is long only for a busy machine.
	exitTimeout = 2 * time.Second
)

// StderrTail returns the end of the process's stderr, for an error.
func (p *Process) StderrTail() string {
	return strings.ToValidUTF8(text.Tail(strings.TrimSpace(p.Stderr().String()), stderrInError), "\uFFFD")
}

// Ended waits a moment for the end of a process that has closed its output, and describes how it ended; it returns "" if the
// process has not ended.
func (p *Process) Ended() string {
	timeout := time.NewTimer(exitTimeout)
	defer timeout.Stop()
	select {
	case <-p.Done():
		state, _ := p.Wait(context.Background())
		return "its process " + state.String()
	case <-timeout.C:
		return ""
	}
}

// Pipes returns what closes stdin and stdout.
func (p *Process) Pipes() io.Closer { return pipes{p} }

type pipes struct{ p *Process }

func (c pipes) Close() error { return errors.Join(c.p.Stdin().Close(), c.p.Stdout().Close()) }
