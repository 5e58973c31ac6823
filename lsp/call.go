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

// Call makes a request and decodes the result into result, which may be nil or a *[jsonx.Raw]. It starts the server where
// it does not run. An error is a *[ResponseError] of the server, a lost process with the end of its stderr
// ([ErrServerDied]), [ErrTimeout], or ctx's cause; the server is told of a call that nobody waits for any more.
func (s *Server) Call(ctx context.Context, method string, params, result any) error {
	if err := s.mayBeSent(method); err != nil {
		return err
	}
	l, err := s.ready(ctx)
	if err != nil {
		return err
	}
	return s.call(ctx, l, method, params, result)
}

// call makes a request of a process.
func (s *Server) call(ctx context.Context, l *life, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.RequestTimeout, ErrTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: too many requests are under way: %w", s.Name(), method, context.Cause(ctx))
	}
	return l.callError(method, l.conn.Call(ctx, method, params, result))
}

// Notify sends a notification, if the server runs.
func (s *Server) Notify(ctx context.Context, method string, params any) error {
	if err := s.mayBeSent(method); err != nil {
		return err
	}
	l := s.running()
	if l == nil {
		return nil
	}
	return l.callError(method, l.conn.Notify(ctx, method, params))
}

// mayBeSent refuses what this package keeps account of itself.
func (s *Server) mayBeSent(method string) error {
	switch method {
	case "initialize", "initialized", "shutdown", "exit", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose":
		return fmt.Errorf("%s: %s is sent by gjc itself when it is due", s.Name(), method)
	}
	return nil
}

// tryNotify sends a notification at once, or not at all where the server is far behind with reading (errBehind).
func (l *life) tryNotify(method string, params any) error {
	err := l.conn.Notify(l.nowait, method, params)
	if err != nil && !jsonrpc.IsGone(err) && errors.Is(err, context.Canceled) {
		return errBehind
	}
	return err
}

var errBehind = errors.New("the server does not read")

// applier takes the edits that the server makes while a command of ours runs.
type applier struct {
	ctx   context.Context
	apply func(ctx context.Context, label string, edit *WorkspaceEdit) error
	turn  sync.Mutex // one edit at a time
	work  sync.WaitGroup
	// waiting counts the edits that are not made yet. It is guarded by the server's mu.
	waiting int
}

// maxWaiting bounds those.
const maxWaiting = 16

// Execute runs a command of the server's (workspace/executeCommand). Edits that the server applies meanwhile
// (workspace/applyEdit) go to apply, one at a time; without a running Execute they are refused. There is one Execute at a
// time; others wait.
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
			a.work.Wait() // an edit that has begun is brought to its end
		}()
	}
	var result jsonx.Raw
	err := s.Call(ctx, "workspace/executeCommand", executeCommand{Command: command.Command, Arguments: command.Arguments}, &result)
	return result, err
}

// applyEdit is workspace/applyEdit. It runs in the reply of the request.
func (s *Server) applyEdit(ctx context.Context, params jsonx.Raw) applyEditResult {
	refuse := func(why string) applyEditResult { return applyEditResult{FailureReason: why} }
	s.mu.Lock()
	a := s.apply
	if a == nil || a.waiting >= maxWaiting {
		s.mu.Unlock()
		if a != nil {
			return refuse("too many edits at once")
		}
		return refuse("nothing was asked of the server that an edit would belong to")
	}
	a.waiting++
	a.work.Add(1) // while mu is held: Execute takes a away before it waits
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		a.waiting--
		s.mu.Unlock()
		a.work.Done()
	}()
	edit, err := DecodeWorkspaceEdit(jsonx.Lookup(params, "edit"))
	if err != nil {
		return refuse(err.Error())
	}
	a.turn.Lock()
	defer a.turn.Unlock()
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
