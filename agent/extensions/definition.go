package extensions

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
)

const (
	// maxFiles bounds the files that are read from one directory.
	maxFiles = 50
	// maxName bounds the names of extensions and tools, in bytes.
	maxName        = 64
	defaultTimeout = 5 * time.Second
	maxTimeout     = time.Minute
)

// LoadOptions adjusts [Load]. Every field is optional.
type LoadOptions struct {
	// UserDir is the agent directory.
	UserDir string
	// Roots are the workspace's roots, starting with the working directory.
	Roots []string
	// Trust stores the user's decisions. If nil, no file of the workspace is trusted.
	Trust *trust.Session
}

// Set is a snapshot of the files, as returned by [Load]. It is immutable.
type Set struct {
	// Found lists the files for a survey.
	Found []userfiles.File
	// Problems describe files that were skipped or not fully understood.
	Problems []userfiles.Problem

	list     []*definition // those that may run
	trust    *trust.Session
	answers  string // the stamp of the answers about trust
	subjects []*trust.Subject
	stamps   []configfile.Stamp
}

// definition is the content of a file.
type definition struct {
	name string
	path string
	// base is the directory in which the program runs: the root, where trust was checked for the files that the arguments name, or the
	// agent directory. A workspace cannot supply a file for the arguments of the user's own extension.
	base    string
	project bool
	command []string
	env     []string
	// events limits those to which the program may subscribe; nil for no limit.
	events   []hooks.Event
	timeout  time.Duration
	blocking bool
}

// Load reads the files of extensions. It starts nothing.
func Load(ctx context.Context, o LoadOptions) *Set {
	s := &Set{trust: o.Trust, answers: answersOf(o.Trust)}
	l := &loader{Reader: userfiles.Reader{Roots: o.Roots}, set: s, opts: &o}
	where := userfiles.Where{Roots: o.Roots, UserDir: o.UserDir}
	for _, p := range where.Places(userfiles.Extensions) {
		l.at = p
		l.In(&p, func() { l.directory(ctx, p.Dir) })
	}
	s.Problems, s.Found, s.stamps = l.Problems, l.Found, l.Stamps
	return s
}

func answersOf(t *trust.Session) string {
	if t == nil {
		return ""
	}
	return t.Stamp()
}

// Stale reports whether [Load] would now return another set. It reads no file. It reports false if ctx ends.
func (s *Set) Stale(ctx context.Context) bool {
	return s.answers != answersOf(s.trust) || configfile.Stale(ctx, s.stamps)
}

// Subjects returns what the user must trust for the extensions of a workspace, whether trusted or not.
func (s *Set) Subjects() []*trust.Subject { return s.subjects }

// questions returns the open questions about files of the workspace, one for each file.
func (s *Set) questions() []*trust.Question {
	if s.trust == nil {
		return nil
	}
	var all []*trust.Question
	for _, sub := range s.subjects {
		if q := s.trust.Question(sub); q != nil {
			q.Title = "Trust this workspace's extension in " + sub.Files[0].Name + "?"
			q.Text = "A file in this workspace names a program that would run as long as the session, see its conversation, and take part in it:"
			all = append(all, q)
		}
	}
	return all
}

type loader struct {
	userfiles.Reader
	set  *Set
	opts *LoadOptions
	at   userfiles.Place
	seen []seen
}

type seen struct{ name, path string }

func (l *loader) directory(ctx context.Context, dir string) {
	n := 0
	for _, e := range l.List(ctx, dir) {
		if !slices.ContainsFunc(l.at.Endings, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) {
			continue
		}
		if n++; n > maxFiles {
			l.Problem(dir, 0, "more than %d extensions; the rest are ignored", maxFiles)
			return
		}
		l.file(ctx, path.Join(dir, e.Name()))
	}
}

func (l *loader) file(ctx context.Context, name string) {
	data, ok := l.Text(ctx, name)
	if !ok {
		return
	}
	base := path.Base(name)
	d := &definition{
		name: strings.TrimSuffix(base, path.Ext(base)), path: l.Full(name), base: l.at.Root, project: !l.at.Trusted, timeout: defaultTimeout,
	}
	if !d.parse([]byte(data), func(line int, format string, args ...any) { l.Problem(name, line, format, args...) }) {
		l.Refuse(name, "")
		return
	}
	if i := slices.IndexFunc(l.seen, func(s seen) bool { return s.name == d.name }); i >= 0 {
		l.Add(name, d.name, len(data), userfiles.Shadowed, "hidden by "+l.seen[i].path)
		return
	}
	if d.project && !l.trusted(name, data, d) {
		return
	}
	l.seen = append(l.seen, seen{d.name, d.path})
	l.Add(name, d.name, len(data), userfiles.Used, "")
	l.set.list = append(l.set.list, d)
}

// trusted reports whether the user trusts a file of the workspace, and records it as one to ask about.
func (l *loader) trusted(name, data string, d *definition) bool {
	sub := &trust.Subject{Path: l.at.Root, Files: []trust.File{trust.NewFile(name, []byte(data), "extension "+d.name+": "+d.line())}}
	if err := sub.AddScripts(d.command); err != nil {
		l.Problem(name, 0, "%v; the extension is ignored", err)
		l.Refuse(name, d.name)
		return false
	}
	for _, f := range sub.Files[1:] { // the scripts
		l.Stamps = append(l.Stamps, configfile.StampOf(filepath.Join(sub.Path, filepath.FromSlash(f.Name))))
	}
	l.set.subjects = append(l.set.subjects, sub)
	if l.opts.Trust != nil {
		v, err := l.opts.Trust.Look(sub)
		if err != nil {
			l.Problem(name, 0, "%v", err)
		}
		if err == nil && v.State == trust.Trusted {
			return true
		}
	}
	l.Add(name, d.name, len(data), userfiles.Refused, "not trusted")
	return false
}

