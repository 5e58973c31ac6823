// Package shell implements the tools that run commands: bash, job, eval and ssh.
package shell

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed bash.md
var bashText string

type bashInput struct {
	Command string            `json:"command" jsonschema:"the command line for the user's shell"`
	Timeout float64           `json:"timeout,omitzero" jsonschema:"seconds, 1 to 3600; 300 if absent"`
	Cwd     string            `json:"cwd,omitzero" jsonschema:"directory to run in, relative to the working directory or absolute"`
	Env     map[string]string `json:"env,omitzero" jsonschema:"environment variables to set"`
	PTY     bool              `json:"pty,omitzero" jsonschema:"give the command a terminal"`
	Head    int               `json:"head,omitzero" jsonschema:"return only this many first lines of the output"`
	Tail    int               `json:"tail,omitzero" jsonschema:"return only this many last lines of the output; with head, of those"`
	Async   bool              `json:"async,omitzero" jsonschema:"run it in the background, as a job; the call returns at once"`
	Watch   string            `json:"watch,omitzero" jsonschema:"with async: regular expression (RE2) for a line of the output that you are notified of, once"`
}

// BashSettings configures commands.
type BashSettings struct {
	// MaxTimeout bounds the timeout of a command, in seconds. Zero means an hour.
	MaxTimeout float64
	// AutoBackground is the time for which a call waits for a command before the command becomes a background job. Zero means until it ends.
	AutoBackground time.Duration
	// Intercept refuses commands for which another tool is better.
	Intercept bool
	// Rules are checked before the built-in ones of Intercept.
	Rules []InterceptRule
}

const bashTool = "bash"

// Bash returns the tool "bash", which runs command lines.
func Bash(set *BashSettings) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[bashInput]{
		Schemas: schemas,
		Name:    bashTool, Description: toolkit.Description(bashText), Kind: agent.KindExecute, Exclusive: true,
		Plan: func(ctx context.Context, call *agent.Call, in *bashInput) (*agent.CallPlan, error) {
			return set.plan(ctx, call, in)
		},
		Run: func(ctx context.Context, call *agent.Call, in *bashInput) (*agent.Result, error) {
			return set.run(ctx, call, in)
		},
	})
}

// bashCommand is a checked call.
type bashCommand struct {
	line string
	dir  string
	env  []string
	// timeout is in seconds; zero for none.
	timeout float64
	// head and tail bound the number of output lines that the model receives; zero for all.
	head, tail int
	watch      *watch // nil if the output is not watched
	notes      []string
	// gone reports that the shell's last directory no longer exists.
	gone bool
}

func (s *BashSettings) command(ctx context.Context, call *agent.Call, in *bashInput) (*bashCommand, error) {
	c := &bashCommand{line: strings.TrimSpace(in.Command), timeout: toolkit.BashTimeout, head: in.Head, tail: in.Tail}
	if in.Head < 0 || in.Tail < 0 {
		return nil, fmt.Errorf("%w for bash: head and tail are numbers of lines and must not be negative", agent.ErrBadInput)
	}
	if in.Async {
		c.timeout = 0
	}
	if in.Watch != "" {
		pattern, err := regexp.Compile(in.Watch)
		if err != nil {
			return nil, fmt.Errorf("%w for bash: watch: %w", agent.ErrBadInput, err)
		}
		if !in.Async {
			return nil, fmt.Errorf("%w for bash: watch is for background commands; give async as well", agent.ErrBadInput)
		}
		c.watch = &watch{pattern: pattern}
	}
	var gone string
	if c.dir, gone = shellStateOf(call).directory(ctx, call); gone != "" {
		c.gone = true
		c.notes = append(c.notes, fmt.Sprintf("The shell's directory %s no longer exists; the command started in %s.", toolkit.Display(&call.Workspace, gone), c.dir))
	}
	if c.line == "" {
		return nil, fmt.Errorf("%w for bash: command is empty", agent.ErrBadInput)
	}
	if strings.ContainsRune(c.line, 0) {
		return nil, fmt.Errorf("%w for bash: the command contains a NUL byte", agent.ErrBadInput)
	}
	if in.Cwd != "" {
		c.dir = call.Workspace.Resolve(in.Cwd)
	} else if dir, rest, ok := leadingCd(c.line); ok {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.dir, dir)
		}
		c.dir, c.line = filepath.Clean(dir), rest
	}
	for name, value := range in.Env {
		if !toolkit.VariableName(name) {
			return nil, fmt.Errorf("%w for bash: %q is not a valid name of an environment variable (letters, digits and _, no digit first)", agent.ErrBadInput, name)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%w for bash: the environment variable %s contains a NUL byte", agent.ErrBadInput, name)
		}
		c.env = append(c.env, name+"="+value)
	}
	slices.Sort(c.env)
	s.limit(c, in.Timeout)
	return c, nil
}

