//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// condition describes how a run differs from an ordinary one.
type condition struct {
	name string
	// missing returns what this machine lacks for the condition, or "". If missing is nil, the condition needs nothing.
	need  func() string
	apply func(s *surroundings) error
}

func (c *condition) missing() string {
	if c.need == nil {
		return ""
	}
	return c.need()
}

var conditions = []condition{
	{name: "plain", apply: func(*surroundings) error { return nil }},
	{name: "user", need: needRoot, apply: (*surroundings).becomeUser},
	{name: "umask", need: needShell, apply: func(s *surroundings) error {
		s.before = append(s.before, "sh", "-c", `umask 077; exec "$@"`, "sh")
		return nil
	}},
	{name: "german", apply: func(s *surroundings) error { return s.set("LANG=de_DE.UTF-8", "LC_ALL=de_DE.UTF-8") }},
	{name: "turkish", apply: func(s *surroundings) error { return s.set("LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8") }},
	{name: "proxy", apply: func(s *surroundings) error {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			s.env = append(s.env, name+"=http://127.0.0.1:1", strings.ToLower(name)+"=http://127.0.0.1:1")
		}
		return s.set("NO_PROXY=", "no_proxy=", "GOPROXY=off") // the modules are in the cache
	}},
	{name: "noipv6", need: needNamespaces, apply: func(s *surroundings) error { s.enter = append(s.enter, "noipv6"); return nil }},
	{name: "home", apply: func(s *surroundings) error {
		home := filepath.Join(s.dir, "home")
		return errors.Join(os.Mkdir(home, 0o700), s.set("HOME="+home))
	}},
	{name: "modcache", need: needNamespaces, apply: func(s *surroundings) error {
		s.enter = append(s.enter, "readonly="+s.goEnv["GOMODCACHE"])
		return nil
	}},
	{name: "git", apply: func(s *surroundings) error {
		s.env = slices.DeleteFunc(s.env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "EMAIL=") })
		return s.set("GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	}},
}

func conditionNames() (names []string) {
	for i := range conditions {
		names = append(names, conditions[i].name)
	}
	return names
}

// findCondition returns the condition with a name, or nil.
func findCondition(name string) *condition {
	for i := range conditions {
		if conditions[i].name == name {
			return &conditions[i]
		}
	}
	return nil
}

// anyCondition returns a condition that this machine supports.
func anyCondition(random *rand.Rand) *condition {
	var possible []*condition
	for i := range conditions {
		if conditions[i].missing() == "" {
			possible = append(possible, &conditions[i])
		}
	}
	return possible[random.IntN(len(possible))]
}

func needRoot() string {
	if os.Getuid() != 0 {
		return "root"
	}
	return ""
}

func needShell() string {
	if _, err := exec.LookPath("sh"); err != nil {
		return "a shell"
	}
	return ""
}

// hideable are the tools that tests can do without. A name with a version suffix is hidden together with the plain name.
var hideable = []string{
	"bwrap", "chromium", "clangd", "dlv", "fd", "fdfind", "gdb", "gopls", "lldb-dap", "node", "npm", "python3", "rg", "rustc", "shellcheck", "shfmt",
}

// hideTools sets PATH to a directory that links all programs except for a random choice of the tools.
func (s *surroundings) hideTools(random *rand.Rand) (hidden []string, err error) {
	for _, name := range hideable {
		if random.IntN(3) == 0 {
			hidden = append(hidden, name)
		}
	}
	dir := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	hides := func(name string) bool {
		return slices.ContainsFunc(hidden, func(h string) bool {
			rest, ok := strings.CutPrefix(name, h)
			return ok && strings.Trim(rest, "-.0123456789") == "" || h == "python3" && name == "python" || h == "npm" && name == "npx"
		})
	}
	link := func(target, name string) error {
		if hides(name) {
			return nil
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	for _, from := range filepath.SplitList(s.get("PATH")) {
		entries, err := os.ReadDir(from)
		if err != nil || !filepath.IsAbs(from) {
			continue
		}
		for _, e := range entries {
			if path, err := exec.LookPath(filepath.Join(from, e.Name())); err == nil {
				if err := link(path, e.Name()); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, name := range []string{"gopls", "dlv"} { // the pinned versions, if none is on PATH
		out, err := exec.CommandContext(s.ctx, "go", "tool", "-modfile=tools/go.mod", "-n", name).Output()
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", name, err)
		}
		if err := link(strings.TrimSpace(string(out)), name); err != nil {
			return nil, err
		}
	}
	return hidden, s.set("PATH=" + dir)
}
