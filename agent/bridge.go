package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// FS is the workspace's files as the user sees them: an editor's unsaved text wins over the disk.
// Paths are absolute. Errors wrap [fs.ErrNotExist], [fs.ErrPermission] and [fs.ErrInvalid] where they fit.
type FS interface {
	// ReadFile returns a whole file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// WriteFile replaces a whole file, creating it and its parents.
	WriteFile(ctx context.Context, path string, data []byte) error
	// Remove removes a file, or a directory with its content. It removes a symbolic link and not its target.
	Remove(ctx context.Context, path string) error
	// Rename moves a file or a directory, making the parents of to. What is at to is never replaced: an error that wraps
	// [fs.ErrExist]. A symbolic link moves itself. Text that an editor has not saved goes along, as the new place's.
	Rename(ctx context.Context, from, to string) error
	// Stat follows symbolic links. It may not know a file that exists only as an unsaved buffer.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// ReadDir lists a directory of the disk, sorted by name.
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)
	// RealPath resolves the symbolic links in path, as far as path exists. The approval policy judges its result.
	RealPath(path string) string
}

// An Opener is an [FS] that can open files of the disk without reading them whole, for reading a part of a long file or
// a file that no editor shows as text. It does not see unsaved text of an editor.
type Opener interface {
	// Open opens a regular file for reading. Anything else is an error that wraps [fs.ErrInvalid], at once: it never waits
	// for the other end of a pipe. The caller closes the file.
	Open(ctx context.Context, path string) (OpenFile, error)
}

// LeftoverRemover is an [FS] that can remove temporary files of writers that were killed.
type LeftoverRemover interface {
	// RemoveLeftovers removes such files from the directories dirs, as far as it can.
	RemoveLeftovers(ctx context.Context, dirs []string)
}

// OpenFile is a file that is read in parts.
type OpenFile interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Stat describes the open file, also after its name was given to another one.
	Stat() (fs.FileInfo, error)
}

// Terminal runs shell commands where the user can watch them.
type Terminal interface {
	// Start begins cmd and returns at once. ctx bounds the start only; the caller must Release the execution
	// on every path.
	Start(ctx context.Context, cmd Command) (Execution, error)
}

// StateEnd is the line after the variables in the files of [Command.StateDir].
const StateEnd = ": end"

// Command is one shell command line, or one program.
type Command struct {
	// Line is given to the user's shell.
	Line string
	// Args, if set, are a program and its arguments, run as they are in the place of Line.
	Args []string
	// Dir is the absolute working directory.
	Dir string
	// Env is added to the environment, as "NAME=value".
	Env []string
	// StateDir, if set, is a directory of the caller's own to which the shell that runs Line writes its final state, if it can: the
	// file "after" holds the exported variables as "export -p" prints them, a line [StateEnd], and the working directory. The file
	// "before" holds the variables that were exported at the start, and the line, unless the execution is an [EnvironExecution]
	// that knows them. StateDir is created if it is missing.
	StateDir string
	// Sandbox, if set, is what the command may do.
	Sandbox *Sandbox
	// OutputLimit is how many bytes of output are kept, from the end. If zero, [DefaultOutputLimit].
	OutputLimit int
	// PTY asks for a pseudo-terminal. An editor's terminal always has one.
	PTY bool
	// OnOutput, if set, is called with output as it comes, never concurrently, until Wait returns. An
	// editor's terminal shows its output itself and never calls it.
	OnOutput func([]byte)
}

// Sandbox says what a command in a sandbox may do in addition to reading files and running programs as its user.
type Sandbox struct {
	// Write are the directories below which it may change files, absolute.
	Write []string
	// Network lets it open sockets.
	Network bool
	// Required commands fail with [ErrNoSandbox] where there is no sandbox.
	Required bool
}

// ErrNoSandbox is wrapped by the error for a command that must run in a sandbox where there is none.
var ErrNoSandbox = errors.New("there is no sandbox here, and bash.sandbox of the configuration requires one (gjc doctor says what is missing)")

// DefaultOutputLimit is how many bytes of a command's output are kept.
const DefaultOutputLimit = 50 << 10