// limit sets the timeout of a command to the requested number of seconds, within the maximum. Zero keeps the default.
func (s *BashSettings) limit(c *bashCommand, wanted float64) {
	most := toolkit.MaxBashTimeout
	if s.MaxTimeout > 0 {
		most = min(most, s.MaxTimeout)
	}
	if wanted != 0 {
		c.timeout = max(wanted, toolkit.MinBashTimeout)
	}
	c.timeout = min(c.timeout, most)
	if wanted != 0 && c.timeout != wanted {
		c.notes = append(c.notes, fmt.Sprintf("The timeout was set to %s; it can be %g to %g.", inSeconds(c.timeout), toolkit.MinBashTimeout, most))
	}
}

// inSeconds formats a duration for a sentence.
func inSeconds(s float64) string {
	if s == 1 {
		return "1 second"
	}
	return toolkit.Seconds(s) + " seconds"
}

func (s *BashSettings) plan(ctx context.Context, call *agent.Call, in *bashInput) (*agent.CallPlan, error) {
	c, err := s.command(ctx, call, in)
	if err != nil {
		return nil, err
	}
	if err := s.intercept(call, c.line); err != nil {
		return nil, err
	}
	if in.Async {
		if err := jobsOf(call).room(); err != nil {
			return nil, err
		}
	}
	// A variable can make any program run another one (BASH_ENV, PAGER), so the question and the remembered answer include the
	// variables. They are on separate lines, because before "!", "for" or "export" they would change the command.
	title := toolkit.CommandTitle(c.assignments(" ") + in.Command)
	plan := &agent.CallPlan{
		Title:   title,
		Content: c.shown(call, in),
		Effects: []approval.Effect{{Action: approval.ActionCommand, Command: c.assignments("\n") + c.line, Dir: c.dir, Title: title}},
	}
	if c.dir != call.Workspace.Cwd {
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionRead, Path: c.dir, Title: "Run a command in " + c.dir})
	}
	return plan, nil
}

// assignments returns the environment of the call as shell assignments, each followed by end; empty if there is none.
func (c *bashCommand) assignments(end string) string {
	var s strings.Builder
	for _, kv := range c.env {
		name, value, _ := strings.Cut(kv, "=")
		s.WriteString(name + "=" + text.ShellQuote(value) + end)
	}
	return s.String()
}

// shown returns the command in the form that the editor shows.
func (c *bashCommand) shown(call *agent.Call, in *bashInput) []agent.Content {
	text := "$ " + c.assignments(" ") + strings.TrimSpace(in.Command)
	if c.dir != call.Workspace.Cwd && c.line == strings.TrimSpace(in.Command) {
		text = "in " + toolkit.Display(&call.Workspace, c.dir) + "\n" + text
	}
	return []agent.Content{agent.TextContent{Text: text}}
}

// errBashTimeout ends the wait for a command.
var errBashTimeout = errors.New("the command timed out")

