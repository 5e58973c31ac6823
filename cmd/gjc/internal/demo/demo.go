// Package demo shows an editor session with the offline model: it starts gjc as an editor does, in a scratch workspace, and checks
// what it sees.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/proc"
)

// timeout bounds the whole demonstration: a hang is a failure too.
const timeout = 3 * time.Minute

// demo is one run.
type demo struct {
	*screen
	root, work string
	env        []string
	agent      *acptest.Agent
	session    acp.SessionID
	failed     []string
	passed     int

	// answer is the user's answer to the next question.
	answer acp.PermissionOptionID
	asked  []string
}

// Options are the options of [Run].
type Options struct {
	// Env is the environment of gjc.
	Env []string
	// Out receives the transcript.
	Out io.Writer
	// Version is the editor's version.
	Version string
	// Keep leaves the workspace and the session files on disk.
	Keep bool
}

// ErrFailed is returned by [Run] if the transcript lists failed checks.
var ErrFailed = errors.New("failed")

// Run runs the demonstration with this program as the agent, and prints its transcript.
func Run(ctx context.Context, opts Options) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errors.New("the demo timed out"))
	defer cancel()
	root, err := os.MkdirTemp("", "gjc-demo-")
	if err != nil {
		return err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	d := &demo{screen: &screen{out: opts.Out, root: filepath.Join(root, "calc")}, root: root, work: filepath.Join(root, "calc")}
	if !opts.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	}
	// The child has no keys, so the offline model answers. Its sessions are stored in the scratch directory.
	d.env = proc.Environ(opts.Env, "GJC_CODING_AGENT_DIR="+filepath.Join(root, "agent"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GOFLAGS=-buildvcs=false", "GOWORK=off")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d.say("gjc demo: an editor and \"gjc acp\", over pipes, in %s\n", d.work)
	if err := d.makeWorkspace(ctx); err != nil {
		return err
	}
	if err := d.play(ctx, self, opts.Version); err != nil {
		return err
	}
	if len(d.failed) > 0 {
		d.say("\n%d of %d checks failed:", len(d.failed), d.passed+len(d.failed))
		for _, f := range d.failed {
			d.say("  - %s", f)
		}
		return ErrFailed
	}
	d.say("\nAll %d checks passed.", d.passed)
	if opts.Keep {
		d.say("Kept: %s", root)
	}
	return nil
}

// check counts an expectation, and prints it if it is not met.
func (d *demo) check(ok bool, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if ok {
		d.passed++
		return
	}
	d.failed = append(d.failed, what)
	d.say("  !! failed: %s", what)
}

// play runs the whole session.
func (d *demo) play(ctx context.Context, self, version string) error {
	begin := time.Now()
	agent, err := acptest.Start(ctx, acptest.ProcessOptions{Path: self, Args: []string{"acp"}, Dir: d.root, Env: d.env}, acptest.EditorOptions{
		Info: &acp.Implementation{Name: "gjc-demo", Version: version}, Env: d.env,
		Updated: func(n *acp.SessionNotification) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.show(n.Update)
		},
		Permission: func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			title := p.ToolCall.Title.Or("")
			d.asked = append(d.asked, title)
			d.say("  ?  Allow: %s  →  %s", title, d.answer)
			return acptest.Choose(d.answer), nil
		},
	})
	if err != nil {
		return err
	}
	d.agent = agent
	d.printed = agent.Printed
	defer func() {
		agent.Process.Kill()
		_ = agent.Close()
	}()
	init, err := agent.Initialize(ctx)
	if err != nil {
		return err
	}
	d.step(begin, "initialize", "%s %s, protocol %d", init.AgentInfo.Name, init.AgentInfo.Version, init.ProtocolVersion)
	d.check(init.AgentCapabilities.LoadSession, "the agent can load sessions")

	begin = time.Now()
	session, err := agent.NewSession(ctx, d.work)
	if err != nil {
		return err
	}
	d.session = session.SessionID
	d.step(begin, "session/new", "%d config options, mode %s", len(session.ConfigOptions), session.Modes.CurrentModeID)

	for _, scene := range []func(context.Context) error{
		d.look, d.testRed, d.debug, d.fix, d.languages, d.unsaved, d.refuse, d.cancel, d.reload,
	} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	begin = time.Now()
	state, err := agent.Stop(ctx)
	if err != nil {
		return err
	}
	d.step(begin, "stdin closed", "the agent ended: %v", state)
	d.check(state.Success(), "the agent exits 0 when its editor is gone")
	d.check(agent.OpenTerminals() == 0, "every terminal was released")
	return nil
}