// Execution is a running or ended command.
type Execution interface {
	// TerminalID is the editor's id of the terminal, to embed in a tool call; empty for a local child.
	TerminalID() string
	// PID is the process id; zero where it is not known.
	PID() int
	// Wait returns when the command has ended. When ctx ends first it returns ctx's cause and the command runs
	// on; the caller kills it.
	Wait(ctx context.Context) (ExitStatus, error)
	// Output returns what the command has printed so far, cut from the start to the limit.
	Output(ctx context.Context) (Output, error)
	// Kill ends the command and its children: it asks them, and kills what is left after two seconds. The execution stays valid
	// for Output and Wait.
	Kill(ctx context.Context) error
	// Release kills what still runs and frees the terminal. It may be called twice.
	Release(ctx context.Context) error
}

// An EnvironExecution is an [Execution] that knows the environment of its command.
type EnvironExecution interface {
	Execution
	// Environ returns the whole environment that the command began with, as "NAME=value", but for the marks of gjc's children. It
	// returns nil if what the shell exported when it began is in the file "before" of [Command.StateDir] instead.
	Environ() []string
}

// ExitStatus says how a command ended: by Code, or by Signal when that is not empty.
type ExitStatus struct {
	Code   int
	Signal string
}

// Output holds what a command printed.
type Output struct {
	Text string
	// Truncated reports that the start was cut off.
	Truncated bool
	// Total is the number of bytes that were printed; zero if the editor does not report it.
	Total int64
}

// Programs runs the tools' helper programs, such as ripgrep, invisibly to the user. Their environment has no provider
// keys.
type Programs interface {
	// LookPath returns the absolute path of the program called name, or an error that wraps [fs.ErrNotExist].
	LookPath(name string) (string, error)
	// Output runs a program to its end and returns its standard output, at most limit bytes of it. A program
	// that prints more is killed; that is no error. A non-zero exit is an [*ExitError].
	Output(ctx context.Context, prog Program, limit int) ([]byte, error)
}

// Program is a call of a helper program.
type Program struct {
	Path  string
	Args  []string
	Dir   string
	Stdin []byte
}

// A ProgramStarter is [Programs] that can keep a program running: an interpreter that a tool talks to.
type ProgramStarter interface {
	// StartProgram begins a program and returns at once. ctx bounds the start only. The program ends with the session at the
	// latest; its starter should kill it before.
	StartProgram(ctx context.Context, prog LongProgram) (RunningProgram, error)
}

// ErrNotStarted is wrapped by the error for a program that cannot be kept running here.
var ErrNotStarted = errors.New("this session cannot keep programs running")

// LongProgram is a program that is kept running.
type LongProgram struct {
	Path string
	Args []string
	Dir  string
	// Env is added to the environment, as "NAME=value".
	Env []string
	// Sandbox, if set, is what the program may do.
	Sandbox *Sandbox
	// OnOutput gets what the program prints, on both streams, as it comes, never concurrently, and never after its end. It must
	// not block.
	OnOutput func([]byte)
}

// RunningProgram is a program with a pipe to it.
type RunningProgram interface {
	// Write writes to the program's standard input. It waits for a program that does not read, until that ends.
	io.Writer
	// Done is closed when the program has ended and all it printed was handed on.
	Done() <-chan struct{}
	// Status returns how the program ended. Call it after Done is closed.
	Status() ExitStatus
	// Terminate asks the program and its children to end, and kills what is left after a moment, or when ctx ends. It returns when
	// they have ended.
	Terminate(ctx context.Context) error
	// Kill ends the program and its children, and does not wait.
	Kill()
}

// An ExitError is a helper program that failed.
type ExitError struct {
	Program string
	Code    int
	// Stderr is the end of what the program printed there.
	Stderr string
}

func (e *ExitError) Error() string { return e.Program + ": " + e.Stderr }

// Approver asks the user.
type Approver interface {
	// Approve puts one question and waits for the answer without a limit other than ctx. It returns
	// [Cancelled] when the user wants the whole turn to stop. An answer that makes no sense is [RejectOnce].
	Approve(ctx context.Context, q Question) (Decision, error)
}

// Question asks for permission to take one step.
type Question struct {
	// ToolCallID names the tool call that the step belongs to; it has been announced before the question.
	ToolCallID string
	// Title is the step in a few words: the command, or "Delete /w/a.go".
	Title string
	Kind  ToolKind
	// Input is the tool call's input.
	Input     jsonx.Raw
	Content   []Content
	Locations []Location
	// Always says what an "always" answer covers, for the option's label: "git status commands".
	Always string
}

// Decision is a user's answer to a [Question].
type Decision int

