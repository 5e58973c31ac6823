package config

import (
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
	// Program is absolute: a source file, a binary, a package's directory, or a test of pytest ("/w/tests/test_a.py::test_b").
	// It may be empty where Extra says what to run (module, mainClass, task).
	Program string
	// Args are those of the program.
	Args []string
	// Dir is where adapter and program run, absolute. Required. Tests of Go run in their package, as with go test, unless
	// Extra has cwd.
	Dir string
	// Mode is debug, test, exec, core or replay, as far as the adapter knows such; empty for the one that fits.
	Mode string
	// Core is a core file of the program, absolute; empty for none.
	Core string
	// Env is added to the program's environment. Variables that [proc.IsSecretVariable] knows are left out.
	Env map[string]string
	// StopOnEntry says whether the program is to stop at its beginning; nil for the adapter's default.
	StopOnEntry *bool
	// Terminal asks for a terminal to run the program in.
	Terminal bool
	// TempDir is where a program is built that is debugged from its source; empty for the adapter's choice.
	TempDir string
	// Extra goes over all other arguments, as it is.
	Extra map[string]any
}

// Attach is a running program to debug, for [PrepareAttach].
type Attach struct {
	// PID is the process; zero for an attach to a port.
	PID int
	// Host and Port are where the program, or its adapter, listens. An empty host is 127.0.0.1. Listen turns it round: the
	// adapter listens there, and the program connects.
	Host   string
	Port   int
	Listen bool
	// Program is the binary, where it is known. Dir is where the adapter runs, absolute. Required.
	Program, Dir string
	// StopOnEntry says whether the program is to be stopped at once; nil for the adapter's default.
	StopOnEntry *bool
	// Extra goes over all other arguments, as it is.
	Extra map[string]any
}

// Prepared is what [dap.Debugger.Start] needs, and what the reader should know of it.
type Prepared struct {
	dap.Start
	Notes []string
}

func (p *Prepared) notef(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// preparation is a launch as it comes about.
type preparation struct {
	*Prepared
	want Launch
}

// launchers know more of some kinds of adapters than their forms say. It is never changed.
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

// PrepareLaunch returns how to launch a program under an adapter. It looks at the program's files and changes nothing.
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
			return nil, fmt.Errorf("%s reads no core files; gdb, lldb-dap and dlv do", spec.Name)
		}
		if strings.ContainsAny(l.Core+l.Program, "\"\n") {
			return nil, errors.New("a core file and its program must have no quotes in their names; make links to them")
		}
		values["core"] = l.Core
	}
	p.over(form, values)
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
			p.notef("%s can not run the program in a terminal; its output comes from the debugger", spec.Name)
		}
		maps.Copy(p.Arguments, cloneMap(spec.TerminalArguments))
	}
	p.finish(l.Extra)
	return p.Prepared, nil
}

// over puts a form over the arguments.
func (p *Prepared) over(form map[string]any, values map[string]any) {
	filled, _ := expand(form, values)
	maps.Copy(p.Arguments, filled.(map[string]any))
}

// finish puts the last arguments over the others and takes out what no program may have.
func (p *Prepared) finish(extra map[string]any) {
	maps.Copy(p.Arguments, cloneMap(extra))
	if names := scrub(p.Arguments); len(names) > 0 {
		p.notef("%s: kept from the program, as gjc's own keys are", strings.Join(names, ", "))
	}
	if request, ok := p.Arguments["request"].(string); ok && (request == "launch" || request == "attach") {
		p.Request = request
	}
}

// noProcess says what to do where an adapter can not attach to a process. It is never changed.
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
	host := a.Host
	if host == "" {
		host = "127.0.0.1"
	}
	values := map[string]any{"host": host, "port": a.Port, "dir": a.Dir}
	if a.Program != "" {
		values["program"] = a.Program
	}
	form, what := spec.Forms.Remote, "to a port"
	switch {
	case a.PID > 0:
		form, what = spec.Forms.Process, "to a process by its id"
		values["pid"], values["pidText"] = a.PID, strconv.Itoa(a.PID)
	case a.Listen:
		form, what = spec.Forms.Listen, "by listening"
	case spec.Forms.DialRemote:
		p.Address = net.JoinHostPort(host, strconv.Itoa(a.Port))
	}
	if form == nil {
		text := spec.Name + " can not attach " + what
		if how := noProcess[spec.Kind]; how != "" && a.PID > 0 {
			text += "; " + how
		}
		return nil, errors.New(text)
	}
	if a.Listen && a.Port > 0 {
		if err := listenable(host, a.Port); err != nil {
			return nil, err
		}
	}
	p.over(form, values)
	if a.StopOnEntry != nil && !slices.Contains([]string{kindDebugpy, kindJS}, spec.Kind) { // these two have it for launches only
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

// listenable complains about an address at which nothing more can listen. Some adapters (debugpy) do not say so: they never
// answer.
func listenable(host string, port int) error {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port))) // it does not wait
	if err != nil {
		return fmt.Errorf("nothing can be made to listen there: %w", err)
	}
	return l.Close()
}