// prompt sends one prompt and prints the response.
func (d *demo) prompt(ctx context.Context, lines ...string) (acp.StopReason, error) {
	text := strings.Join(lines, "\n")
	d.say("\n>  %s", strings.ReplaceAll(text, "\n", "\n   "))
	begin := time.Now()
	resp, err := d.agent.Prompt(ctx, d.session, text)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	d.flush()
	d.mu.Unlock()
	d.step(begin, "session/prompt", "%s", resp.StopReason)
	return resp.StopReason, nil
}

func (d *demo) look(ctx context.Context) error {
	stop, err := d.prompt(ctx,
		"Please fix the failing test.",
		"!plan Read the code; Run the tests; Fix the bug; Run the tests again",
		"!read calc.go", "!search func \\w+\\(", "!find **/*.go")
	if err != nil {
		return err
	}
	d.check(stop == acp.StopReasonEndTurn, "the turn ends")
	d.check(d.plan == 4, "the plan has 4 steps, not %d", d.plan)
	d.check(d.completed("read") == 1 && d.completed("search") == 2, "a read, a search and a find completed")
	d.check(count(d.agent.Calls(), acp.MethodFSReadTextFile.Name) > 0, "the file was read through the editor")
	return nil
}

func (d *demo) testRed(ctx context.Context) error {
	d.answer = "allow_always"
	_, err := d.prompt(ctx, "!bash go test ./...")
	d.check(len(d.asked) == 1, "the user was asked about the command, once")
	d.check(d.ended[acp.ToolCallStatusFailed] == 1, "the tests fail")
	d.check(count(d.agent.Calls(), acp.MethodTerminalCreate.Name) == 1, "the command ran in the editor's terminal")
	return err
}

// debug shows the debugger, if dlv is installed.
func (d *demo) debug(ctx context.Context) error {
	if _, err := exec.LookPath("dlv"); err != nil {
		d.say("\n   (dlv is not on PATH, so the debugger is not shown. To get it: go install github.com/go-delve/delve/cmd/dlv@latest)")
		return nil
	}
	d.answer = "allow_once"
	asked := len(d.asked)
	_, err := d.prompt(ctx, "!debug set_breakpoint file=calc.go line=6",
		`!debug launch {"program": ".", "mode": "test", "args": ["-test.run", "TestAdd"], "timeout": 120}`,
		"!debug inspect depth=1", "!debug evaluate expression=a-b", "!debug terminate")
	shown := d.shown.String()
	d.check(len(d.asked) == asked+1, "the user was asked about the launch only")
	d.check(strings.Contains(shown, "Location: calc.go:6") && strings.Contains(shown, "- b = 3 (int)"), "the debugger stopped where the bug is")
	d.check(strings.Contains(shown, "Result: -1"), "an expression was evaluated there")
	d.check(strings.Contains(shown, "Debug session terminated."), "the debug session was ended")
	return err
}

func (d *demo) fix(ctx context.Context) error {
	asked, green := len(d.asked), d.completed("execute")
	_, err := d.prompt(ctx, "!edit calc.go return a - b => return a + b", "!bash go test ./...")
	d.check(len(d.asked) == asked, "the answer \"always\" was remembered")
	d.check(d.diffs == 1, "the edit was shown as a diff")
	d.check(d.completed("execute") == green+1, "the tests pass")
	text, rerr := os.ReadFile(filepath.Join(d.work, "calc.go"))
	d.check(rerr == nil && strings.Contains(string(text), "return a + b"), "the file was changed")
	return err
}

