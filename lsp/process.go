package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// stderrInError is how much of a server's complaints an error quotes, in bytes.
	stderrInError = 2 << 10
	// shutdownAnswer is how long a server may take to answer shutdown before it is sent exit.
	shutdownAnswer = 300 * time.Millisecond
	// exitSettles is how long the exit status of a process whose output has ended is waited for. It comes at once, but for a
	// busy machine and a process that has closed its output only.
	exitSettles = 2 * time.Second
	// handlerGrace is how long the end of a connection waits for handlers that do not heed their context.
	handlerGrace = 200 * time.Millisecond
)

// life is one process of a server, from its start to its end.
type life struct {
	server  *Server
	proc    *proc.Process
	conn    *jsonrpc.Conn
	framing *framing
	started time.Time
	tempDir string // of its own, removed when it has ended; empty for none
	// nowait has ended: with it Conn.Notify sends at once or not at all.
	nowait context.Context

	// folders are those besides the root that initialize has told.
	folders []string
	// What initialize brought; not changed behind it.
	info     string
	caps     capabilities
	encoding Encoding
	sync     syncOptions

	over     chan struct{} // closed when process and connection have ended
	noted    chan struct{} // closed when the server has taken note of that
	ended    sync.Once
	endErr   error
	owed     atomic.Int64 // answers that the server has not read yet
	progress *progress
	asked    atomic.Bool // it asked for its configuration
	// configured is closed when it has been answered that, by settled.
	configured chan struct{}
	settled    sync.Once
	registry   registry
	described  atomic.Pointer[string] // how the process ended

	mu   sync.Mutex
	stop error // why the end is wanted; nil where it is not
	// sending has the changes of documents that are on their way to the process, in order.
	sending []sentChange
}

// launch starts a process and brings it up to where it can be used. On an error nothing of it is left.
func (s *Server) launch(ctx context.Context) (*life, error) {
	spec := s.opts.Spec
	warmup := spec.Warmup
	if warmup <= 0 {
		warmup = DefaultWarmup
	}
	ctx, cancel := context.WithTimeoutCause(ctx, warmup, fmt.Errorf("it did not answer initialize within %s", warmup))
	defer cancel()
	args := make([]string, len(spec.Args))
	for i, a := range spec.Args {
		args[i] = strings.ReplaceAll(a, "$PID", strconv.Itoa(os.Getpid()))
	}
	s.mu.Lock()
	s.starts++
	again := s.starts > 1
	s.mu.Unlock()
	if again {
		s.logf("— start %s —", time.Now().Format(time.TimeOnly))
	}
	tempDir, variables := newTempDir(s.opts.Env)
	// A start that is cut off would leave a child that nobody waits for.
	p, err := s.opts.Children.Start(context.WithoutCancel(ctx), &proc.Options{
		Path: spec.Path, Args: args, Dir: s.opts.Root, Env: proc.Environ(s.opts.Env, variables...), Stdin: true, Stderr: s.log, Grace: closeStep,
	})
	if err != nil {
		return nil, errors.Join(s.startError(s.hint(err)), removeTempDir(tempDir))
	}
	l := s.newLife(p)
	l.tempDir = tempDir
	if err := l.initialize(ctx); err != nil {
		err = s.startError(l.explain(err))
		bye, cancel := context.WithTimeout(context.Background(), maxClose)
		defer cancel()
		l.want(err)
		if endErr := l.end(bye, false); endErr != nil {
			err = errors.Join(err, endErr)
		}
		close(l.noted)
		return nil, err
	}
	return l, nil
}

// startError words what kept the server from starting, for people.
func (s *Server) startError(err error) error {
	if errors.Is(err, errStopped) || errors.Is(err, ErrClosed) {
		return err
	}
	spec := s.opts.Spec
	return fmt.Errorf("the language server %s (%s) could not be started: %w", spec.Name, strings.Join(append([]string{spec.Path}, spec.Args...), " "), err)
}

// hint adds to the failure of a start what the user can do about it.
func (s *Server) hint(err error) error {
	if _, gone := os.Stat(s.opts.Root); gone != nil {
		return fmt.Errorf("%w; the directory that it belongs to can not be used", err)
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; install it, correct its command in lsp.json, or disable it there", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; make it executable, or correct its command in lsp.json", err)
	default:
		return fmt.Errorf("%w; check its command in lsp.json", err)
	}
}

func (s *Server) newLife(p *proc.Process) *life {
	nowait, cancel := context.WithCancel(context.Background())
	cancel()
	l := &life{
		server: s, proc: p, started: time.Now(), nowait: nowait, encoding: UTF16,
		over: make(chan struct{}), noted: make(chan struct{}), configured: make(chan struct{}), progress: newProgress(),
		framing: &framing{stray: func(line string) { s.logf("[stdout] %s", line) }},
	}
	l.conn = jsonrpc.NewConn(context.Background(), p.Stdout(), p.Stdin(), jsonrpc.Options{
		Framing: l.framing, Handler: jsonrpc.HandlerFunc(l.handle), Closer: streams{p.Stdin(), p.Stdout()},
		MaxMessageSize: s.opts.MaxMessage, CancelMethod: "$/cancelRequest", CancelParam: "id",
		// What the server says before an answer is known when the answer is.
		HandleFirst: true,
		Trace:       l.trace, Dropped: l.dropped,
		Panicked: func(method string, value any, stack []byte) {
			s.opts.Log.Error().Str("server", s.Name()).Str("method", method).Any("panic", value).Bytes("stack", stack).Msg("lsp: a handler panicked")
		},
		CloseGrace: handlerGrace,
	})
	return l
}

