package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/policy"
)

// shellState is what the commands of a session leave behind for the next: the directory that they were in, and the variables that
// they have exported. No shell lives on between two commands, so none is shared: each tells its state into files when it ends
// ([agent.Command.StateDir]). It is kept in the session.
type shellState struct {
	mu    sync.Mutex // guards what follows
	cwd   string     // empty for the session's own
	vars  map[string]string
	temp  string // where the files are; empty as long as there are none
	calls int
}

// Limits of what is kept.
const (
	maxVariables  = 200
	maxStateBytes = 64 << 10
	maxStateFile  = 1 << 20
)

func shellStateOf(call *agent.Call) *shellState {
	return agent.Keep(call.Kept, func() *shellState { return new(shellState) })
}

// Close removes the files.
func (s *shellState) Close(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp) // it lies among temporary files
		s.temp = ""
	}
}

// directory is where the next command begins. gone is a directory that was to be that and is not there any more.
func (s *shellState) directory(ctx context.Context, call *agent.Call) (dir, gone string) {
	s.mu.Lock()
	cwd := s.cwd
	s.mu.Unlock()
	if cwd == "" {
		return call.Workspace.Cwd, ""
	}
	if info, err := call.FS.Stat(ctx, cwd); err != nil || !info.IsDir() {
		return call.Workspace.Cwd, cwd
	}
	return cwd, ""
}

// leave has the next command begin in the session's own directory.
func (s *shellState) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd = ""
}

// environment is what was exported, for the next command.
func (s *shellState) environment() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var env []string
	for name, value := range s.vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// files returns a directory for what the next command tells; empty where there can be none.
func (s *shellState) files() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == "" {
		temp, err := os.MkdirTemp("", "gjc-shell-")
		if err != nil {
			return "" // the command runs without
		}
		s.temp = temp
	}
	s.calls++
	return filepath.Join(s.temp, strconv.Itoa(s.calls))
}

// learn takes over what a command has told that began in dir, and returns what the model should know of it.
func (s *shellState) learn(ctx context.Context, call *agent.Call, files, dir string) (notes []string) {
	if files == "" {
		return nil
	}
	defer func() { _ = os.RemoveAll(files) }() // it lies among temporary files
	before, after := stateVariables(filepath.Join(files, "before")), stateVariables(filepath.Join(files, "after"))
	ended, _ := disk{}.readFile(filepath.Join(files, "dir"), maxStateFile) // it may not have got that far
	cwd := strings.TrimSuffix(string(ended), "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if filepath.IsAbs(cwd) && cwd != call.FS.RealPath(dir) {
		if info, err := call.FS.Stat(ctx, cwd); err == nil && info.IsDir() {
			if s.cwd = cwd; cwd == call.FS.RealPath(call.Workspace.Cwd) {
				s.cwd = ""
			}
			notes = append(notes, fmt.Sprintf("The shell is in %s now; the next command begins there.", display(&call.Workspace, cwd)))
		}
	}
	if before == nil || after == nil {
		return notes
	}
	if s.vars == nil {
		s.vars = make(map[string]string)
	}
	for name := range s.vars {
		if _, ok := after[name]; !ok {
			delete(s.vars, name)
		}
	}
	size := 0
	for name, value := range s.vars {
		size += len(name) + len(value)
	}
	for name, value := range after {
		if old, ok := before[name]; ok && old == value || !keepsVariable(name) {
			continue
		}
		if size += len(name) + len(value); len(s.vars) >= maxVariables || size > maxStateBytes {
			notes = append(notes, "Not all variables that the command has exported are kept for the next one: there are too many.")
			break
		}
		s.vars[name] = value
	}
	return notes
}

// keepsVariable reports whether what a command has exported is kept. Variables by which programs run others are not, but for
// PATH: nobody sees them in the command that they would change.
func keepsVariable(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", "HOME":
		return false
	case "PATH":
		return true
	}
	return variableName(name) && !policy.RunsPrograms(name)
}

// stateVariables reads variables as env -0 prints them; nil where they were not told.
func stateVariables(path string) map[string]string {
	data, err := disk{}.readFile(path, maxStateFile)
	if err != nil || len(data) == 0 || data[len(data)-1] != 0 {
		return nil
	}
	vars := make(map[string]string)
	for kv := range strings.SplitSeq(string(data[:len(data)-1]), "\x00") {
		if name, value, ok := strings.Cut(kv, "="); ok {
			vars[name] = value
		}
	}
	return vars
}
