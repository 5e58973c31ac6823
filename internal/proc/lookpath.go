package proc

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LookPath returns the absolute path of a command: itself if it is absolute, and otherwise what the PATH of env, the
// child's environment, has of that name. Relative places on PATH are passed over, as they would depend on the workspace.
// Where there is none the error wraps [fs.ErrNotExist] and names the PATH.
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

// executable returns path, with the first extension that makes it a program.
func executable(path string, extensions []string) (string, error) {
	var err error
	for _, ext := range append([]string{""}, extensions...) {
		var found string
		// A path with a separator is looked at as it is: no environment of ours is consulted, but for Windows'
		// extensions.
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
	list := variable(env, "PATHEXT")
	if list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
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