func (s *BashSettings) run(ctx context.Context, call *agent.Call, in *bashInput) (*agent.Result, error) {
	c, err := s.command(ctx, call, in)
	if err != nil {
		return nil, err
	}
	switch info, err := call.FS.Stat(ctx, c.dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("working directory does not exist: %s", c.dir)
	case err != nil:
		return nil, fmt.Errorf("the working directory %s cannot be used: %w", c.dir, toolkit.Reason(err))
	case !info.IsDir():
		return nil, fmt.Errorf("working directory is not a directory: %s", c.dir)
	}
	if c.gone {
		shellStateOf(call).reset()
	}
	var asked []boundary.Refusal
	for {
		r := &bashRun{call: call, command: c, shown: c.shown(call, in), inside: approval.PermitOf(ctx).Inside(), name: toolkit.CommandTitle(c.assignments(" ") + in.Command)}
		if err := r.start(ctx, in.PTY); err != nil {
			return nil, err
		}
		if in.Async {
			return r.background(ctx, "The command runs in the background as %s."), nil
		}
		result, err := r.wait(ctx, s.AutoBackground)
		fresh := slices.DeleteFunc(slices.Clone(r.refused), func(f boundary.Refusal) bool { return slices.Contains(asked, f) })
		if err != nil || len(fresh) == 0 || len(asked) >= maxAsked || call.Widen == nil {
			return result, err
		}
		asked = append(asked, fresh...)
		if again, err := call.Widen(ctx, fresh); err != nil || !again {
			return result, err
		}
		c.notes = nil
	}
}

// bashRun is a running command.
type bashRun struct {
	call    *agent.Call
	command *bashCommand
	name    string
	// inside lists what the command may do inside the boundary; nil if it runs outside.
	inside *boundary.Access
	// shown is the content that the editor shows above the output.
	shown []agent.Content
	live  *toolkit.LiveOutput
	exec  agent.Execution
	began time.Time
	// refused lists what the boundary has refused to the command.
	refused []boundary.Refusal
	// state is the file to which the shell writes its state when it ends.
	state string
}

func (r *bashRun) start(ctx context.Context, pty bool) error {
	state := shellStateOf(r.call)
	r.state = state.files(r.call.Terminal)
	return r.begin(ctx, agent.Command{
		Line: r.command.line, Dir: r.command.dir, Env: append(state.environment(), r.command.env...), StateDir: r.state, PTY: pty,
	})
}

// begin starts a command and shows its output.
func (r *bashRun) begin(ctx context.Context, c agent.Command) (err error) {
	r.live = toolkit.NewLiveOutput(r.call.Update, r.shown)
	if r.inside == nil {
		c.TempDir = r.call.Workspace.TempDir()
	}
	c.OutputLimit, c.OnOutput = toolkit.MaxText, r.live.Write
	if w := r.command.watch; w != nil {
		c.OnOutput = func(b []byte) {
			r.live.Write(b)
			w.write(b)
		}
	}
	r.began = time.Now()
	if r.exec, err = r.call.Terminal.Start(ctx, c); err != nil {
		r.live.Close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the command did not run: %w", err)
	}
	if id := r.exec.TerminalID(); id != "" {
		r.call.Update(agent.Progress{TerminalID: id})
		r.shown = append(r.shown, agent.TerminalContent{TerminalID: id})
	}
	return nil
}

// wait waits until the command ends or becomes a background job.
func (r *bashRun) wait(ctx context.Context, patience time.Duration) (*agent.Result, error) {
	waitCtx, cancel := context.WithTimeoutCause(ctx, r.limit(), errBashTimeout)
	defer cancel()
	if patience > 0 && patience < r.limit() && jobsOf(r.call).room() == nil {
		var late context.CancelFunc
		waitCtx, late = context.WithTimeoutCause(waitCtx, patience, errBashPatience)
		defer late()
	}
	status, err := r.exec.Wait(waitCtx)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(waitCtx), errBashPatience) {
		return r.background(ctx, "The command is taking longer than "+patience.String()+" and continues in the background as %s."), nil
	}
	return r.close(ctx, waitCtx, status, err, true)
}

// errBashPatience ends the wait for a command that then becomes a background job.
var errBashPatience = errors.New("the command takes long")

