package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// FS provides the workspace's files as the user sees them: an editor's unsaved text takes precedence over the disk. Paths are
// absolute. Errors wrap [fs.ErrNotExist], [fs.ErrPermission] and [fs.ErrInvalid] where applicable.
type FS interface {
	// ReadFile returns a whole file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// WriteFile replaces a whole file. It creates the file and its parent directories if necessary.
	WriteFile(ctx context.Context, path string, data []byte) error
	// Remove removes a file, or a directory with its content. It removes a symbolic link and not its target.
	Remove(ctx context.Context, path string) error
	// Rename moves a file or a directory and creates the parent directories of to. It never replaces an existing file; it returns
	// an error that wraps [fs.ErrExist]. A symbolic link itself is moved, not its target. Text that an editor has not saved moves
	// along with the file.
	Rename(ctx context.Context, from, to string) error
	// Stat follows symbolic links. It may not find a file that exists only as an unsaved buffer.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// ReadDir lists a directory of the disk, sorted by name.
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)
	// RealPath resolves the symbolic links in path, as far as path exists. The approval policy judges its result.
	RealPath(path string) string
}

// An Opener is an [FS] that can open files on disk without reading them completely, in order to read a part of a long file or a
// file that no editor shows as text. It does not see unsaved text of an editor.
type Opener interface {
	// Open opens a regular file for reading. For any other file it immediately returns an error that wraps [fs.ErrInvalid]: it
	// never waits for the other end of a pipe. The caller must close the file.
	Open(ctx context.Context, path string) (OpenFile, error)
}

// LeftoverRemover is an [FS] that can remove temporary files of writers that were killed.
type LeftoverRemover interface {
	// RemoveLeftovers removes such files from the directories dirs. It is best effort.
	RemoveLeftovers(ctx context.Context, dirs []string)
}

// OpenFile is a file that is read in parts.
type OpenFile interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Stat describes the open file, even if its name now refers to another file.
	Stat() (fs.FileInfo, error)
}

// Terminal runs shell commands where the user can watch them.
type Terminal interface {
	// Start starts cmd and returns immediately. ctx bounds only the start; the caller must release the execution on every path.
	Start(ctx context.Context, cmd Command) (Execution, error)
}

// A TempTerminal is a [Terminal] whose commands have a directory for temporary files, at one path wherever they run.
type TempTerminal interface {
	// TempDir returns the directory. It ends with the session.
	TempDir() (string, error)
	// ExistingTempDir returns the directory if TempDir or a command has created it, or "".
	ExistingTempDir() string
}

// An EnclosingTerminal is a [Terminal] whose commands can run inside the boundary. What they leave running there runs on.
type EnclosingTerminal interface {
	Terminal
	// Lingers reports whether programs run inside.
	Lingers(ctx context.Context) bool
	// EndLingering ends what ended commands have left running inside.
	EndLingering(ctx context.Context) error
}

// StateEnd is the line after the variables in the files of [Command.StateDir].
const StateEnd = ": end"

// Command is one shell command line, or one program.
type Command struct {
	// Line is given to the user's shell.
	Line string
	// Args, if set, are a program and its arguments, run without a shell instead of Line.
	Args []string
	// Dir is the absolute working directory.
	Dir string
	// Env is added to the environment, as "NAME=value".
	Env []string
	// TempDir, if set, is the directory for temporary files, unless the user's environment or Env names one.
	TempDir string
	// StateDir, if set, is a directory owned by the caller to which the shell that runs Line writes its final state, if it can: the
	// file "after" holds the exported variables as "export -p" prints them, a line [StateEnd], and the working directory. The file
	// "before" holds the variables that were exported at the start, and the line [StateEnd], unless the execution is an
	// [EnvironExecution] that returns them. StateDir is created if it is missing.
	StateDir string
	// OutputLimit is how many bytes of output are kept, from the end. If zero, [DefaultOutputLimit].
	OutputLimit int
	// PTY asks for a pseudo-terminal. An editor's terminal always has one.
	PTY bool
	// OnOutput, if set, is called with output as it arrives, never concurrently, until Wait returns. An editor's terminal shows its
	// output itself and never calls it.
	OnOutput func([]byte)
}

// DefaultOutputLimit is how many bytes of a command's output are kept.
const DefaultOutputLimit = 50 << 10