// The answers. The zero value denies.
const (
	RejectOnce Decision = iota
	RejectAlways
	AllowOnce
	AllowAlways
	Cancelled
	// Unasked is the outcome of a [Consent] that was no longer needed. Users never answer it.
	Unasked
)

// Clock gives the time; nil fields of options that hold one mean [time.Now].
type Clock func() time.Time

// Elicitor asks the user for a choice or for values, and not only for permission. Only ctx limits the wait of its
// methods.
type Elicitor interface {
	// Form shows a form. It returns [ErrNoElicitation] if the editor supports none.
	Form(ctx context.Context, f Form) (FormAnswer, error)
	// URL sends the user to a page, for data that must not go through a form: secrets, payments, sign-ins. The answer
	// says only whether the user agrees to open it. URL returns [ErrNoElicitation] if the editor does not support it.
	URL(ctx context.Context, u URLRequest) (ElicitAction, error)
	// Completed reports that the purpose of a URL is fulfilled.
	Completed(ctx context.Context, id string) error
	// Choose offers options where there are no forms, and returns the index of the chosen one. It returns
	// [ErrNoElicitation] if the editor cannot ask. Only Choose returns [ElicitStop].
	Choose(ctx context.Context, c Choice) (index int, action ElicitAction, err error)
	// Forms reports whether the editor can show forms.
	Forms() bool
	// URLs reports whether the editor can send the user to a URL.
	URLs() bool
}

// ErrNoElicitation is returned if the editor cannot ask the question.
var ErrNoElicitation = errors.New("the editor cannot ask the user for this")

// Form is a flat form.
type Form struct {
	// ToolCallID names the tool call that asks; empty for none. It has been announced before.
	ToolCallID string
	Message    string
	// Schema is the JSON Schema of the answer in the subset that ACP and MCP share: an object with properties of
	// plain types. It must never ask for a secret.
	Schema jsonx.Raw
}

// FormAnswer is the answer to a form. Content is set, and has been held against the schema, for [ElicitAccept].
type FormAnswer struct {
	Action  ElicitAction
	Content jsonx.Raw
}

// URLRequest is a page for the user to go to.
type URLRequest struct {
	ToolCallID string
	// ID is unique among the open ones of the session.
	ID      string
	Message string
	URL     string
}

// Choice offers options, one of which is taken.
type Choice struct {
	ToolCallID string
	Title      string
	Options    []string
}

// ElicitAction is the user's reaction to a question. The zero value is the one to assume of an answer that makes no
// sense.
type ElicitAction int

// The actions.
const (
	// ElicitCancel is a question that was closed without an answer.
	ElicitCancel ElicitAction = iota
	// ElicitDecline is a no.
	ElicitDecline
	ElicitAccept
	// ElicitStop is a question in whose place the user has cancelled the whole turn. Tools need not know it: the turn's
	// Elicitor ends the turn and fails.
	ElicitStop
)

// Elicitor returns the session's [Elicitor], which asks one question at a time, permissions included. It returns nil if
// the user cannot be asked.
func (s *Session) Elicitor() Elicitor {
	if s.opts.Elicitor == nil {
		return nil
	}
	return queuedElicitor{s.opts.Elicitor, s}
}

// queuedElicitor waits for its turn to ask.
type queuedElicitor struct {
	Elicitor
	session *Session
}

func (q queuedElicitor) Form(ctx context.Context, f Form) (FormAnswer, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return FormAnswer{}, err
	}
	defer done()
	return q.Elicitor.Form(ctx, f)
}

func (q queuedElicitor) URL(ctx context.Context, u URLRequest) (ElicitAction, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return ElicitCancel, err
	}
	defer done()
	return q.Elicitor.URL(ctx, u)
}

func (q queuedElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	done, err := q.session.ask(ctx)
	if err != nil {
		return 0, ElicitCancel, err
	}
	defer done()
	return q.Elicitor.Choose(ctx, c)
}

// turnElicitor is the elicitor of the calls of a turn.
type turnElicitor struct {
	Elicitor
	turn *Turn
}

func (e turnElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	i, action, err := e.Elicitor.Choose(ctx, c)
	if err == nil && action == ElicitStop {
		e.turn.Cancel()
		return 0, ElicitStop, ErrCancelled
	}
	return i, action, err
}

// elicitor is [Call.Elicitor].
func (t *RunningTurn) elicitor() Elicitor {
	asker := t.session.Elicitor()
	if asker == nil {
		return nil
	}
	return turnElicitor{asker, t.Turn}
}
