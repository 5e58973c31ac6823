package lsp

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
)

// ServerOptions says what a [Server] is.
type ServerOptions struct {
	// Spec is the server's configuration. Required.
	Spec *Spec
	// Root is the directory that it runs in and its first workspace folder, absolute. Required.
	Root string
	// Folders are further workspace folders, absolute.
	Folders []string
	// Children owns the process. Required.
	Children *proc.Group
	// Env is the environment of the process; it is given without provider keys (see [proc.Environ]).
	Env []string
	// Version is that of gjc, for clientInfo.
	Version string
	Log     zerolog.Logger
	// RequestTimeout bounds a request whose context has no nearer end. If zero, 30 s.
	RequestTimeout time.Duration
	// Backoff has the pauses before restarts in a row; behind the last one the server stays down until Restart. A life of
	// a minute begins anew. If nil, 250 ms, 1 s, 4 s.
	Backoff []time.Duration
	// MaxMessage bounds one message of the server, in bytes. If zero, 64 MiB. A larger one fails what it answers.
	MaxMessage int
	// Notice gets what the user should know: the server died, could not be restarted, shows an error message. It must
	// not block.
	Notice func(text, detail string)
}

// ServerState is where a server is in its life.
type ServerState string

// The states.
const (
	StateIdle       ServerState = "idle" // not started yet, or ended for being idle
	StateStarting   ServerState = "starting"
	StateReady      ServerState = "ready"
	StateRestarting ServerState = "restarting"
	StateFailed     ServerState = "failed"
	StateClosed     ServerState = "closed"
)

// ServerStatus is a snapshot of a server, for people.
type ServerStatus struct {
	Name, Root string
	Command    []string
	State      ServerState
	PID        int    // zero while there is no process
	Info       string // name and version as the server tells them
	Encoding   Encoding
	Started    time.Time // of the present process
	Restarts   int
	Documents  int
	Progress   []string // what it is busy with
	LastError  string
	Log        string // the end of its stderr and of its log messages
}

// Server is one language server for all who use it. Its process starts at the first need, is started anew when it dies,
// with the documents that are open, and can end while nobody uses it. All methods are safe for concurrent use.
type Server struct {
	opts ServerOptions
}

// NewServer returns a server. It starts nothing. The caller must Close it.
func NewServer(opts ServerOptions) *Server { return &Server{opts: opts} }

// Name is the server's name in the configuration.
func (s *Server) Name() string { return s.opts.Spec.Name }

// Spec is the server's configuration. It must not be changed.
func (s *Server) Spec() *Spec { return s.opts.Spec }

// Start brings the server up and waits until it has answered initialize, or ctx ends. An error says what the user can
// do.
func (s *Server) Start(ctx context.Context) error { panic("todo") }

// Settled waits until the server has ended the work that it told of with progress tokens (loading the project, as a
// rule), for most at most, or until ctx ends. It reports whether the server is at rest.
func (s *Server) Settled(ctx context.Context, most time.Duration) bool { panic("todo") }

// Status returns a snapshot.
func (s *Server) Status() ServerStatus { panic("todo") }

// Capabilities returns what the server said that it can do, as it said it; nil before it did.
func (s *Server) Capabilities() jsonx.Raw { panic("todo") }

// Encoding is how the server counts characters; UTF-16 before it said so.
func (s *Server) Encoding() Encoding { panic("todo") }

// Supports reports whether the server takes a method for a file, by its capabilities and what it registered since. path
// is empty for methods of the workspace. It is false before the server is ready.
func (s *Server) Supports(method, path string) bool { panic("todo") }

// Call makes a request and decodes the result into result, which may be nil or a *[jsonx.Raw]. It starts the server where
// it does not run. An error is a *[ResponseError] of the server, a lost process with the end of its stderr
// ([ErrServerDied]), [ErrTimeout], or ctx's cause; the server is told of a call that nobody waits for any more.
func (s *Server) Call(ctx context.Context, method string, params, result any) error { panic("todo") }

// Notify sends a notification, if the server runs.
func (s *Server) Notify(ctx context.Context, method string, params any) error { panic("todo") }

// Hold opens a document with a text, or brings it to that text, and keeps it so until the returned document is released:
// who comes with another text waits. The same text may be held many times at once. Released documents stay open, for the
// next, until they have not been held for a while.
func (s *Server) Hold(ctx context.Context, path, text string) (*Document, error) { panic("todo") }

// Document is a text that a server has, held by a caller.
type Document struct {
	Server  *Server
	Path    string
	URI     protocol.DocumentURI
	Version int32
	Text    *Text
}

// Release lets go of the document. It may be called twice.
func (d *Document) Release() { panic("todo") }

// Save tells the server that the document's text is on disk now (didSave, with the text where it wants that).
func (d *Document) Save(ctx context.Context) error { panic("todo") }

// Diagnostics returns the problems of the document's text: pulled where the server offers that, else as published for this
// version or a later one. It waits for them until ctx ends. fresh is false where the server has not spoken for this version by then;
// what it said before is returned then. The ranges are in the server's own encoding.
func (d *Document) Diagnostics(ctx context.Context) (list []protocol.Diagnostic, fresh bool, err error) { panic("todo") }

// Published returns what the server last published for a file, nil for never.
func (s *Server) Published(path string) []protocol.Diagnostic { panic("todo") }

// PullWorkspace asks for the problems of the whole workspace (workspace/diagnostic), by file. ok is false where the server does
// not offer that.
func (s *Server) PullWorkspace(ctx context.Context) (byPath map[string][]protocol.Diagnostic, ok bool, err error) {
	panic("todo")
}

// FileEvent is a change of a file on disk.
type FileEvent struct {
	Path string
	Type protocol.FileChangeType
}

// FilesChanged tells the server of files that changed on disk, of those that it watches (workspace/didChangeWatchedFiles). A
// document that was removed is closed. It starts nothing.
func (s *Server) FilesChanged(ctx context.Context, events []FileEvent) { panic("todo") }

// Execute runs a command of the server's (workspace/executeCommand). Edits that the server applies meanwhile
// (workspace/applyEdit) go to apply, one at a time; without a running Execute they are refused.
func (s *Server) Execute(ctx context.Context, command *protocol.Command, apply func(ctx context.Context, label string, edit *WorkspaceEdit) error) (jsonx.Raw, error) {
	panic("todo")
}

// AddFolders makes directories workspace folders. It reports whether the server knows them now or takes them when it starts.
func (s *Server) AddFolders(ctx context.Context, folders []string) bool { panic("todo") }

// Reload has the server read its project and its settings anew: by its own request where it has one, by
// workspace/didChangeConfiguration, or by a restart.
func (s *Server) Reload(ctx context.Context) error { panic("todo") }

// Restart ends the process, if there is one, and starts another.
func (s *Server) Restart(ctx context.Context) error { panic("todo") }

// Rest ends the process until the next need. The documents that are open then are opened again.
func (s *Server) Rest(ctx context.Context) { panic("todo") }

// Close ends the server: shutdown, exit, and what else it takes, within ctx and never longer than a second. Calls that wait
// fail.
func (s *Server) Close(ctx context.Context) error { panic("todo") }