// Execution is a command that runs or has ended.
type Execution interface {
	// TerminalID is the editor's id of the terminal, to embed in a tool call; empty for a local child.
	TerminalID() string
	// PID returns the process ID; zero if it is unknown.
	PID() int
	// Wait returns when the command has ended. If ctx ends first, it returns ctx's cause and the command continues; the caller must
	// kill it.
	Wait(ctx context.Context) (ExitStatus, error)
	// Output returns what the command has printed so far. If that exceeds the limit, the start is cut off.
	Output(ctx context.Context) (Output, error)
	// Kill terminates the command and its children: it asks them to exit, and kills those that still run after two seconds. The
	// execution stays valid for Output and Wait.
	Kill(ctx context.Context) error
	// Release kills everything that still runs and frees the terminal. It may be called twice.
	Release(ctx context.Context) error
}

// An EnvironExecution is an [Execution] that can report the environment of its command.
type EnvironExecution interface {
	Execution
	// Environ returns the whole environment with which the command began, as "NAME=value", except the marks of gjc's children. It
	// returns nil if the variables that the shell exported at the start are in the file "before" of [Command.StateDir] instead.
	Environ() []string
}

// An EnclosedExecution is an [Execution] inside the boundary.
type EnclosedExecution interface {
	Execution
	// RefusedHosts returns the hosts that commands of the session could not reach since this one began.
	RefusedHosts() []string
}

// ExitStatus describes how a command ended: by Code, or by Signal if that is not empty.
type ExitStatus struct {
	Code   int
	Signal string
}

// Output holds what a command printed.
type Output struct {
	Text string
	// Truncated reports whether the start was cut off.
	Truncated bool
	// Total is the number of bytes that were printed; zero if the editor does not report it.
	Total int64
}

// Programs runs the tools' helper programs, such as ripgrep, invisibly to the user. Their environment has no provider
// keys.
type Programs interface {
	// LookPath returns the absolute path of the program called name, or an error that wraps [fs.ErrNotExist].
	LookPath(name string) (string, error)
	// Output runs a program to its end and returns at most limit bytes of its standard output. A program that prints more is
	// killed; that is not an error. For a non-zero exit status it returns an [*ExitError].
	Output(ctx context.Context, prog Program, limit int) ([]byte, error)
}

// Program is a call of a helper program.
type Program struct {
	Path  string
	Args  []string
	Dir   string
	Stdin []byte
}

// A ProgramStarter is a [Programs] that can keep a program running, such as an interpreter that a tool uses.
type ProgramStarter interface {
	// StartProgram starts a program and returns immediately. ctx bounds only the start. The program ends with the session at the
	// latest; the caller should kill it earlier.
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
	// TempDir is like that of a [Command].
	TempDir string
	// OnOutput receives the program's output as it arrives, never concurrently, and never after the program's end. It must not
	// block. OnStderr receives the other stream by the same rules; if it is nil, OnOutput receives both.
	OnOutput, OnStderr func([]byte)
}

// RunningProgram is a running program with a pipe to its standard input.
type RunningProgram interface {
	// Write writes to the program's standard input. If the program does not read, Write blocks until it ends.
	io.Writer
	// CloseInput closes the program's standard input. A program that reads to the end goes on then.
	CloseInput() error
	// Done returns a channel that is closed when the program has ended and all its output has been passed on.
	Done() <-chan struct{}
	// Status returns how the program ended. It must be called only after Done is closed.
	Status() ExitStatus
	// Terminate asks the program and its children to exit, and kills those that still run after a moment, or when ctx ends. It
	// returns when all have ended.
	Terminate(ctx context.Context) error
	// Kill kills the program and its children without waiting for them.
	Kill()
}

// An ExitError is the failure of a helper program.
type ExitError struct {
	Program string
	Code    int
	// Stderr is the end of the program's standard error.
	Stderr string
}

func (e *ExitError) Error() string { return e.Program + ": " + e.Stderr }

// Approver asks the user.
type Approver interface {
	// Approve asks one question and waits for the answer. Only ctx limits the wait. It returns [Cancelled] if the user cancels the
	// whole turn. An invalid answer counts as [RejectOnce]. An error that wraps a [*RefusalError] is a rejection with a reason.
	Approve(ctx context.Context, q Question) (Decision, error)
}