// languages shows diagnostics and a rename, if gopls is installed.
func (d *demo) languages(ctx context.Context) error {
	if _, err := exec.LookPath("gopls"); err != nil {
		d.say("\n   (gopls is not on PATH, so diagnostics and a rename are not shown. To get it: go install golang.org/x/tools/gopls@latest)")
		return nil
	}
	if _, err := d.prompt(ctx, "!edit calc.go return a + b => return a + c"); err != nil {
		return err
	}
	d.check(strings.Contains(d.shown.String(), "undefined: c"), "the language server's diagnostics follow the edit")
	shown, diffs, green := d.shown.Len(), d.diffs, d.completed("execute")
	_, err := d.prompt(ctx, "!edit calc.go return a + c => return a + b", "!lsp rename calc.go line=5 symbol=Add new_name=Sum", "!bash go test ./...")
	d.check(strings.Contains(d.shown.String()[shown:], "no problems"), "the corrected file has no problems")
	d.check(d.diffs == diffs+3, "the rename was shown as the diffs of two files")
	for name, want := range map[string]string{"calc.go": "func Sum(", "calc_test.go": "got := Sum("} {
		text, rerr := os.ReadFile(filepath.Join(d.work, name))
		d.check(rerr == nil && strings.Contains(string(text), want), "%s has the new name", name)
	}
	d.check(d.completed("execute") == green+1, "the tests pass with the new name")
	return err
}

func (d *demo) unsaved(ctx context.Context) error {
	d.agent.Open(filepath.Join(d.work, "NOTES.md"), "This line is typed and not saved.\n")
	d.say("\n   (The user types into NOTES.md and does not save.)")
	_, err := d.prompt(ctx, "!read NOTES.md")
	d.check(strings.Contains(d.shown.String(), "typed and not saved"), "the agent read the unsaved buffer")
	return err
}

func (d *demo) refuse(ctx context.Context) error {
	d.answer = "reject_once"
	asked, failed := len(d.asked), d.ended[acp.ToolCallStatusFailed]
	stop, err := d.prompt(ctx, "!bash rm -rf .git")
	d.check(len(d.asked) == asked+1, "the user was asked about another command")
	d.check(d.ended[acp.ToolCallStatusFailed] == failed+1 && stop == acp.StopReasonEndTurn, "the refused command did not run, the turn went on")
	_, serr := os.Stat(filepath.Join(d.work, ".git"))
	d.check(serr == nil, ".git is still there")
	return err
}

func (d *demo) cancel(ctx context.Context) error {
	d.answer = "allow_once"
	waits := count(d.agent.Calls(), acp.MethodTerminalWaitForExit.Name)
	go func() { // ends with the prompt below
		err := d.agent.Await(ctx, d.session, acptest.Called(acp.MethodTerminalWaitForExit.Name, waits+1))
		if err == nil {
			_ = acp.MethodSessionCancel.Notify(ctx, d.agent.Conn, &acp.CancelNotification{SessionID: d.session})
		}
	}()
	begin := time.Now()
	stop, err := d.prompt(ctx, "!bash sleep 60")
	d.check(stop == acp.StopReasonCancelled, "the cancelled turn says so, not %q", stop)
	d.check(time.Since(begin) < 30*time.Second, "the command was stopped")
	return err
}

// reload closes the session, finds it in the list, and loads it.
func (d *demo) reload(ctx context.Context) error {
	live := d.tally(d.agent.Updates(d.session))
	begin := time.Now()
	if _, err := acp.MethodSessionClose.Call(ctx, d.agent.Conn, &acp.CloseSessionRequest{SessionID: d.session}); err != nil {
		return err
	}
	d.say("")
	d.step(begin, "session/close", "")
	begin = time.Now()
	list, err := acp.MethodSessionList.Call(ctx, d.agent.Conn, &acp.ListSessionsRequest{Cwd: d.work})
	if err != nil {
		return err
	}
	title := ""
	if len(list.Sessions) == 1 && list.Sessions[0].SessionID == d.session {
		title = list.Sessions[0].Title
	}
	d.step(begin, "session/list", "%d session, %q", len(list.Sessions), title)
	d.check(title != "", "the session is listed, with a title")

	d.hush(true)
	seen := len(d.agent.Updates(d.session))
	begin = time.Now()
	if _, err := acp.MethodSessionLoad.Call(ctx, d.agent.Conn, &acp.LoadSessionRequest{SessionID: d.session, Cwd: d.work}); err != nil {
		return err
	}
	replayed := d.tally(d.agent.Updates(d.session)[seen:])
	d.step(begin, "session/load", "%d tool calls and %d diffs replayed", replayed.tools, replayed.diffs)
	d.check(replayed.tools == live.tools && replayed.diffs == live.diffs && replayed.text == live.text, "the loaded session looks like the live one: %+v, not %+v", live, replayed)
	d.hush(false)
	return nil
}
