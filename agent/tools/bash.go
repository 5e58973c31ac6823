package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
)

//go:embed bash.md
var bashText string

// Limits of the bash tool.
const (
	bashTimeout    = 300.0 // seconds
	minBashTimeout = 1.0
	maxBashTimeout = 3600.0
	// maxCommandTitle bounds the title, in characters.
	maxCommandTitle = 80
	// afterTimeout bounds what is still asked of a terminal once the command was killed.
	afterTimeout = 3 * time.Second
)

type bashInput struct {
	Command string            `json:"command" jsonschema:"the command line for the user's shell"`
	Timeout float64           `json:"timeout,omitzero" jsonschema:"seconds, 1 to 3600; 300 if absent"`
	Cwd     string            `json:"cwd,omitzero" jsonschema:"directory to run in, relative to the working directory or absolute"`
	Env     map[string]string `json:"env,omitzero" jsonschema:"environment variables to set"`
	PTY     bool              `json:"pty,omitzero" jsonschema:"give the command a terminal"`
}

func bash() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[bashInput]{
		Name: "bash", Description: markdown(bashText), Kind: agent.KindExecute, Exclusive: true,
		Plan: planBash, Run: runBash,
	})
}

// bashCommand is a checked call.
type bashCommand struct {
	line string
	dir  string
	env  []string
	// timeout is in seconds.
	timeout float64
	notes   []string
}

func newBashCommand(call *agent.Call, in *bashInput) (*bashCommand, error) {
	c := &bashCommand{line: strings.TrimSpace(in.Command), dir: call.Workspace.Cwd, timeout: bashTimeout}
	if c.line == "" {
		return nil, fmt.Errorf("%w for bash: command is empty", agent.ErrBadInput)
	}
	if strings.ContainsRune(c.line, 0) {
		return nil, fmt.Errorf("%w for bash: the command has a zero byte", agent.ErrBadInput)
	}
	if in.Cwd != "" {
		c.dir = call.Workspace.Resolve(in.Cwd)
	} else if dir, rest, ok := leadingCd(c.line); ok {
		c.dir, c.line = call.Workspace.Resolve(dir), rest
	}
	for name, value := range in.Env {
		if !variableName(name) {
			return nil, fmt.Errorf("%w for bash: %q is no name for an environment variable (letters, digits and _, no digit first)", agent.ErrBadInput, name)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%w for bash: the environment variable %s has a zero byte", agent.ErrBadInput, name)
		}
		c.env = append(c.env, name+"="+value)
	}
	slices.Sort(c.env)
	if in.Timeout != 0 {
		c.timeout = min(max(in.Timeout, minBashTimeout), maxBashTimeout)
		if c.timeout != in.Timeout {
			c.notes = append(c.notes, fmt.Sprintf("The timeout was set to %s seconds; it can be %g to %g.", seconds(c.timeout), minBashTimeout, maxBashTimeout))
		}
	}
	return c, nil
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

func variableName(s string) bool {
	for i, r := range s {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		case i > 0 && '0' <= r && r <= '9':
		default:
			return false
		}
	}
	return s != ""
}

func planBash(_ context.Context, call *agent.Call, in *bashInput) (*agent.CallPlan, error) {
	c, err := newBashCommand(call, in)
	if err != nil {
		return nil, err
	}
	// A variable can make any program run another one (BASH_ENV, PAGER), so what is asked for and remembered has them.
	title := commandTitle(c.assignments() + in.Command)
	plan := &agent.CallPlan{
		Title:   title,
		Content: c.shown(in.Command),
		Effects: []agent.Effect{{Action: agent.ActionCommand, Command: c.assignments() + c.line, Title: title}},
	}
	if c.dir != call.Workspace.Cwd {
		plan.Effects = append(plan.Effects, agent.Effect{Action: agent.ActionRead, Path: c.dir, Title: "Run a command in " + c.dir})
	}
	return plan, nil
}

// assignments is the environment of the call as a shell would be given it, with a blank behind it; empty for none.
func (c *bashCommand) assignments() string {
	var s strings.Builder
	for _, kv := range c.env {
		name, value, _ := strings.Cut(kv, "=")
		s.WriteString(name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "' ")
	}
	return s.String()
}

// shown is the command as the editor shows it.
func (c *bashCommand) shown(command string) []agent.Content {
	return []agent.Content{agent.TextContent{Text: "$ " + c.assignments() + strings.TrimSpace(command)}}
}

// commandTitle is the command's first line, cut.
func commandTitle(command string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(command), "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > maxCommandTitle || rest != "" {
		line = string(runes[:min(len(runes), maxCommandTitle-1)]) + "…"
	}
	return line
}

// errBashTimeout ends the wait for a command.
var errBashTimeout = errors.New("the command's time is over")

