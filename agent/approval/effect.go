package approval

import (
	"context"
	"io/fs"
)

// Effect is one thing that a call does to the world.
type Effect struct {
	Action Action
	// Path names the file that is read, changed or removed; absolute. Empty for a command.
	Path string
	// Paths are several in the place of Path, for what the user should be asked about once. Each is judged by itself: one
	// that may not be touched forbids all.
	Paths []string
	// Command is the shell command line, for [ActionCommand]; Dir is the directory that it runs in, empty for the working
	// directory.
	Command, Dir string
	// Host is where the step goes, for [ActionNetwork]; empty for many places.
	Host string
	// Subject identifies the debugged program or the step, for [ActionDebug]. An "always" answer is remembered for the same
	// subject alone; without one it is good for this once. Covers says in words what that is. With [ActionMCP], Subject stands
	// for what the tool is said to be, and a yes ends when that is another.
	Subject, Covers string
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
)

// Each returns the effect's parts: itself for each of its paths.
func (e *Effect) Each() []Effect {
	if len(e.Paths) == 0 {
		return []Effect{*e}
	}
	parts := make([]Effect, len(e.Paths))
	for i, path := range e.Paths {
		parts[i] = *e
		parts[i].Path, parts[i].Paths = path, nil
	}
	return parts
}

// Files resolves and inspects paths for the approval of effects.
type Files interface {
	// RealPath returns where path leads, with all symbolic links resolved, also for a file that does not exist.
	RealPath(path string) string
	// Stat follows symbolic links.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
}
