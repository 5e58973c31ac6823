package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// PrepareConfiguration returns how to start a configuration of launch.json with an adapter. It translates what the editor's
// extensions add to the adapter's own arguments.
func PrepareConfiguration(spec *dap.Spec, c *Configuration) (*Prepared, error) {
	p := &Prepared{Start: dap.Start{Adapter: spec, Request: c.Request, Dir: c.Root, Arguments: make(map[string]any)}, Notes: slices.Clone(c.Notes)}
	defaults := spec.LaunchDefaults
	if c.Request == "attach" {
		defaults = spec.AttachDefaults
	}
	own := cloneMap(c.Arguments)
	maps.Copy(p.Arguments, cloneMap(defaults))
	for _, name := range spec.Forms.StopOnEntry { // set only if the configuration sets it
		delete(p.Arguments, name)
	}
	maps.Copy(p.Arguments, own)
	if spec.Kind == kindJS {
		p.Arguments["type"], p.Arguments["name"] = jsType(c.Type), c.Name
	}
	p.Arguments["request"] = c.Request
	for _, name := range []string{"port", "processId", "pid"} {
		if text, ok := p.Arguments[name].(string); ok {
			if n, err := strconv.Atoi(text); err == nil {
				p.Arguments[name] = n // the answers to inputs are strings
			}
		}
	}
	if dir, ok := p.Arguments["cwd"].(string); ok && filepath.IsAbs(dir) && c.Request == "launch" {
		p.Dir = dir
	} else if _, ok := p.Arguments["cwd"]; !ok && c.Request == "launch" && spec.Kind != kindDlv {
		p.Arguments["cwd"] = c.Root
	}
	p.Program, _ = p.Arguments["program"].(string)
	if text, ok := p.Arguments["args"].(string); ok {
		p.Arguments["args"] = anyList(splitWords(text))
	}
	if err := p.translate(c); err != nil {
		return nil, fmt.Errorf("%s:%d: configuration %s: %w", c.File, c.Line, configfile.Quote(c.Name), err)
	}
	if server, ok := number(p.Arguments["debugServer"]); ok {
		p.Address = addressIn(nil, server)
		delete(p.Arguments, "debugServer")
	}
	p.Program = cmp.Or(p.Program, c.Name)
	p.finish(nil)
	return p, nil
}

func (p *Prepared) translate(c *Configuration) error {
	switch p.Adapter.Kind {
	case kindDlv:
		return p.translateGo(c)
	case kindDebugpy:
		p.translatePython()
	case kindRdbg:
		return p.translateRuby(c)
	case kindGDB, kindLLDB, kindCodeLLDB:
		return p.translateNative(c)
	}
	return nil
}

// translateGo translates a configuration for dlv, as the editor's extension does.
func (p *Prepared) translateGo(c *Configuration) error {
	for _, name := range []string{"console", "dlvToolPath", "dlvFlags"} {
		if _, ok := p.Arguments[name]; ok {
			p.notef("%s is for the editor and is ignored", name)
		}
	}
	for _, name := range []string{"console", "dlvToolPath", "dlvFlags", "apiVersion", "showLog", "logOutput", "trace"} {
		delete(p.Arguments, name)
	}
	if c.Request == "attach" {
		mode, _ := c.Arguments["mode"].(string)
		port, there := number(p.Arguments["port"])
		if mode == "remote" || mode == "" && there {
			if !there {
				return fmt.Errorf("mode remote needs a port")
			}
			p.Arguments["mode"], p.Address = "remote", addressIn(p.Arguments, port)
		}
		delete(p.Arguments, "host")
		delete(p.Arguments, "port")
		return nil
	}
	mode, _ := c.Arguments["mode"].(string)
	if mode == "core" || mode == "replay" {
		return nil
	}
	target, mode, err := goTarget(p.Program, mode)
	if err != nil {
		return err
	}
	p.Arguments["mode"], p.Arguments["program"] = mode, target
	if mode == "exec" {
		return nil
	}
	dir := target
	if strings.HasSuffix(target, ".go") {
		dir = filepath.Dir(target)
	}
	if _, ok := p.Arguments["dlvCwd"]; !ok {
		p.Arguments["dlvCwd"] = dir
	}
	if _, ok := p.Arguments["cwd"]; !ok {
		p.Arguments["cwd"] = dir // as the editor's extension does
	}
	return nil
}

