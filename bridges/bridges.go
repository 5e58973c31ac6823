// Package bridges gives an agent session the world as its editor has it: files, terminals, approval. Each bridge goes
// through the ACP client where that has the capability and falls back to this machine where it has not. There is one
// test suite for both sides of each.
package bridges

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
)

// Local is what this machine offers. Only cmd knows it.
type Local struct {
	// Shell runs command lines. Required.
	Shell Shell
	// Env is the process's environment; children get it without provider keys. Required.
	Env []string
	// LoginEnv, if set, returns the environment to use in Env's place. It may take a moment at its first call, but not
	// longer than ctx: a process that a desktop has started asks a login shell for the PATH.
	LoginEnv func(ctx context.Context) []string
	// Sandbox returns what to start so that a program runs in a sandbox; an error that wraps [agent.ErrNoSandbox] where this
	// machine has none. If nil, it has none.
	Sandbox func(s *agent.Sandbox, path string, args []string) (program string, all []string, err error)
}

// Environ returns the environment of children, still with provider keys.
func (l *Local) Environ(ctx context.Context) []string {
	if l.LoginEnv != nil {
		return l.LoginEnv(ctx)
	}
	return l.Env
}

// Shell is how a command line becomes a process: Path, Args, and the line as the last argument.
type Shell struct {
	// Path is absolute.
	Path string
	Args []string
}

// FindShell returns the shell to run commands with: preferred if it is one that takes -c, else the system's.
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
	// fish, nu and the like do not read what models write.
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

// Options says for which session the bridges are. All fields but Mark and RequestTimeout are required.
type Options struct {
	// Client calls the editor.
	Client acp.Caller
	// Capabilities is what the editor advertised. What it did not is never called.
	Capabilities acp.ClientCapabilities
	SessionID    acp.SessionID
	Workspace    agent.Workspace
	// Children owns the local processes.
	Children *proc.Group
	Local    Local
	// Mark is of the session and its helpers alone. Commands and programs that are kept running carry it with all that they start,
	// so that [proc.Sweep] reaches what has left their group. If empty, they carry none.
	Mark string
	// RequestTimeout bounds each request for a file or a terminal. If zero, [DefaultRequestTimeout]. Questions to the user
	// and the wait for a command have no bound but their context.
	RequestTimeout time.Duration
}

// Set is the bridges of one session.
type Set struct {
	FS       agent.FS
	Terminal agent.Terminal
	Programs agent.Programs
	Approver agent.Approver
	Elicitor agent.Elicitor
}

// New returns the bridges of a session. It does no I/O.
func New(o Options) Set {
	disk := LocalFS{new(leftovers)}
	limited := bounded{Caller: o.Client, limit: cmp.Or(o.RequestTimeout, DefaultRequestTimeout)}
	programs := &LocalPrograms{Children: o.Children, Local: o.Local, Mark: o.Mark}
	set := Set{
		FS:       disk,
		Terminal: &LocalTerminal{Children: o.Children, Local: o.Local, Mark: o.Mark},
		Programs: programs,
		Approver: &ClientApprover{client: o.Client, session: o.SessionID},
	}
	elicitor := &ClientElicitor{client: o.Client, session: o.SessionID}
	if e := o.Capabilities.Elicitation; e != nil {
		elicitor.forms, elicitor.urls = e.Form != nil, e.URL != nil
	}
	set.Elicitor = elicitor
	if fs := o.Capabilities.FS; fs.ReadTextFile || fs.WriteTextFile {
		set.FS = &ClientFS{
			LocalFS: disk, client: limited, session: o.SessionID, workspace: o.Workspace,
			reads: fs.ReadTextFile, writes: fs.WriteTextFile,
		}
	}
	if o.Capabilities.Terminal {
		set.Terminal = &ClientTerminal{client: limited, session: o.SessionID, local: set.Terminal, machine: o.Local, children: o.Children, mark: o.Mark}
	}
	return set
}

// quietEnv keeps programs from waiting for a person.
var quietEnv = []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0"}
