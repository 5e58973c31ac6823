package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// The step language: a connection test is a list of steps, run over both framings, inside a synctest bubble.
//
// The peer (type machine) keeps one number and knows these methods:
//
//	set N, add N   notifications, handled in order
//	get            answers the number, in order with the notifications
//	wait NAME      blocks until free NAME or until it is cancelled
//	free NAME      notification
//	echo X         answers X
//	back X         calls echo X on us and answers what we answered
//	fail CODE      answers an error
//	panic          panics
type step interface{ run(t *testing.T, e *env) }

type env struct {
	client, server *jsonrpc.Conn
	machine        *machine
	calls          map[string]*running
}

type running struct {
	call   *jsonrpc.Call
	ctx    context.Context
	cancel context.CancelFunc
	result any
	err    error
	done   chan struct{}
}

// call is a request whose result must be want, or whose error must contain fails.
type call struct {
	method string
	params any
	want   any
	fails  string
}

// notify is a notification.
type notify struct {
	method string
	params any
}

// async starts a request without waiting; collect waits for its result.
type async struct {
	name, method string
	params       any
}

// cancel ends the context of a request that async started.
type cancel struct{ name string }

// collect waits for a request that async started.
type collect struct {
	name  string
	want  any
	fails string
}

// waitIdle lets everything run until nothing moves.
type waitIdle struct{}

// closeSide closes one side: "client", "server", or "cut" for the connection between them.
type closeSide struct{ side string }

func (s call) run(t *testing.T, e *env) {
	var got any
	err := e.client.Call(t.Context(), s.method, s.params, &got)
	check(t, fmt.Sprintf("call %s", s.method), got, err, s.want, s.fails)
}

func (s notify) run(t *testing.T, e *env) {
	if err := e.client.Notify(t.Context(), s.method, s.params); err != nil {
		t.Errorf("notify %s: %v", s.method, err)
	}
}

func (s async) run(t *testing.T, e *env) {
	r := &running{call: e.client.Go(s.method, s.params), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(t.Context())
	e.calls[s.name] = r
	go func() {
		defer close(r.done)
		r.err = r.call.Await(r.ctx, &r.result)
	}()
}

func (s cancel) run(_ *testing.T, e *env) { e.calls[s.name].cancel() }

func (s collect) run(t *testing.T, e *env) {
	r := e.calls[s.name]
	<-r.done
	r.cancel()
	check(t, "collect "+s.name, r.result, r.err, s.want, s.fails)
}

func (waitIdle) run(*testing.T, *env) { synctest.Wait() }

func (s closeSide) run(_ *testing.T, e *env) {
	switch s.side {
	case "client":
		_ = e.client.Close()
	case "server":
		_ = e.server.Close()
	}
}

func check(t *testing.T, what string, got any, err error, want any, fails string) {
	t.Helper()
	switch {
	case fails == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case fails != "" && (err == nil || !strings.Contains(err.Error(), fails)):
		t.Errorf("%s: got %v, error %v; want an error with %q", what, got, err, fails)
	case fails == "" && got != want:
		t.Errorf("%s: got %v (%T), want %v (%T)", what, got, got, want, want)
	}
}

// machine is the peer of the step tests.
type machine struct {
	conn *jsonrpc.Conn

	mu     sync.Mutex
	number float64
	locks  map[string]chan struct{}
	causes []string // the causes with which waits were cancelled
}

type arg struct {
	N    float64 `json:"n,omitzero"`
	Name string  `json:"name,omitzero"`
}

func (m *machine) lock(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[name] == nil {
		m.locks[name] = make(chan struct{})
	}
	return m.locks[name]
}

func (m *machine) Handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	var a arg
	if req.Params != nil {
		if err := unmarshal(req.Params, &a); err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
		}
	}
	now := func(v any) (jsonrpc.Reply, error) {
		return func() (any, error) { return v, nil }, nil
	}
	switch req.Method {
	case "set", "add":
		m.mu.Lock()
		defer m.mu.Unlock()
		if req.Method == "set" {
			m.number = 0
		}
		m.number += a.N
		return nil, nil
	case "get":
		m.mu.Lock()
		defer m.mu.Unlock()
		return now(m.number)
	case "wait":
		ch := m.lock(a.Name)
		return func() (any, error) {
			select {
			case <-ch:
				return "free", nil
			case <-ctx.Done():
				m.mu.Lock()
				m.causes = append(m.causes, context.Cause(ctx).Error())
				m.mu.Unlock()
				return nil, fmt.Errorf("waiting for %s: %w", a.Name, context.Cause(ctx))
			}
		}, nil
	case "free":
		close(m.lock(a.Name))
		return nil, nil
	case "echo":
		return now(a.Name)
	case "back":
		return func() (any, error) {
			var got any
			err := m.conn.Call(ctx, "echo", arg{Name: a.Name}, &got)
			return got, err
		}, nil
	case "fail":
		return nil, &jsonrpc.Error{Code: jsonrpc.Code(a.N), Message: "as you wish"}
	case "panic":
		return func() (any, error) { panic("boom") }, nil
	}
	return nil, fmt.Errorf("%w: %s", jsonrpc.ErrMethodNotFound, req.Method)
}

var framings = []frame.Framing{frame.Lines, frame.Headers}

func options(f frame.Framing, h jsonrpc.Handler, closer io.Closer) jsonrpc.Options {
	return jsonrpc.Options{
		Framing: f, Handler: h, Closer: closer,
		CancelMethod: "$/cancel_request", CancelParam: "requestId",
	}
}

// runSteps runs steps over each framing.
func runSteps(t *testing.T, steps ...step) {
	for _, f := range framings {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := net.Pipe()
				m := &machine{locks: make(map[string]chan struct{})}
				e := &env{machine: m, calls: make(map[string]*running)}
				back := &machine{locks: make(map[string]chan struct{})}
				e.server = jsonrpc.NewConn(t.Context(), b, b, options(f, m, b))
				m.conn = e.server
				e.client = jsonrpc.NewConn(t.Context(), a, a, options(f, back, a))
				for _, s := range steps {
					if c, ok := s.(closeSide); ok && c.side == "cut" {
						_ = a.Close()
						continue
					}
					s.run(t, e)
				}
				_ = e.client.Close()
				_ = e.server.Close()
				if err := e.server.Err(); !errors.Is(err, jsonrpc.ErrClosed) && !errors.Is(err, jsonrpc.ErrPeerGone) {
					t.Errorf("server ended with %v", err)
				}
			})
		})
	}
}
