package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The variables that the processes of a test run have in their environment.
const (
	// runVariable names the run.
	runVariable = "GJC_TEST_RUN"
	// reportsVariable names the directory for the reports of [ReportProcess].
	reportsVariable = "GJC_TEST_REPORTS"
	// guardVariable names the run that the test binary guards.
	guardVariable = "GJC_TESTENV_GUARD"
)

// Run runs the tests of a package with m.Run, and returns the exit code. Every process that a test starts with [RunEnv] in its
// environment ends with the run: a guard process kills it, even if the run itself is killed, panics or times out. If the tests
// pass but leave such a process running, Run names it on stderr and returns 1. Only Linux has the guard.
func Run(m interface{ Run() int }) (code int) {
	g, err := startGuard()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the guard of the test run:", err)
		return 1
	}
	code = m.Run()
	if left := g.left(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes are left:\n%s\n", strings.Join(left, "\n"))
		code = 1
	}
	if err := g.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "ending the guard of the test run:", err)
		code = max(code, 1)
	}
	return code
}

// RunEnv returns the variables that mark a process as part of this run (see [Run]), for an environment that is not inherited.
func RunEnv() (env []string) {
	for _, name := range []string{runVariable, reportsVariable} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// ReportProcess records the environment of this process for [Processes]. A program that hides its environment from other
// processes of its user calls it first; without [Run] it is a no-op.
func ReportProcess() error {
	dir := os.Getenv(reportsVariable)
	if dir == "" {
		return nil
	}
	started, ok := startTime(os.Getpid())
	if !ok {
		return nil
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(started + "\x00" + strings.Join(os.Environ(), "\x00"))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, strconv.Itoa(os.Getpid())))
}

// leftPatience limits the wait for a killed process to end, on a busy machine.
const leftPatience = 10 * time.Second
