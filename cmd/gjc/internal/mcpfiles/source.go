package mcpfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/mcp"
)

// Options says where servers are defined, and how their values are computed.
type Options struct {
	// AgentDir has the user's file; empty for none.
	AgentDir string
	// Roots are the workspace's roots, starting with the working directory.
	Roots []string
	// More are further files of the user, which must exist. They take precedence, the last one over all.
	More []string
	// Disabled reports whether only the files in More are used. If nil, all are.
	Disabled func() bool
	// Plugins are the session's plugins; nil for none. Their servers have the lowest precedence.
	Plugins userfiles.Plugins
	// Trust stores the user's decisions about the workspace's files. If nil, none is trusted.
	Trust *trust.Session
	// Getenv returns a variable of the environment, and Home replaces "~"; if it is "", "~" stays.
	Getenv func(string) string
	Home   string
	// Run returns the output of a command line that computes a value, run in a directory or, if that is empty, in the home directory.
	// If it is nil, such values stay empty.
	Run func(ctx context.Context, dir, commandLine string) (string, error)
}

// Source has the definitions for one session. It is safe for concurrent use.
type Source struct {
	opts Options

	mu     sync.Mutex // guards the fields below
	stamps []configfile.Stamp
	trust  string
	// plugins is the stamp of the plugins.
	plugins string
	// notes are those of the servers that were used last.
	notes []string
}

// NewSource returns a source. It reads nothing.
func NewSource(opts Options) *Source { return &Source{opts: opts} }

// userFile returns the path of the user's file.
func (o *Options) userFile() string {
	if o.AgentDir == "" {
		return ""
	}
	return filepath.Join(o.AgentDir, FileName)
}

// state says how a definition counts.
type state string

const (
	stateUsed      state = "used"
	stateOff       state = "disabled"
	stateShadowed  state = "shadowed"
	stateUntrusted state = "not trusted"
	stateInvalid   state = "invalid"
)

// definition is a server with its file, and how it counts.
type definition struct {
	*entry
	file   *configFile
	state  state
	detail string
}

// snapshot holds the contents of the files at one time.
type snapshot struct {
	opts  *Options
	files []*configFile // by precedence
	all   []*definition
	// asks are the subjects about which the user has not decided.
	asks []*trust.Subject
	errs []error
}

// take reads all files. It computes nothing and starts nothing.
func (o Options) take() *snapshot {
	if o.Disabled != nil && o.Disabled() {
		o.AgentDir, o.Roots, o.Plugins = "", nil, nil
	}
	s := &snapshot{opts: &o}
	for _, name := range slices.Backward(o.More) {
		if f := open(name, own(), ""); f != nil {
			s.files = append(s.files, f)
		} else {
			s.errs = append(s.errs, fmt.Errorf("%s: %w", name, fs.ErrNotExist))
		}
	}
	if name := o.userFile(); name != "" {
		if f := open(name, own(), ""); f != nil {
			s.files = append(s.files, f)
		}
	}
	s.files = append(s.files, workspaceFiles(o.Roots, cmp.Or(o.userFile(), "."))...)
	for _, p := range userfiles.ActiveOf(context.Background(), o.Plugins) {
		s.files = append(s.files, pluginFiles(&p)...)
	}
	switches, mistakes := o.switches(s.files)
	for _, m := range mistakes {
		s.errs = append(s.errs, m)
	}
	used := make(map[string]*definition)
	for _, f := range s.files {
		for _, m := range f.Mistakes {
			s.errs = append(s.errs, m)
		}
		for _, p := range switches {
			p.apply(f, o.Roots)
		}
		trusted := s.trusts(f)
		for _, server := range f.Servers {
			d := &definition{entry: server, file: f}
			d.judge(trusted)
			if other := used[strings.ToLower(d.Name)]; other != nil && d.state == stateUsed {
				d.state, d.detail = stateShadowed, "by "+other.file.Path
			}
			if d.state == stateUsed {
				used[strings.ToLower(d.Name)] = d
			}
			for _, m := range server.Mistakes {
				if d.state == stateInvalid {
					s.errs = append(s.errs, m)
				}
			}
			s.all = append(s.all, d)
		}
	}
	return s
}

// judge sets how the definition counts, if no other one has its name.
func (d *definition) judge(trusted bool) {
	switch {
	case d.Off:
		d.state = stateOff
	case len(d.Mistakes) > 0:
		d.state, d.detail = stateInvalid, d.Mistakes[0].Error()
	case !trusted:
		d.state, d.detail = stateUntrusted, "gjc trust add "+d.file.Dir
	default:
		d.state = stateUsed
	}
}

// trusts reports whether servers of a file may start.
func (s *snapshot) trusts(f *configFile) bool {
	sub := f.subject()
	if sub == nil {
		return true
	}
	if s.opts.Trust == nil {
		return false
	}
	v, err := s.opts.Trust.Look(sub)
	switch {
	case err != nil:
		s.errs = append(s.errs, err)
	case v.State == trust.Unknown:
		s.asks = append(s.asks, sub)
	}
	return err == nil && v.State == trust.Trusted
}

