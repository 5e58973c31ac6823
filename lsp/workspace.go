package lsp

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/proc"
)

// ManagerOptions says where servers run.
type ManagerOptions struct {
	// Children owns the processes. Required.
	Children *proc.Group
	// Env returns the environment of servers, still with provider keys. Required.
	Env func(ctx context.Context) []string
	// Version is that of gjc.
	Version string
	Log     zerolog.Logger
}

// Manager has the language servers of the process: one for each command and root, however many workspaces use it.
type Manager struct{}

// NewManager returns a manager. It starts nothing. The caller must Close it.
func NewManager(opts ManagerOptions) *Manager { panic("todo") }

// Close ends all servers, within ctx and never longer than a second.
func (m *Manager) Close(ctx context.Context) error { panic("todo") }

// WorkspaceOptions says what one session has of the servers.
type WorkspaceOptions struct {
	// Roots are the session's directories, absolute, the working directory first.
	Roots []string
	// Catalog knows the servers. Required.
	Catalog Catalog
	// ReadFile gives a file's text as the session sees it: what the editor shows, saved or not. Required.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Notice gets what the user should know. It must not block.
	Notice func(text, detail string)
}

// Workspace is the language servers as one session sees them. All methods are safe for concurrent use.
type Workspace struct{}

// Open returns a workspace. It does no I/O. The caller must Close it.
func (m *Manager) Open(opts WorkspaceOptions) *Workspace { panic("todo") }

// Close gives the servers back; those that nobody else uses end in the background.
func (w *Workspace) Close() { panic("todo") }

// Servers returns the servers for a file, the ones that know types before the linters. It starts none: the first call of
// one does.
func (w *Workspace) Servers(ctx context.Context, path string) ([]*Server, error) { panic("todo") }

// All returns the servers of the whole workspace, and what the catalog says of them. It starts none.
func (w *Workspace) All(ctx context.Context) ([]*Server, *Listing, error) { panic("todo") }

// Catalog is the workspace's.
func (w *Workspace) Catalog() Catalog { panic("todo") }

// Hold gives a server the text of a file as the session sees it, and keeps it so until the document is released. An error
// may wrap [io/fs.ErrNotExist].
func (w *Workspace) Hold(ctx context.Context, s *Server, path string) (*Document, error) { panic("todo") }

// Place is a position for people: line and character (code point), both from 1.
type Place struct{ Line, Column int }

// Severity is the protocol's, from 1 (error) to 4 (hint). Zero, where a server says nothing, counts as an error.
type Severity = protocol.DiagnosticSeverity

// Diagnostic is a problem that a server tells.
type Diagnostic struct {
	Path       string
	Start, End Place
	Severity   Severity
	Message    string
	Source     string
	Code       string
	Server     string
	// New says that it was not there before the change that the report is about.
	New bool
}

// Report is what the servers say of a file.
type Report struct {
	Path string
	// Diagnostics are without duplicates; new ones first, then by severity and place.
	Diagnostics []Diagnostic
	// Servers are the names of those that were asked.
	Servers []string
	// Silent are servers that have not spoken for the text in time, Failed those that could not be asked, with the reason.
	Silent []string
	Failed map[string]string
}

// Diagnostics asks all servers for the problems of a file's text as it is now, and waits for each until ctx ends.
func (w *Workspace) Diagnostics(ctx context.Context, path string) (*Report, error) { panic("todo") }

// Before notes what is known of files before they are changed, and after the change makes the report: see [Edit.Report].
func (w *Workspace) Before(paths ...string) *Edit { panic("todo") }

// Edit is a change of files that is being made.
type Edit struct{}

// Report gives the servers the new texts, tells them that they are saved, and returns what they say: a report for each
// file that has servers, new problems marked. It waits for most at most; what comes later than that comes with
// [Workspace.Late].
func (e *Edit) Report(ctx context.Context, most time.Duration, events ...FileEvent) []*Report { panic("todo") }

// Late returns the reports that came too late for their edits, once.
func (w *Workspace) Late() []*Report { panic("todo") }

// Changed tells the servers that files were made, changed or removed, by a command for one: open documents get the new
// text. It starts no server and waits for nothing.
func (w *Workspace) Changed(events ...FileEvent) { panic("todo") }
