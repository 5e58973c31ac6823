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

// Process is a child that was started. All methods are safe for concurrent use.
//
// Its goroutines, all of which end before [Group.Close] or [Process.Shutdown] returns nil:
//
//   - the owner starts the child, blocks until the leader has ended, drains the output, kills what is left of the
//     group, reaps the leader. It is locked to its OS thread while the leader lives, because Linux ties the
//     parent-death signal to the thread that forked. With KeepBackground it then waits for Kill or Shutdown.
//   - one pump for each of stdout and stderr that goes to a writer; it blocks in read and ends with the stream, at
//     the latest DrainQuiet after the group was killed.
//   - during Shutdown, one that says the goodbye, which must heed its context, and one that closes stdin.
type Process struct {
	name   string
	opts   Options
	group  *Group // nil for none
	leader leader
	stdin  io.WriteCloser // nil without Options.Stdin
	stdout *stream        // nil where a pump reads it
	stderr *Tail
	pumps  []*pump
	ours   []*os.File // our ends, to close when the start fails
	theirs []*os.File // the child's ends, to close in this process after the start

	active chan struct{} // a token after each read of a pump
	hurry  chan struct{} // closed when the end is wanted now
	last   chan struct{} // closed when nobody is given time any more
	done   chan struct{} // closed when state is set
	gone   chan struct{} // closed when nothing is left: group killed, leader reaped, pumps ended
	state  ExitState     // set before done is closed

	mu      sync.Mutex // guards what follows, and that no signal is sent once the leader is reaped
	phase   phase
	hurried bool
	asked   bool // Terminate gives the group time to end
	killed  bool // Kill came; also while the start was under way
	ladder  bool // a Shutdown is on the ladder
}

type phase int

const (
	phaseStarting phase = iota
	phaseRunning        // the group id is ours: the leader lives or is a zombie
	phaseReaped
)

// errClosedGroup is wrapped by the error of a start in a group that is closed.
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
		active: make(chan struct{}, 1), hurry: make(chan struct{}), last: make(chan struct{}),
		done: make(chan struct{}), gone: make(chan struct{}),
	}
	if err := p.connect(); err != nil {
		p.closeFiles(p.ours, p.theirs)
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	if !group.add(p) {
		p.closeFiles(p.ours, p.theirs)
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
			<-p.gone
			p.closeFiles(p.ours)
		}()
		return nil, context.Cause(ctx)
	}
}

// connect makes the pipes or the pseudo-terminal and the command on them.
func (p *Process) connect() error {
	o := &p.opts
	cmd := &exec.Cmd{
		Path: o.Path, Args: append([]string{o.Path}, o.Args...), Dir: o.Dir, Env: o.Env,
		// Our pipes are files, so Wait has nothing to copy; this holds should that ever change.
		WaitDelay: o.DrainMax,
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	switch {
	case o.Mark != "":
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], MarkEnv(o.Mark))
	case identity() != "" && !slices.ContainsFunc(cmd.Env, isMark): // the caller may have given it one
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], MarkEnv(NewMark()))
	}
	p.leader.prepare(cmd, o.PTY)
	if o.PTY {
		return p.connectPTY(cmd)
	}
	if o.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.ours, p.theirs = append(p.ours, w), append(p.theirs, r)
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
			to = io.MultiWriter(p.stderr, lenient{o.Stderr})
		}
		if cmd.Stderr, err = p.output(to, false); err != nil {
			return err
		}
	}
	return nil
}

// output makes one pipe from the child and returns the child's end. Where to is nil the caller of Start reads it.
func (p *Process) output(to io.Writer, fatal bool) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
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
	p.ours, p.theirs = append(p.ours, master), append(p.theirs, tty)
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
	defer close(p.gone)
	defer p.group.remove(p)
	runtime.LockOSThread()
	guard := p.group.guarded()
	guard.begin()
	err := p.leader.start()
	if err == nil {
		guard.add(p.PID())
	}
	p.closeFiles(p.theirs)
	p.mu.Lock()
	p.phase = phaseRunning
	switch {
	case err != nil:
		p.phase = phaseReaped
	case p.killed:
		_ = p.leader.kill()
	}
	p.mu.Unlock()
	if err != nil {
		runtime.UnlockOSThread()
		p.closeFiles(p.ours)
		p.group.remove(p) // before the caller knows
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
	if p.opts.KeepBackground && !p.wantsEnd() {
		p.finish(state)
		<-p.hurry
	}
	p.spare()

	p.mu.Lock()
	_ = p.leader.kill()
	state = p.leader.reap(state)
	p.phase = phaseReaped
	p.mu.Unlock()
	p.leader.settle()
	guard.drop(p.PID())
	if p.opts.Mark != "" && (!p.opts.KeepMarked || p.wantsEnd()) {
		Sweep(p.opts.Mark)
	}

	if p.stdin != nil && !p.opts.PTY { // nobody is left whom a key could tell anything
		_ = p.stdin.Close()
	}
	p.endStreams()
	p.group.remove(p) // before anybody can see that it is done
	p.finish(state)
}

