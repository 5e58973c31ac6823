package lsp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Call makes a request and decodes the result into result, which may be nil or a *[jsonx.Raw]. It starts the server if it is not
// running. The error is a *[ResponseError], wraps [ErrServerDied] with the end of the process's stderr, wraps [ErrTimeout], or is
// ctx's cause. If ctx ends first, the request is cancelled.
func (s *Server) Call(ctx context.Context, method string, params, result any) error {
	if err := checkMethod(s.Name(), method); err != nil {
		return err
	}
	ps, err := s.ready(ctx)
	if err != nil {
		return err
	}
	return s.call(ctx, ps, method, params, result)
}

// call makes a request to a process.
func (s *Server) call(ctx context.Context, ps *process, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.RequestTimeout, ErrTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: too many requests are under way: %w", s.Name(), method, context.Cause(ctx))
	}
	return ps.callError(method, ps.conn.Call(ctx, method, params, result))
}

// Notify sends a notification, if the server runs.
func (s *Server) Notify(ctx context.Context, method string, params any) error {
	if err := checkMethod(s.Name(), method); err != nil {
		return err
	}
	ps := s.running()
	if ps == nil {
		return nil
	}
	return ps.callError(method, ps.conn.Notify(ctx, method, params))
}

// checkMethod returns an error for the methods that this package sends itself.
func checkMethod(server, method string) error {
	switch method {
	case "initialize", "initialized", "shutdown", "exit", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose":
		return fmt.Errorf("%s: gjc sends %s itself; remove the request", server, method)
	}
	return nil
}

// tryNotify queues a notification. It does not wait: if the queue is full, it returns errNotReading.
func (ps *process) tryNotify(method string, params any) error {
	err := ps.conn.Notify(ps.nowait, method, params)
	if err != nil && !jsonrpc.IsGone(err) && errors.Is(err, context.Canceled) {
		return errNotReading
	}
	return err
}

var errNotReading = errors.New("the server is not reading its input")

// applier applies the edits that the server requests while Execute runs.
type applier struct {
	ctx   context.Context //nolint:containedctx // bounds one Execute, whose edits the server requests
	apply func(ctx context.Context, label string, edit *WorkspaceEdit) error
	lock  sync.Mutex // held while an edit is applied
	work  sync.WaitGroup
	// pending is the number of edits that are not applied yet. The server's mu guards it.
	pending int
}

// maxPendingEdits bounds the edits that wait to be applied.
const maxPendingEdits = 16

// Execute runs a command of the server (workspace/executeCommand). Edits that the server requests meanwhile
// (workspace/applyEdit) are passed to apply, one at a time; without a running Execute they are refused. Calls run one at a
// time.
func (s *Server) Execute(ctx context.Context, command *protocol.Command, apply func(ctx context.Context, label string, edit *WorkspaceEdit) error) (jsonx.Raw, error) {
	select {
	case s.executing <- struct{}{}:
		defer func() { <-s.executing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: another command is running: %w", s.Name(), context.Cause(ctx))
	}
	if apply != nil {
		a := &applier{ctx: ctx, apply: apply}
		s.mu.Lock()
		s.apply = a
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.apply = nil
			s.mu.Unlock()
			a.work.Wait() // wait for edits under way
		}()
	}
	var result jsonx.Raw
	err := s.Call(ctx, "workspace/executeCommand", executeCommand{Command: command.Command, Arguments: command.Arguments}, &result)
	return result, err
}

// applyEdit handles workspace/applyEdit.
func (s *Server) applyEdit(ctx context.Context, params jsonx.Raw) applyEditResult {
	refuse := func(why string) applyEditResult { return applyEditResult{FailureReason: why} }
	s.mu.Lock()
	a := s.apply
	if a == nil || a.pending >= maxPendingEdits {
		s.mu.Unlock()
		if a != nil {
			return refuse("too many edits at once")
		}
		return refuse("gjc has not requested an edit")
	}
	a.pending++
	a.work.Add(1) // while mu is held, because Execute removes the applier before it waits
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		a.pending--
		s.mu.Unlock()
		a.work.Done()
	}()
	edit, err := DecodeWorkspaceEdit(jsonx.Lookup(params, "edit"))
	if err != nil {
		return refuse(err.Error())
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.ctx.Err() != nil || ctx.Err() != nil {
		return refuse("the command was cancelled")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })()
	if err := a.apply(ctx, stringOf(jsonx.Lookup(params, "label")), edit); err != nil {
		return refuse(err.Error())
	}
	return applyEditResult{Applied: true}
}
