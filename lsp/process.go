package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

const (
	// shutdownTimeout is the time for which gjc waits for the answer to shutdown before it sends exit.
	shutdownTimeout = 300 * time.Millisecond
	// handlerGrace is the time for which the end of a connection waits for handlers after their context was cancelled.
	handlerGrace = 200 * time.Millisecond
)

// process is one process of a server, from its start to its end, and the connection to it.
type process struct {
	server  *Server
	proc    *proc.Process
	conn    *jsonrpc.Conn
	started time.Time
	apart   bool   // whether it sees no other processes of the machine
	tempDir string // removed when the process has ended; empty for none
	// nowait is a cancelled context: with it, Conn.Notify does not wait for room in the queue.
	nowait context.Context //nolint:containedctx // a cancelled context, which bounds nothing

	// folders are the folders in initialize, without the root.
	folders []string
	features
	config         configuration
	exit           exit
	pendingAnswers atomic.Int64 // answers that are not written yet
	progress       *progress
	registry       registry
	// strays counts the lines that were not part of a message; firstStray is the first one. Only the connection's reader writes
	// them.
	strays     int
	firstStray atomic.Pointer[string]

	mu   sync.Mutex // guards the fields below
	stop error      // why the process should end; nil if it should not
	// sending holds the changes of documents that are queued and not yet written, in order.
	sending []sentChange
}

// features holds what a server sent in its answer to initialize. They are set once.
type features struct {
	info     string // name and version
	caps     capabilities
	encoding Encoding
	sync     syncOptions
}

// configuration is the state of the workspace/configuration requests.
type configuration struct {
	requested atomic.Bool
	answered  chan struct{} // closed when the first request was answered
	once      sync.Once
}

// exit is the end of a process.
type exit struct {
	once        sync.Once
	done        chan struct{} // closed when process and connection have ended
	handled     chan struct{} // closed when the server has recorded the end
	err         error         // of the shutdown
	description atomic.Pointer[string]
}

// launch starts a process and initializes it. On an error it leaves no process.
func (s *Server) launch(ctx context.Context) (*process, error) {
	spec := s.opts.Spec
	warmup := spec.Warmup
	if warmup <= 0 {
		warmup = defaultWarmup
	}
	ctx, cancel := context.WithTimeoutCause(ctx, warmup, fmt.Errorf("it did not answer initialize within %s", warmup))
	defer cancel()
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: spec.Path}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.starts++
	again := s.starts > 1
	s.mu.Unlock()
	if again {
		s.logf("— start %s —", time.Now().Format(time.TimeOnly))
	}
	ps, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := ps.initialize(ctx); err != nil {
		err = spec.startError(ps.explain(err))
		end, cancel := context.WithTimeout(context.Background(), maxClose)
		defer cancel()
		ps.requestStop(err)
		if endErr := ps.end(end, false); endErr != nil {
			err = errors.Join(err, endErr)
		}
		close(ps.exit.handled)
		return nil, err
	}
	return ps, nil
}

// start starts a process.
func (s *Server) start(ctx context.Context) (*process, error) {
	// Cancelling a start would orphan the child: no parent would wait for it.
	ctx = context.WithoutCancel(ctx)
	spec := s.opts.Spec
	o := proc.Options{Path: spec.Path, Dir: s.opts.Root, Stdin: true, Stderr: s.log, Grace: closeStep}
	if s.opts.Inside != nil {
		o.Args, o.Env = spec.args(visiblePID), proc.Environ(s.opts.Env)
		p, apart, err := s.opts.Inside(ctx, s.opts.Children, &o)
		if err != nil {
			return nil, spec.startError(err)
		}
		ps := newProcess(s, p)
		ps.apart = apart
		return ps, nil
	}
	tempDir, variables := newTempDir(s.opts.Env)
	o.Args, o.Env = spec.args(os.Getpid()), proc.Environ(s.opts.Env, variables...)
	p, err := s.opts.Children.Start(ctx, &o)
	if err != nil {
		return nil, errors.Join(spec.startError(startHint(err, s.opts.Root)), removeTempDir(tempDir))
	}
	ps := newProcess(s, p)
	ps.tempDir = tempDir
	return ps, nil
}

