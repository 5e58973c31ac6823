package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/mcp"
)

// MCPFileName is the user's file of MCP servers in the agent directory.
const MCPFileName = "mcp.json"

// mcpFields are the fields of a server.
var mcpFields = []string{"args", "auth", "command", "cwd", "disabled", "enabled", "env", "headers", "timeout", "type", "url"}

// mcpTypes are the values of the field type. Without one, the other fields determine it.
var mcpTypes = []string{"stdio", "http", "streamable-http", "sse"}

// mcpTimeout is the largest value of the field timeout, in milliseconds.
const mcpTimeout = 24 * 3600 * 1000

// mcpReader reads mcp.json.
type mcpReader struct {
	path string
	// These are [MCPOptions].
	getenv func(string) string
	home   string
	run    func(commandLine string) (string, error)

	servers  []mcp.Server
	mistakes []*Error
}

// MCPOptions say how the values of mcp.json are computed.
type MCPOptions struct {
	// Getenv returns a variable of the environment, and Home replaces "~"; if it is "", "~" stays.
	Getenv func(string) string
	Home   string
	// Run returns the output of a command line that computes a value. If it is nil, such values stay empty.
	Run func(commandLine string) (string, error)
}

// MCPServers reads the MCP servers of a file, sorted by name. It omits a server with a mistake; the error is an [Errors], or
// wraps [fs.ErrNotExist] or another reason why the file cannot be read.
func MCPServers(path string, o MCPOptions) ([]mcp.Server, error) {
	r := &mcpReader{path: path, getenv: o.Getenv, home: o.Home, run: o.Run}
	data, err := configfile.ReadFile(r.path)
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	r.read(data)
	if len(r.mistakes) > 0 {
		return r.servers, Errors(r.mistakes)
	}
	return r.servers, nil
}

