package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxLine bounds a line of an extension, in bytes, and maxParams the params of its requests.
	maxLine, maxParams = 16 << 20, 1 << 20
	// maxRate bounds the messages of an extension in one second that are not answers.
	maxRate = 50
	// startTimeout bounds "initialize", and shutdownTimeout "shutdown".
	startTimeout, shutdownTimeout = 10 * time.Second, time.Second
	// maxStderr is the length of the end of stderr that a message contains, in bytes.
	maxStderr = 2 << 10
)

var (
	// errFlood ends an extension that sends too much.
	errFlood = fmt.Errorf("it sent more than %d messages in a second", maxRate)
	// errUnusable is wrapped by the errors after which an extension is not started again.
	errUnusable = errors.New("it cannot be used")
	// errNotRunning is wrapped by the error of what needs a process that has ended.
	errNotRunning = errors.New("the extension is not running")
)

// process is a running extension.
type process struct {
	of      *extension
	program agent.RunningProgram
	conn    *jsonrpc.Conn
	out     *pipe

	mu       sync.Mutex // guards the fields below
	cause    error      // why gjc ended it
	second   time.Time  // the beginning of the second in which count messages came
	count    int
	tail     []byte // the end of stderr
	garbage  bool   // whether the user knows of output that is no message
	unusable bool   // whether the user knows of a notification that cannot be used
	progress map[string]func(agent.Progress)
}

