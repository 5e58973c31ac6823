package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
)

// shellState is the state that each command of a session passes to the next one: its working directory and its exported variables.
// No shell stays alive between commands; each one writes its state to files when it exits ([agent.Command.StateDir]). The session
// owns the shellState.
type shellState struct {
	mu    sync.Mutex // guards the fields below
	cwd   string     // empty for the session's working directory
	vars  map[string]string
	temp  string // the directory of the files; empty if there are none
	calls int
}

// Limits of the state.
const (
	maxVariables  = 200
	maxStateBytes = 64 << 10
	maxStateFile  = 1 << 20
)

func shellStateOf(call *agent.Call) *shellState {
	return agent.Value(call.Values, func() *shellState { return new(shellState) })
}

// Close removes the files.
func (s *shellState) Close(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp) // best effort: it is in the temporary directory
		s.temp = ""
	}
}

// directory returns the directory in which the next command begins. gone is the previous directory if it no longer exists.
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

// reset makes the next command begin in the session's own directory.
func (s *shellState) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd = ""
}

// environment returns the exported variables for the next command.
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

// files returns a directory for the state of the next command, or "" if it cannot create one.
func (s *shellState) files(terminal agent.Terminal) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == "" {
		in := ""
		if t, ok := terminal.(agent.TempTerminal); ok {
			in, _ = t.TempDir() // its error is the terminal's to report
		}
		temp, err := os.MkdirTemp(in, "gjc-shell-")
		if err != nil {
			return "" // the command runs without a state directory
		}
		s.temp = temp
	}
	s.calls++
	return filepath.Join(s.temp, strconv.Itoa(s.calls))
}

// learn reads the state that the command of exec has written to the directory files, keeps it for the next command, and returns
// notes about it for the model. dir is the directory in which the command began.
func (s *shellState) learn(ctx context.Context, call *agent.Call, exec agent.Execution, files, dir string) (notes []string) {
	if files == "" {
		return nil
	}
	defer func() { _ = os.RemoveAll(files) }() // best effort: it is in the temporary directory
	before := environOf(exec)
	if before == nil {
		before, _ = stateFile(filepath.Join(files, "before"))
	}
	after, cwd := stateFile(filepath.Join(files, "after")) // the command may not have written it
	if approval.PermitOf(ctx).Inside() != nil && filepath.IsAbs(cwd) {
		cwd = call.Workspace.Resolve(cwd) // it knows the session's directory as /tmp
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if filepath.IsAbs(cwd) && cwd != call.FS.RealPath(dir) {
		if info, err := call.FS.Stat(ctx, cwd); err == nil && info.IsDir() {
			if s.cwd = cwd; cwd == call.FS.RealPath(call.Workspace.Cwd) {
				s.cwd = ""
			}
			notes = append(notes, fmt.Sprintf("The shell is now in %s; the next command starts there.", toolkit.Display(&call.Workspace, cwd)))
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
			notes = append(notes, "Some variables that the command exported are not kept for the next one: there are too many.")
			break
		}
		s.vars[name] = value
	}
	return notes
}

// childMark is the environment variable that marks gjc's child processes. Each command has its own value.
const childMark = "GJC_CHILD"

// keepsVariable reports whether an exported variable is kept. Except for PATH, variables that make commands run other programs are
// not kept: the user would not see them in the commands that they affect.
func keepsVariable(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", "HOME", childMark:
		return false
	case "PATH":
		return true
	}
	return toolkit.VariableName(name) && !shell.RunsPrograms(name)
}

// environOf returns the variables that a command began with, or nil if they are in a file.
func environOf(exec agent.Execution) map[string]string {
	e, ok := exec.(agent.EnvironExecution)
	if !ok {
		return nil
	}
	env := e.Environ()
	if env == nil {
		return nil
	}
	vars := make(map[string]string, len(env))
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// stateFile reads the file at path as [parseState] does.
func stateFile(path string) (vars map[string]string, dir string) {
	data, err := walk.ReadFile(path, maxStateFile)
	if err != nil {
		return nil, ""
	}
	return parseState(data)
}

// parseState parses the output of "export -p", followed by the line [agent.StateEnd] and the directory. The output consists of
// declarations in shell syntax. parseState returns nil for incomplete output. It omits arrays and variables without a value, as an
// environment does.
func parseState(text []byte) (vars map[string]string, dir string) {
	const end = "\n" + agent.StateEnd + "\n"
	text = append([]byte("\n"), text...)
	at := bytes.LastIndex(text, []byte(end))
	if at < 0 {
		return nil, ""
	}
	if line, whole := strings.CutSuffix(string(text[at+len(end):]), "\n"); whole {
		dir = line
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(veil(text[:at])), "")
	if err != nil {
		return nil, dir
	}
	nothing := &expand.Config{Env: expand.ListEnviron()} // everything that could be expanded is quoted
	vars = make(map[string]string)
	for _, stmt := range file.Stmts {
		decl, ok := stmt.Cmd.(*syntax.DeclClause)
		if !ok {
			return nil, dir
		}
		for _, a := range decl.Args {
			if a.Name == nil || a.Naked || a.Array != nil {
				continue
			}
			value := ""
			if a.Value != nil {
				if value, err = expand.Literal(nothing, a.Value); err != nil {
					return nil, dir
				}
			}
			vars[a.Name.Value] = unveil(value)
		}
	}
	return vars, dir
}

// firstVeiled represents the byte 0 in the result of [veil], and the following characters those up to 255. It is for private use.
const firstVeiled = '\U0010fe00'

// veil replaces bytes that the parser would refuse or drop: invalid UTF-8, and carriage returns.
func veil(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 || r == '\r' {
			r = firstVeiled + rune(text[0])
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

func unveil(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r >= firstVeiled && r <= firstVeiled+0xff {
			b.WriteByte(byte(r - firstVeiled))
		} else {
			b.WriteString(text[:size]) // they need not be UTF-8: bash escapes such bytes
		}
		text = text[size:]
	}
	return b.String()
}
