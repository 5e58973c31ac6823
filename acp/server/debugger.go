package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/dap"
)

// Debugging is what a session's configuration says of debug adapters.
type Debugging struct {
	// Adapters knows them; nil for none.
	Adapters dap.Catalog
	// Env is the environment that they run in, still with provider keys.
	Env func(context.Context) []string
}

// openDebugger gives a session its debugger. It starts nothing. It is nil where there shall be none.
func (s *Server) openDebugger(e *entry, ws agent.Workspace, terminal agent.Terminal) *agent.Debugger {
	if s.opts.Debugging == nil {
		return nil
	}
	found, err := s.opts.Debugging(append([]string{ws.Cwd}, ws.Additional...))
	if err != nil {
		e.debuggerErr = err
	}
	if found.Adapters == nil {
		return nil
	}
	return &agent.Debugger{Adapters: found.Adapters, Sessions: dap.NewDebugger(dap.Options{
		Children: s.children, Env: found.Env, Version: s.opts.Version, Log: s.opts.Log,
		RunInTerminal: func(ctx context.Context, req *dap.TerminalRequest) (dap.Terminal, error) {
			return runInTerminal(ctx, terminal, req)
		},
		Notice: func(text string) {
			e.out.emit(agent.Noticed{Severity: agent.SeverityInfo, Title: text})
		},
	})}
}

// runInTerminal runs a program in the editor's terminal, or in a pseudo-terminal where the editor has none.
func runInTerminal(ctx context.Context, terminal agent.Terminal, req *dap.TerminalRequest) (dap.Terminal, error) {
	cmd := agent.Command{Args: req.Args, Dir: req.Dir, Env: req.Env, PTY: true, OnOutput: req.Output}
	for _, name := range req.Unset {
		cmd.Env = append(cmd.Env, name+"=") // there is no way to say that a variable shall not be there
	}
	exec, err := terminal.Start(ctx, cmd)
	if errors.Is(err, errors.ErrUnsupported) { // no pseudo-terminals on this system
		cmd.PTY = false
		exec, err = terminal.Start(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	return debugTerminal{exec}, nil
}

// debugTerminal is an execution as a debug session sees it.
type debugTerminal struct{ agent.Execution }

func (d debugTerminal) ID() string { return d.TerminalID() }

func (d debugTerminal) Wait(ctx context.Context) (int, error) {
	status, err := d.Execution.Wait(ctx)
	return status.Code, err
}

// Output is empty for a local terminal: its output was passed on as it came.
func (d debugTerminal) Output(ctx context.Context) (string, error) {
	if d.TerminalID() == "" {
		return "", nil
	}
	out, err := d.Execution.Output(ctx)
	return out.Text, err
}

// debugCommand is /debug.
func debugCommand(c *commandCall) error {
	d := c.entry.debugger
	if d == nil {
		return c.say("There is no debugger in this session: debug.enabled in config.yml is false.", nil)
	}
	verb, name, _ := strings.Cut(c.args, " ")
	switch verb {
	case "", "status":
		return debugStatus(c, d)
	case "stop":
		return debugStop(c, d, strings.TrimSpace(name))
	default:
		return c.say("Use /debug or /debug stop [session].", nil)
	}
}

// debugStatus tells which sessions there are, which adapters can be used, and why others are not.
func debugStatus(c *commandCall, d *agent.Debugger) error {
	var b strings.Builder
	sessions := d.Sessions.Sessions()
	if len(sessions) == 0 {
		b.WriteString("No debug session is running.\n")
	}
	for _, s := range sessions {
		writeDebugSession(&b, s.Peek(), "")
	}
	list, err := d.Adapters.List(c)
	if err != nil {
		return err
	}
	b.WriteString("\nDebug adapters:\n")
	for _, a := range list.Adapters {
		fmt.Fprintf(&b, "- **%s** for %s (%s)\n", a.Name, strings.Join(a.Languages, ", "), filepath.ToSlash(a.Path))
		for _, n := range a.Notes {
			fmt.Fprintf(&b, "  - %s\n", n)
		}
	}
	if len(list.Adapters) == 0 {
		b.WriteString("- none is installed\n")
	}
	if len(list.Unused) > 0 {
		b.WriteString("\nNot used:\n")
		others := 0
		for _, u := range list.Unused {
			if u.Elsewhere {
				others++
				continue
			}
			fmt.Fprintf(&b, "- %s: %s\n", u.Name, u.Why)
		}
		if others > 0 {
			fmt.Fprintf(&b, "- %d more are for projects of other kinds.\n", others)
		}
	}
	if len(list.Problems) > 0 {
		b.WriteString("\nConfiguration:\n")
		for _, p := range list.Problems {
			fmt.Fprintf(&b, "- %s\n", p)
		}
	}
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}

func writeDebugSession(b *strings.Builder, s *dap.Snapshot, indent string) {
	fmt.Fprintf(b, "%s- **%s** %s", indent, s.ID, s.State)
	if s.Stop != nil {
		fmt.Fprintf(b, " (%s)", s.Stop.Reason)
	}
	fmt.Fprintf(b, ": %s %s with %s", s.Request, filepath.ToSlash(s.Program), s.Adapter)
	if s.PID != 0 && s.State != dap.StateTerminated {
		fmt.Fprintf(b, ", pid %d", s.PID)
	}
	if s.ExitCode != nil {
		fmt.Fprintf(b, ", exit code %d", *s.ExitCode)
	}
	if f := s.Frame; f != nil && f.Path != "" {
		fmt.Fprintf(b, ", at %s:%d in %s", filepath.ToSlash(f.Path), f.Line, f.Name)
	}
	if s.Ended != nil {
		fmt.Fprintf(b, ", because %s", strings.ReplaceAll(s.Ended.Error(), "\n", " "))
	}
	b.WriteString("\n")
	for _, child := range s.Children {
		writeDebugSession(b, child, indent+"  ")
	}
}

// debugStop ends one session, or all that there are.
func debugStop(c *commandCall, d *agent.Debugger, id string) error {
	var b strings.Builder
	for _, s := range d.Sessions.Sessions() {
		if s.State() == dap.StateTerminated || id != "" && s.ID() != id {
			continue
		}
		ctx, cancel := context.WithTimeout(c, 5*time.Second)
		err := s.Terminate(ctx, false)
		cancel()
		if err != nil {
			fmt.Fprintf(&b, "%s could not be ended: %v\n", s.ID(), err)
			continue
		}
		fmt.Fprintf(&b, "%s is ended.\n", s.ID())
	}
	if b.Len() == 0 {
		b.WriteString("No debug session of that name is running.\n")
	}
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}
