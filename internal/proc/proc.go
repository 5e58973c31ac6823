// Package proc starts, watches and ends every child process of the program: language servers, debug adapters, MCP
// servers, shell commands.
//
// Each child leads its own process group (on Windows: a job object), so that it ends together with what it started.
// A child ends by a ladder of bounded steps ([Process.Shutdown]), and a [Group] ends many at once. [Process.Terminate] is the
// shorter ladder of commands: TERM, time for all of them, KILL.
//
// Every child carries a mark in its environment, which what it starts inherits. By it a process is found that has left its
// group (setsid, a daemon). The children of a [NewGuardedGroup] end with the program even if that is killed without a chance
// to clean up. Only a process that has cleared its mark and left its group and session gets away from that, and on Linux not
// from an end in good order, which reaches all descendants.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// The defaults of [Options].
const (
	// DefaultStderrTail holds the last screens of a server's complaints.
	DefaultStderrTail = 16 << 10
	// DefaultGrace lets goodbye, closed stdin and TERM pass within 1.5 s, so that a whole ladder fits into the two
	// seconds that the program has after its own stdin ended.
	DefaultGrace = 500 * time.Millisecond
	// DefaultDrainQuiet and DefaultDrainMax bound how long output is read from background children that outlive
	// the leader.
	DefaultDrainQuiet = 250 * time.Millisecond
	DefaultDrainMax   = 2 * time.Second
	// DefaultCols and DefaultRows are the size of a pseudo-terminal.
	DefaultCols = 80
	DefaultRows = 24
)

// Options says what to start and how.
type Options struct {
	// Path is the program's absolute path. Required.
	Path string
	// Args are the arguments behind the program's name. Optional.
	Args []string
	// Dir is the working directory. If empty, the one of this process.
	Dir string
	// Env is the whole environment, as "NAME=value"; nothing is inherited. [Environ] makes one without provider
	// keys. If nil, the environment is empty.
	Env []string

	// Stdin asks for a pipe to the child: [Process.Stdin]. If false, the child reads end of file.
	Stdin bool
	// Stdout gets the child's output as it comes, never concurrently, and never after [Process.Done]. It must
	// not block for long: the end of the process waits for it. An error from it kills the child. If nil, the
	// output is read from [Process.Stdout].
	Stdout io.Writer
	// Stderr gets the child's stderr under the same rules; its errors are ignored. If nil, only the tail is kept.
	Stderr io.Writer
	// StderrTail is how many bytes of stderr [Process.Stderr] keeps. If zero, [DefaultStderrTail].
	StderrTail int
	// MergeStderr sends stderr where stdout goes, in the order of writing. The tail stays empty then.
	MergeStderr bool

	// PTY runs the child in a pseudo-terminal as the leader of its own session. It implies MergeStderr. Starting
	// fails with [errors.ErrUnsupported] on Windows.
	PTY bool
	// Cols and Rows are the size of the pseudo-terminal. If zero, [DefaultCols] and [DefaultRows].
	Cols, Rows int

	// Mark, if set, is the child's mark, from [NewMark] or [PartOf]: when the process ends, what carries it is killed with its
	// group, because debuggees and daemons leave the group of what has started them. If empty, the child gets a mark that
	// counts only when the program ends. On other systems than Linux and macOS it does nothing.
	Mark string
	// KeepMarked lets what has the mark and has left the group run on when the process ends by itself; Terminate, Shutdown and
	// Kill of a process that runs, and [Sweep], reach it. If false, it is killed in any case.
	KeepMarked bool

	// Grace bounds each step of [Process.Shutdown]. If zero, [DefaultGrace].
	Grace time.Duration
	// KeepBackground lets the rest of the process group run on when the leader has ended, until Kill, Shutdown or
	// the group's Close; one of them must be called. If false, the rest is killed when the output is drained.
	KeepBackground bool
	// DrainQuiet and DrainMax bound how long the output of such a rest is waited for after the leader's end:
	// until nothing came for DrainQuiet, and never longer than DrainMax. If zero, [DefaultDrainQuiet] and
	// [DefaultDrainMax]. They hold for Stdout and Stderr writers; who reads from a pipe gets what is in it.
	DrainQuiet time.Duration
	DrainMax   time.Duration
}

func (o *Options) withDefaults() (Options, error) {
	if o == nil || o.Path == "" {
		return Options{}, errors.New("no program to start: Options.Path is empty")
	}
	if !filepath.IsAbs(o.Path) {
		return Options{}, fmt.Errorf("the program %q must be an absolute path; look it up first", o.Path)
	}
	d := *o
	if d.PTY {
		d.MergeStderr = true
	}
	setDefault(&d.StderrTail, DefaultStderrTail)
	setDefault(&d.Grace, DefaultGrace)
	setDefault(&d.DrainQuiet, DefaultDrainQuiet)
	setDefault(&d.DrainMax, DefaultDrainMax)
	setDefault(&d.Cols, DefaultCols)
	setDefault(&d.Rows, DefaultRows)
	return d, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Start starts a child. ctx bounds the start alone: the child belongs to the caller, who must see to its end with
// [Process.Shutdown], [Process.Kill] or a [Group]. If ctx ends first, Start returns its cause, and a child that still
// comes up is killed at once. A program that can not be started gives an [*fs.PathError] or [*exec.Error] inside.
func Start(ctx context.Context, opts *Options) (*Process, error) {
	return start(ctx, opts, nil)
}
