package lsp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// tempPrefix begins the name of a server's directory for temporary files.
const tempPrefix = "gjc-lsp-"

// tempVariables name the directory for temporary files in an environment, the most important one first.
func tempVariables(goos string) []string {
	if goos == "windows" {
		return []string{"TMP", "TEMP"}
	}
	return []string{"TMPDIR"}
}

// newTempDir makes a directory for the temporary files of one process of a server, below the one that env names, and returns it
// with the variables that name it to the process. What the process leaves there can then be removed. The caller removes dir; it is
// empty if no directory could be made, and the process then uses the same one as all others.
func newTempDir(env []string) (dir string, variables []string) {
	names := tempVariables(runtime.GOOS)
	parent := lookup(env, names[0])
	if !filepath.IsAbs(parent) {
		parent = os.TempDir()
	}
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return "", nil
	}
	for _, name := range names {
		variables = append(variables, name+"="+dir)
	}
	return dir, variables
}

// lookup returns the last value of a variable in env.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// removeTempDir removes a directory of [newTempDir] with all that is in it. A process that has left the server's group may still
// write there for a moment, so it tries more than once.
func removeTempDir(dir string) (err error) {
	if dir == "" {
		return nil
	}
	for range 5 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
