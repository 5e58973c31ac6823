package dap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
)

// reverseTimeout bounds the work on a request of the adapter.
const reverseTimeout = 30 * time.Second

// reverse answers the requests of the adapter.
func (l *life) reverse(ctx context.Context, command string, arguments jsonx.Raw) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reverseTimeout, fmt.Errorf("%s was not done within %s", command, reverseTimeout))
	defer cancel()
	switch command {
	case "runInTerminal":
		return l.runInTerminal(ctx, arguments)
	case "startDebugging":
		return l.startDebugging(ctx, arguments)
	default:
		return nil, fmt.Errorf("gjc does not know the request %q", command)
	}
}

func (l *life) runInTerminal(ctx context.Context, arguments jsonx.Raw) (any, error) {
	s := l.session
	d := s.debugger
	var args godap.RunInTerminalRequestArguments
	if err := jsonx.Unmarshal(arguments, &args); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	terminals := len(l.terminals)
	s.tree.mu.Unlock()
	switch {
	case d.opts.RunInTerminal == nil:
		return nil, errors.New("gjc has no terminal here")
	case !s.tree.root.start.runsHere():
		return nil, errors.New("gjc runs no programs for an adapter that it was attached to")
	case terminals >= maxTerminals:
		return nil, fmt.Errorf("runInTerminal: there are %d terminals already", terminals)
	case len(args.Args) == 0 || args.Args[0] == "":
		return nil, errors.New("runInTerminal: args is empty; there is nothing to run")
	}
	req := &TerminalRequest{Title: args.Title, Dir: args.Cwd, Args: args.Args, Env: []string{proc.MarkEnv(l.mark)}}
	if req.Dir == "" {
		req.Dir = s.start.Dir
	}
	for name, value := range args.Env {
		if text, ok := value.(string); ok {
			req.Env = append(req.Env, name+"="+text)
		} else if value == nil {
			req.Unset = append(req.Unset, name)
		}
	}
	slices.Sort(req.Env)
	slices.Sort(req.Unset)
	req.Output = func(b []byte) { l.print("stdout", string(b)) }
	term, err := d.opts.RunInTerminal(ctx, req)
	if err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	leaving := l.leaving()
	if !leaving {
		l.terminals = append(l.terminals, term)
	}
	observers := s.tree.observers
	if pid := term.PID(); pid != 0 && s.pid == 0 {
		s.pid = pid
	}
	s.tree.mu.Unlock()
	if leaving || ctx.Err() != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxClose)
		defer cancel()
		_ = term.Release(bye) // nobody is there to be told
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

// runsHere reports whether the adapter may have gjc run programs. One that was there before may be another machine's, or a
// container's: who attaches to it has not said so.
func (st *Start) runsHere() bool {
	if st.Address == "" {
		return true
	}
	host, _, _ := net.SplitHostPort(st.Address) // a socket's path has none
	ip := net.ParseIP(host)
	return st.Request == "launch" && (strings.HasPrefix(st.Address, "unix:") || host == "localhost" || ip != nil && ip.IsLoopback())
}

type terminalStarted struct {
	ProcessID int `json:"processId,omitempty"`
}

// maxChildren bounds the child sessions of one session, those that have ended too.
const maxChildren = 64

func (l *life) startDebugging(ctx context.Context, arguments jsonx.Raw) (any, error) {
	s := l.session
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
	s.tree.mu.Lock()
	if s.born >= maxChildren || l.leaving() {
		s.tree.mu.Unlock()
		return nil, fmt.Errorf("startDebugging: the session has ended, or has had %d child sessions", maxChildren)
	}
	child := s.newChildLocked(&Start{
		Adapter: s.start.Adapter, Request: args.Request, Arguments: args.Configuration, Dir: s.start.Dir, Program: program,
		Address: l.link.address, // a listening adapter has all its sessions
	})
	s.tree.announceLocked()
	s.tree.mu.Unlock()
	if err := child.first(ctx); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// leaving reports whether the end has begun. While tree.mu is held, what is added to the life before will be ended with it.
func (l *life) leaving() bool {
	select {
	case <-l.leave:
		return true
	default:
		return false
	}
}
