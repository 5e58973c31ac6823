package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Process is a child process. All methods are safe for concurrent use.
//
// Its goroutines, all of which end before [Group.Close] or [Process.Shutdown] returns nil:
//
//   - the owner starts the child, waits for the end of the leader, drains the output, kills the rest of the group, and
//     reaps the leader. It is locked to its OS thread while the leader runs, because Linux ties the parent-death signal
//     to the thread that forked. With KeepBackground it waits for Kill or Shutdown after the end of the leader.
//   - one pump for each of stdout and stderr that goes to a writer; it blocks in read and ends with the stream, at
//     the latest DrainQuiet after the group was killed.
//   - during Shutdown, one that calls goodbye, which must end with its context, and one that closes stdin.
type Process struct {
	name   string
	opts   Options
	group  *Group // nil for none
	leader leader
	stdin  io.WriteCloser // nil without Options.Stdin
	stdout *stream        // nil if a pump reads it
	stderr *Tail
	pumps  []*pump
	files  pipeFiles

	active   chan struct{} // has a token after each read of a pump
	stopping chan struct{} // closed when the process is to end now
	killing  chan struct{} // closed when the process is to be killed
	done     chan struct{} // closed when state is set
	cleaned  chan struct{} // closed when nothing is left: group killed, leader reaped, pumps ended
	state    ExitState     // set before done is closed

	mu  sync.Mutex // guards end; while it is held, the leader is not reaped, so that it can be signalled
	end endState
}

// pipeFiles are the ends of the pipes or the pseudo-terminal.
type pipeFiles struct {
	parent []*os.File // to close if the start fails
	child  []*os.File // to close in this process after the start
}

// endState is the progress of a process to its end.
type endState struct {
	phase           phase
	stopRequested   bool // stopping is closed
	terminating     bool // Terminate gives the group time to end
	killed          bool // Kill was called, perhaps during the start
	shutdownStarted bool
}

type phase int

const (
	phaseStarting phase = iota
	phaseRunning        // the group ID is reserved: the leader runs or is a zombie
	phaseReaped
)

// errClosedGroup is wrapped by the error of a start in a closed group.
var errClosedGroup = fmt.Errorf("the program is shutting down: %w", os.ErrClosed)

func start(ctx context.Context, opts *Options, group *Group) (*Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Process{
		name: filepath.Base(o.Path), opts: o, group: group, stderr: NewTail(o.StderrTail),
		active: make(chan struct{}, 1), stopping: make(chan struct{}), killing: make(chan struct{}),
		done: make(chan struct{}), cleaned: make(chan struct{}),
	}
	if err := p.connect(); err != nil {
		p.closeFiles(p.files.parent, p.files.child)
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	if !group.add(p) {
		p.closeFiles(p.files.parent, p.files.child)
		return nil, fmt.Errorf("starting %s: %w", p.name, errClosedGroup)
	}
	started := make(chan error, 1)
	go p.own(started)
	select {
	case err = <-started:
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", p.name, err)
		}
		return p, nil
	case <-ctx.Done():
		p.Kill()
		go func() { // ends with the owner goroutine
			<-p.cleaned
			p.closeFiles(p.files.parent)
		}()
		return nil, context.Cause(ctx)
	}
}

// connect creates the pipes or the pseudo-terminal, and the command.
func (p *Process) connect() error {
	o := &p.opts
	cmd := &exec.Cmd{
		Path: o.Path, Args: append([]string{o.Path}, o.Args...), Dir: o.Dir, Env: o.Env,
		// Wait has nothing to copy, because the pipes are files; WaitDelay is a safeguard.
		WaitDelay: o.DrainMax, ExtraFiles: o.Files,
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	switch {
	case o.Mark != "":
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], MarkEnv(o.Mark))
	case identity() != "" && !slices.ContainsFunc(cmd.Env, isMark): // the caller may have set one
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], MarkEnv(NewMark()))
	}
	p.leader.prepare(cmd, o.PTY)
	if o.User != nil {
		if err := p.leader.become(o.User); err != nil {
			return err
		}
	}
	if o.PTY {
		return p.connectPTY(cmd)
	}
	if o.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.files.parent, p.files.child = append(p.files.parent, w), append(p.files.child, r)
		cmd.Stdin, p.stdin = r, w
	}
	w, err := p.output(o.Stdout, true)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	if !o.MergeStderr {
		to := io.Writer(p.stderr)
		if o.Stderr != nil {
			to = io.MultiWriter(p.stderr, ignoreErrors{o.Stderr})
		}
		if cmd.Stderr, err = p.output(to, false); err != nil {
			return err
		}
	}
	return nil
}