// streams closes several.
type streams []io.Closer

func (s streams) Close() error {
	var errs []error
	for _, c := range s {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// want says that the end is wanted, and why, so that it is no crash.
func (l *life) want(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		l.stop = why
	}
}

func (l *life) wanted() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop
}

// isOver reports that nothing can be asked of the process any more.
func (l *life) isOver() bool {
	if l.wanted() != nil {
		return true
	}
	select {
	case <-l.conn.Closing():
		return true
	case <-l.proc.Done():
		return true
	default:
		return false
	}
}

// end ends the process and the connection, and returns when nothing of them is left. Who comes second joins the first.
func (l *life) end(ctx context.Context, polite bool) error {
	l.ended.Do(func() {
		var goodbye func(context.Context) error
		if polite {
			goodbye = func(ctx context.Context) error {
				// A server that is busy answers late. It is told to go in any case, which is kinder than a signal.
				answer, cancel := context.WithTimeout(ctx, shutdownAnswer)
				_ = l.conn.Call(answer, "shutdown", nil, nil)
				cancel()
				if err := l.conn.Notify(ctx, "exit", nil); err != nil {
					return err
				}
				return l.conn.Flush(ctx)
			}
		}
		l.endErr = l.proc.Shutdown(ctx, goodbye)
		l.describe()
		_ = l.conn.Close()
		if err := removeTempDir(l.tempDir); err != nil {
			l.server.opts.Log.Warn().Err(err).Msg("lsp: removing the server's temporary files")
		}
		l.progress.clear()
		close(l.over)
	})
	<-l.over
	return l.endErr
}

// describe keeps how the process ended, before its memory of that grows old.
func (l *life) describe() string {
	if known := l.described.Load(); known != nil {
		return *known
	}
	how := ""
	select {
	case <-l.proc.Done():
		state, _ := l.proc.Wait(context.Background())
		how = "its process " + state.String()
	default:
		if cause := l.conn.Err(); cause != nil && !errors.Is(cause, jsonrpc.ErrClosed) {
			return "the connection broke: " + cause.Error()
		}
		return "it closed its output"
	}
	if complaints := text.Tail(strings.TrimSpace(l.proc.Stderr().String()), stderrInError); complaints != "" {
		how += "; its stderr ends:\n" + strings.ToValidUTF8(complaints, "\uFFFD")
	}
	l.described.Store(&how)
	return how
}

// death is why what was under way has failed.
func (l *life) death() error {
	if why := l.wanted(); why != nil {
		return why
	}
	settle := time.NewTimer(exitSettles)
	defer settle.Stop()
	select { // where the pipe broke, the process is ending as a rule
	case <-l.proc.Done():
	case <-settle.C:
	}
	return fmt.Errorf("%w: %s", ErrServerDied, l.describe())
}

// explain adds to the failure of a start what is known of the process.
func (l *life) explain(err error) error {
	if jsonrpc.IsGone(err) {
		settle := time.NewTimer(exitSettles)
		defer settle.Stop()
		select {
		case <-l.proc.Done():
		case <-settle.C:
		}
		err = errors.New("it ended during the start: " + l.describe())
	} else if complaints := text.Tail(strings.TrimSpace(l.proc.Stderr().String()), stderrInError); complaints != "" {
		err = fmt.Errorf("%w; its stderr ends:\n%s", err, strings.ToValidUTF8(complaints, "\uFFFD"))
	}
	if line := l.framing.firstStray(); line != "" {
		err = fmt.Errorf("%w\nit printed what is no message, for example: %s", err, line)
	}
	return fmt.Errorf("%w\nCheck that its command in lsp.json starts a language server that speaks over stdin and stdout (many want an option like --stdio)", err)
}

// maxOwed is how many answers may wait for the server to read them. One that asks without an end and does not read would
// fill the memory with answers.
const maxOwed = 4096

// owe takes note of a message that will be answered.
func (l *life) owe() {
	if l.owed.Add(1) == maxOwed {
		l.server.logf("[gjc] the server asks without reading the answers; it is ended")
		l.proc.Kill()
	}
}

// dropped is told of what could not be used.
func (l *life) dropped(reason error) {
	if errors.Is(reason, jsonrpc.ErrInvalidRequest) || errors.Is(reason, jsonrpc.ErrParse) {
		l.owe() // such a message is answered with an error
	}
	l.server.opts.Log.Debug().Str("server", l.server.Name()).Err(reason).Msg("lsp: a message was dropped")
}
