package headless

import (
	"cmp"
	"context"
	"io"

	"github.com/gajae-code/gjc/acp"
)

// ServeFunc serves a client that writes to r and reads from w, until it disconnects.
type ServeFunc func(ctx context.Context, r io.Reader, w io.Writer) error

// Connect connects a client to a server in the same process. The function end disconnects it, as an editor that quits, so that the server
// closes the sessions; it returns the server's error. The caller must call it once.
func Connect(ctx context.Context, serve ServeFunc, client acp.Client) (conn *acp.ClientConn, end func() error) {
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	served := make(chan error, 1)
	go func() { // ends with the connection
		err := serve(ctx, fromClient, toClient)
		_ = toClient.CloseWithError(cmp.Or(err, io.EOF))
		served <- err
	}()
	conn = acp.NewClientConn(ctx, fromServer, toServer, &acp.ConnOptions{Closer: fromServer}, func(*acp.ClientConn) acp.Client { return client })
	return conn, func() error {
		_ = toServer.Close()
		err := <-served
		_ = conn.Close() // it has ended
		return err
	}
}

// Session says which session the prompt is for.
type Session struct {
	Cwd        string   // absolute
	Additional []string // absolute
	System     *acp.SystemPrompt
	// Resume and Fork are the session that is continued, and the one from which a new one begins; at most one is set.
	Resume, Fork acp.SessionID
	// InPlace lets a new session work in Cwd also where the user's settings give sessions worktrees.
	InPlace bool
	// Mode, Model and Thinking are set before the prompt; empty leaves them as they are.
	Mode, Model, Thinking string
}

// Open opens the session and returns its ID and options.
func (s *Session) Open(ctx context.Context, conn acp.Caller) (acp.SessionID, []acp.SessionConfigOption, error) {
	switch {
	case s.Resume != "":
		r, err := acp.MethodSessionResume.Call(ctx, conn, &acp.ResumeSessionRequest{
			SessionID: s.Resume, Cwd: s.Cwd, AdditionalDirectories: s.Additional, SystemPrompt: s.System,
		})
		if err != nil {
			return "", nil, err
		}
		return s.Resume, r.ConfigOptions, nil
	case s.Fork != "":
		r, err := acp.MethodSessionFork.Call(ctx, conn, &acp.ForkSessionRequest{
			SessionID: s.Fork, Cwd: s.Cwd, AdditionalDirectories: s.Additional, SystemPrompt: s.System, Meta: s.meta(),
		})
		if err != nil {
			return "", nil, err
		}
		return r.SessionID, r.ConfigOptions, nil
	default:
		r, err := acp.MethodSessionNew.Call(ctx, conn, &acp.NewSessionRequest{
			Cwd: s.Cwd, AdditionalDirectories: s.Additional, SystemPrompt: s.System, Meta: s.meta(),
		})
		if err != nil {
			return "", nil, err
		}
		return r.SessionID, r.ConfigOptions, nil
	}
}

// meta returns the _meta of a request for a new session.
func (s *Session) meta() (m acp.Meta) {
	if s.InPlace {
		_ = m.Set("gjc/worktree", false) // it can be encoded
	}
	return m
}

// Configure sets the session's options and returns all of them, given those that it has now.
func (s *Session) Configure(ctx context.Context, conn acp.Caller, id acp.SessionID, options []acp.SessionConfigOption) ([]acp.SessionConfigOption, error) {
	for _, o := range []struct {
		id    acp.SessionConfigID
		value string
	}{{"model", s.Model}, {"thinking", s.Thinking}, {"mode", s.Mode}} {
		if o.value == "" || Current(options, o.id) == o.value {
			continue
		}
		r, err := acp.MethodSessionSetConfigOption.Call(ctx, conn, &acp.SetSessionConfigOptionRequest{
			SessionID: id, ConfigID: o.id, Value: acp.SessionConfigValueID(o.value),
		})
		if err != nil {
			return nil, err
		}
		options = r.ConfigOptions
	}
	return options, nil
}

// Current returns the value of an option, or "".
func Current(options []acp.SessionConfigOption, id acp.SessionConfigID) string {
	for i := range options {
		if kind, ok := options[i].Kind.(*acp.SessionConfigSelect); ok && options[i].ID == id {
			return string(kind.CurrentValue)
		}
	}
	return ""
}

// Prompt sends a prompt and waits for the end of the turn. If ctx ends first, it cancels the turn, and waits nevertheless.
func Prompt(ctx context.Context, conn acp.Caller, id acp.SessionID, prompt []acp.ContentBlock) (*acp.PromptResponse, error) {
	return send(ctx, conn, &acp.PromptRequest{SessionID: id, Prompt: prompt})
}

// send is like [Prompt].
func send(ctx context.Context, conn acp.Caller, p *acp.PromptRequest) (*acp.PromptResponse, error) {
	detached := context.WithoutCancel(ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = acp.MethodSessionCancel.Notify(detached, conn, &acp.CancelNotification{SessionID: p.SessionID}) // the turn ends with the connection
	})
	defer stop()
	return acp.MethodSessionPrompt.Call(detached, conn, p)
}
