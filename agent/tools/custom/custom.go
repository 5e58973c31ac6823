// Package custom offers programs of the user and of the workspace as tools: a YAML file describes a tool and names its program.
//
// The files are tools/*.yml in the agent directory, and .gjc/tools/*.yml in the workspace's roots and the directories above them up to
// the top of their repositories. The user must trust a workspace's file, in its present state and with the scripts that it names,
// before its program is run or described to a model. docs/tools.md describes the format.
package custom

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// maxFiles bounds the files that are read from one directory.
const maxFiles = 200

// Options adjusts [Load]. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// Roots are the workspace's roots, starting with the working directory.
	Roots []string
	// Trust stores the user's decisions. If nil, no file of the workspace is trusted.
	Trust *trust.Session
	// Plugins are the session's plugins; nil for none.
	Plugins userfiles.Plugins
	// Reserved are the names of other tools.
	Reserved []string
}

// Set is a snapshot of the tools, as returned by [Load]. It is immutable.
type Set struct {
	// Tools may be used, those of the workspace first.
	Tools []agent.Tool
	// Files lists all files, also those that may not be used.
	Files []File
	// Found lists the files for a survey.
	Found []userfiles.File
	// Problems describe files that were skipped or not fully understood.
	Problems []userfiles.Problem

	trust   *trust.Session
	stamp   string
	plugins userfiles.Plugins
	// pluginStamp is the stamp of the plugins, and pluginPrograms describes what their tools run.
	pluginStamp    string
	pluginPrograms []string
	subjects       []*trust.Subject
	stamps         []configfile.Stamp
}

// File is a file with a tool.
type File struct {
	Path string
	// Name and Description are those of its tool; empty if the file has an error.
	Name, Description string
	// Command is the program with its arguments.
	Command []string
	// State is "ok", "not trusted", or why the tool cannot be used.
	State string
}

// Load reads the tools. If ctx ends, the set contains what was read until then.
func Load(ctx context.Context, o Options) *Set {
	s := &Set{trust: o.Trust, stamp: stampOf(o.Trust), plugins: o.Plugins, pluginStamp: userfiles.StampOf(ctx, o.Plugins)}
	l := &loader{Reader: userfiles.Reader{Roots: o.Roots}, set: s, opts: &o}
	where := userfiles.Where{Roots: o.Roots, UserDir: o.UserDir, Plugins: userfiles.ActiveOf(ctx, o.Plugins)}
	for _, p := range where.Places(userfiles.Tools) {
		l.at = p
		l.In(&p, func() { l.place(ctx, p.Dir) })
	}
	s.Problems, s.Found, s.stamps = l.Problems, l.Found, l.Stamps
	return s
}

func stampOf(t *trust.Session) string {
	if t == nil {
		return ""
	}
	return t.Stamp()
}

// Stale reports whether [Load] would now return another set. It reads no file. It reports false if ctx ends.
func (s *Set) Stale(ctx context.Context) bool {
	return s.stamp != stampOf(s.trust) || s.pluginStamp != userfiles.StampOf(ctx, s.plugins) || configfile.Stale(ctx, s.stamps)
}

// PluginPrograms describes what the tools of plugins run.
func (s *Set) PluginPrograms() []string { return s.pluginPrograms }

// Subjects returns what the user must trust for the tools of a workspace, whether trusted or not.
func (s *Set) Subjects() []*trust.Subject { return s.subjects }

// Questions returns the open questions about files of the workspace, one for each file.
func (s *Set) Questions() []*trust.Question {
	if s.trust == nil {
		return nil
	}
	var all []*trust.Question
	for _, sub := range s.subjects {
		if q := s.trust.Question(sub); q != nil {
			q.Title = "Trust this workspace's tool in " + sub.Files[0].Name + "?"
			q.Text = "A file in this workspace describes a tool for the model, and names a program that calls of the tool run:"
			all = append(all, q)
		}
	}
	return all
}

type loader struct {
	userfiles.Reader
	set  *Set
	opts *Options
	at   userfiles.Place
}

// place reads the files of the current place. That of a plugin may be a single file.
func (l *loader) place(ctx context.Context, dir string) {
	if l.at.Plugin != "" {
		if info, ok := l.Stat(dir); ok && !info.IsDir() {
			l.file(ctx, dir)
			return
		}
	}
	l.directory(ctx, dir)
}

func (l *loader) directory(ctx context.Context, dir string) {
	n := 0
	for _, e := range l.List(ctx, dir) {
		name := path.Join(dir, e.Name())
		if !slices.ContainsFunc(l.at.Endings, func(end string) bool { return strings.HasSuffix(e.Name(), end) }) {
			continue
		}
		if n++; n > maxFiles {
			l.Problem(dir, 0, "more than %d tools; the rest are ignored", maxFiles)
			return
		}
		l.file(ctx, name)
	}
}

func (l *loader) file(ctx context.Context, name string) {
	text, ok := l.Text(ctx, name)
	if !ok {
		return
	}
	full := l.Full(name)
	d := &definition{path: full, base: l.at.Root, known: l.opts.Reserved, problem: func(line int, format string, args ...any) { l.Problem(name, line, format, args...) }}
	if !d.parse([]byte(text)) {
		l.set.Files = append(l.set.Files, File{Path: full, State: "has an error"})
		return
	}
	f := File{Path: full, Name: d.name, Description: d.description, Command: d.command, State: "ok"}
	defer func() {
		l.set.Files = append(l.set.Files, f)
		if f.State == "ok" {
			l.Add(name, d.name, len(text), userfiles.Used, "")
		} else {
			l.Add(name, d.name, len(text), userfiles.Refused, f.State)
		}
	}()
	if i := slices.IndexFunc(l.set.Files, func(other File) bool { return other.Name == d.name && other.State == "ok" }); i >= 0 {
		f.State = "hidden by " + l.set.Files[i].Path
		return
	}
	if l.at.Plugin != "" {
		l.set.pluginPrograms = append(l.set.pluginPrograms, d.runs()...)
	} else if !l.at.Trusted {
		sub := &trust.Subject{Path: l.at.Root, Files: []trust.File{trust.NewFile(name, []byte(text), d.runs()...)}}
		if err := sub.AddScripts(d.command); err != nil {
			l.Problem(name, 0, "%v; the tool is ignored", err)
			f.State = "has an error"
			return
		}
		l.set.subjects = append(l.set.subjects, sub)
		if !l.trusts(sub) {
			f.State = "not trusted"
			return
		}
	}
	l.set.Tools = append(l.set.Tools, newTool(d))
}

func (l *loader) trusts(sub *trust.Subject) bool {
	if l.opts.Trust == nil {
		return false
	}
	v, err := l.opts.Trust.Look(sub)
	if err != nil {
		l.Problem(sub.Files[0].Name, 0, "%v", err)
	}
	return err == nil && v.State == trust.Trusted
}

// runs describes the tool for the question about trust.
func (d *definition) runs() []string {
	return append([]string{"tool " + d.name + ": " + d.line()}, d.effects.Lines()...)
}
