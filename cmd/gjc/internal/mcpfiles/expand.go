package mcpfiles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// values computes the values of placeholders and commands.
type values struct {
	getenv func(string) string
	home   string
	// run returns the output of a command line in a directory; "" for the home directory. If nil, such values stay empty.
	run func(dir, commandLine string) (string, error)
	// headers is like run, for a command that runs whenever a server is connected.
	headers func(ctx context.Context, dir, commandLine string) (string, error)
}

// expandHome replaces a leading "~/" by the home directory.
func (r *reader) expandHome(path string) string {
	if r.values == nil || r.values.home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(r.values.home, rest)
	}
	return path
}

// text reads a string and expands its placeholders. Values of variables are secrets of the server, except in a command and a
// directory. part follows the field's name in mistakes.
func (r *reader) text(s *entry, as meaning, part string, n *configfile.Node) string {
	name := r.name(as) + part
	if n.Kind != configfile.Text {
		r.mistake(n.Line, name, "must be a string, not %s", n.Kind)
		return ""
	}
	var b strings.Builder
	rest := n.Text
	for {
		before, p, after := r.nextPlaceholder(rest)
		b.WriteString(before)
		if p == "" {
			break
		}
		rest = after
		value, secret, why := r.placeholder(p)
		if why != "" {
			r.mistake(n.Line, name, "%s", why)
			return ""
		}
		if secret && as != aCommand && as != aDir && as != aEnvFile {
			s.Secrets = append(s.Secrets, value)
		}
		b.WriteString(value)
	}
	if r.values == nil {
		return n.Text
	}
	return b.String()
}

// nextPlaceholder splits a string at its first placeholder, which is "" for none. An unclosed one is returned without its end.
func (r *reader) nextPlaceholder(s string) (before, placeholder, after string) {
	for i := 0; i < len(s) && r.Dialect.style != plain; i++ {
		if s[i] != '$' {
			continue
		}
		if strings.HasPrefix(s[i:], "${") {
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return s[:i], "${", ""
			}
			return s[:i], s[i : i+end+1], s[i+end+1:]
		}
		end := i + 1
		for end < len(s) && isVariable(s[i+1:end+1]) {
			end++
		}
		if r.Dialect.style == dollar && end > i+1 {
			return s[:i], s[i:end], s[end:]
		}
	}
	return s, "", ""
}

// placeholder returns the value of a placeholder, whether it is that of a variable, and otherwise why there is none.
func (r *reader) placeholder(p string) (value string, secret bool, why string) {
	if p == "${" {
		return "", false, `has "${" without "}"`
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(p, "$"), "{"), "}")
	if r.Dialect.style == editor {
		name, ok := strings.CutPrefix(inner, "env:")
		if !ok {
			value, why = r.predefined(inner)
			return value, false, why
		}
		inner = name
	}
	name, value, hasDefault := strings.Cut(inner, ":-")
	if !isVariable(name) {
		form := "${NAME} or ${NAME:-value}"
		if r.Dialect.style == editor {
			form = "${env:NAME}"
		}
		return "", false, fmt.Sprintf("%s is not a variable; write %s", configfile.Quote(p), form)
	}
	if r.values == nil {
		return "", false, ""
	}
	set := r.values.getenv(name)
	switch {
	case set != "":
		return set, true, ""
	case name == "CLAUDE_PROJECT_DIR" && r.Dir != "" && r.Dialect.Name == claude().Name:
		return r.Dir, false, ""
	case !hasDefault && r.Dialect.style == editor:
		return "", false, fmt.Sprintf("the variable %s is not set; set it", name)
	case !hasDefault:
		return "", false, fmt.Sprintf("the variable %s is not set; set it, or write ${%s:-value}", name, name)
	}
	return value, false, ""
}

// predefined returns the value of a variable of VS Code and Cursor.
func (r *reader) predefined(name string) (value, why string) {
	kind, arg, _ := strings.Cut(name, ":")
	switch kind {
	case "workspaceFolder", "workspaceRoot":
		if r.Dir != "" {
			return r.Dir, ""
		}
	case "workspaceFolderBasename":
		if r.Dir != "" {
			return filepath.Base(r.Dir), ""
		}
	case "userHome":
		if r.values == nil || r.values.home != "" {
			return r.home(), ""
		}
	case "pathSeparator", "/":
		return string(filepath.Separator), ""
	case "input":
		return "", fmt.Sprintf("needs the input %s, which gjc does not ask for; write ${env:NAME} instead, or define the server with gjc mcp add", configfile.Quote(arg))
	}
	return "", fmt.Sprintf("gjc does not have the variable %s; write the value, or ${env:NAME}", configfile.Quote("${"+name+"}"))
}

