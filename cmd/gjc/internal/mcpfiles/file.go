package mcpfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// configFile is a file with definitions of servers.
type configFile struct {
	Path    string
	Dialect *dialect
	// Dir is the directory of the workspace that the file belongs to, and Name its path in there with slashes; both are empty for a
	// file of the user.
	Dir, Name string
	// plugin is the directory of the plugin that the file belongs to; empty for none. The user has been asked about the plugin.
	plugin string
	// Servers are the definitions, without values, sorted by name.
	Servers []*entry
	// Mistakes are those of the whole file.
	Mistakes []*config.Error
	// Notes describe what was ignored.
	Notes []string
	// Problem is why the file cannot be read.
	Problem *config.Error

	data   []byte
	extras map[string][]byte // the files that it names, as they were first read
}

// open reads a file. It returns nil if there is none.
func open(name string, d *dialect, dir string) *configFile {
	f := &configFile{Path: name, Dialect: d, Dir: dir}
	var data []byte
	var err error
	if dir != "" {
		f.Name = d.File
		data, err = configfile.ReadInside(dir, name)
	} else {
		data, err = configfile.ReadFile(name)
	}
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		f.Problem = &config.Error{Path: name, Reason: fmt.Sprintf("%v; no server in the file is used", reason(err))}
	}
	f.data = data
	r := &reader{configFile: f}
	r.read()
	f.Servers, f.Mistakes = r.servers, r.mistakes
	return f
}

// isMissing reports whether there is no file, also because a part of its path is no directory.
func isMissing(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Op == "stat" && !errors.Is(err, fs.ErrPermission)
}

// reason returns the reason of a file error without the path.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// extra returns the contents of a file that the file names. It is read once, so that what is used is what trust covers.
func (f *configFile) extra(name string) ([]byte, error) {
	if data, ok := f.extras[name]; ok {
		return data, nil
	}
	data, err := configfile.ReadFile(name)
	if err != nil {
		return nil, reason(err)
	}
	if f.extras == nil {
		f.extras = make(map[string][]byte)
	}
	f.extras[name] = data
	return data, nil
}

// parse parses the file. It returns nil for an empty one.
func (f *configFile) parse() (*configfile.Node, error) {
	if !f.Dialect.toml {
		return configfile.ParseJSONC(f.data)
	}
	text := configfile.Bare(f.data)
	if !configfile.IsText(text) {
		return nil, &configfile.LineError{Line: 1, Text: "the file is not UTF-8 text; save it as UTF-8", Plain: true}
	}
	var top struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	if _, err := toml.Decode(string(text), &top); err != nil {
		line := 1
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			line = e.Position.Line
		}
		return nil, &configfile.LineError{Line: line, Text: err.Error()}
	}
	if top.Servers == nil {
		return nil, nil
	}
	servers := &configfile.Node{Line: 1, Kind: configfile.Object}
	for _, name := range slices.Sorted(maps.Keys(top.Servers)) {
		line := tableLine(string(text), f.Dialect.top, name)
		servers.Members = append(servers.Members, configfile.Member{Name: name, Line: line, Value: node(top.Servers[name], line)})
	}
	return &configfile.Node{Line: 1, Kind: configfile.Object, Members: []configfile.Member{{Name: f.Dialect.top, Line: 1, Value: servers}}}, nil
}

// tableLine returns the line of a table in a TOML file. The decoder does not keep it.
func tableLine(text, table, name string) int {
	at := 0
	for line := range strings.Lines(text) {
		at++
		line = strings.Join(strings.Fields(line), "")
		for _, written := range []string{name, strconv.Quote(name), "'" + name + "'"} {
			if rest, ok := strings.CutPrefix(line, "["+table+"."+strings.Join(strings.Fields(written), "")); ok && (rest[:min(1, len(rest))] == "]" || rest[:min(1, len(rest))] == ".") {
				return at
			}
		}
	}
	return 1
}