// translatePython replaces older names with newer ones.
func (p *Prepared) translatePython() {
	if python, ok := p.Arguments["pythonPath"]; ok {
		delete(p.Arguments, "pythonPath")
		if _, ok := p.Arguments["python"]; !ok {
			p.Arguments["python"] = python
		}
	}
	if python, ok := p.Arguments["python"].(string); ok {
		p.Arguments["python"] = []any{python}
	}
	if p.Request == "attach" { // the first versions had host and port at the top
		if port, ok := number(p.Arguments["port"]); ok && p.Arguments["connect"] == nil && p.Arguments["listen"] == nil {
			host, _ := p.Arguments["host"].(string)
			p.Arguments["connect"] = map[string]any{"host": cmp.Or(host, loopback), "port": port}
			delete(p.Arguments, "host")
			delete(p.Arguments, "port")
		}
	}
	if at, ok := p.Arguments["connect"].(map[string]any); ok && p.Request == "attach" { // the program runs an adapter, which listens there
		if port, ok := number(at["port"]); ok {
			p.Address = addressIn(at, port)
		}
	}
	if strings.Contains(p.Program, "::") { // a pytest test
		args, _ := p.Arguments["args"].([]any)
		p.Arguments["module"], p.Arguments["args"] = "pytest", append([]any{p.Program}, args...)
		delete(p.Arguments, "program")
	}
	if module, ok := p.Arguments["module"].(string); ok && p.Program == "" {
		p.Program = "module " + module
	}
}

// translateRuby sets the adapter's command line, or the address to connect to.
func (p *Prepared) translateRuby(c *Configuration) error {
	if c.Request == "attach" {
		place, _ := p.Arguments["debugPort"].(string)
		if port, ok := number(p.Arguments["debugPort"]); ok {
			place = strconv.Itoa(port)
		}
		switch _, err := strconv.Atoi(place); {
		case place == "":
			return fmt.Errorf("debugPort must be a port, host:port or a socket")
		case err == nil:
			p.Address = net.JoinHostPort(loopback, place)
		case filepath.IsAbs(place):
			p.Address = "unix:" + place
		default:
			p.Address = place
		}
		return nil
	}
	script, _ := p.Arguments["script"].(string)
	var args []string
	if list, ok := p.Arguments["args"].([]any); ok {
		for _, a := range list {
			args = append(args, fmt.Sprint(a))
		}
	}
	made, err := PrepareLaunch(p.Adapter, Launch{Program: script, Args: args, Dir: p.Dir, Extra: p.Arguments})
	if err != nil {
		return err
	}
	p.Start, p.Notes = made.Start, append(p.Notes, made.Notes...)
	return nil
}

const loopback = "127.0.0.1"

// addressIn returns the address of a port on the host that arguments name, or on this machine.
func addressIn(arguments map[string]any, port int) string {
	host, _ := arguments["host"].(string)
	return net.JoinHostPort(cmp.Or(host, loopback), strconv.Itoa(port))
}

// miMembers are the members that only Microsoft's debugger supports.
var miMembers = []string{
	"MIMode", "miDebuggerPath", "miDebuggerArgs", "miDebuggerServerAddress", "externalConsole", "setupCommands", "customLaunchSetupCommands",
	"launchCompleteCommand", "visualizerFile", "showDisplayString", "additionalSOLibSearchPath", "stopAtEntry", "environment", "logging", "targetArchitecture", "useExtendedRemote", "symbolLoadInfo",
}

