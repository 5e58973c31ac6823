//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// surroundings holds the environment of the tests of one run.
type surroundings struct {
	options *options
	ctx     context.Context //nolint:containedctx // of one run, as this is
	// dir has the files that were created for the run.
	dir string
	// root is the module's directory.
	root string
	env  []string
	// enter has the arguments of [enter], which this program runs before "go test"; before is a command line that runs
	// it.
	enter, before []string
	// other has further directories to remove.
	other []string
	user  *syscall.Credential // nil for the current one
	goEnv map[string]string
}

func newSurroundings(ctx context.Context, o *options) (*surroundings, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "tools", "go.mod")); err != nil {
		return nil, fmt.Errorf("run stress in the module's directory: %w", err)
	}
	names := []string{"GOCACHE", "GOMODCACHE", "GOENV", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	s := &surroundings{options: o, ctx: ctx, root: root, env: os.Environ()}
	if err := jsonx.Unmarshal(out, &s.goEnv); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "gjc-stress-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	// Tools are hidden on purpose, so a missing one must not fail the tests.
	s.env = slices.DeleteFunc(s.env, func(kv string) bool { return strings.HasPrefix(kv, "GJC_CI_STRICT=") })
	// Their defaults are below HOME, which differs in some runs.
	for name, value := range s.goEnv {
		s.env = append(s.env, name+"="+value)
	}
	if home, err := os.UserHomeDir(); err == nil {
		for name, dir := range map[string]string{"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo"} {
			if _, err := os.Stat(filepath.Join(home, dir)); err == nil && s.get(name) == "" {
				s.env = append(s.env, name+"="+filepath.Join(home, dir))
			}
		}
	}
	return s, nil
}

func (s *surroundings) get(name string) (value string) {
	for _, kv := range s.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// set sets variables, given as NAME=value.
func (s *surroundings) set(env ...string) error {
	s.env = append(s.env, env...) // the last one wins
	return nil
}

// command returns a command that runs args in these surroundings, in a process group of its own until ctx ends.
func (s *surroundings) command(ctx context.Context, args []string) (*exec.Cmd, error) {
	args = append(slices.Clone(s.before), args...)
	path, err := exec.LookPath(filepath.Join(s.get("PATH"), args[0]))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.root, s.env, &syscall.SysProcAttr{Setpgid: true, Credential: s.user}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, s.wrap(cmd)
}

// wrap runs cmd in namespaces of its own, if the condition requires them.
func (s *surroundings) wrap(cmd *exec.Cmd) error {
	if len(s.enter) == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd.Args = slices.Concat([]string{"stress", enterCommand}, s.enter, []string{"--", cmd.Path}, cmd.Args)
	cmd.Path = self
	inNamespaces(cmd)
	return nil
}

// remove removes the files of the run. Module caches have read-only directories.
func (s *surroundings) remove() error {
	var errs []error
	for _, dir := range append(s.other, s.dir) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700) // RemoveAll reports what still cannot be removed
			}
			return nil
		})
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// becomeUser makes the tests run as an ordinary user, in a copy of the module that belongs to that user, with a home
// directory and caches of its own.
func (s *surroundings) becomeUser() (err error) {
	account, err := user.Lookup(s.options.user)
	if err != nil {
		return fmt.Errorf("%w; name another one with -user", err)
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	// The home directory must not lie in a temporary directory: that is another condition.
	base, err := os.MkdirTemp("/home", "gjc-stress-")
	if err != nil {
		return err
	}
	s.other = append(s.other, base)
	home, module, gocache, modcache := filepath.Join(base, "home"), filepath.Join(base, "gjc"), filepath.Join(base, "gocache"), filepath.Join(base, "modcache")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	for to, from := range map[string]string{module: s.root, gocache: s.goEnv["GOCACHE"], modcache: s.goEnv["GOMODCACHE"]} {
		if out, err := exec.CommandContext(s.ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
			return fmt.Errorf("copying %s: %w: %s", from, err, out)
		}
	}
	if info, err := os.Lstat(filepath.Join(module, ".git")); err == nil && !info.IsDir() {
		// The .git file of a worktree names a directory that the user may be unable to read.
		if err := os.Remove(filepath.Join(module, ".git")); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(s.ctx, "chown", "-hR", account.Uid+":"+account.Gid, base).CombinedOutput(); err != nil {
		return fmt.Errorf("giving the copy to %s: %w: %s", account.Username, err, out)
	}
	s.root = module
	return s.set("HOME="+home, "USER="+s.options.user, "LOGNAME="+s.options.user, "GOCACHE="+gocache, "GOMODCACHE="+modcache, "GOENV=off", "RUSTUP_HOME=", "CARGO_HOME=")
}