// line returns the command as a line for a shell.
func (d *definition) line() string {
	words := make([]string, len(d.command))
	for i, word := range d.command {
		words[i] = text.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// fieldNames are the fields of a file.
var fieldNames = [...]string{"name", "command", "timeout", "events", "env", "blocking"}

// parse reads the file. It reports false if the extension cannot be used, after reporting why.
func (d *definition) parse(data []byte, problem func(line int, format string, args ...any)) bool {
	top, err := configfile.ParseYAML(data)
	if err != nil {
		line, reason := 1, err.Error()
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line, reason = e.Line, e.Text
		}
		problem(line, "%s; the extension is ignored", reason)
		return false
	}
	if top == nil || top.Kind != configfile.Object {
		problem(1, "must be a mapping with command; the extension is ignored")
		return false
	}
	ok := true
	for _, m := range top.Members {
		if !slices.Contains(fieldNames[:], m.Name) {
			problem(m.Line, "unknown field %q%s; it is ignored", m.Name, configfile.Suggestion(m.Name, fieldNames[:]))
			continue
		}
		if reason := d.field(m.Name, m.Value); reason != "" {
			problem(m.Line, "%s: %s; the extension is ignored", m.Name, reason)
			ok = false
		}
	}
	switch {
	case !ok:
		return false
	case len(d.command) == 0:
		problem(1, "command is missing; the extension is ignored")
		return false
	case !validName(d.name):
		problem(1, "the name %q must have 1 to %d letters, digits, - and _, the first a letter; the extension is ignored", d.name, maxName)
		return false
	}
	return true
}

// field sets one field, or returns a reason why its value is invalid.
func (d *definition) field(name string, n *configfile.Node) string {
	switch name {
	case "name":
		if d.name = n.Text; n.Kind != configfile.Text {
			return "must be a text"
		}
	case "command":
		return d.program(n)
	case "timeout":
		seconds, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != configfile.Number || err != nil || !(seconds > 0) || seconds > maxTimeout.Seconds() {
			return "must be a number of seconds above 0 and up to " + strconv.Itoa(int(maxTimeout.Seconds()))
		}
		d.timeout = time.Duration(seconds * float64(time.Second))
	case "events":
		if reason := configfile.StringList.Check(n); reason != "" {
			return "must be " + reason
		}
		d.events = []hooks.Event{}
		for _, event := range n.Strings() {
			if !slices.Contains(hooks.Events(), hooks.Event(event)) {
				return "there is no event " + configfile.Quote(event) + configfile.Suggestion(event, eventNames())
			}
			d.events = append(d.events, hooks.Event(event))
		}
	case "env":
		if reason := configfile.Texts.Check(n); reason != "" {
			return "must be " + reason
		}
		for _, m := range n.Members {
			if m.Name == "" || strings.ContainsAny(m.Name, "=\x00") || strings.ContainsRune(m.Value.Text, 0) {
				return "has an invalid variable"
			}
			d.env = append(d.env, m.Name+"="+m.Value.Text)
		}
	case "blocking":
		if n.Kind != configfile.Boolean {
			return "must be true or false"
		}
		d.blocking = n.True()
	}
	return ""
}

// program reads the command.
func (d *definition) program(n *configfile.Node) string {
	if configfile.StringList.Check(n) != "" || len(n.List) == 0 || n.List[0].Text == "" {
		return "must be a list of the program and its arguments, such as [python3, extension.py]; no shell splits it"
	}
	d.command = n.Strings()
	if strings.ContainsRune(strings.Join(d.command, ""), 0) {
		return "contains a NUL byte"
	}
	if name := d.command[0]; !filepath.IsAbs(name) && strings.ContainsAny(name, `/\`) {
		d.command[0] = filepath.Join(d.base, filepath.FromSlash(name))
	}
	return ""
}

func eventNames() []string {
	var names []string
	for _, e := range hooks.Events() {
		names = append(names, string(e))
	}
	return names
}

// validName reports whether a name can be that of an extension or a tool.
func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// FileSchema returns the schema of the file of an extension.
func FileSchema() configfile.JSONSchema {
	return configfile.Fields(map[string]configfile.JSONSchema{
		"name":     configfile.JSONSchema{"type": "string", "minLength": 1, "maxLength": maxName}.About("the name in messages; by default the file's name"),
		"command":  configfile.ListOf(configfile.OfKind(configfile.Text)).About("the program and its arguments; paths are relative to the root or the agent directory, in which the program runs"),
		"timeout":  configfile.JSONSchema{"type": "number", "exclusiveMinimum": 0, "maximum": maxTimeout.Seconds()}.About(fmt.Sprintf("seconds for each event; by default %v", defaultTimeout.Seconds())),
		"events":   configfile.ListOf(configfile.OneOf(hooks.Events())).About("the events that the extension may receive; by default those to which it subscribes"),
		"env":      configfile.JSONSchema{"type": "object", "additionalProperties": configfile.JSONSchema{"type": "string"}}.About("variables that are added to the program's environment"),
		"blocking": configfile.OfKind(configfile.Boolean).About("if the extension fails at tool_call, or does not run, the call does not run"),
	}, "command")
}