// translateNative translates the members of cppdbg for gdb and lldb.
func (p *Prepared) translateNative(c *Configuration) error {
	kind := p.Adapter.Kind
	env := make(map[string]string)
	list, _ := p.Arguments["environment"].([]any)
	for _, v := range list {
		if pair, ok := v.(map[string]any); ok {
			env[fmt.Sprint(pair["name"])] = fmt.Sprint(pair["value"])
		}
	}
	object, _ := p.Arguments["env"].(map[string]any)
	for name, value := range object {
		if value != nil {
			env[name] = fmt.Sprint(value)
		}
	}
	if filled, ok := expand(p.Adapter.Forms.Launch["env"], formValues("", nil, "", env)); ok && filled != nil {
		p.Arguments["env"] = filled
	}
	if stop, ok := p.Arguments["stopAtEntry"].(bool); ok {
		for _, name := range p.Adapter.Forms.StopOnEntry {
			p.Arguments[name] = stop
		}
	}
	if pid, ok := number(p.Arguments["processId"]); ok {
		p.Arguments["pid"] = pid
		delete(p.Arguments, "processId")
	}
	if core, ok := p.Arguments["coreDumpPath"].(string); ok {
		p.Arguments["coreFile"], p.Request = core, "attach"
		p.Arguments["request"] = "attach"
		delete(p.Arguments, "coreDumpPath")
	}
	if server, ok := p.Arguments["miDebuggerServerAddress"].(string); ok && server != "" {
		host, port, err := net.SplitHostPort(server)
		n, bad := strconv.Atoi(port)
		if err != nil || bad != nil {
			return fmt.Errorf("miDebuggerServerAddress must be host:port, not %s", configfile.Quote(server))
		}
		values := map[string]any{"host": host, "port": n}
		if p.Program != "" {
			values["program"] = p.Program
		}
		p.apply(p.Adapter.Forms.Remote, values)
		p.Request, p.Arguments["request"] = "attach", "attach"
	}
	if commands := miCommands(p.Arguments["setupCommands"]); len(commands) > 0 {
		if kind == kindGDB || !strings.Contains(fmt.Sprint(c.Arguments["MIMode"]), "lldb") {
			p.notef("setupCommands are for gdb's MI interface and are ignored: %s", strings.Join(commands, "; "))
		} else {
			p.Arguments["initCommands"] = anyList(commands)
		}
	}
	if path, ok := p.Arguments["miDebuggerPath"].(string); ok && path != "" {
		p.notef("miDebuggerPath is ignored; the debugger is %s", p.Adapter.Path)
	}
	if _, ok := p.Arguments["cargo"]; ok {
		return fmt.Errorf(`the configuration builds the program with cargo; build it with bash ("cargo build", "cargo test --no-run") and launch the binary`)
	}
	for _, name := range miMembers {
		delete(p.Arguments, name)
	}
	return nil
}

// miCommands returns the commands in setupCommands.
func miCommands(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, item := range list {
		m, _ := item.(map[string]any)
		if text, ok := m["text"].(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// jsType returns the adapter's own name for a type of launch.json.
func jsType(name string) string {
	switch name {
	case "node", "node2":
		return "pwa-node"
	case "chrome":
		return "pwa-chrome"
	case "msedge":
		return "pwa-msedge"
	default:
		return name
	}
}

// number converts v to an int if it is a whole number.
func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(v), v == float64(int(v))
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	default:
		return 0, false
	}
}

// runningArguments are the arguments of the default adapters that run something or change what runs.
var runningArguments = []string{
	"python", "pythonPath", "pythonArgs", "debugLauncherPath", "runtimeExecutable", "runtimeArgs", "runtimeVersion", "command", "useBundler", "rdbgPath", "toolArgs",
	"initCommands", "preRunCommands", "postRunCommands", "launchCommands", "attachCommands", "stopCommands", "exitCommands", "terminateCommands", "targetCreateCommands",
	"processCreateCommands", "setupCommands", "customLaunchSetupCommands", "sourceInitFile", "debuggerRoot", "miDebuggerPath", "miDebuggerArgs", "buildFlags", "backend", "output",
	"dlvCwd", "env", "environment", "pathBash", "pathBashdb", "pathBashdbLib", "pathCat", "pathMkfifo", "pathPkill", "killBehavior", "code",
	"cargo", "debugServer", "sudo", "launcher",
}

// Runs returns sentences for the user about what the arguments of a launch or an attach run or change, in addition to the program,
// its arguments and its module. Show them when asking the user for permission.
func Runs(arguments map[string]any) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(runningArguments, name) {
			continue
		}
		text, err := jsonx.Marshal(arguments[name])
		if err != nil {
			text = fmt.Append(nil, arguments[name])
		}
		lines = append(lines, name+": "+string(text))
	}
	return lines
}
