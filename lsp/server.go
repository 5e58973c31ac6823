package lsp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// ServerOptions configures a [Server].
type ServerOptions struct {
	// Spec is the server's configuration. Required.
	Spec *Spec
	// Root is the working directory and the first workspace folder, absolute. Required.
	Root string
	// Folders are further workspace folders, absolute.
	Folders []string
	// Children owns the process. Required.
	Children *proc.Group
	// Env is the environment of the process; provider keys are removed from it (see [proc.Environ]).
	Env []string
	// Inside starts the process in a sandbox; nil for none.
	Inside StartFunc
	// Version is the version of gjc, for clientInfo.
	Version string
	Log     zerolog.Logger
	// RequestTimeout bounds each request. If zero, 30 s.
	RequestTimeout time.Duration
	// Backoff has the pauses before consecutive restarts; after the last one the server stays down until Restart. A process
	// that ran for a minute resets the count. If nil, 250 ms, 1 s, 4 s.
	Backoff []time.Duration
	// MaxMessage bounds one message of the server, in bytes. If zero, 64 MiB. A request with a larger answer fails.
	MaxMessage int
	// Notice receives texts for the user: the server died, could not be restarted, or shows an error message. It must not
	// block.
	Notice func(text, detail string)
}

// Server is one language server, shared by its users. Its process starts with the first call, is restarted when it dies, with
// the documents that are open, and may end while it is idle. All methods are safe for concurrent use.
//
// Its goroutines: one for each attempt to start the process, one that watches the running process, those of the connection,
// and timers that close idle documents. All have ended when Close returns.
type Server struct {
	opts   ServerOptions
	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // incremented only while mu is held and the server is not closed
	log    *proc.Tail
	slots  chan struct{} // one for each request under way
	// executing is held during Execute.
	executing chan struct{}
	docs      *documents

	mu        sync.Mutex // guards the fields below; docs.mu may be locked while mu is held, but not vice versa
	state     ServerState
	last      *process // the present process or the last one
	attempt   *attempt // the start under way; nil for none
	failures  int      // consecutive failed starts and early exits
	notBefore time.Time
	lastErr   error
	starts    int
	folders   []string
	notices   noticeRate
	apply     *applier // nil unless Execute runs
}

const (
	// maxRequests bounds the requests under way; more wait.
	maxRequests = 64
	// maxLog bounds the log of a server, in bytes.
	maxLog = 64 << 10

	defaultRequestTimeout = 30 * time.Second
	defaultMaxMessage     = 64 << 20
	// maxClose bounds the shutdown of a process; closeStep bounds each step of it.
	maxClose  = time.Second
	closeStep = 400 * time.Millisecond
	// closeGrace is the time for which goroutines may take to end after their process was killed. It is long only for a busy machine.
	closeGrace = time.Second
	// stableAfter is the time for which a process must have run for its exit to reset the failures.
	stableAfter = time.Minute
)

// NewServer returns a server without a process. The caller must call Close.
func NewServer(opts ServerOptions) *Server {
	if opts.RequestTimeout <= 0 {
		opts.RequestTimeout = defaultRequestTimeout
	}
	if opts.Backoff == nil {
		opts.Backoff = []time.Duration{250 * time.Millisecond, time.Second, 4 * time.Second}
	}
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = defaultMaxMessage
	}
	if opts.Notice == nil {
		opts.Notice = func(string, string) {}
	}
	s := &Server{
		opts: opts, state: StateIdle, log: proc.NewTail(maxLog),
		slots: make(chan struct{}, maxRequests), executing: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancelCause(permit.With(context.Background(), permit.Own()))
	s.docs = newDocuments(s)
	for _, dir := range opts.Folders {
		s.addFolderLocked(dir)
	}
	return s
}

// Name returns the server's name in the configuration.
func (s *Server) Name() string { return s.opts.Spec.Name }

// Spec returns the server's configuration. The caller must not modify it.
func (s *Server) Spec() *Spec { return s.opts.Spec }

// Start starts the server and waits until it is initialized, or ctx ends. The error says what the user can do.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.ready(ctx)
	return err
}

// running returns the process if it is ready, or nil.
func (s *Server) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != StateReady || s.last.isEnding() {
		return nil
	}
	return s.last
}

// busy reports whether a call is under way or a document is held.
func (s *Server) busy() bool {
	s.mu.Lock()
	starting := s.attempt != nil
	s.mu.Unlock()
	return starting || len(s.slots) > 0 || s.docs.inUse()
}

// Capabilities returns the capabilities as the server sent them; nil if it is not ready.
func (s *Server) Capabilities() jsonx.Raw {
	if ps := s.running(); ps != nil {
		return ps.caps.raw
	}
	return nil
}

// Encoding returns the position encoding of the server; UTF-16 if it is not ready.
func (s *Server) Encoding() Encoding {
	if ps := s.running(); ps != nil {
		return ps.encoding
	}
	return UTF16
}

