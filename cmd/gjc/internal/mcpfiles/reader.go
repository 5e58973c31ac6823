package mcpfiles

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/mcp"
)

// transports returns the values of the field type, and what they mean. Without one, the other fields determine the transport.
func transports() []field {
	return []field{{"stdio", "stdio"}, {"local", "stdio"}, {"http", "http"}, {"streamable-http", "http"}, {"streamableHttp", "http"}, {"sse", "sse"}}
}

// ownTransports are the values in gjc's own files.
func ownTransports() []string { return []string{"stdio", "http", "streamable-http", "sse"} }

const (
	// maxTimeout is the largest value of the field timeout, in milliseconds.
	maxTimeout = 24 * 3600 * 1000
	// maxServers bounds the servers of one file.
	maxServers = 500
)

// entry is a definition of a server.
type entry struct {
	mcp.Server
	Line int
	// Off says that the file disables the server.
	Off bool
	// EnvFile is a file with more variables, and Helper a command line that prints headers; empty for none.
	EnvFile, Helper string
	// Mistakes say why the server cannot be used.
	Mistakes []*config.Error
	// runs are further command lines that compute values.
	runs []string
	// notes describe the fields that have no effect.
	notes []string
	// references are the headers whose values are variables that fields have named.
	references []string
	node       *configfile.Node
}

// reader reads a file. Without values, it computes nothing: strings stay as they are, and only mistakes that need no value are
// found.
type reader struct {
	*configFile
	values *values
	// only selects the servers whose values are computed; nil for all.
	only    func(*entry) bool
	servers []*entry
	// mistakes are those of the whole file.
	mistakes []*config.Error
	// at is the server that is being read, and names are the names of its fields in the file.
	at    *entry
	names map[meaning]string
	part  string
}

func (r *reader) mistake(line int, name, format string, args ...any) {
	m := &config.Error{Path: r.Path, Line: line, Field: name, Reason: fmt.Sprintf(format, args...)}
	if r.at != nil {
		r.at.Mistakes = append(r.at.Mistakes, m)
		return
	}
	r.mistakes = append(r.mistakes, m)
}

// note records a field of the current server that has no effect.
func (r *reader) note(line int, name, what string) {
	text := fmt.Sprintf("%s:%d: %s: %s", r.Path, line, name, what)
	r.Notes, r.at.notes = append(r.Notes, text), append(r.at.notes, text)
}

// name returns the name of a field of the current server for a mistake.
func (r *reader) name(m meaning) string { return r.part + "." + r.names[m] }

