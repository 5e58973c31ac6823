package proc

import (
	"cmp"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LookPath returns the absolute path of a command: the command itself if it is absolute, otherwise the program with that name on the PATH
// of env. It ignores relative directories on PATH, which depend on the workspace. If there is none, the error wraps
// [fs.ErrNotExist] and contains the PATH.
func LookPath(command string, env []string) (string, error) {
	if filepath.IsAbs(command) {
		return executable(command, extensions(env))
	}
	path := variable(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := executable(filepath.Join(dir, command), extensions(env)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("the program %q is not on the PATH %q: %w", command, path, fs.ErrNotExist)
}

// executable returns path with the first extension that makes it a program.
func executable(path string, extensions []string) (string, error) {
	var err error
	for _, ext := range append([]string{""}, extensions...) {
		var found string
		// exec.LookPath does not use the environment for a path with a separator, except for the extensions on Windows.
		if found, err = exec.LookPath(path + ext); err == nil {
			return found, nil
		}
	}
	return "", err
}

func extensions(env []string) []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	list := cmp.Or(variable(env, "PATHEXT"), ".COM;.EXE;.BAT;.CMD")
	return strings.Split(strings.ToLower(list), ";")
}

func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(env[i], "=")
		if k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}
