package bridges

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

// shellState makes a shell write its exported variables and its directory when it exits. It uses only shell builtins, so a command
// needs no additional process. Bash reads them from a file, so its command line contains only the command; for other shells they
// precede the command.
type shellState struct {
	line string
	env  []string
}

// The names of the files in a state directory.
const (
	stateBefore = "before"
	stateAfter  = "after"
	stateRC     = "rc"
)

// newShellState returns the line and the variables that make a shell write its state to the directory dir, which it creates. env
// may name a file of the user that bash reads (BASH_ENV). If before is set, the shell also writes the variables that it exports
// when it starts.
func newShellState(shell, line, dir string, env []string, before bool) (*shellState, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{stateBefore, stateAfter} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	export := "export"
	if isBash(shell) {
		export = "builtin export" // the user's file may define a function with this name
	}
	list := func(name, more string) string {
		return "{ " + export + " -p && echo '" + agent.StateEnd + "'" + more + "; } >" + quoted(filepath.Join(dir, name)) + " 2>/dev/null"
	}
	rc := "trap " + quoted(list(stateAfter, " && pwd -P")) + " EXIT\n"
	if before {
		rc = list(stateBefore, "") + "\n" + rc
	}
	if !isBash(shell) {
		return &shellState{line: rc + line}, nil
	}
	rc = "unset BASH_ENV\n" + rc
	if own := bashFile(env); own != "" {
		rc = ". " + quoted(own) + "\n" + rc
	}
	path := filepath.Join(dir, stateRC)
	if err := os.WriteFile(path, []byte(rc), 0o600); err != nil {
		return nil, err
	}
	return &shellState{line: line, env: []string{"BASH_ENV=" + path}}, nil
}

func isBash(shell string) bool {
	name := filepath.Base(shell)
	return name == "bash" || name == "bash.exe"
}

// bashFile returns the user's file that bash reads before it runs a command, or "".
func bashFile(env []string) string {
	own := ""
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "BASH_ENV="); ok {
			own = path
		}
	}
	return own
}

// changesEnviron reports whether a shell reads files of the user before it runs a command, so that it may export other variables
// than it was started with.
func changesEnviron(shell string, env []string) bool {
	switch filepath.Base(shell) {
	case "bash", "bash.exe":
		return bashFile(env) != ""
	case "sh", "dash":
		return false
	}
	return true
}

// quoted returns s as one word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// takesState reports whether a shell can write its state.
func takesState(shell Shell) bool {
	return len(shell.Args) == 1 && shell.Args[0] == "-c"
}

// tempVariable returns the variable for a directory for temporary files, unless dir is empty or the user's environment names one.
func (l *Local) tempVariable(ctx context.Context, dir string) []string {
	const variable = "TMPDIR="
	if dir == "" || slices.ContainsFunc(l.Environ(ctx), func(kv string) bool { return strings.HasPrefix(kv, variable) && kv != variable }) {
		return nil
	}
	return []string{variable + dir}
}

// shellLine returns the line of a command for the shell, and the variables to add to the environment. If before is set, the shell
// also writes the variables that it exports when it starts.
func (l *Local) shellLine(ctx context.Context, cmd *agent.Command, before bool) (line string, env []string, err error) {
	env = append(quietEnv[:len(quietEnv):len(quietEnv)], explicitBare(l.Environ(ctx))...)
	env = append(append(env, l.tempVariable(ctx, cmd.TempDir)...), cmd.Env...)
	if cmd.StateDir == "" || len(cmd.Args) > 0 || !takesState(l.Shell) {
		return cmd.Line, env, nil
	}
	state, err := newShellState(l.Shell.Path, cmd.Line, cmd.StateDir, l.Environ(ctx), before)
	if err != nil {
		return "", nil, err
	}
	return state.line, append(env, state.env...), nil
}
