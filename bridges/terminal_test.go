package bridges_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
)

// withShell makes the sessions of a test use another shell.
func withShell(t *testing.T, path string) {
	before := shell
	shell = path
	t.Cleanup(func() { shell = before })
}

// runCommand runs a line to its end and returns its status and output.
func (e *env) runCommand(cmd agent.Command) (agent.ExitStatus, agent.Output) {
	e.t.Helper()
	return e.runCommandWith(new([]string), cmd)
}

// runCommandWith is like runCommand, but also sets before to the environment in which the command began, if that is known.
func (e *env) runCommandWith(before *[]string, cmd agent.Command) (agent.ExitStatus, agent.Output) {
	e.t.Helper()
	if cmd.Dir == "" {
		cmd.Dir = e.dir
	}
	x, err := e.Terminal.Start(own(e.t), cmd)
	if err != nil {
		e.t.Fatal(err)
	}
	if x, ok := x.(agent.EnvironExecution); ok {
		*before = x.Environ()
	}
	defer func() {
		if err := x.Release(own(e.t)); err != nil {
			e.t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(own(e.t), time.Minute, errors.New("the command hangs"))
	defer cancel()
	status, err := x.Wait(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	out, err := x.Output(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	return status, out
}

// TestTerminal is the suite of every [agent.Terminal].
func TestTerminal(t *testing.T) {
	implementations(t, func(t *testing.T, start func(*testing.T) *env) {
		t.Run("output and exit code", func(t *testing.T) {
			e := start(t)
			status, out := e.runCommand(agent.Command{Line: "echo out; echo err >&2; pwd; exit 3"})
			if status.Code != 3 || status.Signal != "" || out.Text != "out\nerr\n"+e.dir+"\n" || out.Truncated {
				t.Errorf("status %+v, output %+v", status, out)
			}
		})
		t.Run("environment", func(t *testing.T) {
			e := start(t)
			_, out := e.runCommand(agent.Command{Line: "echo $A $PAGER", Env: []string{"A=two words"}})
			if out.Text != "two words cat\n" {
				t.Errorf("output %q", out.Text)
			}
		})
		t.Run("what the shell leaves", func(t *testing.T) {
			for _, shell := range []string{"bash", "sh", "dash", "zsh"} {
				path, err := exec.LookPath(shell)
				if err != nil {
					continue // bash and sh are everywhere
				}
				withShell(t, path)
				e := start(t)
				state := filepath.Join(e.path("state"), "1")
				var before []string
				status, out := e.runCommandWith(&before, agent.Command{
					Line: "mkdir sub; cd sub; export A='x\ny' B=2; unset C; echo out; exit 3", StateDir: state, Env: []string{"C=1", "D=1"},
				})
				if status.Code != 3 || out.Text != "out\n" {
					t.Errorf("%s: %+v, %q", shell, status, out.Text)
				}
				read := func(name string) string {
					data, err := os.ReadFile(filepath.Join(state, name))
					if err != nil {
						t.Errorf("%s: %v", shell, err)
					}
					return string(data)
				}
				files := map[string]string{"after": "A B D"}
				if before == nil {
					files["before"] = "C D"
				} else if !slices.Contains(before, "C=1") || !slices.Contains(before, "D=1") {
					t.Errorf("%s: it begins with %q", shell, before)
				}
				for file, names := range files {
					text, dir, whole := strings.Cut(read(file), "\n"+agent.StateEnd+"\n")
					if !whole || file == "after" && dir != e.path("sub")+"\n" {
						t.Errorf("%s: the file %s is not whole: %q, %q", shell, file, text, dir)
					}
					var exported []string
					for _, m := range regexp.MustCompile(`(?m)^(?:declare -x|export|typeset -x) ([A-D])=`).FindAllStringSubmatch(text, -1) {
						exported = append(exported, m[1])
					}
					slices.Sort(exported)
					if got := strings.Join(exported, " "); got != names {
						t.Errorf("%s: the file %s has %q, want %q", shell, file, got, names)
					}
					if strings.Contains(text, "BASH_ENV=") {
						t.Errorf("%s: programs see how the shell writes its state", shell)
					}
				}
			}
		})
		t.Run("inside a boundary that the machine lacks", func(t *testing.T) {
			e := start(t)
			permit := new(approval.Permit)
			gate := &approval.Gate{Policy: new(approval.Policy), Grants: new(approval.Grants), Files: bridges.LocalFS{}, Paths: &places.Paths{Roots: []string{e.dir}}}
			gate.Inquire(own(t), "bash", &approval.Effect{Action: approval.ActionCommand, Command: "touch ran"}, filepath.Base).Permit(permit)
			permit.Enclose(new(boundary.Access))
			_, err := e.Terminal.Start(approval.WithPermit(own(t), permit), agent.Command{Line: "touch ran", Dir: e.dir})
			if !errors.Is(err, bridges.ErrNoBoundary) {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(e.dir, "ran")); err == nil {
				t.Error("the command has run")
			}
		})
		t.Run("the end of long output is kept", func(t *testing.T) {
			e := start(t)
			_, out := e.runCommand(agent.Command{Line: "i=0; while [ $i -lt 2000 ]; do echo äöü $i; i=$((i+1)); done", OutputLimit: 1001})
			if !out.Truncated || len(out.Text) > 1001 || !strings.HasSuffix(out.Text, "äöü 1999\n") {
				t.Errorf("truncated %v, %d bytes: %q…", out.Truncated, len(out.Text), out.Text[:20])
			}
			if strings.ToValidUTF8(out.Text, "") != out.Text {
				t.Error("the output was cut inside a character")
			}
		})
		t.Run("signal", func(t *testing.T) {
			e := start(t)
			status, _ := e.runCommand(agent.Command{Line: "kill -9 $$"})
			if status.Signal == "" || status.Code == 0 {
				t.Errorf("status %+v", status)
			}
		})
		t.Run("kill takes the children along", func(t *testing.T) {
			e := start(t)
			x, err := e.Terminal.Start(own(t), agent.Command{Line: "trap '' TERM; echo up; sleep 600 & sleep 600", Dir: e.dir})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(own(t))
			enough := errors.New("enough")
			cancel(enough)
			if _, err := x.Wait(ctx); !errors.Is(err, enough) {
				t.Errorf("Wait: %v", err)
			}
			if err := x.Kill(ctx); err != nil { // an ended context does not prevent the cleanup
				t.Error(err)
			}
			if status, err := x.Wait(own(t)); err != nil || status.Code == 0 && status.Signal == "" {
				t.Errorf("after Kill: %+v, %v", status, err)
			}
			for range 2 {
				if err := x.Release(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		t.Run("release ends what runs", func(t *testing.T) {
			e := start(t)
			x, err := e.Terminal.Start(own(t), agent.Command{Line: "sleep 600", Dir: e.dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Release(own(t)); err != nil {
				t.Error(err)
			}
		})
		t.Run("wrong directory", func(t *testing.T) {
			e := start(t)
			if x, err := e.Terminal.Start(own(t), agent.Command{Line: "true", Dir: e.path("none")}); err == nil {
				_ = x.Release(own(t))
				t.Error("a command started in a directory that does not exist")
			}
		})
		t.Run("ended context", func(t *testing.T) {
			e := start(t)
			cause := errors.New("stop now")
			ctx, cancel := context.WithCancelCause(own(t))
			cancel(cause)
			x, err := e.Terminal.Start(ctx, agent.Command{Line: "sleep 600", Dir: e.dir})
			if err == nil {
				_ = x.Release(own(t))
			} else if !errors.Is(err, cause) {
				t.Errorf("err = %v", err)
			}
			// A terminal that came too late is released without a call.
			if x == nil && e.Terminal != nil {
				waitFor(t, func() bool { return e.editor.OpenTerminals() == 0 }, e.editor)
			}
		})
	})
}

// waitFor waits until ok returns true, checking whenever the editor is called.
func waitFor(t *testing.T, ok func() bool, e *acptest.Editor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(own(t), time.Minute)
	defer cancel()
	err := e.Await(ctx, "", func([]acp.SessionUpdate, []string) bool { return ok() })
	if err != nil && !ok() {
		t.Fatal(err)
	}
}

// A local command streams its output and receives no provider keys.
func TestLocalTerminal(t *testing.T) {
	e := start(t, &acp.ClientCapabilities{})
	var live strings.Builder
	_, out := e.runCommand(agent.Command{
		Line: "echo one; echo key=$ANTHROPIC_API_KEY.", OnOutput: func(b []byte) { live.Write(b) },
	})
	if out.Text != "one\nkey=.\n" || live.String() != out.Text || out.Total != int64(len(out.Text)) {
		t.Errorf("output %+v, live %q", out, live.String())
	}
	if len(e.editor.Calls()) > 0 {
		t.Errorf("the editor was asked: %v", e.editor.Calls())
	}
	_, out = e.runCommand(agent.Command{Line: "test -t 1 && echo terminal", PTY: true})
	if !strings.Contains(out.Text, "terminal") {
		t.Errorf("no pseudo-terminal: %q", out.Text)
	}
}

// If an editor advertises terminals and has none, commands run locally.
func TestClientTerminal_FallsBack(t *testing.T) {
	e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Requested = func(string, any) error { return &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "no"} }
	})
	if _, out := e.runCommand(agent.Command{Line: "echo here"}); out.Text != "here\n" {
		t.Errorf("output %q", out.Text)
	}
}

// Editors start programs, so the command is the shell and the line is its argument.
func TestClientTerminal_Request(t *testing.T) {
	var req *acp.CreateTerminalRequest
	e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Requested = func(_ string, p any) error {
			if r, ok := p.(*acp.CreateTerminalRequest); ok {
				req = r
			}
			return nil
		}
	})
	e.runCommand(agent.Command{Line: "echo 'a b' | cat"})
	if req == nil || req.Command != "/bin/sh" || len(req.Args) != 2 || req.Args[0] != "-c" || req.Args[1] != "echo 'a b' | cat" ||
		req.Cwd != e.dir || req.OutputByteLimit == nil || *req.OutputByteLimit != agent.DefaultOutputLimit {
		t.Errorf("request %+v", req)
	}
}

func TestPrograms(t *testing.T) {
	e := start(t, acptest.AllCapabilities())
	sh, err := e.Programs.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	run := func(line string, stdin []byte, limit int) ([]byte, error) {
		return e.Programs.Output(own(t), agent.Program{Path: sh, Args: []string{"-c", line}, Dir: e.dir, Stdin: stdin}, limit)
	}
	if out, err := run("cat; pwd; echo noise >&2; echo $ANTHROPIC_API_KEY", []byte("in\n"), 1<<20); err != nil || string(out) != "in\n"+e.dir+"\n\n" {
		t.Errorf("output %q, %v", out, err)
	}
	out, err := run("echo out; echo why >&2; exit 4", nil, 1<<20)
	exit, ok := errors.AsType[*agent.ExitError](err)
	if !ok || exit.Code != 4 || !strings.Contains(exit.Stderr, "why") || string(out) != "out\n" {
		t.Errorf("output %q, %v", out, err)
	}
	if out, err := run("while :; do echo xxxxxxxxx; done", nil, 1000); err != nil || len(out) != 1000 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	ctx, cancel := context.WithCancelCause(own(t))
	cause := errors.New("enough")
	cancel(cause)
	if _, err := e.Programs.Output(ctx, agent.Program{Path: sh, Args: []string{"-c", "sleep 600"}}, 10); !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	if len(e.editor.Calls()) > 0 {
		t.Errorf("helper programs are seen by the editor: %v", e.editor.Calls())
	}
}
