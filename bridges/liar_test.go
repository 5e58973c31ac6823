package bridges_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// plainClient answers every request at once.
type plainClient struct {
	acp.Client
	released atomic.Int32
}

func (c *plainClient) ReadTextFile(context.Context, *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return &acp.ReadTextFileResponse{Content: "text"}, nil
}

func (c *plainClient) WriteTextFile(context.Context, *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	return nil, nil
}

func (c *plainClient) CreateTerminal(context.Context, *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	return &acp.CreateTerminalResponse{TerminalID: "t"}, nil
}

func (c *plainClient) TerminalOutput(context.Context, *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	return &acp.TerminalOutputResponse{Output: "text"}, nil
}

func (c *plainClient) WaitForTerminalExit(context.Context, *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	return &acp.WaitForTerminalExitResponse{ExitCode: new(int)}, nil
}

func (c *plainClient) KillTerminal(context.Context, *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	return nil, nil
}

func (c *plainClient) ReleaseTerminal(context.Context, *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	c.released.Add(1)
	return nil, nil
}

func (c *plainClient) RequestPermission(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	return acptest.Choose(p.Options[0].OptionID), nil
}

func (c *plainClient) CreateElicitation(context.Context, *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{}}, nil
}

// errStopped is the cause of a turn's cancellation.
var errStopped = errors.New("stopped by the user")