// err returns the mistakes as one error.
func (s *snapshot) err(more []*config.Error) error {
	var mistakes config.Errors
	var others []error
	for _, err := range s.errs {
		if m, ok := errors.AsType[*config.Error](err); ok {
			mistakes = append(mistakes, m)
		} else {
			others = append(others, err)
		}
	}
	mistakes = append(mistakes, more...)
	switch {
	case len(others) == 0 && len(mistakes) == 0:
		return nil
	case len(others) == 0:
		return mistakes
	case len(mistakes) > 0:
		others = append(others, mistakes)
	}
	return errors.Join(others...)
}

// Servers returns the servers that may start, with their values computed. It omits a server with a mistake; the error lists the
// mistakes, as an [config.Errors] if there is nothing else.
func (s *Source) Servers(ctx context.Context) ([]mcp.Server, error) {
	s.stamp()
	snap := s.opts.take()
	var all []mcp.Server
	var mistakes []*config.Error
	for _, f := range snap.files {
		found, more := snap.compute(ctx, f)
		all, mistakes = append(all, found...), append(mistakes, more...)
	}
	var notes []string
	for _, d := range snap.all {
		if d.state == stateUsed {
			notes = append(notes, d.notes...)
		}
	}
	s.mu.Lock()
	s.notes = notes
	s.mu.Unlock()
	return all, snap.err(mistakes)
}

// Notes describes the fields that have no effect in the definitions that the last call of Servers has used.
func (s *Source) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notes
}

// compute returns the servers of a file that are used, with their values.
func (s *snapshot) compute(ctx context.Context, f *configFile) (all []mcp.Server, mistakes []*config.Error) {
	used := func(server *entry) bool {
		return slices.ContainsFunc(s.all, func(d *definition) bool { return d.file == f && d.Name == server.Name && d.state == stateUsed })
	}
	v := &values{getenv: f.getenv(s.opts.Getenv), home: s.opts.Home, headers: s.opts.Run}
	if run := s.opts.Run; run != nil {
		v.run = func(dir, line string) (string, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, fmt.Errorf("it did not end within %s", helperTimeout))
			defer cancel()
			return run(ctx, dir, line)
		}
	}
	r := &reader{configFile: &configFile{Path: f.Path, Dialect: f.Dialect, Dir: f.Dir, Name: f.Name, Problem: f.Problem, plugin: f.plugin, data: f.data, extras: f.extras}, values: v, only: used}
	r.read()
	for _, server := range r.servers {
		if !used(server) {
			continue
		}
		if len(server.Mistakes) > 0 {
			mistakes = append(mistakes, server.Mistakes...)
			continue
		}
		all = append(all, server.Server)
	}
	return all, mistakes
}

// stamp records what the files are before they are read.
func (s *Source) stamp() {
	names := append(paths(s.opts.Roots), s.opts.More...)
	if name := s.opts.userFile(); name != "" {
		names = append(names, name)
	}
	var stamps []configfile.Stamp
	for _, name := range names {
		stamps = append(stamps, configfile.StampOf(name))
	}
	answers := ""
	if s.opts.Trust != nil {
		answers = s.opts.Trust.Stamp()
	}
	plugins := userfiles.StampOf(context.Background(), s.opts.Plugins)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamps, s.trust, s.plugins = stamps, answers, plugins
}

// Stale reports whether the files or the answers about trust may have changed since the last call of Servers. It reads no file.
func (s *Source) Stale(ctx context.Context) bool {
	s.mu.Lock()
	stamps, answers, plugins := s.stamps, s.trust, s.plugins
	s.mu.Unlock()
	return plugins != userfiles.StampOf(ctx, s.opts.Plugins) || s.opts.Trust != nil && s.opts.Trust.Stamp() != answers || configfile.Stale(ctx, stamps)
}

// Questions returns the questions about files of the workspace that the user has not answered.
func (s *Source) Questions(context.Context) []*trust.Question {
	var all []*trust.Question
	if s.opts.Trust == nil {
		return nil
	}
	for _, sub := range s.opts.take().asks {
		q := s.opts.Trust.Question(sub)
		if q == nil {
			continue
		}
		q.Title = "Trust the MCP servers in " + trust.Printable(filepath.Join(sub.Path, filepath.FromSlash(sub.Files[0].Name))) + "?"
		q.Text = "This file of the workspace names programs that gjc would start, or addresses that it would connect to and whose tools the model could call:"
		all = append(all, q)
	}
	return all
}

// Subjects returns what the user must trust for the servers of the workspace's files to start, whether trusted or not.
func Subjects(roots []string) []*trust.Subject {
	var all []*trust.Subject
	for _, f := range workspaceFiles(roots, ".") {
		if sub := f.subject(); sub != nil {
			all = append(all, sub)
		}
	}
	return all
}

// Definitions lists all definitions, those that count and the others.
func (s *Source) Definitions(context.Context) []mcp.Definition {
	snap := s.opts.take()
	all := make([]mcp.Definition, len(snap.all))
	for i, d := range snap.all {
		all[i] = mcp.Definition{Name: d.Name, File: d.file.Path, State: string(d.state), Detail: d.detail}
	}
	return all
}