// explain says which of the two paths of a start was the wrong one; the system's error does not.
func (p *Process) explain(err error) error {
	if p.opts.Dir == "" {
		return err
	}
	if _, statErr := os.Stat(p.opts.Dir); statErr != nil {
		return fmt.Errorf("in its working directory: %w", statErr)
	}
	return err
}

// spare waits for the rest of the group, and what carries the mark, to end by itself, where it was asked to.
func (p *Process) spare() {
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	if !asked {
		return
	}
	const step = 5 * time.Millisecond
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-p.last:
			return
		}
		begin := time.Now()
		if !groupLives(p.PID()) && (p.opts.Mark == "" || signalMarked(MarkEnv(p.opts.Mark), 0) == 0) {
			return
		}
		next.Reset(max(step, 10*time.Since(begin))) // a machine with many processes has other things to do
	}
}

// drain reads on for a while where background children of the ended leader hold the output open.
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
			case <-p.hurry:
				return
			}
		}
	}
}

// catchUp waits for the pumps to have carried what the leader has printed, where they go on behind its end: that nothing
// came for a while may be for want of a processor.
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
		case <-p.hurry:
			return
		}
	}
}

// endStreams sees to it that the streams and the pumps end, now that the group is dead: by themselves as a rule, by force where
// something that has left the group holds them. A stream that even force does not end (a terminal on a system where it has no
// deadlines) is left to its pump, which ends with whoever holds it.
func (p *Process) endStreams() {
	limit := time.NewTimer(p.opts.DrainQuiet + p.opts.DrainMax)
	defer limit.Stop()
	defer func() {
		for _, u := range p.pumps {
			select {
			case <-u.ended:
			case <-limit.C:
				limit.Reset(0) // the others have waited as long
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
			quiet.Reset(0) // the others have waited as long
		}
		u.stream.end()
	}
	if p.stdout != nil {
		p.stdout.end()
	}
}

// finish publishes the state, once.
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

func (p *Process) wantsEnd() bool {
	select {
	case <-p.hurry:
		return true
	default:
		return false
	}
}

// PID returns the process id of the leader. It may belong to another process once [Process.Done] is closed; signal
// only through this package.
func (p *Process) PID() int { return p.leader.pid() }

// Stdin returns the pipe to the child, or nil without Options.Stdin. Closing it, which may be done twice, shows the
// child end of file, and frees a Write that blocks; on a pseudo-terminal it types the end-of-file key.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the pipe from the child, or nil with Options.Stdout. It ends with [io.EOF] and is closed then; a
// caller who stops earlier closes it. What the child printed before its end can still be read after [Process.Done].
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

// Wait returns how the process ended, whatever its code; [Process.Err] makes an error of that. If ctx ends first,
// Wait returns ctx's cause and the child runs on.
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

// Kill ends the process and its group at once. It does not wait: [Process.Done] tells. It may be called at any time.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hurryLocked()
	if !p.killed {
		p.killed = true
		close(p.last)
	}
	switch p.phase {
	case phaseStarting:
	case phaseRunning:
		_ = p.leader.kill()
	case phaseReaped:
	}
}

// terminate asks the group to end. It fails where the system has no way to ask. patient says that all of it, and what carries
// the mark, is asked and given time.
func (p *Process) terminate(patient bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = p.asked || patient
	p.hurryLocked()
	if p.phase != phaseRunning {
		return nil
	}
	if err := p.leader.terminate(); err != nil || !patient || p.opts.Mark == "" {
		return err
	}
	askMarked(MarkEnv(p.opts.Mark))
	return nil
}

// isAsked reports that a Terminate is under way.
func (p *Process) isAsked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *Process) hurryLocked() {
	if !p.hurried {
		p.hurried = true
		close(p.hurry)
	}
}

// lenient is a writer whose errors do not matter.
type lenient struct{ w io.Writer }

func (l lenient) Write(b []byte) (int, error) {
	_, _ = l.w.Write(b)
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
