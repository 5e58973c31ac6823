package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// launchNative rejects source files: these debuggers do not build them.
func launchNative(p *preparation) error {
	base := filepath.Base(p.want.Program)
	if ext := strings.ToLower(filepath.Ext(base)); ext != "" && slices.Contains(p.Adapter.FileTypes, ext) {
		return fmt.Errorf("%s is a source file and %s needs a binary: build it with debug information (for C and C++ -g -O0, for Rust the dev profile) and name the binary", p.want.Program, p.Adapter.Name)
	}
	return nil
}

// launchPython sets the arguments for modules and tests.
func launchPython(p *preparation) error {
	program := p.want.Program
	if _, ok := p.want.Extra["module"]; ok {
		delete(p.Arguments, "program")
		p.Program = cmp.Or(p.Program, fmt.Sprint("module ", p.want.Extra["module"]))
		return nil
	}
	file, _, test := strings.Cut(program, "::")
	if !test && p.want.Mode != "test" {
		if info, err := os.Stat(program); err == nil && info.IsDir() {
			if _, err := os.Stat(filepath.Join(program, "__main__.py")); err != nil {
				return fmt.Errorf("%s is a directory without __main__.py; name a file in it, or a module with arguments {\"module\": …}", program)
			}
		}
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("no test to debug: %w", err)
	}
	delete(p.Arguments, "program")
	p.Arguments["module"] = "pytest"
	p.Arguments["args"] = anyList(append([]string{program}, p.want.Args...))
	return nil
}

// launchJS adds a note on what node needs for TypeScript.
func launchJS(p *preparation) error {
	switch filepath.Ext(p.want.Program) {
	case ".ts", ".tsx", ".mts", ".cts":
		if _, ok := p.want.Extra["runtimeExecutable"]; !ok {
			p.notef("node runs TypeScript from version 22.18 on; for an older node, pass arguments {\"runtimeExecutable\": \"tsx\"} or name the compiled JavaScript")
		}
	}
	if p.want.Mode == "test" {
		p.Arguments["runtimeArgs"] = []any{"--test"}
	}
	return nil
}

// launchDotnet finds the assembly of a project or a source file.
func launchDotnet(p *preparation) error {
	program := p.want.Program
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("no program to debug: %w", err)
	}
	source := []string{".cs", ".csx", ".fs", ".fsx", ".csproj", ".fsproj", ".sln"}
	if !info.IsDir() && !slices.Contains(source, strings.ToLower(filepath.Ext(program))) {
		return nil
	}
	dir := program
	if !info.IsDir() {
		dir = filepath.Dir(program)
	}
	for {
		projects, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*.[cf]sproj")) // the pattern is valid
		if len(projects) == 1 {
			name := strings.TrimSuffix(filepath.Base(projects[0]), filepath.Ext(projects[0])) + ".dll"
			built, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "bin", "Debug", "*", escapeGlob(name))) // the pattern is valid
			if len(built) == 0 {
				return fmt.Errorf(`%s is not built yet: run "dotnet build", or name the .dll`, projects[0])
			}
			newest := slices.MaxFunc(built, func(a, b string) int { return cmp.Compare(modified(a), modified(b)) })
			p.Arguments["program"] = newest
			p.notef("the program is %s, which was built last", newest)
			return nil
		}
		if up := filepath.Dir(dir); dir != p.want.Dir && up != dir && len(projects) == 0 {
			dir = up
			continue
		}
		return fmt.Errorf(`%s is not a program: run "dotnet build" and name the .dll (bin/Debug/…)`, program)
	}
}

func modified(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

var kotlinPackage = regexp.MustCompile(`(?m)^\s*package\s+([\w.]+)`)

// launchKotlin sets the class of a file's main function.
func launchKotlin(p *preparation) error {
	if p.Arguments["projectRoot"] == "" {
		p.Arguments["projectRoot"] = p.want.Dir
	}
	if p.want.Program == "" {
		return nil
	}
	base := strings.TrimSuffix(filepath.Base(p.want.Program), filepath.Ext(p.want.Program))
	if base == "" {
		return fmt.Errorf("%s is not a Kotlin file", p.want.Program)
	}
	class := strings.ToUpper(base[:1]) + base[1:] + "Kt"
	if m := kotlinPackage.FindStringSubmatch(readStart(p.want.Program)); m != nil {
		class = m[1] + "." + class
	}
	p.Arguments["mainClass"] = class
	p.notef("the main class is %s; the project must be built", class)
	return nil
}

// launchRuby adds the program to the adapter's command line: rdbg runs it.
func launchRuby(p *preparation) error {
	words := []string{"ruby"}
	if strings.HasSuffix(p.want.Program, "_spec.rb") || p.want.Mode == "test" && strings.Contains(p.want.Program, "spec") {
		words = []string{"rspec"}
	}
	if command, ok := p.want.Extra["command"].(string); ok {
		words = splitWords(command)
	}
	if bundler, _ := p.want.Extra["useBundler"].(bool); bundler && !slices.Contains(words, "bundle") {
		words = append([]string{"bundle", "exec"}, words...)
	}
	script := p.want.Program
	if s, ok := p.want.Extra["script"].(string); ok {
		script = s
	}
	if script == "" && len(words) < 2 {
		return fmt.Errorf("rdbg needs a program")
	}
	if script != "" {
		words = append(words, script)
	}
	spec := *p.Adapter
	spec.Args = slices.Concat(spec.Args, words, p.want.Args)
	for name, value := range p.want.Env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	if env, ok := p.want.Extra["env"].(map[string]any); ok {
		for name, value := range env {
			spec.Env = append(spec.Env, fmt.Sprint(name, "=", value))
		}
	}
	spec.Env = slices.DeleteFunc(spec.Env, isSecretEntry)
	slices.Sort(spec.Env)
	p.Adapter = &spec
	if dir, ok := p.want.Extra["cwd"].(string); ok && filepath.IsAbs(dir) {
		p.Dir = dir
	}
	if p.want.StopOnEntry != nil && *p.want.StopOnEntry {
		// rdbg resumes a launched program; only after an attach it leaves the program stopped.
		p.Arguments["request"], p.Arguments["nonstop"] = "attach", false
	}
	return nil
}

// launchBash adds the arguments as a single string.
func launchBash(p *preparation) error {
	if len(p.want.Args) > 0 {
		p.Arguments["argsString"] = joinWords(p.want.Args)
	}
	return nil
}

// launchDart makes the adapter run tests.
func launchDart(p *preparation) error {
	if p.want.Mode == "test" || strings.HasSuffix(p.want.Program, "_test.dart") {
		spec := *p.Adapter
		spec.Args = append(slices.Clone(spec.Args), "--test")
		p.Adapter = &spec
	}
	return nil
}

// launchElixir runs a script or a test as a mix task.
func launchElixir(p *preparation) error {
	switch program := p.want.Program; {
	case program == "":
		return nil
	case p.want.Mode == "test" || strings.HasSuffix(program, "_test.exs"):
		p.Arguments["task"] = "test"
		p.Arguments["taskArgs"] = anyList(append([]string{program}, p.want.Args...))
		p.Arguments["requireFiles"] = []any{"test/**/test_helper.exs", "test/**/*_test.exs"}
	case strings.HasSuffix(program, ".exs"):
		p.Arguments["taskArgs"] = anyList(append([]string{program}, p.want.Args...))
	default:
		p.Arguments["taskArgs"] = anyList(p.want.Args)
	}
	return nil
}