// limit returns the timeout of the command.
func (r *bashRun) limit() time.Duration {
	if r.command.timeout == 0 {
		return noBashTimeout
	}
	return time.Duration(r.command.timeout * float64(time.Second))
}

// noBashTimeout is the timeout of background commands: they end with the session.
const noBashTimeout = 100 * 365 * 24 * time.Hour

// close ends a command and returns its result. The state after a foreground command is kept for the next one.
func (r *bashRun) close(ctx, waitCtx context.Context, status agent.ExitStatus, werr error, foreground bool) (result *agent.Result, err error) {
	defer r.live.Close()
	after := context.WithoutCancel(ctx)
	defer r.call.Values.FilesChanged() // whatever the command did to files
	defer func() {
		if rerr := r.exec.Release(after); rerr != nil && result != nil {
			result.Text = "[" + rerr.Error() + "]\n" + result.Text // the outcome comes last
		}
	}()
	switch {
	case werr == nil:
		if leavesPrograms(r.command.line) {
			r.command.notes = append(r.command.notes, endedNote)
		}
		if foreground {
			r.command.notes = append(r.command.notes, shellStateOf(r.call).learn(ctx, r.call, r.exec, r.state, r.command.dir)...)
		}
		return r.ended(ctx, status)
	case waitCtx.Err() == nil:
		return nil, fmt.Errorf("the command's exit status is unknown: %w", werr)
	default:
		return r.stopped(after, ctx.Err() != nil)
	}
}

// background turns the command into a background job; how is a format with a verb for the job's ID.
func (r *bashRun) background(ctx context.Context, how string) *agent.Result {
	r.live.Detach()
	all := jobsOf(r.call)
	b := all.adopt(ctx, &job{title: r.name, callID: r.call.ID, output: r.output}, func(ctx context.Context) *agent.Result {
		waitCtx, cancel := context.WithTimeoutCause(ctx, r.limit(), errBashTimeout)
		defer cancel()
		stop := r.pollWatched(waitCtx)
		status, err := r.exec.Wait(waitCtx)
		stop()
		result, err := r.close(ctx, waitCtx, status, err, false)
		if err != nil {
			return &agent.Result{Text: err.Error(), IsError: true}
		}
		return result
	})
	if w := r.command.watch; w != nil {
		w.begin(func(line string) { all.matched(b, line) })
	}
	text := fmt.Sprintf(how, b.id) + " You will be notified when it ends; use the job tool to see its output or stop it."
	return &agent.Result{
		Text:    toolkit.JoinNotes(text, r.command.notes),
		Content: append(append([]agent.Content(nil), r.shown...), agent.TextContent{Text: text}),
		Raw:     bashRaw{Job: b.id},
	}
}

// ended returns the result of a command that ended on its own.
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
		code = cmp.Or(signalCodes[strings.TrimPrefix(status.Signal, "SIG")], killedCode)
	}
	raw := bashRaw{ExitCode: &code, Signal: status.Signal, Truncated: out.Truncated}
	// The status of a line is that of its last command.
	if code != 0 || strings.ContainsAny(r.command.line, "|;\n") || strings.Contains(out.Text, egressRefusal) || strings.Contains(out.Text, settingRefusal) {
		r.refused = r.refusals(out.Text)
	}
	if code == 0 {
		return r.result(out, "", raw), nil
	}
	last := fmt.Sprintf("Command exited with code %d", code)
	if status.Signal != "" {
		last = "The command was killed by " + status.Signal + ".\n" + last
	}
	return r.result(out, last, raw), nil
}

// stopped returns the result of a command that timed out or was cancelled.
func (r *bashRun) stopped(ctx context.Context, cancelled bool) (*agent.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, toolkit.AfterTimeout)
	defer cancel()
	kerr := r.exec.Kill(ctx)
	out, oerr := r.output(ctx)
	if oerr != nil {
		out = toolkit.BashOutput{Notes: []string{oerr.Error()}}
	}
	if kerr != nil {
		out.Notes = append(out.Notes, kerr.Error())
	}
	raw := bashRaw{TimedOut: !cancelled, Cancelled: cancelled, Truncated: out.Truncated}
	last := "Command timed out after " + inSeconds(r.command.timeout)
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
	// DurationMS is the time that the command took, without the wait for an answer of the user.
	DurationMS int64 `json:"durationMs,omitzero"`
	// Job is the ID of the background job that the command became.
	Job string `json:"job,omitzero"`
}