// Supports reports whether the server supports a method for a file, by its capabilities and registrations. path is empty for
// methods of the workspace. It returns false if the server is not ready.
func (s *Server) Supports(method, path string) bool {
	ps := s.running()
	return ps != nil && len(ps.providers(method, path)) > 0
}

// Reload makes the server reload its project and settings: with its own request if it has one, with
// workspace/didChangeConfiguration if it uses settings, or with a restart.
func (s *Server) Reload(ctx context.Context) error {
	ps, err := s.ready(ctx)
	if err != nil {
		return err
	}
	if ps.isRustAnalyzer() {
		if err := s.Call(ctx, "rust-analyzer/reloadWorkspace", nil, nil); err == nil || ctx.Err() != nil {
			return err
		}
	}
	if ps.usesSettings() {
		return s.Notify(ctx, "workspace/didChangeConfiguration", settingsChange{Settings: s.opts.Spec.settings()})
	}
	return s.Restart(ctx)
}

// Restart ends the process, if there is one, and starts another. It resets the failures.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.failures, s.notBefore = 0, time.Time{}
	if s.state == StateFailed || s.state == StateRestarting {
		s.state = StateIdle
	}
	s.mu.Unlock()
	return s.Start(ctx)
}

// Rest ends the process until the next call. The open documents are opened again then.
func (s *Server) Rest(ctx context.Context) { _ = s.stop(ctx) }

// Close ends the server: it sends shutdown and exit, and kills the process after at most a second. Waiting calls fail. It may be
// called twice.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxClose, errors.New("timed out waiting for the server to end"))
	defer cancel()
	s.mu.Lock()
	ps := s.last
	if s.state != StateClosed {
		s.state = StateClosed
		if ps != nil {
			ps.requestStop(ErrClosed)
		}
		s.cancel(ErrClosed)
	}
	s.mu.Unlock()
	s.docs.close()
	var err error
	if ps != nil {
		err = ps.end(ctx, true)
	}
	ended := make(chan struct{})
	go func() { // exits when all of the server's goroutines have exited
		defer close(ended)
		s.work.Wait()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	// The process has been killed; the goroutines end soon.
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}

// addFolders adds workspace folders. It returns false if the server is running and does not support adding folders, so that they
// need another process. It does not wait.
func (s *Server) addFolders(folders []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StateClosed {
		return false
	}
	if s.state != StateReady || s.last.isEnding() {
		for _, dir := range folders {
			s.addFolderLocked(dir)
		}
		return true // whether the server supports them is known when it is ready
	}
	var added []string
	for _, dir := range folders {
		if dir = filepath.Clean(dir); dir != filepath.Clean(s.opts.Root) && !slices.Contains(s.folders, dir) {
			added = append(added, dir)
		}
	}
	if len(added) == 0 {
		return true
	}
	if !s.last.supportsFolders() || s.last.changeFolders(added, nil) != nil {
		return false
	}
	s.folders = append(s.folders, added...)
	return true
}

// removeFolders removes workspace folders.
func (s *Server) removeFolders(folders []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var removed []string
	s.folders = slices.DeleteFunc(s.folders, func(dir string) bool {
		gone := slices.Contains(folders, dir)
		if gone {
			removed = append(removed, dir)
		}
		return gone
	})
	if len(removed) > 0 && s.state == StateReady && !s.last.isEnding() && s.last.supportsFolders() {
		_ = s.last.changeFolders(nil, removed) // fails only if the process has ended
	}
}

func (s *Server) addFolderLocked(dir string) {
	dir = filepath.Clean(dir)
	if dir != filepath.Clean(s.opts.Root) && !slices.Contains(s.folders, dir) {
		s.folders = append(s.folders, dir)
	}
}

// syncFoldersLocked synchronizes the folders with a process that has become ready. If the process does not support folders, the
// server keeps only the root; otherwise the process is notified of folders that were added during its start. s.mu is held.
func (s *Server) syncFoldersLocked(ps *process) {
	if !isOn(jsonx.Lookup(ps.folderSupport(), "supported")) {
		s.folders = nil
		return
	}
	var missing []string
	for _, dir := range s.folders {
		if !slices.Contains(ps.folders, dir) {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 || ps.supportsFolders() && ps.changeFolders(missing, nil) == nil {
		return
	}
	s.folders = slices.DeleteFunc(s.folders, func(dir string) bool { return slices.Contains(missing, dir) })
}

func (ps *process) folderSupport() jsonx.Raw {
	return jsonx.Lookup(jsonx.Lookup(ps.caps.raw, "workspace"), "workspaceFolders")
}

// supportsFolders reports whether the server supports changes of the workspace folders.
func (ps *process) supportsFolders() bool {
	if ps.registry.has("workspace/didChangeWorkspaceFolders") {
		return true
	}
	support := ps.folderSupport()
	return isOn(jsonx.Lookup(support, "supported")) && isOn(jsonx.Lookup(support, "changeNotifications"))
}

func (ps *process) changeFolders(added, removed []string) error {
	return ps.tryNotify("workspace/didChangeWorkspaceFolders", folderChange{
		Event: folderEvent{Added: workspaceFolders(added), Removed: workspaceFolders(removed)},
	})
}
