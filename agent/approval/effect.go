package approval

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Effect is one thing that a call does to the world.
type Effect struct {
	Action Action
	// Path names the file that is read, changed or removed; absolute. Empty for a command.
	Path string
	// Paths are several in the place of Path, for what the user should be asked about once. Each is judged by itself: one
	// that may not be touched forbids all.
	Paths []string
	// Member names what is read or changed in the archive at Path: "docs/a.md", or "b.tar:a.md" for a member of a member. The step asks
	// if the name is one of a file with secrets.
	Member string
	// Command is the shell command line, for [ActionCommand]; Dir is the directory that it runs in, empty for the working
	// directory.
	Command, Dir string
	// Host is where the step goes, for [ActionNetwork]; empty for many places. With [ActionDebug], it is where the adapter is.
	Host string
	// Subject identifies the debugged program or the step, for [ActionDebug]. An "always" answer is remembered for the same
	// subject alone; without one it is good for this once. Covers says in words what that is. With [ActionMCP], Subject stands
	// for what the tool is said to be, and a yes ends when that is another.
	Subject, Covers string
	// Where says where the program of a debug step runs.
	Where Where
	// Title describes the effect in a question; if empty, the call's title.
	Title string
}

// Action classes an [Effect] for the approval policy.
type Action int

// The actions.
const (
	ActionRead Action = iota
	ActionEdit
	ActionDelete
	ActionMove
	ActionCommand
	ActionNetwork
	ActionMCP
	// ActionDebug starts a program under a debugger, or does with it what the debugger would not do by itself: it asks as a
	// command does. Path, if set, is the program.
	ActionDebug
	// ActionResume lets a program run on that was allowed to run.
	ActionResume
	// ActionShare sends the conversation to others. It asks each time, whatever the mode, the rules and earlier answers are.
	ActionShare
)

// Where says where a program runs that a call starts or does something with.
type Where int

// The places. The zero value is for a program that the call starts: inside the boundary, if the user has not seen the call.
const (
	Started Where = iota
	// Inside is for a program that runs inside the boundary already.
	Inside
	// Outside is for a program of the machine that gjc has not started, or that runs outside because the user allowed that.
	Outside
)

// Each returns the effect's parts: itself for each of its paths.
func (e *Effect) Each() []Effect {
	if len(e.Paths) == 0 {
		return []Effect{*e}
	}
	parts := make([]Effect, len(e.Paths))
	for i, name := range e.Paths {
		parts[i] = *e
		parts[i].Path, parts[i].Paths = name, nil
	}
	return parts
}

// members returns paths by which the members that the effect names are judged, as if the archive were its directory.
func (e *Effect) members() []string {
	if e.Member == "" {
		return nil
	}
	dir := filepath.Dir(e.Path)
	var paths []string
	for rest, more := e.Member, true; more; {
		// A colon may belong to a name, or precede lines or a member of the member.
		paths = append(paths, memberPath(dir, rest))
		var name string
		name, rest, more = strings.Cut(rest, ":")
		paths = append(paths, memberPath(dir, name))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func memberPath(dir, name string) string {
	return filepath.Join(dir, filepath.FromSlash(path.Clean("/"+strings.ReplaceAll(name, `\`, "/"))))
}

// Files resolves and inspects paths for the approval of effects.
type Files interface {
	// RealPath returns where path leads, with all symbolic links resolved, also for a file that does not exist.
	RealPath(path string) string
	// Stat follows symbolic links.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
}
