package plugins

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

// fetchTimeout bounds one run of git.
const fetchTimeout = 15 * time.Minute

// Git runs the git program.
type Git struct {
	// Children owns the processes.
	Children *proc.Group
	// Env is the environment of this process.
	Env []string
}

// source provides the files of a plugin or a marketplace.
type source interface {
	// tree writes the files below a slash-separated path, or all, to a new directory.
	tree(ctx context.Context, subdir, to string) error
	// commit returns the commit, or "" for a directory.
	commit() string
}

// localSource is a directory.
type localSource struct{ dir string }

func (s localSource) commit() string { return "" }

func (s localSource) tree(_ context.Context, subdir, to string) error {
	from := filepath.Join(s.dir, filepath.FromSlash(subdir))
	real, err := filepath.EvalSymlinks(from)
	top, err2 := filepath.EvalSymlinks(s.dir)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if rel, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(rel) {
		return refused(subdir, "is a link out of %s", s.dir)
	}
	if info, err := os.Stat(real); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", from)
	}
	return copyTree(real, to)
}

// repository is a repository of which one commit was fetched. Nothing in it runs: hooks and filters are off, and no file is written but by
// [repository.tree].
type repository struct {
	git  *Git
	dir  string
	head string
}

func (r *repository) commit() string { return r.head }

// environ returns the environment of git without the variables that lead it elsewhere. quiet also hides the configuration of the user and the
// system, whose filters would run; it is needed for credentials and proxies only.
func (g *Git) environ(quiet bool) []string {
	var env []string
	for _, v := range proc.Environ(g.Env) {
		name, _, _ := strings.Cut(v, "=")
		switch up := strings.ToUpper(name); {
		case !strings.HasPrefix(up, "GIT_"), strings.HasPrefix(up, "GIT_SSH"), strings.HasPrefix(up, "GIT_SSL_"), up == "GIT_ASKPASS",
			up == "GIT_CONFIG_GLOBAL" && !quiet:
			env = append(env, v)
		}
	}
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	if quiet {
		env = append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
	}
	return env
}

// run runs git and returns its output.
func (g *Git) run(ctx context.Context, dir string, quiet bool, args ...string) ([]byte, error) {
	env := g.environ(quiet)
	program, err := proc.LookPath("git", env)
	if err != nil {
		return nil, fmt.Errorf("git is needed to install from a repository: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("git did not end within %s", fetchTimeout))
	defer cancel()
	var out bytes.Buffer
	safe := []string{
		"--git-dir=" + filepath.Join(dir, "git"), "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false",
		"-c", "core.symlinks=true", "-c", "core.autocrlf=false", "-c", "core.attributesFile=" + os.DevNull, "-c", "fetch.recurseSubmodules=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "init.templateDir=", "-c", "transfer.fsckObjects=true",
	}
	p, err := g.Children.Start(ctx, &proc.Options{Path: program, Args: append(safe, args...), Dir: dir, Env: env, Stdout: &out})
	if err != nil {
		return nil, err
	}
	state, err := p.Wait(ctx)
	if err != nil {
		p.Kill()
		<-p.Done()
		return nil, context.Cause(ctx)
	}
	if !state.Success() {
		return nil, &gitError{args[0], strings.TrimSpace(text.Visible(p.StderrTail()))}
	}
	return out.Bytes(), nil
}

// gitError reports that git has failed.
type gitError struct{ verb, stderr string }

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %s", e.verb, e.stderr) }

// fetch fetches one commit of a repository into a directory: only that commit if the server can, otherwise all branches and tags.
func (g *Git) fetch(ctx context.Context, spec *location, dir string) (*repository, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	r := &repository{git: g, dir: dir}
	if _, err := g.run(ctx, dir, true, "init", "-q", "--template="); err != nil {
		return nil, err
	}
	ref := spec.Ref
	if ref == "" {
		ref = "HEAD"
	}
	const end = "--end-of-options"
	_, err := g.run(ctx, dir, false, "fetch", "-q", "--no-tags", "--depth=1", end, spec.URL, ref)
	at := "FETCH_HEAD"
	if _, failed := errors.AsType[*gitError](err); failed && spec.Ref != "" {
		all := []string{"+refs/heads/*:refs/fetched/heads/*", "+refs/tags/*:refs/fetched/tags/*"}
		if _, more := g.run(ctx, dir, false, append([]string{"fetch", "-q", "--no-tags", end, spec.URL}, all...)...); more != nil {
			return nil, more
		}
		at, err = spec.Ref, nil
		if !isHex(spec.Ref) {
			return nil, fmt.Errorf("%s has no branch, tag or commit %q", spec.URL, spec.Ref)
		}
	}
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, dir, true, "rev-parse", "--verify", "-q", end, at+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%s has no branch, tag or commit %q", spec.URL, ref)
	}
	r.head = strings.TrimSpace(string(out))
	return r, nil
}

// isHex reports whether s can be an abbreviated commit.
func isHex(s string) bool {
	return len(s) >= 4 && len(s) <= 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

func (r *repository) tree(ctx context.Context, subdir, to string) error {
	tree := r.head + ":" + subdir
	if subdir == "" {
		tree = r.head + "^{tree}"
	}
	list, err := r.git.run(ctx, r.dir, true, "ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", tree)
	if err != nil {
		if subdir != "" {
			return fmt.Errorf("the commit %.12s has no directory %s: %w", r.head, subdir, fs.ErrNotExist)
		}
		return err
	}
	if err := r.check(ctx, string(list)); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, args := range [][]string{{"read-tree", "--empty"}, {"read-tree", tree}, {"checkout-index", "-a", "-f", "-q"}} {
		if _, err := r.git.run(ctx, r.dir, true, append([]string{"--work-tree=" + to}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// check checks a list of "mode type object size\tname" before a file is written.
func (r *repository) check(ctx context.Context, list string) error {
	var c checker
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		f := strings.Fields(about)
		if !ok || len(f) != 4 {
			return fmt.Errorf("the repository has no files; %w", errTree)
		}
		n := node{name: name}
		switch f[0] {
		case "100644", "100755", "100664":
			size, err := strconv.ParseInt(f[3], 10, 64)
			if err != nil {
				return fmt.Errorf("git ls-tree: %w", err)
			}
			n.size = size
		case "120000":
			target, err := r.git.run(ctx, r.dir, true, "cat-file", "blob", f[2])
			if err != nil {
				return err
			}
			n.link = string(target)
			if err := checkLink(&n); err != nil {
				return err
			}
		case "160000":
			return refused(name, "is a submodule, which gjc does not fetch")
		default:
			return refused(name, "has the unknown mode %s", f[0])
		}
		if err := c.add(&n); err != nil {
			return err
		}
	}
	return nil
}