func runBash(ctx context.Context, call *agent.Call, in *bashInput) (*agent.Result, error) {
	c, err := newBashCommand(call, in)
	if err != nil {
		return nil, err
	}
	switch info, err := call.FS.Stat(ctx, c.dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("Working directory does not exist: %s", c.dir)
	case err != nil:
		return nil, fmt.Errorf("the working directory %s cannot be used: %w", c.dir, reason(err))
	case !info.IsDir():
		return nil, fmt.Errorf("Working directory is not a directory: %s", c.dir)
	}
	r := &bashRun{call: call, command: c, shown: c.shown(in.Command)}
	if call.Languages != nil {
		defer call.Languages.Changed() // whatever the command did
	}
	return r.run(ctx, in.PTY)
}

// bashRun is a command on its way.
type bashRun struct {
	call    *agent.Call
	command *bashCommand
	// shown is what the editor shows above the output.
	shown []agent.Content
	live  *liveOutput
	exec  agent.Execution
}

func (r *bashRun) run(ctx context.Context, pty bool) (result *agent.Result, err error) {
	r.live = newLiveOutput(r.call.Update, r.shown)
	defer r.live.close()
	r.exec, err = r.call.Terminal.Start(ctx, agent.Command{
		Line: r.command.line, Dir: r.command.dir, Env: r.command.env,
		OutputLimit: maxText, PTY: pty, OnOutput: r.live.write,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the command did not run: %w", err)
	}
	after := context.WithoutCancel(ctx)
	defer func() {
		if rerr := r.exec.Release(after); rerr != nil && result != nil {
			result.Text = "[" + rerr.Error() + "]\n" + result.Text // the outcome stays last
		}
	}()
	if id := r.exec.TerminalID(); id != "" {
		r.call.Update(agent.Progress{TerminalID: id})
		r.shown = append(r.shown, agent.TerminalContent{TerminalID: id})
	}
	limit := time.Duration(r.command.timeout * float64(time.Second))
	waitCtx, cancel := context.WithTimeoutCause(ctx, limit, errBashTimeout)
	defer cancel()
	status, err := r.exec.Wait(waitCtx)
	switch {
	case err == nil:
		return r.ended(ctx, status)
	case waitCtx.Err() == nil:
		return nil, fmt.Errorf("how the command ended is not known: %w", err)
	default:
		return r.stopped(after, ctx.Err() != nil)
	}
}

// ended is the result of a command that came to its end.
func (r *bashRun) ended(ctx context.Context, status agent.ExitStatus) (*agent.Result, error) {
	out, err := r.output(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the command ended, but its output is lost: %w", err)
	}
	code := status.Code
	if status.Signal != "" && code <= 0 {
		code = signalCode(status.Signal)
	}
	raw := bashRaw{ExitCode: &code, Signal: status.Signal, Truncated: out.truncated}
	if code == 0 {
		return r.result(out, "", raw), nil
	}
	last := fmt.Sprintf("Command exited with code %d", code)
	if status.Signal != "" {
		last = "The command was ended by " + status.Signal + ".\n" + last
	}
	return r.result(out, last, raw), nil
}

// stopped is the result of a command that ran out of time or was cancelled.
func (r *bashRun) stopped(ctx context.Context, cancelled bool) (*agent.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, afterTimeout)
	defer cancel()
	kerr := r.exec.Kill(ctx)
	out, oerr := r.output(ctx)
	if oerr != nil {
		out = bashOutput{notes: []string{oerr.Error()}}
	}
	if kerr != nil {
		out.notes = append(out.notes, kerr.Error())
	}
	raw := bashRaw{TimedOut: !cancelled, Cancelled: cancelled, Truncated: out.truncated}
	last := "Command timed out after " + seconds(r.command.timeout) + " seconds"
	if cancelled {
		last = "Command cancelled"
	}
	return r.result(out, last, raw), nil
}

// bashRaw is the structured output for the editor.
type bashRaw struct {
	ExitCode  *int   `json:"exitCode,omitzero"`
	Signal    string `json:"signal,omitzero"`
	TimedOut  bool   `json:"timedOut,omitzero"`
	Cancelled bool   `json:"cancelled,omitzero"`
	Truncated bool   `json:"truncated,omitzero"`
}

// result puts the parts together. last is how the command failed; empty for success.
func (r *bashRun) result(out bashOutput, last string, raw bashRaw) *agent.Result {
	text := strings.TrimRight(out.text, "\n")
	if text == "" {
		text = "(no output)"
	}
	text = joinNotes(text, append(out.notes, r.command.notes...))
	content := append([]agent.Content(nil), r.shown...)
	if r.exec.TerminalID() == "" {
		content = append(content, agent.TextContent{Text: text})
	}
	if last != "" {
		text += "\n\n" + last
		content = append(content, agent.TextContent{Text: last})
	}
	return &agent.Result{Text: text, Content: content, Raw: raw, IsError: last != ""}
}

// signalCode is the exit code by which shells tell of a signal: 128 and its number.
func signalCode(name string) int {
	switch strings.TrimPrefix(name, "SIG") {
	case "HUP":
		return 129
	case "INT":
		return 130
	case "QUIT":
		return 131
	case "ABRT":
		return 134
	case "FPE":
		return 136
	case "SEGV":
		return 139
	case "PIPE":
		return 141
	case "TERM":
		return 143
	default: // KILL, and what is rare
		return 137
	}
}
