package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processes returns the command lines of the processes whose environment contains text, by process ID. It finds processes of other
// users only if this user may read their environment, and processes that hide it only if they have called [ReportProcess]. Zombies
// have no environment and are not found.
func Processes(text string) (map[int]string, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	found := make(map[int]string)
	for _, dir := range dirs {
		pid, err := strconv.Atoi(dir.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", dir.Name(), "environ"))
		if errors.Is(err, os.ErrPermission) {
			env = reported(pid)
		}
		if !bytes.Contains(env, []byte(text)) {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", dir.Name(), "cmdline"))
		if err != nil || len(line) == 0 {
			continue // it has exited meanwhile
		}
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found, nil
}

// reported returns the environment that a process has reported, or nil.
func reported(pid int) []byte {
	dir := os.Getenv(reportsVariable)
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(pid)))
	if err != nil {
		return nil
	}
	started, env, _ := bytes.Cut(text, []byte{0})
	if now, ok := startTime(pid); !ok || now != string(started) {
		return nil // the process ID has been reused
	}
	return env
}

// startTime returns the start time of a process as the kernel prints it. It fails for a process that has ended.
func startTime(pid int) (ticks string, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// pid (name) state …; the start time is field 22, and the name may contain any character.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}

// guard is a process that outlives the test run and kills the run's remaining processes.
type guard struct {
	cmd     *exec.Cmd
	mark    string
	reports string
	stdin   io.Closer
}

func startGuard() (*guard, error) {
	started, ok := startTime(os.Getpid())
	if !ok {
		return nil, errors.New("/proc does not show this process; mount it")
	}
	g := &guard{mark: fmt.Sprintf("%s=%d-%s;", runVariable, os.Getpid(), started)}
	var err error
	if g.reports, err = os.MkdirTemp("", "gjc-test-run-"); err != nil {
		return nil, err
	}
	_, value, _ := strings.Cut(g.mark, "=")                             // the guard itself must not carry the mark
	g.cmd = exec.CommandContext(context.Background(), "/proc/self/exe") // it outlives every context of the run
	g.cmd.Env = []string{guardVariable + "=" + value, reportsVariable + "=" + g.reports}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl+C in the terminal does not end the guard
	g.cmd.Dir = "/"
	if g.stdin, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err == nil {
		err = errors.Join(os.Setenv(runVariable, value), os.Setenv(reportsVariable, g.reports))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(g.reports))
	}
	return g, nil
}

// left returns the processes of the run that are still running after a grace period. One that is executing another program has no
// environment for a moment, so a single scan could miss it.
func (g *guard) left() (lines []string) {
	var found map[int]string
	quiet := 0
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var err error
		if found, err = Processes(g.mark); err != nil {
			return []string{err.Error()}
		}
		delete(found, os.Getpid()) // this run may itself be part of another run
		if quiet++; len(found) > 0 {
			quiet = 0
		} else if quiet == 2 {
			return nil
		}
		if time.Since(begin) > leftPatience {
			break
		}
	}
	for pid, line := range found {
		lines = append(lines, fmt.Sprintf("%d: %s", pid, line))
	}
	return lines
}

func (g *guard) stop() error {
	return errors.Join(g.stdin.Close(), g.cmd.Wait())
}

func init() { // runs before everything else in the test binary
	if run := os.Getenv(guardVariable); run != "" {
		os.Exit(runGuard(runVariable + "=" + run))
	}
}

// runGuard waits for the end of the run, which closes stdin, and kills the run's remaining processes.
func runGuard(mark string) (code int) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	KillProcesses(mark)
	if os.RemoveAll(os.Getenv(reportsVariable)) != nil {
		return 1
	}
	return 0
}

// KillProcesses kills the processes that [Processes] finds, until it finds none twice in a row: the environment of a starting
// process is briefly unreadable.
func KillProcesses(text string) {
	const pause = 20 * time.Millisecond
	quiet := 0
	for begin := time.Now(); quiet < 2 && time.Since(begin) < leftPatience; time.Sleep(pause) {
		found, err := Processes(text)
		if err != nil {
			return
		}
		quiet++
		for pid := range found {
			if pid == os.Getpid() {
				continue
			}
			quiet = 0
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have exited already
		}
	}
}
