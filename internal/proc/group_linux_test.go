package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/proc"
)

// The tests in this file inspect the process table.

// processState returns the state letter and the group of a process; ok is false when there is none.
func processState(pid int) (state byte, group int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// pid (name) state ppid pgrp …; the name may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	group, _ = strconv.Atoi(fields[2])
	return fields[0][0], group, true
}

// alive reports whether a process runs: a zombie does not.
func alive(pid int) bool {
	state, _, ok := processState(pid)
	return ok && state != 'Z' && state != 'X'
}

// membersOf returns the processes of a group that run.
func membersOf(t *testing.T, group int) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if _, g, ok := processState(pid); ok && g == group && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// untilGone waits until a process of any user has ended.
func untilGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(deadline).Milliseconds()))
		if n > 0 {
			return
		}
		if err != nil && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			_ = unix.Kill(pid, unix.SIGKILL)
			t.Fatalf("process %d is still there (%v)", pid, err)
		}
	}
}

// untilGroupGone waits until no process of a group runs. A killed process needs a moment of processor time to end, and the children
// of a child cannot be waited for.
func untilGroupGone(t *testing.T, group int) {
	t.Helper()
	for _, pid := range membersOf(t, group) {
		untilGone(t, pid)
	}
	if pids := membersOf(t, group); len(pids) > 0 {
		t.Errorf("still in group %d: %v", group, pids)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// printedPID returns the process ID that the fake parent printed. Lines from its child may precede or follow it.
func printedPID(t *testing.T, text string) int {
	t.Helper()
	for line := range strings.Lines(text) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			return pid
		}
	}
	t.Fatalf("no process id in %.200q", text)
	return 0
}

func TestWait_BackgroundChildHoldsTheOutput(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	p := start(t, "parent", proc.Options{Args: []string{"stubborn"}, Stdout: out, DrainQuiet: 20 * time.Millisecond})
	if state := wait(t, p); !state.Success() {
		t.Errorf("state = %v", state)
	}
	untilGone(t, printedPID(t, out.close()))
	untilGroupGone(t, p.PID())
}

func TestWait_BackgroundChildThatWritesOnIsCutOff(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	p := start(t, "parent", proc.Options{
		Args: []string{"chatter"}, Stdout: out, DrainQuiet: time.Hour, DrainMax: 30 * time.Millisecond,
	})
	wait(t, p)
	out.close()
	untilGroupGone(t, p.PID())
}

func TestWait_KeepsOutputAfterTheLeadersEnd(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	p := start(t, "parent", proc.Options{
		Args: []string{"latecomer"}, Stdout: out, DrainQuiet: patience, DrainMax: patience,
	})
	wait(t, p)
	if got := out.close(); !strings.HasSuffix(got, "\nlate\n") {
		t.Errorf("output = %q", got)
	}
}

func TestWait_PipeReaderSeesTheEndDespiteABackgroundChild(t *testing.T) {
	noLeaks(t)
	p := start(t, "parent", proc.Options{Args: []string{"stubborn"}})
	got, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	untilGone(t, printedPID(t, string(got)))
	wait(t, p)
}

func TestWait_ProcessThatLeftTheGroupHoldsTheOutput(t *testing.T) {
	for _, mode := range []string{"writer", "pipe", "terminal", "terminal read"} {
		for _, fake := range []string{"stubborn", "chatter"} {
			t.Run(mode+" "+fake, func(t *testing.T) {
				noLeaks(t)
				o := proc.Options{
					Args: []string{fake, "setsid"}, DrainQuiet: 20 * time.Millisecond, DrainMax: 40 * time.Millisecond,
					PTY: strings.HasPrefix(mode, "terminal"), Stdin: mode == "terminal",
				}
				out := new(sink)
				written := mode == "writer" || mode == "terminal"
				if written {
					o.Stdout = out
				}
				p := start(t, "parent", o)
				var text string
				if written {
					wait(t, p)
					text = out.close()
				} else {
					got, err := io.ReadAll(p.Stdout())
					if err != nil {
						t.Error(err)
					}
					text = string(got)
					wait(t, p)
				}
				pid := printedPID(t, text)
				_ = unix.Kill(pid, unix.SIGKILL)
				untilGone(t, pid)
			})
		}
	}
}

// Output of the leader is kept however short the time to drain it: that it is still unread may be due to a slow machine.
func TestWait_KeepsWhatWasPrintedInTheShortestTime(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, setsid := range [][]string{{"stubborn"}, {"stubborn", "setsid"}} {
			t.Run(fmt.Sprint(keep, setsid), func(t *testing.T) {
				noLeaks(t)
				for range 10 {
					out := new(sink)
					p := start(t, "parent", proc.Options{Args: setsid, Stdout: out, DrainQuiet: time.Nanosecond, KeepBackground: keep})
					wait(t, p)
					pid := printedPID(t, out.close())
					p.Kill()
					_ = unix.Kill(pid, unix.SIGKILL)
					untilGone(t, pid)
				}
			})
		}
	}
}