// RefusalError is why a question was answered with no, for the model.
type RefusalError struct{ Reason string }

func (r *RefusalError) Error() string { return r.Reason }

// Question asks for permission to take one step.
type Question struct {
	// ToolCallID identifies the tool call that the step belongs to. The call is announced before the question.
	ToolCallID string
	// Title describes the step in a few words: the command, or "Delete /w/a.go".
	Title string
	Kind  ToolKind
	// Input is the tool call's input.
	Input     jsonx.Raw
	Content   []Content
	Locations []Location
	// Always describes what an "always" answer covers, for the option's label: "git status commands here". Once says that the
	// user can allow it for this once only.
	Always string
	Once   bool
	// Workspace offers an "always" answer that is kept for the workspace.
	Workspace bool
	// Trust says that the question is whether files of the workspace may be used, and not about a step of the agent, which goes on
	// without them.
	Trust bool
}

// Decision is a user's answer to a [Question].
type Decision int

// The answers. The zero value denies.
const (
	RejectOnce Decision = iota
	RejectAlways
	AllowOnce
	AllowAlways
	// AllowWorkspace is [AllowAlways], also for later sessions in the workspace.
	AllowWorkspace
	Cancelled
	// Unasked is the outcome of a [Consent] that was no longer needed. It is never a user's answer.
	Unasked
)

// Clock returns the current time. In options, a nil Clock means [time.Now].
type Clock func() time.Time

// Elicitor asks the user for a choice or for values, not only for permission. Only ctx limits how long its methods wait.
type Elicitor interface {
	// Form shows a form. It returns [ErrNoElicitation] if the editor does not support forms.
	Form(ctx context.Context, f Form) (FormAnswer, error)
	// URL sends the user to a page, for data that must not go through a form: secrets, payments, sign-ins. The answer
	// says only whether the user agrees to open it. URL returns [ErrNoElicitation] if the editor does not support it.
	URL(ctx context.Context, u URLRequest) (ElicitAction, error)
	// Completed reports that the purpose of a URL is fulfilled.
	Completed(ctx context.Context, id string) error
	// Choose offers options if forms are not available, and returns the index of the chosen one. It returns [ErrNoElicitation] if
	// the editor cannot ask. Only Choose returns [ElicitStop].
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
	// ToolCallID identifies the tool call that asks; empty for none. The call is announced before the form.
	ToolCallID string
	Message    string
	// Schema is the JSON Schema of the answer in the subset that ACP and MCP share: an object with properties of
	// plain types. It must never ask for a secret.
	Schema jsonx.Raw
}

// FormAnswer is the answer to a form. For [ElicitAccept], Content is set and has been validated against the schema.
type FormAnswer struct {
	Action  ElicitAction
	Content jsonx.Raw
}

// URLRequest is a page that the user should visit.
type URLRequest struct {
	ToolCallID string
	// ID is unique among the open ones of the session.
	ID      string
	Message string
	URL     string
}

// Choice offers options, one of which the user chooses.
type Choice struct {
	ToolCallID string
	Title      string
	// Text describes the subject of the question, as Markdown. If empty, the title is shown.
	Text    string
	Options []string
}

// ElicitAction is the user's reaction to a question. The zero value stands for an invalid answer.
type ElicitAction int

// The actions.
const (
	// ElicitCancel is a question that was closed without an answer.
	ElicitCancel ElicitAction = iota
	// ElicitDecline is a refusal.
	ElicitDecline
	ElicitAccept
	// ElicitStop means that the user canceled the whole turn instead of answering. Tools need not handle it: the turn's Elicitor
	// ends the turn and returns an error.
	ElicitStop
)

// Elicitor returns the session's [Elicitor]. It asks one question at a time, including permission questions. It returns nil if the
// user cannot be asked.
func (s *Session) Elicitor() Elicitor {
	if s.opts.Elicitor == nil {
		return nil
	}
	return queuedElicitor{s.opts.Elicitor, s}
}

// queuedElicitor asks one question at a time.
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

// elicitor implements [Call.Elicitor].
func (t *RunningTurn) elicitor() Elicitor {
	asker := t.session.Elicitor()
	if asker == nil {
		return nil
	}
	return turnElicitor{asker, t.Turn}
}
