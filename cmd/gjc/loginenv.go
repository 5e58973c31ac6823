package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// loginTimeout bounds the start of a login shell: some print a lot, or wait for a network.
const loginTimeout = 3 * time.Second

// maxLoginEnv bounds the output of a login shell that is read, in bytes.
const maxLoginEnv = 1 << 20

// loginMark encloses the PATH in a login shell's output, whatever its profile prints.
const loginMark = "gjc-login-path"

// fromDesktop reports whether no shell started the process: editors that a desktop starts have the desktop's PATH,
// without the additions of the user's profile.
func (h *host) fromDesktop() bool {
	return runtime.GOOS != "windows" && h.getenv("SHLVL") == ""
}

// loginEnvOnce returns a function that returns the login environment. Its first call starts the login shell. If its
// context ends first, it returns the process's own environment.
func (h *host) loginEnvOnce(life context.Context) func(context.Context) []string {
	var once sync.Once
	var env []string
	known := make(chan struct{})
	return func(ctx context.Context) []string {
		once.Do(func() {
			go func() { // ends with the shell, which loginTimeout and life bound
				defer close(known)
				env = h.loginEnv(life)
			}()
		})
		select {
		case <-known:
			return env
		case <-ctx.Done():
			return h.env
		}
	}
}

// loginEnv returns the environment for children: the process's, with the PATH of the user's login shell followed by the
// usual directories of programs. The shell runs without a terminal and without input, and its output is only parsed.
func (h *host) loginEnv(ctx context.Context) []string {
	dirs := filepath.SplitList(h.loginPath(ctx))
	dirs = append(dirs, filepath.SplitList(h.getenv("PATH"))...)
	if home, err := h.home(); err == nil {
		for _, dir := range []string{".local/bin", "bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin", ".volta/bin"} {
			dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
		}
	}
	dirs = append(dirs, "/opt/homebrew/bin", "/usr/local/bin", "/usr/local/go/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
	var path []string
	for _, dir := range dirs {
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && !slices.Contains(path, dir) && err == nil && info.IsDir() {
			path = append(path, dir)
		}
	}
	env := slices.DeleteFunc(slices.Clone(h.env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	return append(env, "PATH="+strings.Join(path, string(os.PathListSeparator)))
}

// loginPath returns the PATH of the user's login shell, or "" if it does not print one in time.
func (h *host) loginPath(ctx context.Context) string {
	shell := h.getenv("SHELL")
	if !filepath.IsAbs(shell) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	out := capped{most: maxLoginEnv}
	// fish, zsh, bash and sh all accept this line.
	p, err := h.children.Start(ctx, &proc.Options{
		Path: shell, Args: []string{"-l", "-c", `printf '` + loginMark + `%s` + loginMark + `' "$PATH"`}, Dir: "/", Env: h.env, Stdout: &out,
	})
	if err != nil {
		return ""
	}
	if _, err := p.Wait(ctx); err != nil {
		p.Kill()
		<-p.Done()
		return ""
	}
	_, path, _ := strings.Cut(string(out.data), loginMark)
	path, _, found := strings.Cut(path, loginMark)
	if !found {
		return ""
	}
	return path
}

// capped keeps the start of what is written to it.
type capped struct {
	data []byte
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	c.data = append(c.data, p[:min(len(p), c.most-len(c.data))]...)
	return len(p), nil
}
