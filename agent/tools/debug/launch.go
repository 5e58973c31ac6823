package debug

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// debugStart is a planned session.
type debugStart struct {
	start dap.Start
	notes []string
	// program is the absolute path of the program, or "" if it is not a file.
	program string
	// plain reports that adapter, mode and program identify the launch: the program is in the workspace, and the adapter receives
	// nothing else. shown lists what else the user must see.
	plain bool
	mode  string
	shown []string
	// dir is the directory of the program, if it differs from the adapter's.
	dir string
	// where says where the program to attach to is.
	where approval.Where
	// identity distinguishes the processes to attach to from later ones with the same ids.
	identity string
	// secrets are values that must not be shown.
	secrets []string
}

// A launcher plans and starts the session of a launch or an attach.
type launcher struct{ *debugCall }

// roomForMore returns an error if the limit of sessions is reached.
func (c launcher) roomForMore() error {
	if open := c.openSessions(); len(open) >= dap.MaxSessions {
		return fmt.Errorf("debug session %s is still active; terminate it before launching another", open[0].ID())
	}
	return nil
}

// planStart determines what a launch or an attach would run, for the question to the user.
func (c launcher) planStart(ctx context.Context, plan *agent.CallPlan, prep *debugPrepared) error {
	dir, err := c.startDir(ctx)
	if err != nil {
		return err
	}
	extra, err := c.in.argumentsOf()
	if err != nil {
		return err
	}
	var st *debugStart
	switch {
	case c.in.Configuration != "":
		st, err = c.planConfiguration(ctx, extra)
	case c.in.Action == "attach":
		st, err = c.planAttach(ctx, dir, extra)
	default:
		st, err = c.planLaunch(ctx, dir, extra)
	}
	if err != nil {
		return err
	}
	if err := c.processes(ctx, st); err != nil {
		return err
	}
	c.locate(ctx, st)
	st.start.Roots = append([]string{c.call.Workspace.Cwd}, c.call.Workspace.Additional...)
	st.look()
	prep.start = st
	plan.Effects, err = c.startEffects(st, dir, plan.Title)
	if err != nil {
		return err
	}
	text, err := c.startText(st)
	plan.Content = []agent.Content{agent.TextContent{Text: text}}
	if st.program != "" {
		plan.Locations = []agent.Location{{Path: st.program}}
	}
	return err
}

