package acptest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/proc"
)

// terminal is a command that runs in the editor.
type terminal struct {
	process *proc.Process
	output  *proc.Tail
}

// defaultOutputLimit is the default limit on the output that a terminal keeps, in bytes.
const defaultOutputLimit = 1 << 20

// CreateTerminal implements [acp.Client].
func (e *Editor) CreateTerminal(ctx context.Context, p *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	if err := e.note(acp.MethodTerminalCreate.Name, p); err != nil {
		return nil, err
	}
	path := p.Command
	if !filepath.IsAbs(path) {
		found, err := exec.LookPath(path)
		if err != nil {
			return nil, err
		}
		path = found
	}
	env := e.opts.Env
	for _, v := range p.Env {
		env = append(env[:len(env):len(env)], v.Name+"="+v.Value)
	}
	limit := int64(defaultOutputLimit)
	if p.OutputByteLimit != nil {
		limit = *p.OutputByteLimit
	}
	out := proc.NewTail(int(limit))
	process, err := e.children.Start(ctx, &proc.Options{
		Path: path, Args: p.Args, Dir: e.disk(p.Cwd), Env: env, Stdout: out, MergeStderr: true,
	})
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.created++
	id := acp.TerminalID(fmt.Sprintf("terminal-%d", e.created))
	e.terminals[id] = &terminal{process: process, output: out}
	return &acp.CreateTerminalResponse{TerminalID: id}, nil
}

func (e *Editor) terminal(method string, params any, id acp.TerminalID) (*terminal, error) {
	if err := e.note(method, params); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.terminals[id]
	if t == nil {
		return nil, &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: fmt.Sprintf("no terminal %s", id)}
	}
	return t, nil
}

// TerminalOutput implements [acp.Client].
func (e *Editor) TerminalOutput(_ context.Context, p *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	t, err := e.terminal(acp.MethodTerminalOutput.Name, p, p.TerminalID)
	if err != nil {
		return nil, err
	}
	resp := &acp.TerminalOutputResponse{Output: t.output.String(), Truncated: t.output.Truncated()}
	select {
	case <-t.process.Done():
		state, err := t.process.Wait(context.Background())
		if err != nil {
			return nil, err
		}
		resp.ExitStatus = &acp.TerminalExitStatus{}
		if state.Signal != "" {
			resp.ExitStatus.Signal = state.Signal
		} else {
			resp.ExitStatus.ExitCode = new(state.Code)
		}
	default:
	}
	return resp, nil
}

// WaitForTerminalExit implements [acp.Client].
func (e *Editor) WaitForTerminalExit(ctx context.Context, p *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	t, err := e.terminal(acp.MethodTerminalWaitForExit.Name, p, p.TerminalID)
	if err != nil {
		return nil, err
	}
	state, err := t.process.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if state.Signal != "" {
		return &acp.WaitForTerminalExitResponse{Signal: state.Signal}, nil
	}
	return &acp.WaitForTerminalExitResponse{ExitCode: new(state.Code)}, nil
}

// KillTerminal implements [acp.Client].
func (e *Editor) KillTerminal(_ context.Context, p *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	t, err := e.terminal(acp.MethodTerminalKill.Name, p, p.TerminalID)
	if err != nil {
		return nil, err
	}
	t.process.Kill()
	return nil, nil
}

// ReleaseTerminal implements [acp.Client].
func (e *Editor) ReleaseTerminal(_ context.Context, p *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	t, err := e.terminal(acp.MethodTerminalRelease.Name, p, p.TerminalID)
	if err != nil {
		return nil, err
	}
	t.process.Kill()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.terminals, p.TerminalID)
	e.released[p.TerminalID] = t
	return nil, nil
}

// Printed returns the text that a terminal shows. An editor still shows a terminal that has been released.
func (e *Editor) Printed(id acp.TerminalID) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range []*terminal{e.terminals[id], e.released[id]} {
		if t != nil {
			return t.output.String()
		}
	}
	return ""
}