// output creates a pipe and returns the child's end. If to is nil, the caller of Start reads it.
func (p *Process) output(to io.Writer, fatal bool) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.files.parent, p.files.child = append(p.files.parent, r), append(p.files.child, w)
	p.read(r, to, fatal)
	return w, nil
}

func (p *Process) read(r *os.File, to io.Writer, fatal bool) {
	s := newStream(r, p.opts.DrainQuiet)
	if to == nil {
		p.stdout = s
		return
	}
	p.pumps = append(p.pumps, newPump(s, to, p.active, func(error) {
		if fatal {
			p.Kill()
		}
	}))
}

func (p *Process) connectPTY(cmd *exec.Cmd) error {
	master, tty, err := openPTY(p.opts.Cols, p.opts.Rows)
	if err != nil {
		return fmt.Errorf("opening a pseudo-terminal: %w", err)
	}
	p.files.parent, p.files.child = append(p.files.parent, master), append(p.files.child, tty)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if p.opts.Stdin {
		p.stdin = terminalInput{master}
	}
	p.read(master, p.opts.Stdout, true)
	return nil
}

func (p *Process) closeFiles(lists ...[]*os.File) {
	for _, files := range lists {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// own is the owner goroutine.
func (p *Process) own(started chan<- error) {
	defer close(p.cleaned)
	defer p.group.remove(p)
	runtime.LockOSThread()
	guard := p.group.guarded()
	guard.begin()
	err := p.leader.start()
	if err == nil {
		guard.add(p.PID())
	}
	p.closeFiles(p.files.child)
	p.mu.Lock()
	p.end.phase = phaseRunning
	switch {
	case err != nil:
		p.end.phase = phaseReaped
	case p.end.killed:
		_ = p.leader.kill()
	}
	p.mu.Unlock()
	if err != nil {
		runtime.UnlockOSThread()
		p.closeFiles(p.files.parent)
		p.group.remove(p) // before Start returns
		p.finish(ExitState{Code: -1})
		started <- p.explain(err)
		return
	}
	for _, u := range p.pumps {
		go u.run()
	}
	started <- nil

	state := p.leader.wait()
	runtime.UnlockOSThread()
	p.drain()
	if p.opts.KeepBackground && !p.isStopping() {
		p.finish(state)
		<-p.stopping
	}
	p.awaitGroup()

	p.mu.Lock()
	_ = p.leader.kill()
	state = p.leader.reap(state)
	p.end.phase = phaseReaped
	p.mu.Unlock()
	p.leader.awaitGroupEnd()
	guard.drop(p.PID())
	if p.opts.Mark != "" && (!p.opts.KeepMarked || p.isStopping()) {
		Sweep(p.opts.Mark)
	}

	if p.stdin != nil && !p.opts.PTY { // no process reads a pseudo-terminal any longer
		_ = p.stdin.Close()
	}
	p.endStreams()
	p.group.remove(p) // before Done is closed
	p.finish(state)
}

// explain adds whether the program or the working directory does not exist; the system's error does not say.
func (p *Process) explain(err error) error {
	if p.opts.Dir == "" {
		return err
	}
	if _, statErr := os.Stat(p.opts.Dir); statErr != nil {
		return fmt.Errorf("in its working directory: %w", statErr)
	}
	return err
}

// awaitGroup waits for the group and the marked processes to end by themselves, if Terminate was called.
func (p *Process) awaitGroup() {
	p.mu.Lock()
	terminating := p.end.terminating
	p.mu.Unlock()
	if !terminating {
		return
	}
	const step = 5 * time.Millisecond
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-p.killing:
			return
		}
		begin := time.Now()
		if !groupLives(p.PID()) && (p.opts.Mark == "" || signalMarked(MarkEnv(p.opts.Mark), 0) == 0) {
			return
		}
		next.Reset(max(step, 10*time.Since(begin))) // scan less often on a machine with many processes
	}
}

// drain reads for a while if background children of the ended leader hold the output open.
func (p *Process) drain() {
	quiet := time.NewTimer(p.opts.DrainQuiet)
	defer quiet.Stop()
	limit := time.NewTimer(p.opts.DrainMax)
	defer limit.Stop()
	for _, u := range p.pumps {
		for open := true; open; {
			select {
			case <-u.ended:
				open = false
			case <-p.active:
				quiet.Reset(p.opts.DrainQuiet)
			case <-quiet.C:
				if p.opts.KeepBackground {
					p.catchUp(limit.C)
				}
				return
			case <-limit.C:
				return
			case <-p.stopping:
				return
			}
		}
	}
}

