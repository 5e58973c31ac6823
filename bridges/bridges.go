// Package bridges connects an agent session to files, terminals, programs and the user. A bridge uses the ACP client if that
// has the capability, and this machine otherwise. Both implementations of a bridge pass one test suite.
package bridges

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
)

// Local describes this machine. Only cmd can fill it in.
type Local struct {
	// Shell runs command lines. Required.
	Shell Shell
	// Env is the environment of the process. Children get it without provider keys. Required.
	Env []string
	// LoginEnv, if set, returns the environment to use instead of Env. Its first call may block until ctx ends: a process that
	// a desktop started asks a login shell for the PATH.
	LoginEnv func(ctx context.Context) []string
	// Sandbox returns the boundary that this machine supports. If nil, it supports none.
	Sandbox func() (*sandbox.Sandbox, error)
	// Upstream returns the machine's proxy for a URL, by which programs inside the boundary reach hosts; nil for none. Optional.
	Upstream func(*url.URL) (*url.URL, error)
}

// Environ returns the environment for children, including provider keys.
func (l *Local) Environ(ctx context.Context) []string {
	if l.LoginEnv != nil {
		return l.LoginEnv(ctx)
	}
	return l.Env
}

// Shell runs a command line: the program Path with Args and the line as the last argument.
type Shell struct {
	// Path is absolute.
	Path string
	Args []string
}

// FindShell returns the shell that runs commands: preferred if it supports -c, otherwise that of the system.
func FindShell(preferred string) Shell {
	if runtime.GOOS == "windows" {
		if filepath.IsAbs(preferred) {
			switch strings.TrimSuffix(strings.ToLower(filepath.Base(preferred)), ".exe") {
			case "bash", "zsh", "sh":
				return Shell{Path: preferred, Args: []string{"-c"}}
			case "cmd":
				return Shell{Path: preferred, Args: []string{"/d", "/s", "/c"}}
			}
		}
		return Shell{Path: `C:\Windows\System32\cmd.exe`, Args: []string{"/d", "/s", "/c"}}
	}
	// fish, nu and similar shells do not accept the syntax that models write.
	for _, path := range []string{preferred, "/bin/bash", "/usr/bin/bash", "/bin/sh"} {
		switch filepath.Base(path) {
		case "bash", "zsh", "sh", "dash", "ksh":
		default:
			continue
		}
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && !info.IsDir() {
			return Shell{Path: path, Args: []string{"-c"}}
		}
	}
	return Shell{Path: "/bin/sh", Args: []string{"-c"}}
}

// Options describes the session that bridges are for. All fields except Mark and RequestTimeout are required.
type Options struct {
	// Client calls the editor.
	Client acp.Caller
	// Capabilities are those that the editor advertised. Other methods are never called.
	Capabilities acp.ClientCapabilities
	SessionID    acp.SessionID
	Workspace    agent.Workspace
	// Children owns the local processes.
	Children *proc.Group
	Local    Local
	// Mark identifies the processes of the session and its subagents: commands, programs that keep running, and what they
	// start. [proc.Sweep] finds them even if they have left their group. If empty, processes are not marked.
	Mark string
	// RequestTimeout bounds each request for a file or a terminal. If zero, one minute. Questions to the
	// user and the wait for a command are bounded only by their context.
	RequestTimeout time.Duration
	// Apart says that the client is on another machine, and the session works with its files: nothing here replaces what the client lacks.
	Apart bool
}

// Set holds the bridges of one session.
type Set struct {
	FS       agent.FS
	Terminal agent.Terminal
	Programs agent.Programs
	Approver agent.Approver
	Elicitor agent.Elicitor
	// Sandbox is the inside of the boundary.
	Sandbox Sandbox
	// Child returns the bridges of a child session that has an ID of its own in the client. It shares the boundary.
	Child func(acp.SessionID) Set
	// Close ends the programs inside the boundary. It must be called once, after the last call of the session and its children.
	Close func(context.Context)
}

// New returns the bridges of a session. It does no I/O.
func New(o Options) Set {
	return newSet(&o, &boundary{find: o.Local.Sandbox, upstream: o.Local.Upstream, children: o.Children})
}

func newSet(o *Options, inside *boundary) Set {
	disk := LocalFS{new(leftovers)}
	limited := bounded{Caller: o.Client, limit: cmp.Or(o.RequestTimeout, defaultRequestTimeout)}
	set := Set{
		FS:       disk,
		Terminal: &LocalTerminal{Children: o.Children, Local: o.Local, Mark: o.Mark, boundary: inside},
		Programs: &LocalPrograms{Children: o.Children, Local: o.Local, Mark: o.Mark, boundary: inside},
		Child: func(id acp.SessionID) Set {
			child := *o
			child.SessionID = id
			return newSet(&child, inside)
		},
		Sandbox:  Sandbox{inside},
		Close:    inside.close,
		Approver: &clientApprover{client: o.Client, session: o.SessionID},
	}
	if o.Apart {
		set.FS, set.Terminal, set.Programs = &remoteFS{client: limited, session: o.SessionID, workspace: o.Workspace}, &remoteTerminal{offered: o.Capabilities.Terminal, client: limited, session: o.SessionID}, noPrograms{}
	}
	elicitor := &clientElicitor{client: o.Client, session: o.SessionID}
	if e := o.Capabilities.Elicitation; e != nil {
		elicitor.forms, elicitor.urls = e.Form != nil, e.URL != nil
	}
	set.Elicitor = elicitor
	if o.Apart {
		return set
	}
	if fs := o.Capabilities.FS; fs.ReadTextFile || fs.WriteTextFile {
		set.FS = &clientFS{
			LocalFS: disk, client: limited, session: o.SessionID, workspace: o.Workspace,
			reads: fs.ReadTextFile, writes: fs.WriteTextFile,
		}
	}
	if o.Capabilities.Terminal {
		set.Terminal = &clientTerminal{client: limited, session: o.SessionID, local: set.Terminal, machine: o.Local, boundary: inside, children: o.Children, mark: o.Mark}
	}
	return set
}

// quietEnv keeps programs from waiting for user input.
var quietEnv = []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0"}
