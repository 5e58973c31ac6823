package toolstest

import (
	"context"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
)

// Chunk is output that appears after a delay.
type Chunk struct {
	After time.Duration
	Text  string
}

// Terminal runs commands that follow a script, one at a time. Use it inside a synctest bubble if its chunks have delays.
type Terminal struct {
	// ID, if set, makes this a terminal of the editor.
	ID     string
	Chunks []Chunk
	Exit   agent.ExitStatus
	// Hang keeps the command running until it is killed.
	Hang bool
	// Errors holds the errors that calls return, by name: "start", "wait", "output", "kill", "release".
	Errors map[string]error

	mu      sync.Mutex // guards the fields below
	calls   []string
	command agent.Command
	printed []byte
}

var _ agent.Terminal = (*Terminal)(nil)

// Calls returns the names of the calls in order.
func (t *Terminal) Calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.calls...)
}

// Command returns the last command.
func (t *Terminal) Command() agent.Command {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.command
}

func (t *Terminal) called(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, name)
	return t.Errors[name]
}

// Start implements [agent.Terminal].
func (t *Terminal) Start(ctx context.Context, cmd agent.Command) (agent.Execution, error) {
	if err := t.called("start"); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	t.command = cmd
	t.mu.Unlock()
	e := &execution{terminal: t, killed: make(chan struct{}), ended: make(chan struct{})}
	go e.print(cmd.OnOutput)
	return e, nil
}

type execution struct {
	terminal *Terminal
	kill     sync.Once
	killed   chan struct{}
	ended    chan struct{}
}

// print follows the script. It ends with the script or when the command is killed.
func (e *execution) print(onOutput func([]byte)) {
	defer close(e.ended)
	for _, c := range e.terminal.Chunks {
		if c.After > 0 {
			timer := time.NewTimer(c.After)
			select {
			case <-timer.C:
			case <-e.killed:
				timer.Stop()
				return
			}
		}
		e.terminal.mu.Lock()
		e.terminal.printed = append(e.terminal.printed, c.Text...)
		e.terminal.mu.Unlock()
		if onOutput != nil && e.terminal.ID == "" {
			onOutput([]byte(c.Text))
		}
	}
	if e.terminal.Hang {
		<-e.killed
	}
}

func (e *execution) TerminalID() string { return e.terminal.ID }

func (e *execution) PID() int { return 0 }

func (e *execution) Wait(ctx context.Context) (agent.ExitStatus, error) {
	if err := e.terminal.called("wait"); err != nil {
		return agent.ExitStatus{}, err
	}
	select {
	case <-e.ended:
		return e.terminal.Exit, nil
	case <-ctx.Done():
		return agent.ExitStatus{}, context.Cause(ctx)
	}
}

func (e *execution) Output(ctx context.Context) (agent.Output, error) {
	if err := e.terminal.called("output"); err != nil {
		return agent.Output{}, err
	}
	if ctx.Err() != nil {
		return agent.Output{}, context.Cause(ctx)
	}
	e.terminal.mu.Lock()
	defer e.terminal.mu.Unlock()
	printed := e.terminal.printed
	out := agent.Output{Total: int64(len(printed))}
	if over := len(printed) - e.terminal.command.OutputLimit; over > 0 {
		printed, out.Truncated = printed[over:], true
	}
	out.Text = string(printed)
	return out, nil
}

func (e *execution) Kill(context.Context) error {
	err := e.terminal.called("kill")
	if err == nil {
		e.end()
	}
	return err
}

func (e *execution) Release(context.Context) error {
	err := e.terminal.called("release")
	e.end()
	return err
}

func (e *execution) end() {
	e.kill.Do(func() { close(e.killed) })
	<-e.ended
}