// catchUp waits until the pumps have copied the output of the leader, if they still run after its end: on a busy machine they may
// be late.
func (p *Process) catchUp(limit <-chan time.Time) {
	for _, u := range p.pumps {
		empty := u.stream.empty()
		if empty == nil {
			continue
		}
		select {
		case <-empty:
		case <-u.ended:
		case <-limit:
			return
		case <-p.stopping:
			return
		}
	}
}

// endStreams ends the streams and the pumps after the end of the group. It uses a deadline if a process that has left the group holds
// them open. A stream without deadlines (a terminal on some systems) is left to its pump, which ends with that process.
func (p *Process) endStreams() {
	limit := time.NewTimer(p.opts.DrainQuiet + p.opts.DrainMax)
	defer limit.Stop()
	defer func() {
		for _, u := range p.pumps {
			select {
			case <-u.ended:
			case <-limit.C:
				limit.Reset(0) // the others have had the same time
			}
		}
	}()
	quiet := time.NewTimer(p.opts.DrainQuiet)
	defer quiet.Stop()
	for _, u := range p.pumps {
		select {
		case <-u.ended:
			continue
		case <-quiet.C:
			quiet.Reset(0) // the others have had the same time
		}
		u.stream.end()
	}
	if p.stdout != nil {
		p.stdout.end()
	}
}

// finish sets the state and closes done, once.
func (p *Process) finish(state ExitState) {
	select {
	case <-p.done:
		return
	default:
	}
	for _, u := range p.pumps {
		u.mute()
	}
	p.state = state
	close(p.done)
}

func (p *Process) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// PID returns the process ID of the leader. It may belong to another process once [Process.Done] is closed: signal only through
// this package.
func (p *Process) PID() int { return p.leader.pid() }

// Stdin returns the pipe to the child, or nil without Options.Stdin. Close may be called twice. It makes the child read end of file,
// and ends a blocked Write; on a pseudo-terminal it types the end-of-file key.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the pipe from the child, or nil with Options.Stdout. It ends with [io.EOF] and is closed then; a
// caller that stops earlier must close it. The output of the child can still be read after [Process.Done].
func (p *Process) Stdout() io.ReadCloser {
	if p.stdout == nil {
		return nil
	}
	return p.stdout
}

// Stderr returns the end of what the child printed on stderr.
func (p *Process) Stderr() *Tail { return p.stderr }

// Done is closed when the leader has ended and its output is drained.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the process ended; [Process.Err] returns an error for a failure. If ctx ends first, Wait returns ctx's cause and the
// child runs on.
func (p *Process) Wait(ctx context.Context) (ExitState, error) {
	if p.ended() {
		return p.state, nil
	}
	select {
	case <-p.done:
		return p.state, nil
	case <-ctx.Done():
		return ExitState{}, context.Cause(ctx)
	}
}

// Kill kills the process and its group. It does not wait for [Process.Done]. It may be called at any time.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopLocked()
	if !p.end.killed {
		p.end.killed = true
		close(p.killing)
	}
	switch p.end.phase {
	case phaseStarting:
	case phaseRunning:
		_ = p.leader.kill()
	case phaseReaped:
	}
}

// terminate asks the group to end. It fails if the system has no way to do that. all includes the marked processes, and gives all of
// them time to end.
func (p *Process) terminate(all bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end.terminating = p.end.terminating || all
	p.stopLocked()
	if p.end.phase != phaseRunning {
		return nil
	}
	if err := p.leader.terminate(); err != nil || !all || p.opts.Mark == "" {
		return err
	}
	terminateMarked(MarkEnv(p.opts.Mark))
	return nil
}

// isTerminating reports whether a Terminate is under way.
func (p *Process) isTerminating() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end.terminating
}

func (p *Process) stopLocked() {
	if !p.end.stopRequested {
		p.end.stopRequested = true
		close(p.stopping)
	}
}

// ignoreErrors is a writer that ignores the errors of another one.
type ignoreErrors struct{ w io.Writer }

func (w ignoreErrors) Write(b []byte) (int, error) {
	_, _ = w.w.Write(b)
	return len(b), nil
}

// terminalInput writes to a pseudo-terminal. The file belongs to the stream that reads it.
type terminalInput struct{ master *os.File }

func (t terminalInput) Write(b []byte) (int, error) { return t.master.Write(b) }

func (t terminalInput) Close() error {
	const endOfFile = 4 // Ctrl-D
	if _, err := t.master.Write([]byte{endOfFile}); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
