package custom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxOutput bounds what a program may print, in bytes.
	maxOutput = 16 << 20
	// maxStderr is the length of the end of stderr that an error contains, in bytes.
	maxStderr = 4 << 10
)

// errTooMuch ends a program that prints more than maxOutput.
var errTooMuch = errors.New("it printed too much")

// Run implements [agent.Tool].
func (t *tool) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	input, err := t.decode(call.Input)
	if err != nil {
		return nil, err
	}
	work, err := t.job(&call.Workspace, input)
	if err != nil {
		return nil, err
	}
	starter, ok := call.Programs.(agent.ProgramStarter)
	if !ok {
		return nil, agent.ErrNotStarted
	}
	path := t.def.command[0]
	if !strings.ContainsAny(path, `/\`) {
		if path, err = call.Programs.LookPath(path); err != nil {
			return nil, fmt.Errorf("the program %s of the tool in %s is not there: %w", t.def.command[0], t.def.path, err)
		}
	}
	t.enclose(ctx, call, work)
	defer call.Values.FilesChanged() // whatever the program did to files
	p := &process{update: call.Update}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	p.end = end
	ctx, cancel := context.WithTimeoutCause(ctx, t.def.timeout, fmt.Errorf("it did not end within %s; its timeout is set in %s", t.def.timeout, t.def.path))
	defer cancel()
	program, err := starter.StartProgram(ctx, agent.LongProgram{
		Path: path, Args: t.def.command[1:], Dir: work.dir, Env: append([]string{"GJC_TOOL=" + t.spec.Name, "GJC_CALL_ID=" + call.ID}, t.def.env...),
		TempDir: call.Workspace.TempDir(), OnOutput: p.output, OnStderr: p.stderr,
	})
	if err != nil {
		return nil, err
	}
	go func() { // ends with the program, which need not read everything
		raw := call.Input
		if len(raw) == 0 {
			raw = jsonx.Raw("{}")
		}
		_, _ = program.Write(append(bytes.Clone(raw), '\n'))
		_ = program.CloseInput()
	}()
	select {
	case <-program.Done():
	case <-ctx.Done():
		_ = program.Terminate(context.WithoutCancel(ctx))
		cause := context.Cause(ctx)
		return nil, fmt.Errorf("the tool %s was ended: %w%s", t.spec.Name, cause, p.ending())
	}
	return t.result(ctx, call, p, program.Status())
}

// enclose gives the program no more than the file declares.
func (t *tool) enclose(ctx context.Context, call *agent.Call, work *job) {
	permit := approval.PermitOf(ctx)
	inside := permit.Inside()
	if inside == nil || work.declared == nil {
		return
	}
	hosts := work.declared.Hosts
	if work.declared.Network {
		hosts = inside.Hosts
	}
	narrow := inside.Narrow(append([]string{call.Workspace.Cwd}, append(call.Workspace.Additional, call.Workspace.Real...)...), work.declared.Write, hosts)
	narrow.Network = inside.Network && work.declared.Network
	permit.Enclose(narrow)
}

// process collects the output of a program.
type process struct {
	update func(agent.Progress)
	end    context.CancelCauseFunc

	mu      sync.Mutex // guards the fields below
	out     []byte
	tail    []byte // the end of stderr
	partial []byte // the last line of stderr, as long as it is incomplete
	last    time.Time
}

func (p *process) output(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.out)+len(b) > maxOutput {
		p.end(fmt.Errorf("%w: more than %s", errTooMuch, toolkit.Size(maxOutput)))
		return
	}
	p.out = append(p.out, b...)
}

// stderr shows the lines of stderr as progress, the last one at a bounded rate.
func (p *process) stderr(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, b...)
	if over := len(p.tail) - maxStderr; over > 0 {
		p.tail = append(p.tail[:0], p.tail[over:]...)
	}
	p.partial = append(p.partial, b...)
	i := bytes.LastIndexByte(p.partial, '\n')
	if i < 0 {
		if len(p.partial) > maxStderr {
			p.partial = nil
		}
		return
	}
	lines := strings.TrimSpace(toolkit.PlainOutput(strings.ToValidUTF8(string(p.partial[:i]), "\uFFFD")))
	p.partial = bytes.Clone(p.partial[i+1:])
	if lines == "" || p.update == nil || time.Since(p.last) < toolkit.LiveEvery {
		return
	}
	p.last = time.Now()
	line := lines[strings.LastIndexByte(lines, '\n')+1:]
	p.update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: text.TruncateBytes(line, 1000)}}})
}

// ending returns the end of stderr for an error.
func (p *process) ending() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	tail := strings.TrimSpace(toolkit.PlainOutput(strings.ToValidUTF8(string(p.tail), "\uFFFD")))
	if tail == "" {
		return ""
	}
	return "; its stderr ends:\n" + tail
}

// result converts what the program printed.
func (t *tool) result(ctx context.Context, call *agent.Call, p *process, status agent.ExitStatus) (*agent.Result, error) {
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if status.Code != 0 || status.Signal != "" {
		why := fmt.Sprintf("exit status %d", status.Code)
		if status.Signal != "" {
			why = "signal " + status.Signal
		}
		printed := strings.TrimSpace(toolkit.BoundedText(ctx, call, t.spec.Name, toolkit.PlainOutput(strings.ToValidUTF8(string(out), "\uFFFD")), nil))
		if printed != "" {
			printed = "\n" + printed
		}
		return nil, fmt.Errorf("the tool %s failed with %s%s%s", t.spec.Name, why, p.ending(), printed)
	}
	var r toolkit.ToolReply
	if trimmed := bytes.TrimSpace(out); len(trimmed) > 0 && trimmed[0] == '{' && jsonx.Unmarshal(trimmed, &r) == nil && (r.Content != nil || r.Text != "" || r.IsError || r.Details != nil) {
		return r.Result(ctx, call, t.spec.Name), nil
	}
	shown := toolkit.PlainOutput(strings.ToValidUTF8(string(out), "\uFFFD"))
	if strings.TrimSpace(shown) == "" {
		shown = "(no output)"
	}
	bounded := toolkit.BoundedText(ctx, call, t.spec.Name, shown, nil)
	return &agent.Result{Text: bounded, Content: []agent.Content{agent.TextContent{Text: bounded}}}, nil
}