func (r *mcpReader) mistake(line int, field, format string, args ...any) {
	r.mistakes = append(r.mistakes, &Error{Path: r.path, Line: line, Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (r *mcpReader) read(data []byte) {
	top, err := configfile.ParseJSON(data)
	if err != nil {
		line, reason := 1, "the file is not JSON"
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line = e.Line
			if e.Plain {
				reason = e.Text
			}
		}
		r.mistake(line, "", "%s; no server in the file is used", reason)
		return
	}
	if top == nil {
		return
	}
	const shape = `must be an object like {"mcpServers": {"name": {"command": "…"}}}`
	if top.Kind != configfile.Object {
		r.mistake(top.Line, "", "the file %s", shape)
		return
	}
	for _, m := range top.Members {
		switch {
		case m.Name == "$schema":
		case m.Name != "mcpServers":
			r.mistake(m.Line, m.Name, "unknown field%s", configfile.Suggestion(m.Name, []string{"mcpServers"}))
		case m.Value.Kind != configfile.Object:
			r.mistake(m.Line, m.Name, "must be an object with a server for each name")
		default:
			for i := range m.Value.Members {
				r.server(&m.Value.Members[i])
			}
		}
	}
	slices.SortStableFunc(r.servers, func(a, b mcp.Server) int { return strings.Compare(a.Name, b.Name) })
}

// server reads one server. It ignores a disabled server and computes none of its values.
func (r *mcpReader) server(m *configfile.Member) {
	at := "mcpServers." + m.Name
	before := len(r.mistakes)
	defer func() {
		if len(r.mistakes) > before {
			r.mistakes[len(r.mistakes)-1].Until = "the server is not used"
		}
	}()
	if m.Value.Kind != configfile.Object {
		r.mistake(m.Line, at, "must be an object with command or url")
		return
	}
	fields := make(map[string]*configfile.Node)
	off := false
	for _, f := range m.Value.Members {
		field := at + "." + f.Name
		switch {
		case !slices.Contains(mcpFields, f.Name):
			r.mistake(f.Line, field, "unknown field%s; the fields are %s", configfile.Suggestion(f.Name, mcpFields), strings.Join(mcpFields, ", "))
		case f.Value.Kind == configfile.Null:
		case f.Name == "auth":
			r.mistake(f.Line, field, "gjc does not sign in to MCP servers; put a token into headers or env")
		case f.Name == "enabled" || f.Name == "disabled":
			if f.Value.Kind != configfile.Boolean {
				r.mistake(f.Line, field, "must be true or false")
			}
			off = off || f.Value.True() == (f.Name == "disabled")
		default:
			fields[f.Name] = f.Value
		}
	}
	if off || len(r.mistakes) > before {
		return
	}
	s := mcp.Server{Name: m.Name}
	r.timeout(&s, at, fields["timeout"])
	kind := r.kind(at, m.Line, fields)
	switch kind {
	case "":
		return
	case "stdio":
		r.stdio(&s, at, fields)
	default:
		s.HTTP = &mcp.HTTP{URL: r.text(&s, at+".url", fields["url"]), SSE: kind == "sse"}
		for _, v := range r.values(&s, at+".headers", fields["headers"]) {
			s.HTTP.Headers = append(s.HTTP.Headers, mcp.Header{Name: v[0], Value: v[1]})
		}
	}
	if len(r.mistakes) == before {
		r.servers = append(r.servers, s)
	}
}

// kind returns the server's transport, or "" after a mistake.
func (r *mcpReader) kind(at string, line int, fields map[string]*configfile.Node) string {
	kind := ""
	if n := fields["type"]; n != nil {
		if kind = n.Text; n.Kind != configfile.Text || !slices.Contains(mcpTypes, kind) {
			r.mistake(n.Line, at+".type", "must be one of: %s%s", strings.Join(mcpTypes, ", "), configfile.Suggestion(n.Text, mcpTypes))
			return ""
		}
	}
	_, command := fields["command"]
	_, address := fields["url"]
	switch {
	case command && address:
		r.mistake(line, at, "has both command and url; give it one of them")
		return ""
	case !command && !address:
		r.mistake(line, at, "has neither command nor url")
		return ""
	case kind != "" && command != (kind == "stdio"):
		r.mistake(fields["type"].Line, at+".type", "does not fit: stdio needs command, and the others need url")
		return ""
	}
	others, with := []string{"headers"}, "url"
	if address {
		others, with = []string{"args", "cwd", "env"}, "command"
	}
	for _, name := range others {
		if n := fields[name]; n != nil {
			r.mistake(n.Line, at+"."+name, "is for a server with %s", with)
			return ""
		}
	}
	switch {
	case command:
		return "stdio"
	case kind == "sse":
		return kind
	}
	return "http"
}

func (r *mcpReader) timeout(s *mcp.Server, at string, n *configfile.Node) {
	if n == nil {
		return
	}
	d, ok := configfile.Milliseconds(n)
	if !ok || d <= 0 || d > mcpTimeout*time.Millisecond {
		r.mistake(n.Line, at+".timeout", "must be a number of milliseconds above 0 and up to %d", mcpTimeout)
		return
	}
	s.Timeout = d
}

func (r *mcpReader) stdio(s *mcp.Server, at string, fields map[string]*configfile.Node) {
	s.Stdio = &mcp.Stdio{Command: r.expandHome(r.text(s, at+".command", fields["command"]))}
	if n := fields["args"]; n != nil {
		if reason := configfile.StringList.Check(n); reason != "" {
			r.mistake(n.Line, at+".args", "must be %s", reason)
			return
		}
		for i, arg := range n.List {
			s.Stdio.Args = append(s.Stdio.Args, r.text(s, fmt.Sprintf("%s.args[%d]", at, i), arg))
		}
	}
	if n := fields["cwd"]; n != nil {
		dir := r.expandHome(r.text(s, at+".cwd", n))
		if !filepath.IsAbs(dir) {
			r.mistake(n.Line, at+".cwd", "must be an absolute path, or one with ~/")
		}
		s.Stdio.Dir = dir
	}
	for _, v := range r.values(s, at+".env", fields["env"]) {
		s.Stdio.Env = append(s.Stdio.Env, v[0]+"="+v[1])
	}
}

// expandHome replaces a leading "~/" by the home directory.
func (r *mcpReader) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.home != "" {
		return filepath.Join(r.home, rest)
	}
	return path
}

// values reads an object of strings and returns its members sorted by name. A value that begins with "!" is a command
// whose output is the value.
func (r *mcpReader) values(s *mcp.Server, field string, n *configfile.Node) (all [][2]string) {
	if n == nil {
		return nil
	}
	if reason := configfile.Texts.Check(n); reason != "" {
		r.mistake(n.Line, field, "must be %s", reason)
		return nil
	}
	for _, m := range n.Members {
		line, isCommand := strings.CutPrefix(m.Value.Text, "!")
		value := ""
		switch {
		case !isCommand:
			value = r.text(s, field+"."+m.Name, m.Value)
		case r.run != nil:
			var err error
			if value, err = r.run(line); err == nil && value == "" {
				err = errors.New("it printed nothing")
			}
			if err != nil {
				r.mistake(m.Line, field+"."+m.Name, "the command for the value failed: %v", err)
			}
		}
		all = append(all, [2]string{m.Name, value})
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return all
}

// text reads a string and expands variables of the environment in it: ${NAME}, and ${NAME:-value} with a default.
// Expanded values are secrets of the server, except in a command and a directory.
func (r *mcpReader) text(s *mcp.Server, field string, n *configfile.Node) string {
	if n.Kind != configfile.Text {
		r.mistake(n.Line, field, "must be a string, not %s", n.Kind)
		return ""
	}
	var b strings.Builder
	rest := n.Text
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inner, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.mistake(n.Line, field, `has "${" without "}"`)
			return ""
		}
		rest = tail
		name, value, hasDefault := strings.Cut(inner, ":-")
		if !isVariable(name) {
			r.mistake(n.Line, field, "%s is not a variable; write ${NAME} or ${NAME:-value}", configfile.Quote("${"+inner+"}"))
			return ""
		}
		if set := r.getenv(name); set != "" {
			value = set
			if !strings.HasSuffix(field, ".command") && !strings.HasSuffix(field, ".cwd") {
				s.Secrets = append(s.Secrets, set)
			}
		} else if !hasDefault {
			r.mistake(n.Line, field, "the variable %s is not set; set it, or write ${%s:-value}", name, name)
			return ""
		}
		b.WriteString(value)
	}
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// MCPSchema returns the schema of mcp.json.
func MCPSchema() configfile.JSONSchema {
	server := configfile.Fields(map[string]configfile.JSONSchema{
		"type":     configfile.OneOf(mcpTypes).About("the transport: by default stdio with command, and http with url"),
		"command":  aString().About("the program; ~/ is the home directory"),
		"args":     configfile.ListOf(aString()).About("its arguments"),
		"cwd":      aString().About("its directory, absolute or with ~/; by default the session's"),
		"env":      configfile.MapOf(aString()).About("more variables of its environment; a value that begins with ! is a command whose output is the value"),
		"url":      aString().About("the server's address"),
		"headers":  configfile.MapOf(aString()).About("headers of each request; a value that begins with ! is a command whose output is the value"),
		"timeout":  configfile.JSONSchema{"type": "number", "exclusiveMinimum": 0, "maximum": mcpTimeout}.About("milliseconds to start, and without a message during a call"),
		"enabled":  aBoolean().About("false: do not start the server"),
		"disabled": aBoolean().About("true: do not start the server"),
	})
	server.About("In strings, ${NAME} is a variable of the environment, and ${NAME:-value} has a default.")
	return configfile.Fields(map[string]configfile.JSONSchema{
		"$schema": aString(), "mcpServers": configfile.MapOf(server).About("the servers, by name"),
	})
}
