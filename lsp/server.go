package lsp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

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

// Server is one language server for all who use it. Its process starts at the first need, is started anew when it dies,
// with the documents that are open, and can end while nobody uses it. All methods are safe for concurrent use.
//
// Its goroutines, all of which have ended when Close returns: one for each attempt to start the process, one that watches
// the process that runs, those of the connection to it, and for a short time those that close documents nobody holds.
type Server struct {
	opts ServerOptions
	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // grows only while mu is held and the server is not closed
	log    *proc.Tail
	slots  chan struct{} // one for each request under way
	// executing is held by the Execute that runs.
	executing chan struct{}
	docs      *documents

	mu        sync.Mutex // guards what follows; docs.mu may be taken while it is held, not the other way round
	state     ServerState
	last      *life    // the present or the most recent process
	attempt   *attempt // the start that is under way
	failures  int      // starts and lives in a row that came to nothing
	notBefore time.Time
	lastErr   error
	starts    int
	folders   []string
	notices   noticeRate
	apply     *applier // where the edits of the server go while Execute runs
}

const (
	// maxRequests is how many requests may be under way at once; more wait. A server works on one or a few at a time.
	maxRequests = 64
	// maxLog bounds the log of a server, in bytes.
	maxLog = 64 << 10

	defaultRequestTimeout = 30 * time.Second
	defaultMaxMessage     = 64 << 20
	// maxClose bounds the end of a process; closeStep is what each step of its ladder has of that.
	maxClose  = time.Second
	closeStep = 400 * time.Millisecond
	// closeSettles is how long goroutines may take, on a busy machine, to see that their process has been killed.
	closeSettles = time.Second
	// stableAfter is how long a process must have lived for its death to begin the attempts anew.
	stableAfter = time.Minute
)

// NewServer returns a server. It starts nothing. The caller must Close it.
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
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.docs = newDocuments(s)
	for _, dir := range opts.Folders {
		s.addFolderLocked(dir)
	}
	return s
}

// Name is the server's name in the configuration.
func (s *Server) Name() string { return s.opts.Spec.Name }

// Spec is the server's configuration. It must not be changed.
func (s *Server) Spec() *Spec { return s.opts.Spec }

// Start brings the server up and waits until it has answered initialize, or ctx ends. An error says what the user can
// do.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.ready(ctx)
	return err
}

// running returns the process that is ready, or nil.
func (s *Server) running() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != StateReady || s.last.isOver() {
		return nil
	}
	return s.last
}

// busy reports whether somebody waits for the server, or holds a document.
func (s *Server) busy() bool {
	s.mu.Lock()
	starting := s.attempt != nil
	s.mu.Unlock()
	return starting || len(s.slots) > 0 || s.docs.held()
}

// Capabilities returns what the server said that it can do, as it said it; nil before it did.
func (s *Server) Capabilities() jsonx.Raw {
	if l := s.running(); l != nil {
		return l.caps.raw
	}
	return nil
}

// Encoding is how the server counts characters; UTF-16 before it said so.
func (s *Server) Encoding() Encoding {
	if l := s.running(); l != nil {
		return l.encoding
	}
	return UTF16
}

// Supports reports whether the server takes a method for a file, by its capabilities and what it registered since. path
// is empty for methods of the workspace. It is false before the server is ready.
func (s *Server) Supports(method, path string) bool {
	l := s.running()
	return l != nil && len(l.providers(method, path)) > 0
}

// Reload has the server read its project and its settings anew: by its own request where it has one, by
// workspace/didChangeConfiguration where it cares for that, or by a restart.
func (s *Server) Reload(ctx context.Context) error {
	l, err := s.ready(ctx)
	if err != nil {
		return err
	}
	if l.isRustAnalyzer() {
		if err := s.Call(ctx, "rust-analyzer/reloadWorkspace", nil, nil); err == nil || ctx.Err() != nil {
			return err
		}
	}
	if l.caresForSettings() {
		return s.Notify(ctx, "workspace/didChangeConfiguration", settingsChange{Settings: s.settings()})
	}
	return s.Restart(ctx)
}

// Restart ends the process, if there is one, and starts another.
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

// Rest ends the process until the next need. The documents that are open then are opened again.
func (s *Server) Rest(ctx context.Context) { _ = s.stop(ctx) }

// Close ends the server: shutdown, exit, and what else it takes, within ctx and never longer than a second, behind which the
// process is killed. Calls that wait fail. It may be called twice.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxClose, errors.New("the server did not end in time"))
	defer cancel()
	s.mu.Lock()
	l := s.last
	if s.state != StateClosed {
		s.state = StateClosed
		if l != nil {
			l.want(ErrClosed)
		}
		s.cancel(ErrClosed)
	}
	s.mu.Unlock()
	s.docs.close()
	var err error
	if l != nil {
		err = l.end(ctx, true)
	}
	ended := make(chan struct{})
	go func() { // ends with the server's goroutines
		defer close(ended)
		s.work.Wait()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	// The process has been killed by now, and what is left only has to take note of that.
	settle := time.NewTimer(closeSettles)
	defer settle.Stop()
	select {
	case <-ended:
	case <-settle.C:
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}