// visiblePID is the ID of a process that a server in a sandbox sees as long as it runs.
const visiblePID = 1

// args returns the arguments, with pid as this program's process ID.
func (s *Spec) args(pid int) []string {
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = strings.ReplaceAll(a, "$PID", strconv.Itoa(pid))
	}
	return args
}

// startError returns the error for a server that cannot be started.
func (s *Spec) startError(err error) error {
	if errors.Is(err, errStopped) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("cannot start the language server %s (%s): %w", s.Name, strings.Join(append([]string{s.Path}, s.Args...), " "), err)
}

// startHint adds advice for the user to the error of a start.
func startHint(err error, root string) error {
	if _, gone := os.Stat(root); gone != nil {
		return fmt.Errorf("%w; its directory %s cannot be used", err, root)
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

func newProcess(s *Server, p *proc.Process) *process {
	nowait, cancel := context.WithCancel(context.Background())
	cancel()
	ps := &process{
		server: s, proc: p, started: time.Now(), nowait: nowait, features: features{encoding: UTF16}, progress: newProgress(),
		exit: exit{done: make(chan struct{}), handled: make(chan struct{})}, config: configuration{answered: make(chan struct{})},
	}
	ps.conn = jsonrpc.NewConn(permit.With(context.Background(), permit.Own()), p.Stdout(), p.Stdin(), jsonrpc.Options{
		Framing: frame.HeadersAndStray(ps.addStray), Handler: jsonrpc.HandlerFunc(ps.handle), Closer: p.Pipes(),
		MaxMessageSize: s.opts.MaxMessage, CancelMethod: "$/cancelRequest", CancelParam: "id",
		// Notifications before an answer are handled before the call returns.
		HandleFirst: true,
		Trace:       ps.trace, Dropped: ps.logDropped,
		Panicked: func(method string, value any, stack []byte) {
			s.opts.Log.Error().Str("server", s.Name()).Str("method", method).Any("panic", value).Bytes("stack", stack).Msg("lsp: a handler panicked")
		},
		CloseGrace: handlerGrace,
	})
	return ps
}

// requestStop records that the process is about to be stopped, so that its exit does not count as a crash. The first reason is
// kept.
func (ps *process) requestStop(why error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.stop == nil {
		ps.stop = why
	}
}

// stopReason returns why the process is being stopped; nil if it is not.
func (ps *process) stopReason() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.stop
}

// isEnding reports whether the process accepts no more requests.
func (ps *process) isEnding() bool {
	if ps.stopReason() != nil {
		return true
	}
	select {
	case <-ps.conn.Closing():
		return true
	case <-ps.proc.Done():
		return true
	default:
		return false
	}
}

// end ends the process and the connection and waits until both have ended. If polite is set, it sends shutdown and exit first.
// Further calls wait for the first one.
func (ps *process) end(ctx context.Context, polite bool) error {
	ps.exit.once.Do(func() {
		var goodbye func(context.Context) error
		if polite {
			goodbye = func(ctx context.Context) error {
				// A busy server may answer late. Send exit in any case, before any signal.
				answer, cancel := context.WithTimeout(ctx, shutdownTimeout)
				_ = ps.conn.Call(answer, "shutdown", nil, nil)
				cancel()
				if err := ps.conn.Notify(ctx, "exit", nil); err != nil {
					return err
				}
				return ps.conn.Flush(ctx)
			}
		}
		ps.exit.err = ps.proc.Shutdown(ctx, goodbye)
		ps.describeExit()
		_ = ps.conn.Close()
		if err := removeTempDir(ps.tempDir); err != nil {
			ps.server.opts.Log.Warn().Err(err).Msg("lsp: cannot remove the server's temporary files")
		}
		ps.progress.clear()
		close(ps.exit.done)
	})
	<-ps.exit.done
	return ps.exit.err
}

// describeExit describes how the process or the connection ended.
func (ps *process) describeExit() string {
	if known := ps.exit.description.Load(); known != nil {
		return *known
	}
	select {
	case <-ps.proc.Done():
	default:
		if cause := ps.conn.Err(); cause != nil && !errors.Is(cause, jsonrpc.ErrClosed) {
			return "the connection failed: " + cause.Error()
		}
		return "it closed its output"
	}
	how := ps.proc.Ended()
	if tail := ps.proc.StderrTail(); tail != "" {
		how += "; its stderr ends:\n" + tail
	}
	ps.exit.description.Store(&how)
	return how
}

// exitError returns the error of calls that are under way when the process ends.
func (ps *process) exitError() error {
	if why := ps.stopReason(); why != nil {
		return why
	}
	ps.proc.Ended() // after the pipe broke, it usually exits soon
	return fmt.Errorf("%w: %s", ErrServerDied, ps.describeExit())
}

// explain adds the output and the exit of the process to the error of a start.
func (ps *process) explain(err error) error {
	if jsonrpc.IsGone(err) {
		ps.proc.Ended()
		err = errors.New("it ended during its start: " + ps.describeExit())
	} else if tail := ps.proc.StderrTail(); tail != "" {
		err = fmt.Errorf("%w; its stderr ends:\n%s", err, tail)
	}
	if line := ps.firstStray.Load(); line != nil {
		err = fmt.Errorf("%w\nit printed text that is not a message, for example: %s", err, *line)
	}
	err = fmt.Errorf("%w\nCheck that its command in lsp.json starts a language server on stdin and stdout (many need an option like --stdio)", err)
	if ps.server.opts.Inside != nil {
		err = fmt.Errorf("%w\nIt runs in the sandbox. If it needs more than that allows, give it \"sandbox\": false in the lsp.json of your home directory", err)
	}
	return err
}

// maxStrays bounds the stray lines of one process that are logged.
const maxStrays = 50

// addStray logs a line that is not part of a message.
func (ps *process) addStray(line []byte) {
	if ps.strays++; ps.strays > maxStrays {
		return
	}
	stray := strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
	ps.firstStray.CompareAndSwap(nil, &stray)
	ps.server.logf("[stdout] %s", stray)
}

// maxPendingAnswers bounds the answers that the server has not read: a server that sends requests without reading the answers must
// not exhaust the memory.
const maxPendingAnswers = 4096

// countAnswer counts a message that will be answered. It kills a server that does not read its answers.
func (ps *process) countAnswer() {
	if ps.pendingAnswers.Add(1) == maxPendingAnswers {
		ps.server.logf("[gjc] killed the server: it sends requests and does not read the answers")
		ps.proc.Kill()
	}
}

// logDropped logs the error of a message that was dropped.
func (ps *process) logDropped(reason error) {
	if errors.Is(reason, jsonrpc.ErrInvalidRequest) || errors.Is(reason, jsonrpc.ErrParse) {
		ps.countAnswer() // answered with an error
	}
	ps.server.opts.Log.Debug().Str("server", ps.server.Name()).Err(reason).Msg("lsp: dropped a message")
}

// tempPrefix begins the name of a server's directory for temporary files.
const tempPrefix = "gjc-lsp-"

// tempVariables returns the environment variables for the directory of temporary files, in the order of precedence.
func tempVariables(goos string) []string {
	if goos == "windows" {
		return []string{"TMP", "TEMP"}
	}
	return []string{"TMPDIR"}
}

// newTempDir creates a directory for the temporary files of a process, in the directory that env names, and returns it with the
// variables that refer to it. The caller must remove dir and the files that the process leaves in it. dir is empty if it could not
// be created.
func newTempDir(env []string) (dir string, variables []string) {
	names := tempVariables(runtime.GOOS)
	parent := lookup(env, names[0])
	if !filepath.IsAbs(parent) {
		parent = os.TempDir()
	}
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return "", nil
	}
	for _, name := range names {
		variables = append(variables, name+"="+dir)
	}
	return dir, variables
}

// lookup returns the last value of a variable in env.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// removeTempDir removes a directory of [newTempDir] and its files. It retries, because a descendant that has left the server's
// process group may still write there.
func removeTempDir(dir string) (err error) {
	if dir == "" {
		return nil
	}
	for range 5 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