func TestKeepBackground_RunsOnUntilKill(t *testing.T) {
	for _, end := range []string{"kill", "shutdown", "group"} {
		t.Run(end, func(t *testing.T) {
			noLeaks(t)
			out := new(sink)
			g := proc.NewGroup(nil)
			p, err := g.Start(t.Context(), &proc.Options{
				Path: self(), Env: fakeEnv("parent"), Args: []string{"stubborn"}, Stdout: out,
				DrainQuiet: 20 * time.Millisecond, KeepBackground: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if state := wait(t, p); !state.Success() {
				t.Errorf("state = %v", state)
			}
			pid := printedPID(t, out.close())
			if !alive(pid) {
				t.Errorf("background process %d is gone", pid)
			}
			// The zombie reserves the group's ID.
			if state, _, ok := processState(p.PID()); !ok || state != 'Z' {
				t.Errorf("the leader's state is %q, %v; want a zombie", state, ok)
			}
			if n := g.Len(); n != 1 {
				t.Errorf("the group has %d children, want 1", n)
			}
			switch end {
			case "kill":
				p.Kill() // does not wait
				untilGone(t, pid)
			case "shutdown":
				if err := p.Shutdown(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			untilGone(t, pid)
			if _, _, ok := processState(p.PID()); ok {
				t.Error("the leader was not reaped")
			}
			if out.late {
				t.Error("the writer was called after Done")
			}
		})
	}
}

func TestGroup_CloseLeavesNothing(t *testing.T) {
	noLeaks(t)
	program := proc.NewGroup(nil)
	session := proc.NewGroup(program)
	var leaders []int
	for i, fake := range []string{"stubborn", "deaf", "echo", "chatter", "parent", "stubborn"} {
		g := program
		if i%2 == 0 {
			g = session
		}
		p, err := g.Start(t.Context(), &proc.Options{
			Path: self(), Env: fakeEnv(fake), Args: []string{"stubborn"}, Stdin: true, Stdout: io.Discard,
			Grace: 20 * time.Millisecond, KeepBackground: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		leaders = append(leaders, p.PID())
	}
	if n := program.Len(); n != 6 {
		t.Errorf("the program has %d children, want 6", n)
	}
	if n := session.Len(); n != 3 {
		t.Errorf("the session has %d children, want 3", n)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := program.Len(); n != 3 {
		t.Errorf("the program has %d children after the session's end, want 3", n)
	}
	if err := program.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, pid := range leaders {
		untilGroupGone(t, pid)
	}
	for _, g := range []*proc.Group{program, session} {
		if _, err := g.Start(t.Context(), &proc.Options{Path: self()}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("start after Close: err = %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestGroup_SessionOfAClosedProgramStartsNothing(t *testing.T) {
	program := proc.NewGroup(nil)
	session := proc.NewGroup(program)
	if err := program.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Start(t.Context(), &proc.Options{Path: self()}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

func TestGroup_CloseRacesStart(t *testing.T) {
	noLeaks(t)
	for range 20 {
		g := proc.NewGroup(nil)
		pids := make(chan int, 8)
		for range cap(pids) {
			go func() {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel() // before, during or after the start
				p, err := g.Start(ctx, &proc.Options{Path: self(), Env: fakeEnv("stubborn"), Stdout: io.Discard})
				if err != nil {
					pids <- 0
					return
				}
				pids <- p.PID()
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		if n := g.Len(); n != 0 {
			t.Errorf("%d children are left", n)
		}
		for range cap(pids) {
			if pid := <-pids; pid != 0 && alive(pid) {
				t.Errorf("process %d is still there", pid)
			}
		}
	}
}

func TestStart_ContextThatEndsMeanwhileLeavesNoChild(t *testing.T) {
	noLeaks(t)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		p, err := proc.Start(ctx, &proc.Options{Path: self(), Env: fakeEnv("stubborn"), Stdout: io.Discard})
		if err == nil {
			if err := p.Shutdown(ctx, nil); err != nil {
				t.Error(err)
			}
		}
		cancel()
	}
	for _, pid := range childrenOf(t, os.Getpid()) {
		untilGone(t, pid)
	}
}

// childrenOf returns the children of a process.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for pid := range strings.FieldsSeq(string(text)) {
			pids = append(pids, atoi(t, pid))
		}
	}
	return pids
}

func TestChildDiesWithItsKilledParent(t *testing.T) {
	p := start(t, "supervisor", proc.Options{})
	child := atoi(t, readLine(t, p.Stdout()))
	if !alive(child) {
		t.Fatalf("child %d does not run", child)
	}
	if _, group, _ := processState(child); group == p.PID() {
		t.Fatal("the child is in its parent's group; the test shows nothing")
	}
	if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	untilGone(t, child)
}

// A child must not die because the thread that started it did.
func TestChildOutlivesTheCallersThread(t *testing.T) {
	noLeaks(t)
	started := make(chan *proc.Process)
	go func() {
		// A goroutine that exits while it is locked to its thread ends the thread.
		runtime.LockOSThread()
		p, err := proc.Start(context.Background(), &proc.Options{Path: self(), Env: fakeEnv("echo"), Stdin: true})
		if err != nil {
			t.Error(err)
			close(started)
			return
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		return
	}
	for range 3 {
		if _, err := io.WriteString(p.Stdin(), "alive\n"); err != nil {
			t.Fatal(err)
		}
		readLine(t, p.Stdout())
	}
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if state := wait(t, p); !state.Success() {
		t.Errorf("state = %v", state)
	}
	_ = p.Stdout().Close()
}

// Terminate gives the grace period to all processes of the group and to those that have left it, even if the leader ends at once.
func TestTerminate(t *testing.T) {
	for _, test := range []struct {
		name, line string
		grace      time.Duration
		marked     bool
		want       string
	}{
		{"a child of the leader's", `sh -c 'trap "echo bye; exit" TERM; echo ready; while :; do sleep 0.01; done' & wait`, patience, false, "ready\nbye\n"},
		{"one that has left", `setsid sh -c 'trap "echo bye; exit" TERM; echo ready; while :; do sleep 0.01; done' & wait`, patience, true, "ready\nbye\n"},
		{"one that ignores it", `sh -c 'trap "" TERM; echo ready; while :; do sleep 0.01; done' & wait`, 30 * time.Millisecond, false, "ready\n"},
		{"a leader that ignores it", `trap "" TERM; echo ready; while :; do sleep 0.01; done`, 30 * time.Millisecond, false, "ready\n"},
		{"one that has left and ignores it", `setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 0.01; done' & wait`, 30 * time.Millisecond, true, "ready\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			out := &sink{lines: make(chan string, 10)}
			mark := proc.NewMark()
			o := proc.Options{Path: "/bin/sh", Args: []string{"-c", test.line}, Env: os.Environ(), Stdout: out}
			if test.marked {
				o.Mark, o.KeepMarked = mark+".1", true
			}
			p, err := proc.Start(t.Context(), &o)
			if err != nil {
				t.Fatal(err)
			}
			for !strings.Contains(<-out.lines, "ready") {
				continue
			}
			if err := p.Terminate(t.Context(), test.grace); err != nil {
				t.Error(err)
			}
			if got := out.close(); got != test.want {
				t.Errorf("output = %q", got)
			}
			untilGroupGone(t, p.PID())
			if pids := carriersOf(t, mark); len(pids) > 0 {
				t.Errorf("still there: %v", pids)
			}
		})
	}
}

// Hasten limits a Terminate that is under way and one that follows.
func TestGroup_Hasten(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			noLeaks(t)
			g := proc.NewGroup(nil)
			p, err := g.Start(t.Context(), &proc.Options{Path: self(), Env: fakeEnv("stubborn")})
			if err != nil {
				t.Fatal(err)
			}
			readLine(t, p.Stdout())
			asked := make(chan struct{})
			proc.WatchSignals(p, sync.OnceFunc(func() { close(asked) }))
			if before {
				g.Hasten(20 * time.Millisecond)
			}
			ended := make(chan error, 1)
			go func() { ended <- p.Terminate(t.Context(), time.Hour) }()
			<-asked
			if !before {
				g.Hasten(20 * time.Millisecond)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("it waits for what does not end")
				p.Kill()
			}
			_ = p.Stdout().Close()
		})
	}
}

// carriersOf returns the processes with a mark or a part of it, after waiting a moment for killed ones to end.
func carriersOf(t *testing.T, mark string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(env, []byte(mark)) {
			pids = append(pids, atoi(t, filepath.Base(dir)))
		}
	}
	return pids
}

// With KeepMarked, processes that have left the group run on after the process ends by itself, until the whole mark is swept.
func TestKeepMarked(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	mark := proc.NewMark()
	p := start(t, "parent", proc.Options{
		Args: []string{"stubborn", "setsid"}, Stdout: out, DrainQuiet: 20 * time.Millisecond, Mark: mark + ".1", KeepMarked: true,
	})
	wait(t, p)
	pid := printedPID(t, out.close())
	if !alive(pid) {
		t.Error("it was killed")
	}
	proc.Sweep(mark + ".2")
	proc.Sweep(mark[:len(mark)-1])
	if !alive(pid) {
		t.Error("another mark's sweep has killed it")
	}
	proc.Sweep(mark)
	untilGone(t, pid)
}

func TestMark_ReachesWhatLeftTheGroup(t *testing.T) {
	noLeaks(t)
	out := new(sink)
	p := start(t, "parent", proc.Options{
		Args: []string{"stubborn", "setsid"}, Stdout: out, DrainQuiet: 20 * time.Millisecond, Mark: "test-" + strconv.Itoa(os.Getpid()),
	})
	wait(t, p)
	untilGone(t, printedPID(t, out.close())) // killed, but needs a moment of processor time to end
}