func (r *reader) read() {
	if r.Problem != nil {
		r.mistakes = append(r.mistakes, r.Problem)
		return
	}
	top, err := r.parse()
	if err != nil {
		line, reason := 1, "the file is not JSON"
		if r.Dialect.toml {
			reason = "the file is not TOML"
		}
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
	if top.Kind != configfile.Object {
		r.mistake(top.Line, "", `the file must be an object like {%q: {"name": {"command": "…"}}}`, r.Dialect.top)
		return
	}
	for _, m := range top.Members {
		switch {
		case m.Name == r.Dialect.top && m.Value.Kind == configfile.Object:
			r.members(m.Value)
		case m.Name == r.Dialect.top:
			r.mistake(m.Line, m.Name, "must be an object with a server for each name")
		case r.Dialect.others != nil && !slices.Contains(r.Dialect.others, m.Name):
			r.mistake(m.Line, m.Name, "unknown field%s", configfile.Suggestion(m.Name, append([]string{r.Dialect.top}, r.Dialect.others...)))
		}
	}
	if lists := top.Member("mcp"); r.Dialect.Name == "gemini" && lists != nil {
		r.listed(lists)
	}
	slices.SortStableFunc(r.servers, func(a, b *entry) int { return strings.Compare(a.Name, b.Name) })
}

// listed turns off the servers that Gemini's lists exclude.
func (r *reader) listed(lists *configfile.Node) {
	allowed, excluded := lists.Member("allowed"), lists.Member("excluded")
	for _, s := range r.servers {
		if slices.Contains(excluded.Strings(), s.Name) || allowed != nil && len(allowed.List) > 0 && !slices.Contains(allowed.Strings(), s.Name) {
			s.Off = true
		}
	}
}

func (r *reader) members(n *configfile.Node) {
	for i := range n.Members {
		if len(r.servers) >= maxServers {
			r.mistake(n.Members[i].Line, r.Dialect.top, "has more than %d servers; the rest is ignored", maxServers)
			return
		}
		r.servers = append(r.servers, r.server(&n.Members[i]))
	}
}

// server reads one server.
func (r *reader) server(m *configfile.Member) *entry {
	s := &entry{Server: mcp.Server{Name: m.Name}, Line: m.Line, node: m.Value}
	r.at, r.part, r.names = s, r.Dialect.top+"."+m.Name, make(map[meaning]string)
	defer func() {
		if n := len(s.Mistakes); n > 0 {
			s.Mistakes[n-1].Until = "the server is not used"
		}
		r.at = nil
	}()
	if m.Value.Kind != configfile.Object {
		r.mistake(m.Line, r.part, "must be an object with command or url")
		return s
	}
	fields := r.fields(s, m.Value)
	if len(s.Mistakes) > 0 || r.values != nil && r.only != nil && !r.only(s) {
		return s
	}
	s.Timeout = r.duration(fields, aTimeout, aCallSeconds)
	s.StartTimeout = r.duration(fields, aStartTimeout, aStartSeconds)
	r.tools(s, fields)
	switch kind := r.kind(m.Line, fields); kind {
	case "":
	case "stdio":
		r.stdio(s, fields)
	default:
		r.http(s, fields, kind)
	}
	return s
}

// fields returns the fields of a server by their meaning.
func (r *reader) fields(s *entry, n *configfile.Node) map[meaning]*configfile.Node {
	fields := make(map[meaning]*configfile.Node)
	for _, f := range n.Members {
		as, known := r.Dialect.meaning(f.Name)
		at := r.part + "." + f.Name
		switch {
		case !known && r.Dialect.Name == own().Name:
			names := r.Dialect.names()
			r.mistake(f.Line, at, "unknown field%s; the fields are %s", configfile.Suggestion(f.Name, names), strings.Join(names, ", "))
		case !known:
			r.note(f.Line, at, "unknown field, ignored"+configfile.Suggestion(f.Name, r.Dialect.names()))
		case f.Value.Kind == configfile.Null || as == unused:
		case as == anotherWay:
			r.note(f.Line, at, "ignored; gjc signs in with OAuth when the server wants it (/mcp login), by oauth if the client is registered")
		case as == anApproval:
			if f.Value.True() || len(f.Value.List) > 0 || len(f.Value.Members) > 0 || f.Value.Kind == configfile.Text {
				r.note(f.Line, at, "ignored; gjc asks before calls, and remembers an answer if you want")
			}
		case as == aSandbox:
			if f.Value.True() {
				r.mistake(f.Line, at, "gjc does not run MCP servers inside a sandbox; define the server without it, for example with gjc mcp add, if you trust it")
			}
		case as == aEnabled || as == aDisabled:
			if f.Value.Kind != configfile.Boolean {
				r.mistake(f.Line, at, "must be true or false")
				continue
			}
			s.Off = s.Off || f.Value.True() == (as == aDisabled)
		default:
			fields[as], r.names[as] = f.Value, f.Name
		}
	}
	return fields
}

// kind returns the server's transport, or "" after a mistake.
func (r *reader) kind(line int, fields map[meaning]*configfile.Node) string {
	kind := ""
	if n := fields[aType]; n != nil {
		all := transports()
		i := slices.IndexFunc(all, func(f field) bool { return n.Kind == configfile.Text && f.name == n.Text })
		if i < 0 {
			r.mistake(n.Line, r.name(aType), "must be one of: %s%s", strings.Join(ownTransports(), ", "), configfile.Suggestion(n.Text, ownTransports()))
			return ""
		}
		kind = string(all[i].as)
	}
	_, command := fields[aCommand]
	_, address := fields[aURL]
	_, stream := fields[aStreamURL]
	address = address || stream
	switch {
	case command && address:
		r.mistake(line, r.part, "has both command and url; give it one of them")
		return ""
	case !command && !address:
		r.mistake(line, r.part, "has neither command nor url")
		return ""
	case kind != "" && command != (kind == "stdio"):
		r.mistake(fields[aType].Line, r.name(aType), "does not fit: stdio needs command, and the others need url")
		return ""
	}
	others, with := []meaning{aHeaders, aHelper, aBearer, aHeaderVars, aSignIn}, "url"
	if address {
		others, with = []meaning{aArgs, aDir, aEnv, aEnvFile}, "command"
	}
	for _, as := range others {
		if n := fields[as]; n != nil && r.Dialect.Name == own().Name {
			r.mistake(n.Line, r.name(as), "is for a server with %s", with)
			return ""
		}
	}
	switch {
	case command:
		return "stdio"
	case kind == "" && r.Dialect.sse && !stream:
		return "sse"
	case kind == "sse":
		return kind
	}
	return "http"
}

// duration reads a time in milliseconds from one field, or in seconds from another.
func (r *reader) duration(fields map[meaning]*configfile.Node, millis, seconds meaning) time.Duration {
	for _, as := range []meaning{millis, seconds} {
		n := fields[as]
		if n == nil {
			continue
		}
		limit, unit := maxTimeout, "milliseconds"
		f, err := strconv.ParseFloat(n.Text, 64)
		d := time.Duration(f * float64(time.Millisecond))
		if as == seconds {
			limit, unit, d = maxTimeout/1000, "seconds", time.Duration(f*float64(time.Second))
		}
		if n.Kind != configfile.Number || err != nil || f <= 0 || f > float64(limit) {
			r.mistake(n.Line, r.name(as), "must be a number of %s above 0 and up to %d", unit, limit)
			continue
		}
		return max(d, time.Millisecond)
	}
	return 0
}

// tools reads which tools the server may offer.
func (r *reader) tools(s *entry, fields map[meaning]*configfile.Node) {
	lists := []struct {
		n    *configfile.Node
		name string
		to   *[]string
	}{{fields[anAllow], r.name(anAllow), &s.Tools.Allow}, {fields[aDeny], r.name(aDeny), &s.Tools.Deny}}
	switch n := fields[aTools]; {
	case n == nil:
	case n.Kind == configfile.List && r.Dialect.Name != own().Name:
		lists[0].n, lists[0].name = n, r.name(aTools)
	case n.Kind != configfile.Object:
		r.mistake(n.Line, r.name(aTools), `must be an object like {"allow": ["read_*"], "deny": ["read_secret"]}`)
	default:
		for _, m := range n.Members {
			i := slices.Index([]string{"allow", "deny"}, m.Name)
			if i < 0 {
				r.mistake(m.Line, r.name(aTools)+"."+m.Name, "unknown field%s; the fields are allow and deny", configfile.Suggestion(m.Name, []string{"allow", "deny"}))
				continue
			}
			lists[i].n, lists[i].name = m.Value, r.name(aTools)+"."+m.Name
		}
	}
	for _, l := range lists {
		if l.n == nil {
			continue
		}
		reason := configfile.StringList.Check(l.n)
		if reason == "" && slices.ContainsFunc(l.n.Strings(), func(glob string) bool { return !mcp.ValidGlob(glob) }) {
			reason = "a list of tool names or globs"
		}
		if reason != "" {
			r.mistake(l.n.Line, l.name, "must be %s", reason)
			continue
		}
		*l.to = l.n.Strings()
		if *l.to == nil {
			*l.to = []string{}
		}
	}
}

func (r *reader) stdio(s *entry, fields map[meaning]*configfile.Node) {
	command := r.expandHome(r.text(s, aCommand, "", fields[aCommand]))
	if r.Dir != "" && r.values != nil && !filepath.IsAbs(command) && strings.ContainsAny(command, `/\`) {
		command = filepath.Join(r.Dir, filepath.FromSlash(command))
	}
	s.Stdio = &mcp.Stdio{Command: command}
	if n := fields[aArgs]; n != nil {
		if reason := configfile.StringList.Check(n); reason != "" {
			r.mistake(n.Line, r.name(aArgs), "must be %s", reason)
			return
		}
		for i, arg := range n.List {
			s.Stdio.Args = append(s.Stdio.Args, r.text(s, aArgs, fmt.Sprintf("[%d]", i), arg))
		}
	}
	if n := fields[aDir]; n != nil {
		s.Stdio.Dir = r.directory(n, r.expandHome(r.text(s, aDir, "", n)))
	}
	if n := fields[aEnvFile]; n != nil {
		s.EnvFile = r.expandHome(r.text(s, aEnvFile, "", n))
		r.envFile(s, n)
	}
	for _, v := range r.pairs(s, aEnv, fields[aEnv]) {
		s.Stdio.Env = append(s.Stdio.Env, v[0]+"="+v[1])
	}
}

// directory returns the directory of a server. A path is relative only in a workspace.
func (r *reader) directory(n *configfile.Node, dir string) string {
	switch {
	case dir == "" || filepath.IsAbs(dir) || r.values == nil && (strings.HasPrefix(n.Text, "$") || strings.HasPrefix(n.Text, "~/")):
	case r.Dir == "":
		r.mistake(n.Line, r.name(aDir), "must be an absolute path, or one with ~/")
	case r.values != nil:
		return filepath.Join(r.Dir, filepath.FromSlash(dir))
	}
	return dir
}

func (r *reader) http(s *entry, fields map[meaning]*configfile.Node, kind string) {
	as := aURL
	if fields[aStreamURL] != nil {
		as = aStreamURL
	}
	s.HTTP = &mcp.HTTP{URL: r.text(s, as, "", fields[as]), SSE: kind == "sse"}
	add := func(name, value string) {
		s.HTTP.Headers = append(s.HTTP.Headers, mcp.Header{Name: name, Value: value})
	}
	for _, v := range r.pairs(s, aHeaders, fields[aHeaders]) {
		add(v[0], v[1])
	}
	if n := fields[aBearer]; n != nil {
		add("Authorization", "Bearer "+r.variable(s, r.name(aBearer), n))
		s.references = append(s.references, "Authorization")
	}
	if n := fields[aHeaderVars]; n != nil {
		if reason := configfile.Texts.Check(n); reason != "" {
			r.mistake(n.Line, r.name(aHeaderVars), "must be %s", reason)
		} else {
			for _, m := range n.Members {
				add(m.Name, r.variable(s, r.name(aHeaderVars)+"."+m.Name, m.Value))
				s.references = append(s.references, m.Name)
			}
		}
	}
	r.signIn(s, fields)
	if n := fields[aHelper]; n != nil {
		if n.Kind != configfile.Text || strings.TrimSpace(n.Text) == "" {
			r.mistake(n.Line, r.name(aHelper), "must be a command line that prints a JSON object of headers")
			return
		}
		s.Helper = n.Text
		r.helper(s)
	}
}

// pairs reads an object of strings and returns its members sorted by name. In gjc's own files, a value that begins with "!" is a
// command line whose output is the value.
func (r *reader) pairs(s *entry, as meaning, n *configfile.Node) (all [][2]string) {
	if n == nil {
		return nil
	}
	if reason := configfile.Texts.Check(n); reason != "" {
		r.mistake(n.Line, r.name(as), "must be %s", reason)
		return nil
	}
	for _, m := range n.Members {
		line, isCommand := strings.CutPrefix(m.Value.Text, "!")
		value := ""
		switch {
		case !isCommand || r.Dialect.Name != own().Name:
			value = r.text(s, as, "."+m.Name, m.Value)
		case r.values == nil:
			s.runs = append(s.runs, line)
			value = m.Value.Text
		case r.values.run != nil:
			var err error
			if value, err = r.values.run(r.Dir, line); err == nil && value == "" {
				err = errors.New("it printed nothing")
			}
			if err != nil {
				r.mistake(m.Line, r.name(as)+"."+m.Name, "the command for the value failed: %v", err)
			}
		}
		all = append(all, [2]string{m.Name, value})
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return all
}
