package dap

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/proc"
)

// Options says what a [Debugger] works with.
type Options struct {
	// Children owns the adapters. Required.
	Children *proc.Group
	// Env returns the environment of adapters; they get it without provider keys (see [proc.Environ]). If nil, it is empty.
	Env func(context.Context) []string
	// RunInTerminal runs a program where the user can watch it, for adapters that ask for it. If nil, they are refused.
	RunInTerminal func(ctx context.Context, req *TerminalRequest) (Terminal, error)
	// Notice gets what the user should know: a session that nobody used was ended, an adapter died. It must not block.
	Notice func(text string)
	// Idle is after how long an unused session is ended. If zero, 10 minutes.
	Idle time.Duration
	// RequestTimeout bounds a request whose context has no nearer end. If zero, 30 s.
	RequestTimeout time.Duration
	// Version is that of gjc. Log may be the zero value.
	Version string
	Log     zerolog.Logger
}

// TerminalRequest is an adapter's wish to have a program run in a terminal (runInTerminal).
type TerminalRequest struct {
	Title string
	// Dir is the working directory, absolute; empty for the session's.
	Dir string
	// Args are the program and its arguments; there is at least one.
	Args []string
	// Env is to be added to the environment, as "NAME=value"; Unset names what is to be left out of it.
	Env, Unset []string
	// Output gets the program's output where the terminal does not show it itself. It must not block.
	Output func([]byte)
}

// Terminal is a program that runs in a terminal.
type Terminal interface {
	// ID is the editor's id of the terminal, to embed in a tool call; empty for a local one.
	ID() string
	// PID is the process id; zero where it is not known.
	PID() int
	// Wait returns when the program has ended, with its exit code where that is known. When ctx ends first it returns its
	// cause.
	Wait(ctx context.Context) (code int, err error)
	// Output returns what the program has printed so far, cut from the start; empty where Output of the request gets it.
	Output(ctx context.Context) (string, error)
	// Release kills what still runs and frees the terminal. It may be called twice.
	Release(ctx context.Context) error
}

// Start says what to debug.
type Start struct {
	// Adapter is from a [Catalog]. Required, unless Address is set.
	Adapter *Spec
	// Request is "launch" or "attach". Required.
	Request string
	// Arguments are those of the request, whole: nothing is added to them.
	Arguments map[string]any
	// Dir is where the adapter runs, absolute. Required.
	Dir string
	// Program is what is debugged, for people.
	Program string
	// Address is that of an adapter that is there already ("127.0.0.1:4711", or the path of a Unix socket with "unix:"
	// before it). No process is started then.
	Address string
	// Restartable says that the program may be started again when it asks for it (terminated event with restart).
	Restartable bool
}

// Observer sees what happens in a session while a call is about it. Its methods must not block.
type Observer struct {
	// Output gets what the program ("stdout", "stderr") and the adapter ("console") print, as it comes.
	Output func(category, text string)
	// Terminal gets the id of an editor's terminal that the program runs in.
	Terminal func(id string)
	// Location gets where the program stopped.
	Location func(path string, line int)
}

// Limits of a debugger.
const (
	// MaxSessions is how many sessions may be open at once, without child sessions.
	MaxSessions = 4
	// DefaultIdle is after how long an unused session is ended.
	DefaultIdle = 10 * time.Minute
)

var errNotYet = errors.New("not built yet")