// node returns a value of a TOML file.
func node(v any, line int) *configfile.Node {
	n := &configfile.Node{Line: line}
	switch v := v.(type) {
	case string:
		n.Kind, n.Text = configfile.Text, v
	case bool:
		n.Kind, n.Text = configfile.Boolean, strconv.FormatBool(v)
	case int64:
		n.Kind, n.Text = configfile.Number, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Text = configfile.Number, strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		n.Kind, n.Text = configfile.Text, v.Format(time.RFC3339)
	case []any:
		n.Kind = configfile.List
		for _, one := range v {
			n.List = append(n.List, node(one, line))
		}
	case []map[string]any:
		n.Kind = configfile.List
		for _, one := range v {
			n.List = append(n.List, node(one, line))
		}
	case map[string]any:
		n.Kind = configfile.Object
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Members = append(n.Members, configfile.Member{Name: name, Line: line, Value: node(v[name], line)})
		}
	}
	return n
}

// subject returns what the user must trust before servers of the file start; nil for nothing.
func (f *configFile) subject() *trust.Subject {
	var runs []string
	for _, s := range f.Servers {
		if !s.Off && len(s.Mistakes) == 0 {
			runs = append(runs, s.describe()...)
		}
	}
	if f.Dir == "" || len(runs) == 0 {
		return nil
	}
	sub := &trust.Subject{Path: f.Dir, Files: []trust.File{trust.NewFile(f.Name, f.data, runs...)}}
	for _, name := range slices.Sorted(maps.Keys(f.extras)) {
		shown := name
		if rel, err := filepath.Rel(f.Dir, name); err == nil && filepath.IsLocal(rel) {
			shown = filepath.ToSlash(rel)
		}
		if !slices.ContainsFunc(sub.Files, func(other trust.File) bool { return other.Name == shown }) {
			sub.Files = append(sub.Files, trust.NewFile(shown, f.extras[name]))
		}
	}
	return sub
}

// describe returns what the server runs and reaches, for the question about trust.
func (s *entry) describe() []string {
	var all []string
	switch {
	case s.Stdio != nil:
		line := s.Name + ": " + commandLine(append([]string{s.Stdio.Command}, s.Stdio.Args...))
		if s.Stdio.Dir != "" {
			line += " in " + s.Stdio.Dir
		}
		all = append(all, line)
		var names []string
		for _, v := range s.Stdio.Env {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		if len(names) > 0 {
			all = append(all, s.Name+" gets the variables "+strings.Join(names, ", "))
		}
	case s.HTTP != nil:
		all = append(all, s.Name+": "+s.HTTP.URL)
	}
	for _, line := range s.runs {
		all = append(all, s.Name+" runs "+line)
	}
	return all
}

// commandLine formats a command so that the boundaries of its words are visible.
func commandLine(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		if shown[i] = word; word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsGraphic(r) || strings.ContainsRune(" \t\"'`&|;<>()*?[]#~\\", r) }) {
			shown[i] = strconv.Quote(word)
		}
	}
	return strings.Join(shown, " ")
}

// json returns the definition as it is in its file, for a file that is JSON.
func (s *entry) json() jsonx.Raw { return s.node.JSON() }

// workspaceFiles returns the files of the workspace with these roots: those of the nearest directory first, and of each directory
// in the order of the dialects.
func workspaceFiles(roots []string, user string) []*configFile {
	var all []*configFile
	seen := map[string]bool{trust.Canonical(user): true}
	for _, dir := range configfile.Upwards(roots...) {
		for _, d := range workspaceDialects() {
			name := filepath.Join(dir, filepath.FromSlash(path.Clean(d.File)))
			if real := trust.Canonical(name); seen[real] {
				continue
			} else if f := open(name, d, dir); f != nil {
				seen[real] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// paths returns the paths that [workspaceFiles] reads, whether there are files or not.
func paths(roots []string) []string {
	var all []string
	for _, dir := range configfile.Upwards(roots...) {
		for _, d := range workspaceDialects() {
			all = append(all, filepath.Join(dir, filepath.FromSlash(d.File)))
		}
	}
	return all
}
