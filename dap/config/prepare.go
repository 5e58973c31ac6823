package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/dap"
)

// Launch is a program to debug, for [PrepareLaunch].
type Launch struct {
	// Program is an absolute path: of a source file, a binary or a package's directory, or of a pytest test
	// ("/w/tests/test_a.py::test_b"). It may be empty if Extra says what to run (module, mainClass, task).
	Program string
	// Args are the arguments of the program.
	Args []string
	// Dir is the working directory of adapter and program, absolute. Required. Go tests run in their package, as with go
	// test, unless Extra has cwd.
	Dir string
	// Mode is debug, test, exec, core or replay, if the adapter supports it. If empty, the program selects it.
	Mode string
	// Core is a core file of the program, absolute; empty for none.
	Core string
	// Env is added to the program's environment, without the variables that [proc.IsSecretVariable] reports.
	Env map[string]string
	// StopOnEntry says whether the program stops at its entry; nil for the adapter's default.
	StopOnEntry *bool
	// Terminal runs the program in a terminal.
	Terminal bool
	// TempDir is the directory for a program that is built from source; empty for the adapter's default.
	TempDir string
	// Extra overrides all other arguments.
	Extra map[string]any
}

// Attach is a running program to debug, for [PrepareAttach].
type Attach struct {
	// PID is the process; zero for an attach to a port.
	PID int
	// Host and Port are the address where the program or its adapter listens. An empty host is 127.0.0.1. If Listen is set,
	// the adapter listens there and the program connects.
	Host   string
	Port   int
	Listen bool
	// Program is the binary, if known. Dir is the adapter's working directory, absolute. Required.
	Program, Dir string
	// StopOnEntry says whether the program is stopped at once; nil for the adapter's default.
	StopOnEntry *bool
	// Extra overrides all other arguments.
	Extra map[string]any
}

// Prepared is the argument of [dap.Debugger.Start], with notes for the reader.
type Prepared struct {
	dap.Start
	Notes []string
}

