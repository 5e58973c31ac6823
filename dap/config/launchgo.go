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

// launchGo sets the arguments for dlv, which builds and debugs a package or its tests, or debugs a binary.
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
	// dlv must build in the package's own module, which may differ from that of the workspace.
	p.Arguments["dlvCwd"] = dir
	if p.want.TempDir != "" {
		output := filepath.Join(p.want.TempDir, "gjc-debug-"+rand.Text()+exeSuffix(p.Adapter.Path))
		p.Arguments["output"], p.Temporary = output, []string{output} // dlv removes it, unless it is killed
	}
	if mode == "test" {
		p.Arguments["cwd"] = dir
		if args, changed := testFlags(p.want.Args); changed {
			p.Arguments["args"] = anyList(args)
			p.notef("the arguments were changed to those of a test binary: %s", joinWords(args))
		}
	}
	return nil
}

// exeSuffix returns ".exe" if the adapter's path ends with it.
func exeSuffix(adapter string) string {
	if strings.EqualFold(filepath.Ext(adapter), ".exe") {
		return ".exe"
	}
	return ""
}

// goTarget returns the package or file for dlv, and the mode. If mode is empty or "auto", it selects the mode by the program.
func goTarget(program, mode string) (target, actualMode string, err error) {
	info, err := os.Stat(program)
	if err != nil {
		return "", "", fmt.Errorf("no program to debug: %w", err)
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
			return "", "", fmt.Errorf("%s is not a directory; mode test needs the directory of a package, and mode exec debugs a test binary", program)
		}
	case "debug":
		if strings.HasSuffix(program, "_test.go") {
			return "", "", fmt.Errorf("%s is a test; debug it with mode test", program)
		}
		if isSource && !isStandalone(program) {
			return filepath.Dir(program), mode, nil
		}
		if !info.IsDir() && !isSource {
			return "", "", fmt.Errorf("%s is not a Go source file; mode exec debugs a binary", program)
		}
		if info.IsDir() && onlyTests(program) {
			return "", "", fmt.Errorf("%s has only tests; debug it with mode test", program)
		}
	case "exec":
		if info.IsDir() || isSource {
			return "", "", fmt.Errorf("%s is not a binary; mode debug builds it first", program)
		}
	default:
		return "", "", fmt.Errorf("unknown mode %q; dlv has debug, test, exec, core and replay", mode)
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

// isStandalone reports whether a source file is a program of its own and not part of the package in its directory.
func isStandalone(file string) bool {
	if strings.Contains(readStart(file), "//go:build ignore") {
		return true
	}
	others, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(file)), "*.go"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(others, func(other string) bool {
		return other != file && !strings.HasSuffix(other, "_test.go") && strings.Contains("\n"+readStart(other), "\nfunc main(") && !strings.Contains(readStart(other), "//go:build ignore")
	})
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// readStart returns the first 256 KiB of a regular file, or "".
func readStart(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "" // reading a pipe could block
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(f, 256<<10)) // best effort
	return b.String()
}

// testFlags converts arguments of go test to those of a test binary: "-run X" becomes "-test.run X".
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
