package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// languages measures gopls on a copy of this repository: an edit up to the end of its tool call, which has the
// diagnostics, and a definition. All rounds share one gjc and one gopls, and the first calls do not count, because the
// warm server is measured.
func languages(ctx context.Context, binary, dir string, rounds int) ([]measure, error) {
	gopls, err := output(ctx, "", "go", "tool", "-modfile=tools/go.mod", "-n", "gopls")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(gopls, filepath.Join(bin, "gopls")); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "repository")
	if _, err := output(ctx, "", "git", "clone", "--quiet", "--local", ".", work); err != nil {
		return nil, err
	}
	c, err := newCaller(ctx, binary, filepath.Join(dir, "languages"), work, bin)
	if err != nil {
		return nil, err
	}
	defer end(c.agent)
	agent, session, call := c.agent, c.session, c.call
	const file = "acp/server/languages.go"
	breaks := `!edit ` + file + ` func noSuchServer( => func noSuchServerX(`
	mends := `!edit ` + file + ` func noSuchServerX( => func noSuchServer(`
	asks := `!lsp definition ` + file + ` symbol=Workspace`
	// Load the project, and check everything once.
	for _, prompt := range []string{"!lsp diagnostics " + file + " timeout=60", breaks, mends} {
		if _, err := agent.Prompt(ctx, session.SessionID, prompt); err != nil {
			return nil, err
		}
	}
	var all []measure
	for range rounds {
		for _, c := range []struct{ step, prompt, want string }{
			{"edit to diagnostics of gopls, broken", breaks, "undefined: noSuchServer"},
			{"edit to diagnostics of gopls, mended", mends, "no problems"},
			{"definition by gopls", asks, "definition"},
		} {
			took, err := call(c.prompt, c.want)
			if err != nil {
				return nil, err
			}
			all = append(all, measure{step: c.step, took: took})
		}
	}
	// gjc listens for late diagnostics for some seconds; after that it has nothing to do.
	time.Sleep(idleBehind)
	for range rounds {
		before := processorTime(agent.Process.PID())
		time.Sleep(idleFor)
		all = append(all, measure{step: "computing in 200 ms, idle, gopls running", took: processorTime(agent.Process.PID()) - before})
	}
	return all, nil
}

// idleBehind is the time that a session may work after its last prompt, idleFor the time that it is observed after
// that.
const (
	idleBehind = 6 * time.Second
	idleFor    = 200 * time.Millisecond
)

// processorTime returns the processor time that a process has used so far, in all its threads; zero if the system does
// not report it.
func processorTime(pid int) time.Duration {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is valid
	var sum time.Duration
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			sum += time.Duration(ns)
		}
	}
	return sum
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", name, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
