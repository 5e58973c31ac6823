package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// reverseTimeout bounds the time to answer a request of the adapter.
const reverseTimeout = 30 * time.Second

// reverse answers a request of the adapter.
func (a *adapter) reverse(ctx context.Context, command string, arguments jsonx.Raw) (any, error) {
	ctx = permit.With(ctx, a.debuggee.start.permit)
	ctx, cancel := context.WithTimeoutCause(ctx, reverseTimeout, fmt.Errorf("timed out running %s (%s)", command, reverseTimeout))
	defer cancel()
	switch command {
	case "runInTerminal":
		return a.runInTerminal(ctx, arguments)
	case "startDebugging":
		return a.startDebugging(ctx, arguments)
	default:
		return nil, fmt.Errorf("gjc does not support the request %q", command)
	}
}

func (a *adapter) runInTerminal(ctx context.Context, arguments jsonx.Raw) (any, error) {
	d := a.debuggee
	var args godap.RunInTerminalRequestArguments
	if err := jsonx.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	d.tree.mu.Lock()
	terminals := len(a.terminals)
	d.tree.mu.Unlock()
	switch {
	case d.debugger.opts.RunInTerminal == nil:
		return nil, errors.New("gjc has no terminal in this session")
	case !d.tree.root.start.mayRunPrograms():
		return nil, errors.New("gjc runs no programs for an adapter that it has attached to")
	case terminals >= maxTerminals:
		return nil, fmt.Errorf("runInTerminal: the session has %d terminals already", terminals)
	case len(args.Args) == 0 || args.Args[0] == "":
		return nil, errors.New("runInTerminal: args is empty")
	}
	req := &TerminalRequest{Title: args.Title, Dir: args.Cwd, Args: args.Args, Env: []string{proc.MarkEnv(a.mark)}}
	req.Dir = cmp.Or(req.Dir, d.start.Dir)
	for name, value := range args.Env {
		if text, ok := value.(string); ok {
			req.Env = append(req.Env, name+"="+text)
		} else if value == nil {
			req.Unset = append(req.Unset, name)
		}
	}
	slices.Sort(req.Env)
	slices.Sort(req.Unset)
	req.Output = func(b []byte) { a.print("stdout", string(b)) }
	term, err := d.debugger.opts.RunInTerminal(ctx, req)
	if err != nil {
		return nil, err
	}
	d.tree.mu.Lock()
	stopping := a.isStopping()
	if !stopping {
		a.terminals = append(a.terminals, term)
	}
	observers := d.tree.observers
	if pid := term.PID(); pid != 0 && d.pid == 0 {
		d.pid = pid
	}
	d.tree.mu.Unlock()
	if stopping || ctx.Err() != nil {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxClose)
		defer cancel()
		_ = term.Release(release) // the session has ended; no call could return the error
		return nil, ErrTerminated
	}
	for _, o := range observers {
		if o.Terminal != nil && term.ID() != "" {
			o.Terminal(term.ID())
		}
	}
	return &terminalStarted{ProcessID: term.PID()}, nil
}

// maxTerminals bounds the terminals of one adapter.
const maxTerminals = 16

// mayRunPrograms reports whether gjc runs programs for the adapter. An adapter that gjc has attached to may run on another
// machine or in a container; the user has not allowed it to run programs here.
func (st *Start) mayRunPrograms() bool {
	if st.Address == "" {
		return true
	}
	host, _, _ := net.SplitHostPort(st.Address) // empty for a socket
	ip := net.ParseIP(host)
	return st.Request == "launch" && (strings.HasPrefix(st.Address, "unix:") || host == "localhost" || ip != nil && ip.IsLoopback())
}

type terminalStarted struct {
	ProcessID int `json:"processId,omitempty"`
}

// maxChildren bounds the child sessions of one session, including those that have ended.
const maxChildren = 64

func (a *adapter) startDebugging(ctx context.Context, arguments jsonx.Raw) (any, error) {
	d := a.debuggee
	var args godap.StartDebuggingRequestArguments
	if err := jsonx.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	if args.Request != "launch" && args.Request != "attach" {
		return nil, fmt.Errorf("startDebugging: request is %q; it must be launch or attach", args.Request)
	}
	program, _ := args.Configuration["program"].(string)
	if name, ok := args.Configuration["name"].(string); program == "" && ok {
		program = name
	}
	d.tree.mu.Lock()
	if len(d.children) >= maxChildren || a.isStopping() {
		d.tree.mu.Unlock()
		return nil, fmt.Errorf("startDebugging: the session has ended, or has had %d child sessions", maxChildren)
	}
	child := d.newChildLocked(&Start{
		Adapter: d.start.Adapter, Request: args.Request, Arguments: args.Configuration, Dir: d.start.Dir, Program: program,
		Address: a.transport.address, // a listening adapter serves all its sessions
		Inside:  d.start.Inside, permit: d.start.permit,
	})
	d.tree.announceLocked()
	d.tree.mu.Unlock()
	if err := child.startFirst(ctx); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}