// look reads the program and the directory from the arguments, which may override them.
func (st *debugStart) look() {
	abs := func(name string) string {
		path, _ := st.start.Arguments[name].(string)
		if path != "" && !filepath.IsAbs(path) && strings.ContainsAny(path, `/\`) {
			path = filepath.Join(st.start.Dir, path)
		}
		if !filepath.IsAbs(path) {
			return ""
		}
		file, _ := nodeID(filepath.Clean(path))
		return file
	}
	if program := abs("program"); program != "" && !st.plain {
		st.program = program
	}
	st.dir = abs("cwd")
}

// startDir returns the directory to run in.
func (c launcher) startDir(ctx context.Context) (string, error) {
	if c.in.Cwd == "" {
		return c.call.Workspace.Cwd, nil
	}
	dir := c.call.Workspace.Resolve(c.in.Cwd)
	switch info, err := c.call.FS.Stat(ctx, dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("working directory does not exist: %s", dir)
	case err != nil:
		return "", fmt.Errorf("the working directory %s cannot be used: %w", dir, toolkit.Reason(err))
	case !info.IsDir():
		return "", fmt.Errorf("working directory is not a directory: %s", dir)
	}
	return dir, nil
}

// nodeID splits the name of a test from its file ("tests/test_a.py::test_b").
func nodeID(program string) (file, test string) {
	if i := strings.Index(program, "::"); i > 0 {
		return program[:i], program[i:]
	}
	return program, ""
}

func (c launcher) planLaunch(ctx context.Context, dir string, extra map[string]any) (*debugStart, error) {
	in := c.in
	for name, value := range in.Env {
		if !toolkit.VariableName(name) || strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%w for debug: %q is not a valid environment variable", agent.ErrBadInput, name)
		}
	}
	l := dapconfig.Launch{Args: in.Args, Dir: dir, Mode: in.Mode, Env: in.Env, Terminal: in.Terminal, TempDir: c.tempDir(), Extra: extra}
	st := &debugStart{mode: in.Mode}
	isDir := false
	if in.Program != "" {
		file, test := nodeID(in.Program)
		st.program = c.call.Workspace.Resolve(file)
		l.Program = st.program + test
		var err error
		if isDir, err = c.launchable(ctx, st.program); err != nil {
			return nil, err
		}
	}
	if in.Core != "" {
		l.Core = c.call.Workspace.Resolve(in.Core)
		if _, err := c.call.FS.Stat(ctx, l.Core); err != nil {
			return nil, toolkit.Missing(ctx, c.call, l.Core)
		}
	} else {
		l.StopOnEntry = c.stopOnEntry()
	}
	spec, err := c.adapter(ctx, dap.Wanted{Adapter: in.Adapter, Program: l.Program, Dir: dir})
	if err != nil {
		if isDir && in.Adapter == "" && ctx.Err() == nil {
			return nil, fmt.Errorf("%w (%w)", notLaunchable(st.program), err)
		}
		return nil, err
	}
	if isDir && !takesDirectories(spec) {
		return nil, notLaunchable(st.program)
	}
	prepared, err := dapconfig.PrepareLaunch(spec, l)
	if err != nil {
		return nil, err
	}
	if err := c.executable(ctx, spec, st.program); err != nil {
		return nil, err
	}
	st.start, st.notes = prepared.Start, prepared.Notes
	st.plain = len(in.Env) == 0 && len(extra) == 0 && l.Core == "" && st.program != ""
	return st, nil
}

// tempDir returns the directory for what an adapter builds: inside the boundary, it has the session's own in the place of /tmp.
func (c launcher) tempDir() string {
	if dir := c.call.Workspace.Resolve(os.TempDir()); dir != "" {
		return dir
	}
	return os.TempDir()
}

// launchable checks a program that is to be launched.
func (c launcher) launchable(ctx context.Context, path string) (isDir bool, err error) {
	info, err := c.call.FS.Stat(ctx, path)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return false, &debugError{err, "launch program not found: " + toolkit.Missing(ctx, c.call, path).Error()}
	case err != nil:
		return false, fmt.Errorf("the program %s cannot be launched: %w", c.place(path, 0, 0), toolkit.Reason(err))
	}
	return info.IsDir(), nil
}

func notLaunchable(path string) error {
	return fmt.Errorf("launch program resolves to a directory: %s. Give the source file or the binary to run", path)
}

// takesDirectories reports whether the program of an adapter can be the directory of a package or a project.
func takesDirectories(spec *dap.Spec) bool {
	if spec.Kind == "dlv" || spec.Kind == "debugpy" {
		return true
	}
	return slices.ContainsFunc(spec.Languages, func(l string) bool {
		return slices.Contains([]string{"go", "python", "csharp", "fsharp", "dart", "kotlin", "elixir"}, l)
	})
}

// executable returns an error for a binary that is not executable.
func (c launcher) executable(ctx context.Context, spec *dap.Spec, path string) error {
	if !spec.Native || path == "" || runtime.GOOS == "windows" || c.in.Core != "" {
		return nil
	}
	if info, err := c.call.FS.Stat(ctx, path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not executable. Build it, or make it executable with chmod +x", c.place(path, 0, 0))
	}
	return nil
}

// stopOnEntry reports whether the program stops at its beginning. It does if no breakpoint would stop it, unless the call specifies
// otherwise.
func (c launcher) stopOnEntry() *bool {
	if c.in.StopOnEntry != nil {
		return c.in.StopOnEntry
	}
	stops := slices.ContainsFunc(c.debugger.Planned(), func(b dap.Breakpoint) bool { return b.Kind != dap.ExceptionBreakpoint })
	return new(!stops)
}

// planConfiguration plans a launch or an attach of launch.json. The parameters of the call override it.
func (c launcher) planConfiguration(ctx context.Context, extra map[string]any) (*debugStart, error) {
	cfg, err := c.configuration(ctx)
	if err != nil {
		return nil, err
	}
	in := c.in
	args := maps.Clone(cfg.Arguments)
	if args == nil {
		args = make(map[string]any)
	}
	if in.Program != "" {
		file, test := nodeID(in.Program)
		args["program"] = c.call.Workspace.Resolve(file) + test
	}
	if in.Args != nil {
		args["args"] = in.Args
	}
	if in.Cwd != "" {
		args["cwd"] = c.call.Workspace.Resolve(in.Cwd)
	}
	if len(in.Env) > 0 {
		env := make(map[string]any)
		if had, ok := args["env"].(map[string]any); ok {
			maps.Copy(env, had)
		}
		for name, value := range in.Env {
			env[name] = value
		}
		args["env"] = env
	}
	cfg.Arguments = args
	program, _ := args["program"].(string)
	if !filepath.IsAbs(program) {
		program = ""
	}
	wanted := dap.Wanted{Adapter: in.Adapter, Program: program, Dir: cfg.Root, Attach: cfg.Request == "attach", PID: in.PID}
	if wanted.Adapter == "" {
		if wanted.Adapter = cfg.Adapter; wanted.Adapter == "" {
			wanted.Adapter = cfg.Type
		}
	}
	spec, err := c.adapter(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("the configuration %q of %s (type %s): %w", cfg.Name, c.place(cfg.File, cfg.Line, 0), cfg.Type, err)
	}
	if in.StopOnEntry != nil {
		for _, name := range spec.Forms.StopOnEntry {
			args[name] = *in.StopOnEntry
		}
	}
	maps.Copy(args, extra)
	prepared, err := dapconfig.PrepareConfiguration(spec, cfg)
	if err != nil {
		return nil, err
	}
	file, _ := nodeID(program)
	st := &debugStart{start: prepared.Start, notes: prepared.Notes, program: file, secrets: cfg.Secrets}
	st.shown = append(st.shown, fmt.Sprintf("Configuration: %s, %s", cfg.Name, c.place(cfg.File, cfg.Line, 0)))
	for _, what := range cfg.Runs {
		st.shown = append(st.shown, "It also runs: "+what)
	}
	return st, nil
}

// startEffects returns the effects that the user is asked about.
func (c launcher) startEffects(st *debugStart, dir, title string) ([]approval.Effect, error) {
	e := approval.Effect{Action: approval.ActionDebug, Path: st.program, Host: st.start.Host(), Title: title, Covers: "this exact " + st.start.Request, Where: st.where}
	real := c.call.FS.RealPath(st.program)
	if st.plain && c.call.Workspace.Contains(st.program) && real != "" {
		a := st.start.Adapter
		e.Subject = fmt.Sprintf("launch %q %q %q %q %q %q %q", a.Name, a.Path, a.Args, a.Env, a.LaunchDefaults, st.mode, real)
		e.Covers = fmt.Sprintf("launches of %s with %s", toolkit.Display(&c.call.Workspace, st.program), st.start.Adapter.Name)
	} else {
		arguments := maps.Clone(st.start.Arguments)
		if c.in.Arguments == "" && c.in.Configuration == "" {
			delete(arguments, "output") // each launch builds the program at a new path
		}
		args, err := jsonx.Marshal(arguments)
		if err != nil {
			return nil, fmt.Errorf("%w for debug: the arguments cannot be sent: %w", agent.ErrBadInput, err)
		}
		a := st.start.Adapter
		e.Subject = fmt.Sprintf("exact %q %q %q %q %q %q %q %s", a.Name, a.Path, a.Args, a.Env, st.start.Address, st.start.Request, dir, args)
		e.Subject += st.identity
	}
	st.start.Subject, st.start.Covers = e.Subject, e.Covers
	effects := []approval.Effect{e}
	paths := []string{dir, c.in.Core, st.dir}
	for i, path := range paths {
		if path != "" && path != c.call.Workspace.Cwd && !slices.Contains(paths[:i], path) {
			path = c.call.Workspace.Resolve(path)
			effects = append(effects, approval.Effect{Action: approval.ActionRead, Path: path, Title: "Debug in " + path})
		}
	}
	return effects, nil
}

// startText returns what would run, for the user.
func (c launcher) startText(st *debugStart) (string, error) {
	var b strings.Builder
	start := &st.start
	fmt.Fprintf(&b, "%s %s", strings.ToUpper(start.Request[:1])+start.Request[1:], text.VisibleLine(toolkit.Display(&c.call.Workspace, start.Program)))
	for _, arg := range c.in.Args {
		b.WriteString(" " + text.VisibleLine(text.ShellWord(arg)))
	}
	fmt.Fprintf(&b, "\nAdapter: %s", start.Adapter.Name)
	if start.Address != "" {
		b.WriteString(" at " + text.VisibleLine(start.Address))
	} else {
		b.WriteString(" (" + text.VisibleLine(strings.Join(append([]string{start.Adapter.Path}, start.Adapter.Args...), " ")) + ")")
	}
	fmt.Fprintf(&b, "\nDirectory: %s\n", text.VisibleLine(start.Dir))
	for _, name := range slices.Sorted(maps.Keys(c.in.Env)) {
		fmt.Fprintf(&b, "Environment: %s=%s\n", name, text.VisibleLine(c.in.Env[name]))
	}
	for _, line := range st.shown {
		b.WriteString(text.VisibleLine(line) + "\n")
	}
	if c.in.Configuration != "" || c.in.Arguments != "" {
		args, err := jsonx.Marshal(maskEnv(start.Arguments))
		if err != nil {
			return "", fmt.Errorf("%w for debug: the arguments cannot be sent: %w", agent.ErrBadInput, err)
		}
		raw := jsonx.Raw(args)
		if err := raw.Indent(); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "Arguments of the adapter:\n%s\n", text.Visible(string(raw)))
	}
	text := strings.TrimRight(b.String(), "\n")
	for _, secret := range st.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text, nil
}

// maskEnv returns arguments with only the names of environment variables, because a configuration may read secrets from files.
func maskEnv(args map[string]any) map[string]any {
	env, ok := args["env"].(map[string]any)
	if !ok {
		return args
	}
	names := make(map[string]any, len(env))
	for name := range env {
		names[name] = "…"
	}
	args = maps.Clone(args)
	args["env"] = names
	return args
}

// start starts a session and waits for its first stop.
func (c launcher) start(ctx context.Context, st *debugStart) (*agent.Result, error) {
	if st == nil {
		return nil, errors.New("internal error: the launch was not planned")
	}
	st.start.Inside = approval.PermitOf(ctx).Inside() != nil
	s, err := c.debugger.Start(ctx, &st.start)
	if err != nil {
		return nil, err
	}
	c.session = s
	c.observe(s)
	c.notes = append(c.notes, st.notes...)
	err = c.firstStop(ctx, st)
	switch {
	case c.turn.Err() != nil:
		return nil, context.Cause(c.turn)
	case errors.Is(err, errAttached):
		return c.report(ctx, "Attach", true)
	case err != nil && ctx.Err() == nil:
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = s.Terminate(end, st.start.Request == "launch") // the first error is more important
		return nil, err
	case err != nil:
		return c.stillRunning("", true)
	}
	c.noteBreakpoints()
	if snap := s.Peek(); st.start.Request == "launch" && snap.Stop != nil && snap.Stop.Reason == "entry" {
		c.notes = append(c.notes, "It is stopped before its own first line: set breakpoints and continue, or use run_to.")
	}
	return c.report(ctx, "", true)
}

// attachTime bounds the wait for an attached program without breakpoints to stop.
const attachTime = 3 * time.Second

// errAttached reports that an attached program keeps running under the debugger.
var errAttached = errors.New("the program that gjc attached to is still running")

// firstStop waits for the first stop or the end of the program.
func (c launcher) firstStop(ctx context.Context, st *debugStart) error {
	if st.start.Request != "attach" || len(c.session.Breakpoints()) > 0 {
		return c.session.Wait(ctx)
	}
	for {
		short, cancel := context.WithTimeout(ctx, attachTime)
		err := c.session.Wait(short)
		over := short.Err() != nil
		cancel()
		switch {
		case err == nil || !over || ctx.Err() != nil:
			return err
		case c.session.State() == dap.StateRunning:
			return errAttached
		}
	}
}

// noteBreakpoints adds a note for each breakpoint that was not set at its requested location.
func (c launcher) noteBreakpoints() {
	for _, b := range c.session.Breakpoints() {
		moved := b.ActualLine != 0 && b.ActualLine != b.Line && b.Kind == dap.SourceBreakpoint
		if b.Verified && !moved || b.Kind == dap.ExceptionBreakpoint && b.Message == "" {
			continue
		}
		where := ""
		if b.Kind == dap.SourceBreakpoint {
			where = c.place(b.Path, 0, 0) + " "
		}
		c.notes = append(c.notes, "Breakpoint "+where+c.breakpointText(&b, false))
	}
}