func (r *reader) home() string {
	if r.values == nil {
		return ""
	}
	return r.values.home
}

// variable returns the value of a variable that a field names.
func (r *reader) variable(s *entry, at string, n *configfile.Node) string {
	if n.Kind != configfile.Text || !isVariable(n.Text) {
		r.mistake(n.Line, at, "must be the name of a variable")
		return ""
	}
	if r.values == nil {
		return "${" + n.Text + "}"
	}
	value := r.values.getenv(n.Text)
	if value == "" {
		r.mistake(n.Line, at, "the variable %s is not set; set it", n.Text)
	}
	s.Secrets = append(s.Secrets, value)
	return value
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// envFile adds the variables of the server's file to its environment. They come before those of the definition, which count.
func (r *reader) envFile(s *entry, n *configfile.Node) {
	path := s.EnvFile
	if r.values == nil {
		// Trust covers the file's contents, so its path must not depend on the environment.
		path = strings.ReplaceAll(path, "${workspaceFolder}", r.Dir)
		if strings.Contains(path, "${") || strings.HasPrefix(path, "~") {
			r.mistake(n.Line, r.name(aEnvFile), "must be a path without variables except ${workspaceFolder}")
			return
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Dir, filepath.FromSlash(path))
	}
	data, err := r.extra(path)
	if err != nil {
		r.mistake(n.Line, r.name(aEnvFile), "cannot be read: %v", err)
		return
	}
	vars, line := parseEnv(data)
	if line > 0 {
		r.mistake(n.Line, r.name(aEnvFile), "%s:%d: must be NAME=value", path, line)
		return
	}
	s.Stdio.Env = append(s.Stdio.Env, vars...)
}

// parseEnv parses a file of lines NAME=value. It returns the number of the first line that is none, or 0.
func parseEnv(data []byte) (vars []string, bad int) {
	if !configfile.IsText(configfile.Bare(data)) {
		return nil, 1
	}
	at := 0
	for line := range strings.Lines(string(configfile.Bare(data))) {
		at++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !isVariable(name) {
			return nil, at
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		} else if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		vars = append(vars, name+"="+value)
	}
	return vars, 0
}

// helperTimeout bounds a command that prints headers, and maxHeaders their number.
const (
	helperTimeout = 10 * time.Second
	maxHeaders    = 100
)

// helper makes the server's headers complete when it is connected.
func (r *reader) helper(s *entry) {
	line, dir := s.Helper, r.Dir
	if r.values == nil {
		s.runs = append(s.runs, line)
		return
	}
	run := r.values.headers
	if run == nil {
		return
	}
	s.HTTP.Helper = &mcp.HeadersHelper{Name: dir + "\x00" + line, Run: func(ctx context.Context) ([]mcp.Header, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, fmt.Errorf("it did not end within %s", helperTimeout))
		defer cancel()
		out, err := run(ctx, dir, line)
		if err != nil {
			return nil, fmt.Errorf("headersHelper failed: %w", err)
		}
		headers, err := parseHeaders(out)
		if err != nil {
			return nil, fmt.Errorf("headersHelper failed: %w", err)
		}
		return headers, nil
	}}
}

// parseHeaders parses the output of a command that prints headers. Errors quote nothing of it.
func parseHeaders(out string) ([]mcp.Header, error) {
	var object map[string]string
	if raw := jsonx.Raw(strings.TrimSpace(out)); !jsonx.Valid(raw) || raw.Kind() != '{' || jsonx.Unmarshal(raw, &object) != nil {
		return nil, errors.New(`it must print a JSON object of strings, such as {"Authorization": "Bearer …"}`)
	}
	if len(object) > maxHeaders {
		return nil, fmt.Errorf("it printed more than %d headers", maxHeaders)
	}
	var headers []mcp.Header
	for _, name := range slices.Sorted(maps.Keys(object)) {
		headers = append(headers, mcp.Header{Name: name, Value: object[name]})
	}
	return headers, nil
}