// Every request gets every kind of wrong answer. A request that the editor answers without its user fails in bounded time, with an
// error that names it; a request that waits for the user ends with the turn; no wrong answer counts as a yes; and the next request
// works.
func TestMisbehaviour(t *testing.T) {
	execution := func(ctx context.Context, s *bridges.Set) (agent.Execution, error) {
		return s.Terminal.Start(ctx, agent.Command{Line: "true", Dir: "/"})
	}
	// limit bounds a request without an answer; zero for one that waits for its context.
	requests := []struct {
		name    string
		limit   time.Duration
		nothing string // the error for a null result; empty if null is a valid result
		run     func(ctx context.Context, s *bridges.Set, dir string) error
	}{
		{name: "fs/read_text_file", limit: time.Minute, nothing: "null does not fit", run: func(ctx context.Context, s *bridges.Set, dir string) error {
			text, err := s.FS.ReadFile(ctx, filepath.Join(dir, "f"))
			if err == nil && string(text) != "text" {
				return fmt.Errorf("read %q", text)
			}
			return err
		}},
		{name: "fs/write_text_file", limit: time.Minute, run: func(ctx context.Context, s *bridges.Set, dir string) error {
			return s.FS.WriteFile(ctx, filepath.Join(dir, "f"), []byte("x"))
		}},
		{name: "terminal/create", limit: time.Minute, nothing: "null does not fit", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			run, err := execution(ctx, s)
			if err != nil {
				return err
			}
			return run.Release(ctx)
		}},
		{name: "terminal/output", limit: time.Minute, nothing: "null does not fit", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			run, err := execution(ctx, s)
			if err != nil {
				return err
			}
			_, err = run.Output(ctx)
			return err
		}},
		{name: "terminal/kill", limit: 3 * time.Second, run: func(ctx context.Context, s *bridges.Set, _ string) error {
			run, err := execution(ctx, s)
			if err != nil {
				return err
			}
			return run.Kill(ctx)
		}},
		{name: "terminal/release", limit: 3 * time.Second, run: func(ctx context.Context, s *bridges.Set, _ string) error {
			run, err := execution(ctx, s)
			if err != nil {
				return err
			}
			return run.Release(ctx)
		}},
		{name: "terminal/wait_for_exit", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			run, err := execution(ctx, s)
			if err != nil {
				return err
			}
			_, err = run.Wait(ctx)
			return err
		}},
		{name: "session/request_permission", nothing: "sent an invalid answer", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			d, err := s.Approver.Approve(ctx, agent.Question{ToolCallID: "c", Title: "may I?"})
			if (err == nil) != (d == agent.AllowOnce) {
				return fmt.Errorf("decided %v: %w", d, err)
			}
			return err
		}},
		{name: "session/request_permission", nothing: "null does not fit", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			_, action, err := s.Elicitor.Choose(ctx, agent.Choice{Title: "which?", Options: []string{"a"}})
			if (err == nil) != (action == agent.ElicitAccept) {
				return fmt.Errorf("chose %v: %w", action, err)
			}
			return err
		}},
		{name: "elicitation/create", nothing: "sent an invalid answer", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			answer, err := s.Elicitor.Form(ctx, agent.Form{Message: "how?", Schema: jsonx.Raw(`{"type":"object","properties":{}}`)})
			if (err == nil) != (answer.Action == agent.ElicitAccept) {
				return fmt.Errorf("answered %v: %w", answer.Action, err)
			}
			return err
		}},
		{name: "elicitation/create", nothing: "sent an invalid answer", run: func(ctx context.Context, s *bridges.Set, _ string) error {
			action, err := s.Elicitor.URL(ctx, agent.URLRequest{ID: "1", Message: "go", URL: "https://example.com"})
			if (err == nil) != (action == agent.ElicitAccept) {
				return fmt.Errorf("answered %v: %w", action, err)
			}
			return err
		}},
	}
	for i, r := range requests {
		for _, fault := range acptest.Faults() {
			t.Run(fmt.Sprintf("%s/%d/%s", r.name, i, fault), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "f"), []byte("on disk"), 0o644); err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					liar := &acptest.Liar{Long: 100 << 10}
					client := new(plainClient)
					a, b := net.Pipe()
					conn := acp.NewAgentConn(own(t), b, b, &acp.ConnOptions{Closer: b, MaxMessageSize: 64 << 10}, func(*acp.AgentConn) acp.Agent { return noAgent{} })
					in, out := liar.Wrap(a, a)
					peer := acp.NewClientConn(own(t), in, out, &acp.ConnOptions{Closer: a}, func(*acp.ClientConn) acp.Client { return client })
					set := bridges.New(bridges.Options{
						Client: conn, Capabilities: *acptest.AllCapabilities(), SessionID: "s", Workspace: agent.Workspace{Cwd: dir}, Local: local(),
					})
					ctx, stop := context.WithCancelCause(own(t))
					defer time.AfterFunc(time.Hour, func() { stop(errStopped) }).Stop()

					liar.Lie(r.name, fault)
					begin := time.Now()
					err := r.run(ctx, &set, dir)
					took := time.Since(begin)
					if liar.Spoilt() != 1 {
						t.Errorf("%d answers were spoilt", liar.Spoilt())
					}
					want := map[acptest.Fault]string{
						acptest.FaultNeither: r.nothing, acptest.FaultBoth: "both a result and an error: both", acptest.FaultTwice: "",
						acptest.FaultWrongType: "a number does not fit", acptest.FaultLong: "the answer to " + r.name + " is larger than 65536 bytes",
						acptest.FaultLate:  r.name + ": the editor did not answer within " + r.limit.String(),
						acptest.FaultNever: r.name + ": the editor did not answer within " + r.limit.String(),
					}[fault]
					longest := r.limit
					if r.limit == 0 && (fault == acptest.FaultLate || fault == acptest.FaultNever) {
						want, longest = errStopped.Error(), time.Hour
					}
					if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("err = %v, want %q", err, want)
					}
					if took > longest {
						t.Errorf("it took %v, want at most %v", took, longest)
					}
					liar.Lie("", "")
					if err := liar.Deliver(); err != nil {
						t.Error(err)
					}
					if err := r.run(own(t), &set, dir); err != nil {
						t.Errorf("the next request: %v", err)
					}
					synctest.Wait()
					if strays := liar.Strays(); len(strays) > 0 {
						t.Errorf("the client was sent %q", strays)
					}
					// A terminal whose answer came too late is released too.
					if r.name == "terminal/create" && fault == acptest.FaultLate && client.released.Load() != 2 {
						t.Errorf("%d terminals were released, want 2", client.released.Load())
					}
					stop(nil)
					_ = peer.Close()
					_ = conn.Close()
				})
			})
		}
	}
}