func (p *Prepared) notef(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// preparation is a launch while it is being prepared.
type preparation struct {
	*Prepared
	want Launch
}

// launchers has the code for launches that forms cannot express, by kind. It is never modified.
var launchers = map[string]func(*preparation) error{
	kindGDB:        launchNative,
	kindLLDB:       launchNative,
	kindCodeLLDB:   launchNative,
	kindDebugpy:    launchPython,
	kindDlv:        launchGo,
	kindJS:         launchJS,
	kindNetcoredbg: launchDotnet,
	kindKotlin:     launchKotlin,
	kindRdbg:       launchRuby,
	kindBash:       launchBash,
	kindDart:       launchDart,
	kindFlutter:    launchDart,
	kindElixir:     launchElixir,
}

// PrepareLaunch returns how to launch a program under an adapter. It only reads files.
func PrepareLaunch(spec *dap.Spec, l Launch) (*Prepared, error) {
	if !filepath.IsAbs(l.Dir) {
		return nil, fmt.Errorf("the working directory %q is not an absolute path", l.Dir)
	}
	file, _, _ := strings.Cut(l.Program, "::")
	if l.Program != "" && !filepath.IsAbs(file) {
		return nil, fmt.Errorf("the program %q is not an absolute path", l.Program)
	}
	p := &preparation{want: l, Prepared: &Prepared{Start: dap.Start{
		Adapter: spec, Request: "launch", Arguments: cloneMap(spec.LaunchDefaults), Dir: l.Dir, Program: l.Program,
	}}}
	form := spec.Forms.Launch
	values := formValues(l.Program, l.Args, l.Dir, l.Env)
	if l.Core != "" {
		if form = spec.Forms.Core; form == nil {
			return nil, fmt.Errorf("%s does not support core files; gdb, lldb-dap and dlv do", spec.Name)
		}
		if strings.ContainsAny(l.Core+l.Program, "\"\n") {
			return nil, errors.New("the names of a core file and its program must not contain quotes or newlines; create links to them")
		}
		values["core"] = l.Core
	}
	p.apply(form, values)
	if launcher := launchers[spec.Kind]; launcher != nil && (l.Core == "" || spec.Kind == kindDlv) {
		if err := launcher(p); err != nil {
			return nil, err
		}
	}
	if l.StopOnEntry != nil {
		for _, name := range spec.Forms.StopOnEntry {
			p.Arguments[name] = *l.StopOnEntry
		}
	}
	if l.Terminal {
		if spec.TerminalArguments == nil {
			p.notef("%s cannot run the program in a terminal; the debugger shows its output", spec.Name)
		}
		maps.Copy(p.Arguments, cloneMap(spec.TerminalArguments))
	}
	p.finish(l.Extra)
	return p.Prepared, nil
}

// apply expands a form and adds it to the arguments.
func (p *Prepared) apply(form map[string]any, values map[string]any) {
	filled, _ := expand(form, values)
	maps.Copy(p.Arguments, filled.(map[string]any))
}

// finish adds the overriding arguments and removes secret variables.
func (p *Prepared) finish(extra map[string]any) {
	maps.Copy(p.Arguments, cloneMap(extra))
	if names := removeSecrets(p.Arguments); len(names) > 0 {
		p.notef("%s: removed from the program's environment, like all provider keys", strings.Join(names, ", "))
	}
	if request, ok := p.Arguments["request"].(string); ok && (request == "launch" || request == "attach") {
		p.Request = request
	}
}

// noProcess maps the kinds of adapters that cannot attach to a process to advice for the user. It is never modified.
var noProcess = map[string]string{
	kindJS:     `start it with "node --inspect", or open its port with "kill -USR1 PID", and attach to that port (9229)`,
	kindRdbg:   `start it with "rdbg --open --port PORT -c -- ruby …" and attach to that port`,
	kindKotlin: `start it with -agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=PORT and attach to that port`,
}

// PrepareAttach returns how to attach to a running program with an adapter.
func PrepareAttach(spec *dap.Spec, a Attach) (*Prepared, error) {
	if !filepath.IsAbs(a.Dir) {
		return nil, fmt.Errorf("the working directory %q is not an absolute path", a.Dir)
	}
	if (a.PID > 0) == (a.Port > 0) || a.PID < 0 || a.Port < 0 || a.Port > 65535 {
		return nil, errors.New("to attach, name either a pid or a port")
	}
	p := &Prepared{Start: dap.Start{Adapter: spec, Request: "attach", Arguments: cloneMap(spec.AttachDefaults), Dir: a.Dir, Program: a.Program}}
	host := cmp.Or(a.Host, loopback)
	values := map[string]any{"host": host, "port": a.Port, "dir": a.Dir}
	if a.Program != "" {
		values["program"] = a.Program
	}
	form, what := spec.Forms.Remote, "to a port"
	switch {
	case a.PID > 0:
		form, what = spec.Forms.Process, "to a process by its ID"
		values["pid"], values["pidText"] = a.PID, strconv.Itoa(a.PID)
	case a.Listen:
		form, what = spec.Forms.Listen, "by listening"
	case spec.Forms.DialRemote:
		p.Address = net.JoinHostPort(host, strconv.Itoa(a.Port))
	}
	if form == nil {
		text := spec.Name + " cannot attach " + what
		if how := noProcess[spec.Kind]; how != "" && a.PID > 0 {
			text += "; " + how
		}
		return nil, errors.New(text)
	}
	if a.Listen && a.Port > 0 {
		if err := checkListen(host, a.Port); err != nil {
			return nil, err
		}
	}
	p.apply(form, values)
	if a.StopOnEntry != nil && !slices.Contains([]string{kindDebugpy, kindJS}, spec.Kind) { // supported for launches only
		for _, name := range spec.Forms.StopOnEntry {
			p.Arguments[name] = *a.StopOnEntry
		}
	}
	if p.Program == "" {
		p.Program = "process " + strconv.Itoa(a.PID)
		if a.Port > 0 {
			p.Program = net.JoinHostPort(host, strconv.Itoa(a.Port))
		}
	}
	p.finish(a.Extra)
	return p, nil
}

// checkListen returns an error if an adapter cannot listen at an address. Some adapters (debugpy) would not report it and
// never answer.
func checkListen(host string, port int) error {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port))) // does not block
	if err != nil {
		return fmt.Errorf("the debug adapter cannot listen there: %w", err)
	}
	return l.Close()
}