// start starts the program of an extension and initializes it.
func (e *extension) start(ctx context.Context) (*process, *registration, error) {
	programs := e.m.opts.Programs
	starter, ok := programs.(agent.ProgramStarter)
	if !ok {
		return nil, nil, fmt.Errorf("%w: %w", errUnusable, agent.ErrNotStarted)
	}
	path := e.def.command[0]
	if !strings.ContainsAny(path, `/\`) {
		var err error
		if path, err = programs.LookPath(path); err != nil {
			return nil, nil, fmt.Errorf("%w: its program %s is not there: %w", errUnusable, e.def.command[0], err)
		}
	}
	p := &process{of: e, out: newPipe(), progress: make(map[string]func(agent.Progress))}
	program, err := starter.StartProgram(permit.With(ctx, permit.Own()), agent.LongProgram{
		Path: path, Args: e.def.command[1:], Dir: e.def.base, Env: append([]string{"GJC_EXTENSION=" + e.def.name}, e.def.env...),
		OnOutput: p.output, OnStderr: p.stderr,
	})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errUnusable, err)
		}
		return nil, nil, err
	}
	p.mu.Lock()
	p.program = program
	cause := p.cause
	p.mu.Unlock()
	if cause != nil {
		program.Kill()
	}
	p.conn = jsonrpc.NewConn(ctx, p.out, program, jsonrpc.Options{
		Framing: frame.Lines, Handler: p, Closer: p, MaxMessageSize: maxLine, CancelMethod: "cancel", CancelParam: "id", Dropped: p.dropped,
		CloseGrace: shutdownTimeout,
	})
	go func() { // ends with the program
		<-program.Done()
		p.out.end()
	}()
	limited, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it did not answer initialize within %v", startTimeout))
	defer cancel()
	reg := new(registration)
	if err := p.conn.Call(limited, "initialize", e.m.initialize(e), reg); err != nil {
		p.kill(nil)
		<-program.Done()
		if _, bad := errors.AsType[*jsonrpc.AnswerError](err); bad { // it would give the same answer again
			err = fmt.Errorf("%w: %w", errUnusable, err)
		}
		return nil, nil, p.reason(err)
	}
	return p, reg, nil
}

// Close implements [io.Closer] for the connection: the program ends, which ends blocked reads and writes.
func (p *process) Close() error {
	p.program.Kill()
	return nil
}

// output receives what the program writes.
func (p *process) output(b []byte) {
	if err := p.out.write(b); err != nil {
		p.kill(fmt.Errorf("%w: %w", errUnusable, err))
	}
}

func (p *process) stderr(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, b...)
	if over := len(p.tail) - maxStderr; over > 0 {
		p.tail = append(p.tail[:0], p.tail[over:]...)
	}
}

// kill ends the program for a reason; nil for none.
func (p *process) kill(cause error) {
	p.mu.Lock()
	p.cause = cmp.Or(p.cause, cause)
	program := p.program
	p.mu.Unlock()
	p.out.abort()       // a flood need not be read to its end
	if program != nil { // it may write before its start returns
		program.Kill()
	}
}

// reason returns why the program has ended. err is what was noticed of it.
func (p *process) reason(err error) error {
	p.mu.Lock()
	cause, tail := p.cause, strings.TrimSpace(toolkit.PlainOutput(strings.ToValidUTF8(string(p.tail), "\uFFFD")))
	p.mu.Unlock()
	switch status := p.program.Status(); {
	case cause != nil:
		return cause
	case jsonrpc.IsGone(err) && status.Signal != "":
		err = errors.New("it ended with signal " + status.Signal)
	case jsonrpc.IsGone(err):
		err = fmt.Errorf("it ended with exit status %d", status.Code)
	}
	if tail != "" {
		err = fmt.Errorf("%w; its stderr ends:\n%s", err, tail)
	}
	return err
}

// stop asks the program to end, and ends it.
func (p *process) stop(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	_ = p.conn.Call(limited, "shutdown", struct{}{}, nil) // it ends in any case
	_ = p.program.CloseInput()
	_ = p.program.Terminate(limited)
	_ = p.conn.Close()
}

// call sends a request. The error names the extension if its process has ended.
func (p *process) call(ctx context.Context, method string, params, result any) error {
	err := p.conn.Call(ctx, method, params, result)
	if err != nil && jsonrpc.IsGone(err) {
		return fmt.Errorf("%w: %s has ended", errNotRunning, p.of.def.name)
	}
	return err
}

// allow counts a message, and ends the extension if there are too many.
func (p *process) allow() bool {
	now := time.Now()
	p.mu.Lock()
	if now.Sub(p.second) >= time.Second {
		p.second, p.count = now, 0
	}
	p.count++
	ok := p.count <= maxRate
	p.mu.Unlock()
	if !ok {
		p.kill(fmt.Errorf("%w: %w", errUnusable, errFlood))
	}
	return ok
}

// dropped receives the reasons why output was ignored. Late answers are no mistake. The user hears of each kind of mistake once.
func (p *process) dropped(reason error) {
	if errors.Is(reason, jsonrpc.ErrInvalidParams) || errors.Is(reason, jsonrpc.ErrMethodNotFound) { // Handle has counted the message
		p.mistake(&p.unusable, "sends a notification that gjc cannot use; it is ignored.", reason)
		return
	}
	_, long := errors.AsType[*frame.TooLongError](reason)
	if p.allow() && (long || errors.Is(reason, jsonrpc.ErrParse) || errors.Is(reason, jsonrpc.ErrInvalidRequest)) {
		p.mistake(&p.garbage, "writes something to its output that is not a message; it is ignored.", reason)
	}
}

// mistake names the extension in a warning, unless the user knows already.
func (p *process) mistake(known *bool, what string, reason error) {
	p.mu.Lock()
	first := !*known
	*known = true
	p.mu.Unlock()
	if first {
		p.of.notice(agent.SeverityWarning, "The extension "+p.of.def.name+" "+what, words(reason.Error()))
	}
}

// Handle implements [jsonrpc.Handler].
func (p *process) Handle(_ context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	if !p.allow() {
		return nil, errFlood
	}
	if len(req.Params) > maxParams {
		return nil, fmt.Errorf("%w: more than %s", jsonrpc.ErrInvalidParams, toolkit.Size(maxParams))
	}
	switch req.Method {
	case methodMessage:
		return p.message(req)
	case methodAppend:
		var entry stateEntry
		if err := decode(req, &entry); err != nil {
			return nil, err
		}
		return func() (any, error) {
			if err := p.of.append(&entry); err != nil {
				return nil, err
			}
			return struct{}{}, nil
		}, nil
	case methodState:
		return func() (any, error) {
			entries, err := p.of.state()
			if err != nil {
				return nil, err
			}
			return stateResult{entries}, nil
		}, nil
	case methodNotify:
		return nil, p.notify(req)
	case methodProgress:
		return nil, p.report(req)
	case methodLog:
		return nil, p.log(req)
	default:
		return nil, fmt.Errorf("%w: %s; gjc serves %s", jsonrpc.ErrMethodNotFound, req.Method, strings.Join(capabilities(), ", "))
	}
}

func decode(req *jsonrpc.Request, into any) error {
	if err := jsonx.Unmarshal(req.Params, into); err != nil {
		return fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
	}
	return nil
}

// message gives the model a message.
func (p *process) message(req *jsonrpc.Request) (jsonrpc.Reply, error) {
	var m messageParams
	if err := decode(req, &m); err != nil {
		return nil, err
	}
	if err := agent.Deliver(p.of.m.opts.Session(), p.of.def.name, m.Text, agent.Delivery(cmp.Or(m.DeliverAs, string(agent.DeliverSteer)))); err != nil {
		return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
	}
	return func() (any, error) { return struct{}{}, nil }, nil
}

// notify shows the user a text.
func (p *process) notify(req *jsonrpc.Request) error {
	var n notifyParams
	if err := decode(req, &n); err != nil {
		return err
	}
	severity := agent.SeverityInfo
	switch n.Level {
	case "", "info":
	case "warning":
		severity = agent.SeverityWarning
	case "error":
		severity = agent.SeverityError
	default:
		return fmt.Errorf("%w: level must be info, warning or error", jsonrpc.ErrInvalidParams)
	}
	shown := words(n.Text)
	if shown == "" {
		return fmt.Errorf("%w: text is empty", jsonrpc.ErrInvalidParams)
	}
	p.of.notice(severity, "The extension "+p.of.def.name+" says: "+shown, "")
	return nil
}

// log passes on what the extension writes to gjc's log.
func (p *process) log(req *jsonrpc.Request) error {
	if len(req.Params) == 0 {
		return fmt.Errorf("%w: there is nothing to log", jsonrpc.ErrInvalidParams)
	}
	p.of.m.opts.Log(p.of.def.name, p.of.m.opts.Session().Hide(words(text.OneLine(string(req.Params)))))
	return nil
}

// report shows the progress of a call. That of a call which has ended is dropped.
func (p *process) report(req *jsonrpc.Request) error {
	var r progressParams
	if err := decode(req, &r); err != nil {
		return err
	}
	p.mu.Lock()
	update := p.progress[r.CallID]
	p.mu.Unlock()
	if shown := words(r.Text); update != nil && shown != "" {
		update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: shown}}})
	}
	return nil
}
