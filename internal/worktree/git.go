package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

// The reasons why there can be no worktree. Errors wrap them, and say what to do.
var (
	ErrNoGit         = errors.New("git is not installed")
	ErrOldGit        = errors.New("git is too old")
	ErrNotRepository = errors.New("not in a git repository with a working tree")
	ErrNoCommit      = errors.New("the repository has no commit yet; make a first one")
	ErrInProgress    = errors.New("an operation of git is unfinished")
	ErrLocked        = errors.New("another git command is running")
)

const (
	// runTimeout bounds one run of git.
	runTimeout = 15 * time.Minute
	// oldestMajor and oldestMinor are the first version whose "git config" shows scopes.
	oldestMajor, oldestMinor = 2, 26
)

// Git runs the git program. It runs no hook, and no program that only the repository's own configuration names.
type Git struct {
	// Children owns the processes.
	Children *proc.Group
	// Env is the environment of this process.
	Env []string
}

// run is one run of git.
type run struct {
	// dir is the working directory.
	dir string
	// repository is that of the run; nil lets git find it.
	repository *repository
	// env are more variables.
	env []string
	// config are more settings, as "name=value".
	config []string
	stdin  []byte
}

// environ returns the environment of git without the variables that lead it elsewhere. Nothing is fetched, and no lock is taken that only
// speeds up later runs.
func (g *Git) environ(more []string) []string {
	var env []string
	for _, v := range proc.Environ(g.Env) {
		name, _, _ := strings.Cut(v, "=")
		if up := strings.ToUpper(name); !strings.HasPrefix(up, "GIT_") || up == "GIT_CONFIG_GLOBAL" || up == "GIT_CONFIG_SYSTEM" || up == "GIT_CONFIG_NOSYSTEM" {
			env = append(env, v)
		}
	}
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", "LANGUAGE=C")
	return append(env, more...)
}

// do runs git and returns its output.
func (g *Git) do(ctx context.Context, r *run, args ...string) ([]byte, error) {
	more := r.env
	if r.repository != nil {
		more = append([]string{"GIT_DIR=" + r.repository.gitDir, "GIT_WORK_TREE=" + r.repository.top}, more...)
	}
	env := g.environ(more)
	program, err := proc.LookPath("git", env)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, fmt.Errorf("git did not end within %s", runTimeout))
	defer cancel()
	all := []string{"--no-pager", "--literal-pathspecs"}
	safe := []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.untrackedCache=false", "gc.auto=0", "maintenance.auto=false", "core.looseCompression=1",
		"core.splitIndex=false", "advice.detachedHead=false", "worktree.useRelativePaths=false",
	}
	for _, setting := range append(safe, r.config...) {
		all = append(all, "-c", setting)
	}
	var out bytes.Buffer
	p, err := g.Children.Start(ctx, &proc.Options{Path: program, Args: append(all, args...), Dir: r.dir, Env: env, Stdout: &out, Stdin: r.stdin != nil})
	if err != nil {
		return nil, err
	}
	if r.stdin != nil {
		go func() { // ends with the process, which closes the pipe
			_, _ = p.Stdin().Write(r.stdin) // git says why it reads no more
			_ = p.Stdin().Close()
		}()
	}
	state, err := p.Wait(ctx)
	if err != nil {
		p.Kill()
		<-p.Done()
		return nil, context.Cause(ctx)
	}
	if !state.Success() {
		return out.Bytes(), &gitError{args[0], strings.TrimSpace(text.Visible(p.StderrTail())), state.Code}
	}
	return out.Bytes(), nil
}

// line is [Git.do] for a single line of output.
func (g *Git) line(ctx context.Context, r *run, args ...string) (string, error) {
	out, err := g.do(ctx, r, args...)
	return strings.TrimRight(string(out), "\r\n"), err
}

// gitError reports that git has failed.
type gitError struct {
	verb, stderr string
	code         int
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %s", e.verb, e.stderr) }

// version checks that git is recent enough.
func (g *Git) version(ctx context.Context) error {
	out, err := g.line(ctx, &run{dir: string(filepath.Separator)}, "version")
	if err != nil {
		return err
	}
	words := strings.Fields(out) // git version 2.39.5 (Apple Git-154)
	if len(words) < 3 {
		return fmt.Errorf("%w: it calls itself %q; version %d.%d is needed", ErrOldGit, out, oldestMajor, oldestMinor)
	}
	parts := strings.SplitN(words[2], ".", 3)
	var numbers [2]int
	for i := range min(len(parts), len(numbers)) {
		numbers[i], _ = strconv.Atoi(parts[i]) // what is no number is older than any
	}
	if numbers[0] < oldestMajor || numbers[0] == oldestMajor && numbers[1] < oldestMinor {
		return fmt.Errorf("%w: it is version %s; version %d.%d is needed", ErrOldGit, words[2], oldestMajor, oldestMinor)
	}
	return nil
}
