package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/pipe"
)

// Caller is the connection of a process that follows a session to the one that has it open. Its methods may be called from any goroutine.
type Caller struct {
	holder   string
	conn     *jsonrpc.Conn
	greeting sync.WaitGroup
	accepted chan struct{}
}

// ErrGone is the error of a prompt whose answer is lost.
var ErrGone = errors.New("the connection to the process that has the session open has ended before it answered; load the session to see what was done")

// Call connects with the process that has a session of a store open. Questions of the session go to client. The caller closes the
// connection.
func Call(store *sessions.Store, id string, holder *sessions.LockedError, client acp.Caller) (*Caller, error) {
	fsys, dir, _ := sessions.Pipes(store)
	p, err := pipe.Call(fsys, dir, id, pipe.Holder(holder))
	if err != nil {
		return nil, err
	}
	c := &Caller{holder: pipe.Holder(holder), accepted: make(chan struct{})}
	c.conn = jsonrpc.NewConn(context.Background(), p, p, options(p, jsonrpc.HandlerFunc(func(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
		if !isQuestion(req.Method) || req.IsNotification() {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method: " + req.Method}
		}
		return func() (any, error) {
			params, err := ofSession(req.Params, id)
			if err != nil {
				return nil, err
			}
			return answered(func(answer *jsonx.Raw) error { return client.Call(ctx, req.Method, params, answer) })
		}, nil
	})))
	c.greeting.Go(func() {
		if c.conn.Call(context.Background(), methodHello, nil, nil) == nil { // it fails with the connection
			close(c.accepted)
		}
	})
	return c, nil
}

// Holder identifies the process that is called, as [pipe.Holder] does.
func (c *Caller) Holder() string { return c.holder }

// Open reports whether that process takes part.
func (c *Caller) Open() bool {
	select {
	case <-c.accepted:
		return !c.Ended()
	default:
		return false
	}
}

// Ended reports whether the connection has ended.
func (c *Caller) Ended() bool {
	select {
	case <-c.conn.Closing():
		return true
	default:
		return false
	}
}

// Prompt sends a prompt, in the order of the calls to Prompt and Cancel, and returns a function that waits for its answer, which must be
// called.
func (c *Caller) Prompt(p *acp.PromptRequest) (wait func(context.Context) (*acp.PromptResponse, error)) {
	call := c.conn.Go(acp.MethodSessionPrompt.Name, p)
	return func(ctx context.Context) (*acp.PromptResponse, error) {
		resp := new(acp.PromptResponse)
		err := call.Await(ctx, resp)
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, err
		case c.Ended():
			return nil, fmt.Errorf("%w (%w)", ErrGone, err)
		}
		return nil, fromPeer(err)
	}
}

// Cancel cancels what the session does.
func (c *Caller) Cancel(ctx context.Context, p *acp.CancelNotification) error {
	return c.conn.Notify(ctx, acp.MethodSessionCancel.Name, p)
}

// Close ends the connection.
func (c *Caller) Close() {
	_ = c.conn.Close() // the files that it could not remove are removed by the process that opens the session next
	c.greeting.Wait()
}
