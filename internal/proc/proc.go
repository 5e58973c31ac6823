// Package proc starts and ends all child processes of the program: language servers, debug adapters, MCP servers and shell
// commands.
//
// Each child leads its own process group (on Windows: a job object), so that it ends together with the processes it has started.
// [Process.Shutdown] ends a child in bounded steps, and a [Group] ends many children at once. [Process.Terminate] is for commands:
// it sends TERM, gives all processes of the group time, and sends KILL.
//
// Each child has a mark in its environment, which its descendants inherit. The mark finds processes that have left their group
// (setsid, daemons). The children of a [NewGuardedGroup] end with the program even if it is killed. Only a process that has cleared
// its mark and left its group and session escapes that; on Linux, Close ends such a process too.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The defaults of [Options].
const (
	// defaultStderrTail is enough for the last screens of a server's stderr.
	defaultStderrTail = 16 << 10
	// DefaultGrace bounds goodbye, closing of stdin and TERM to 1.5 s together, which fits into the two seconds that the program has
	// after the end of its own stdin.
	DefaultGrace = 500 * time.Millisecond
	// defaultDrainQuiet and defaultDrainMax bound how long output is read from background children that outlive
	// the leader.
	defaultDrainQuiet = 250 * time.Millisecond
	defaultDrainMax   = 2 * time.Second
	// defaultCols and defaultRows are the size of a pseudo-terminal.
	defaultCols = 80
	defaultRows = 24
)

// User identifies a user of the operating system.
type User struct {
	UID, GID uint32
	// Groups are the supplementary groups; the child has no others.
	Groups []uint32
}

// Options describes a process to start.
type Options struct {
	// Path is the program's absolute path. Required.
	Path string
	// Args are the arguments without the program's name. Optional.
	Args []string
	// Dir is the working directory. If empty, the one of this process.
	Dir string
	// Env is the whole environment, as "NAME=value"; nothing is inherited. [Environ] returns one without provider
	// keys. If nil, the environment is empty.
	Env []string

	// Stdin creates a pipe to the child: [Process.Stdin]. If false, the child reads end of file.
	Stdin bool
	// Stdout receives the child's output, never concurrently, and never after [Process.Done]. It must
	// not block for long: the end of the process waits for it. An error from it kills the child. If nil, the
	// output is read from [Process.Stdout].
	Stdout io.Writer
	// Stderr receives the child's stderr by the same rules; its errors are ignored. If nil, only the tail is kept.
	Stderr io.Writer
	// StderrTail is the number of bytes of stderr that [Process.Stderr] keeps. If zero, [defaultStderrTail].
	StderrTail int
	// MergeStderr sends stderr to stdout, in the order of writing. The tail stays empty then.
	MergeStderr bool

	// User, if set, is the user that the child runs as. Only root can start one as another user, and never on Windows, where starting fails
	// with [errors.ErrUnsupported].
	User *User

	// Files are further open files of the child, from descriptor 3 on. They stay open here. Windows has none.
	Files []*os.File

	// PTY runs the child in a pseudo-terminal as the leader of its own session. It implies MergeStderr. Starting
	// fails with [errors.ErrUnsupported] on Windows.
	PTY bool
	// Cols and Rows are the size of the pseudo-terminal. If zero, [defaultCols] and [defaultRows].
	Cols, Rows int

	// Mark, if set, is the child's mark, from [NewMark] or [PartOf]: when the process ends, all processes with the mark are killed,
	// because debuggees and daemons leave the group of their parent. If empty, the child has a mark that is used only at the
	// end of the program. It has no effect on systems other than Linux and macOS.
	Mark string
	// KeepMarked lets processes with the mark that have left the group run on when the process ends by itself. Terminate, Shutdown
	// and Kill of a running process, and [Sweep], still end them.
	KeepMarked bool

	// Grace bounds each step of [Process.Shutdown]. If zero, [DefaultGrace].
	Grace time.Duration
	// KeepBackground lets the rest of the process group run on after the end of the leader, until Kill, Shutdown or
	// the group's Close; one of them must be called. If false, the rest is killed when the output is drained.
	KeepBackground bool
	// DrainQuiet and DrainMax bound the wait for output of the rest of the group after the end of the leader: until there was none for
	// DrainQuiet, and never longer than DrainMax. If zero, [defaultDrainQuiet] and [defaultDrainMax]. They apply to the Stdout and
	// Stderr writers; a pipe can be read to its end.
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
	setDefault(&d.StderrTail, defaultStderrTail)
	setDefault(&d.Grace, DefaultGrace)
	setDefault(&d.DrainQuiet, defaultDrainQuiet)
	setDefault(&d.DrainMax, defaultDrainMax)
	setDefault(&d.Cols, defaultCols)
	setDefault(&d.Rows, defaultRows)
	return d, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Start starts a child. ctx bounds only the start: the caller must end the child with [Process.Shutdown], [Process.Kill] or a [Group]. If
// ctx ends first, Start returns its cause and kills the child. The error for a program that cannot be started wraps an
// [*fs.PathError] or [*exec.Error].
func Start(ctx context.Context, opts *Options) (*Process, error) {
	return start(ctx, opts, nil)
}