// result joins the parts of a result. last says how the command failed; empty for success.
func (r *bashRun) result(out toolkit.BashOutput, last string, raw bashRaw) *agent.Result {
	raw.DurationMS = time.Since(r.began).Milliseconds()
	text := cmp.Or(strings.TrimRight(out.Text, "\n"), "(no output)")
	notes := append(out.Notes, r.command.notes...)
	content := append([]agent.Content(nil), r.shown...)
	if r.exec.TerminalID() == "" {
		content = append(content, agent.TextContent{Text: toolkit.JoinNotes(text, notes)}) // people see all of it
	}
	text, cut := headTail(text, r.command.head, r.command.tail)
	if cut != "" {
		notes = append(notes, cut)
	}
	text = toolkit.JoinNotes(text, notes)
	if note := r.sandboxNote(out.Text, last != ""); note != "" {
		note = "[" + note + "]"
		text += "\n" + note
		content = append(content, agent.TextContent{Text: note})
	}
	if last != "" {
		text += "\n\n" + last
		content = append(content, agent.TextContent{Text: last})
	}
	return &agent.Result{Text: text, Content: content, Raw: raw, IsError: last != ""}
}

// headTail returns the first head lines of a text, and the last tail of those; zero means all. cut describes the omitted lines.
func headTail(output string, head, tail int) (shown, cut string) {
	lines := strings.Split(output, "\n")
	all := len(lines)
	if head > 0 {
		lines = lines[:min(head, len(lines))]
	}
	if tail > 0 {
		lines = lines[max(0, len(lines)-tail):]
	}
	if len(lines) == all {
		return output, ""
	}
	return strings.Join(lines, "\n"), fmt.Sprintf("%d of %s, by head and tail", len(lines), text.Count(all, "line"))
}

// signalCodes maps the exit codes by which shells report a signal: 128 plus its number.
var signalCodes = map[string]int{"HUP": 129, "INT": 130, "QUIT": 131, "ABRT": 134, "FPE": 136, "SEGV": 139, "PIPE": 141, "TERM": 143}

// killedCode is the code for KILL, and for rare signals.
const killedCode = 137

// maxAsked bounds what the user is asked to add to one command.
const maxAsked = 20

// sandboxNote says what the boundary has refused to a command, or that it may have: its output looks so, and nothing more is known.
func (r *bashRun) sandboxNote(output string, failed bool) string {
	if len(r.refused) > 0 {
		var needs []string
		for _, refusal := range r.refused {
			need := refusal.Describe(func(path string) string { return toolkit.Display(&r.call.Workspace, path) })
			if refusal.Path != "" && r.inside.Forbids(refusal.Path) {
				need += " (a rule of the user's denies it)"
			}
			needs = append(needs, need)
		}
		return "The sandbox did not let the command " + strings.Join(needs, ", or ") + "."
	}
	if r.inside == nil || !failed || !denied().MatchString(output) && !unreachable().MatchString(output) {
		return ""
	}
	return "The command ran in a sandbox: it can change files only in the workspace and the temporary directory, and reach only hosts that the user allows. If that made it fail, tell the user."
}

// RunCheck runs a command line for a tool, in the session's own directory and in the foreground.
func RunCheck(ctx context.Context, call *agent.Call, line string) (*agent.Result, error) {
	r := &bashRun{
		call: call, command: &bashCommand{line: line, dir: call.Workspace.Cwd, timeout: toolkit.BashTimeout},
		shown: []agent.Content{agent.TextContent{Text: "$ " + line}},
	}
	if err := r.start(ctx, false); err != nil {
		return nil, err
	}
	return r.wait(ctx, 0)
}
