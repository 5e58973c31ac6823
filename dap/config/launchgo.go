package config

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// launchGo fills in what dlv does: build and debug a package, its tests, or a binary.
func launchGo(p *preparation) error {
	if p.want.Core != "" {
		return nil
	}
	program, mode := p.want.Program, p.want.Mode
	if mode == "" {
		mode, _ = p.want.Extra["mode"].(string)
	}
	if extra, ok := p.want.Extra["program"].(string); ok && filepath.IsAbs(extra) {
		program = extra
	}
	if mode == "replay" {
		p.Arguments["mode"], p.Arguments["traceDirPath"] = mode, program
		delete(p.Arguments, "program")
		return nil
	}
	target, mode, err := goTarget(program, mode)
	if err != nil {
		return err
	}
	p.Arguments["program"], p.Arguments["mode"] = target, mode
	if mode == "exec" {
		return nil
	}
	dir := target
	if strings.HasSuffix(target, ".go") {
		dir = filepath.Dir(target)
	}
	// The module is that of the directory, which may be another one than that of the workspace.
	p.Arguments["dlvCwd"] = dir
	if p.want.TempDir != "" {
		output := filepath.Join(p.want.TempDir, "gjc-debug-"+rand.Text()+exeSuffix(p.Adapter.Path))
		p.Arguments["output"], p.Temporary = output, []string{output} // dlv removes it, unless it is killed
	}
	if mode == "test" {
		p.Arguments["cwd"] = dir
		if args, changed := testFlags(p.want.Args); changed {
			p.Arguments["args"] = anyList(args)
			p.notef("the arguments are those of a test binary: %s", joinWords(args))
		}
	}
	return nil
}

// exeSuffix is ".exe" where the adapter has it.
func exeSuffix(adapter string) string {
	if strings.EqualFold(filepath.Ext(adapter), ".exe") {
		return ".exe"
	}
	return ""
}

// goTarget returns what dlv is to build or run, and how. An empty or "auto" mode is found out.
func goTarget(program, mode string) (target, how string, err error) {
	info, err := os.Stat(program)
	if err != nil {
		return "", "", fmt.Errorf("there is no program to debug: %w", err)
	}
	isSource := !info.IsDir() && strings.HasSuffix(program, ".go")
	if mode == "" || mode == "auto" {
		switch {
		case info.IsDir() && onlyTests(program), strings.HasSuffix(program, "_test.go"):
			mode = "test"
		case info.IsDir(), isSource:
			mode = "debug"
		default:
			mode = "exec"
		}
	}
	switch mode {
	case "test":
		if isSource {
			return filepath.Dir(program), mode, nil
		}
		if !info.IsDir() {
			return "", "", fmt.Errorf("%s is no package; mode test needs the directory of one, and mode exec debugs a test binary", program)
		}
	case "debug":
		if strings.HasSuffix(program, "_test.go") {
			return "", "", fmt.Errorf("%s is a test; debug it with mode test", program)
		}
		if isSource && !alone(program) {
			return filepath.Dir(program), mode, nil
		}
		if !info.IsDir() && !isSource {
			return "", "", fmt.Errorf("%s is no Go source; mode exec debugs a binary", program)
		}
		if info.IsDir() && onlyTests(program) {
			return "", "", fmt.Errorf("%s has no Go files but tests; debug it with mode test", program)
		}
	case "exec":
		if info.IsDir() || isSource {
			return "", "", fmt.Errorf("%s is no binary; mode debug builds it first", program)
		}
	default:
		return "", "", fmt.Errorf("dlv has no mode %q; there are debug, test, exec, core and replay", mode)
	}
	return program, mode, nil
}

// onlyTests reports whether all Go files of a directory are tests.
func onlyTests(dir string) bool {
	names, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	tests := false
	for _, f := range names {
		if strings.HasSuffix(f.Name(), "_test.go") {
			tests = true
		} else if strings.HasSuffix(f.Name(), ".go") {
			return false
		}
	}
	return tests
}

// alone reports whether a source file is a program by itself, and not a part of the package in its directory.
func alone(file string) bool {
	if strings.Contains(beginning(file), "//go:build ignore") {
		return true
	}
	others, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(file)), "*.go"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(others, func(other string) bool {
		return other != file && !strings.HasSuffix(other, "_test.go") && strings.Contains("\n"+beginning(other), "\nfunc main(") && !strings.Contains(beginning(other), "//go:build ignore")
	})
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// beginning returns the first part of a file, and nothing of what is no file.
func beginning(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "" // a pipe would never end
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(f, 256<<10)) // what could be read counts
	return b.String()
}

// testFlags returns the arguments of go test as a test binary has them ("-run X" is "-test.run X").
func testFlags(args []string) (all []string, changed bool) {
	for i, arg := range args {
		if arg == "-args" || arg == "--args" {
			return append(all, args[i+1:]...), true
		}
		name := strings.TrimLeft(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		switch name {
		case "run", "v", "count", "timeout", "bench", "benchtime", "short", "parallel", "failfast", "shuffle", "skip", "fuzz", "cpu":
			if arg[0] == '-' {
				arg, changed = "-test."+strings.TrimLeft(arg, "-"), true
			}
		}
		all = append(all, arg)
	}
	return all, changed
}
