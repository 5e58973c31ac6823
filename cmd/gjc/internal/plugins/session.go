package plugins

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// Session has the plugins of one session. It is safe for concurrent use, and reads files when it is first asked, and again when they have
// changed.
type Session struct {
	store *Store
	trust *trust.Session
	roots []string

	mu    sync.Mutex // guards the fields below; held while files are read, so that they are read once
	read  bool
	lock  string // the stamp of the list
	files []configfile.Stamp
	found []candidate
	loads int
	err   error
	// required has what the roots require, without roots that require nothing.
	required []*Required
	// tried has what came of the installation of a requirement, by its text: a notice, or the error.
	tried map[string]userfiles.Notice

	installing sync.Mutex // held while plugins are installed
}

// candidate is an enabled plugin.
type candidate struct {
	name    string
	about   *About
	subject *trust.Subject
	problem string
	// entry is that of the list.
	entry Entry
}

// NewSession returns the plugins of a session with these directories. answers has the user's answers; if it is nil, only plugins that run
// nothing are used. It reads nothing.
func NewSession(store *Store, roots []string, answers *trust.Session) *Session {
	return &Session{store: store, roots: roots, trust: answers, tried: make(map[string]userfiles.Notice)}
}

var _ userfiles.Plugins = (*Session)(nil)

// load reads the enabled plugins, unless nothing has changed.
func (s *Session) load(ctx context.Context) []candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := s.store.file.Stamp()
	if s.read && lock == s.lock && !configfile.Stale(ctx, s.files) {
		return s.found
	}
	var found []candidate
	var stamps []configfile.Stamp
	var required []*Required
	for _, root := range s.roots {
		stamps = append(stamps, configfile.StampOf(filepath.Join(root, filepath.FromSlash(requiredFile))))
		for _, name := range claudeSettings() {
			stamps = append(stamps, configfile.StampOf(filepath.Join(root, filepath.FromSlash(name))))
		}
		required = append(required, ReadRequired(root)...)
	}
	l, err := s.store.read()
	if err == nil {
		for i := range l.Plugins {
			if e := &l.Plugins[i]; e.Enabled {
				c, more := s.store.candidate(ctx, e)
				found, stamps = append(found, c), append(stamps, more...)
			}
		}
	}
	if ctx.Err() != nil && s.read {
		return s.found // the new ones may be incomplete
	}
	s.read, s.lock, s.found, s.required, s.files, s.err = ctx.Err() == nil, lock, found, required, stamps, err
	s.loads++
	return s.found
}

// candidate reads one plugin, and checks that an installed one is as it was installed.
func (s *Store) candidate(ctx context.Context, e *Entry) (candidate, []configfile.Stamp) {
	c := candidate{name: e.Name, entry: *e}
	dir := s.dir(e)
	stamps := []configfile.Stamp{configfile.StampOf(dir)}
	// The stamps are those before the files are read, so that a change meanwhile is noticed.
	nodes, dirs, _ := walk(dir) // its error is that of read
	for _, d := range dirs {
		stamps = append(stamps, configfile.StampOf(d))
	}
	for i := range nodes {
		stamps = append(stamps, configfile.StampOf(filepath.Join(dir, filepath.FromSlash(nodes[i].name))))
	}
	found, err := read(dir)
	if err == nil {
		if e.Link == "" && found.sum != e.SHA256 {
			err = errors.New(`its files are not those that were installed; "gjc plugin doctor --fix" installs it again`)
		}
	}
	if err == nil {
		c.about, err = inspect(ctx, dir, e)
	}
	if err == nil && c.about.Name != e.Name {
		err = fmt.Errorf("it is named %s now; remove it and link it again", c.about.Name)
	}
	if err != nil {
		c.about, c.problem = nil, trust.Printable(err.Error())
		return c, stamps
	}
	c.subject = s.subject(e, c.about, found.sum)
	return c, stamps
}

// subject returns what the user must trust before the plugin is used; nil if it runs nothing. An answer is for the plugin's directory and its
// present content, with its entry in the marketplace, which can name programs, too.
func (s *Store) subject(e *Entry, about *About, sum string) *trust.Subject {
	if len(about.Programs) == 0 {
		return nil
	}
	all := sha256.Sum256([]byte(sum + "\n" + string(e.Listed)))
	return &trust.Subject{
		Path:  cmp.Or(e.Link, filepath.Join(s.Dir, e.Name)),
		Files: []trust.File{{Name: "plugin " + e.Name, Sum: hex.EncodeToString(all[:]), Runs: about.Programs}},
	}
}

// allowed reports whether a plugin may be used.
func (s *Session) allowed(c *candidate) bool {
	if c.about == nil || c.subject == nil {
		return c.about != nil
	}
	if s.trust == nil {
		return false
	}
	v, err := s.trust.Look(c.subject)
	return err == nil && v.State == trust.Trusted
}

// Active implements [userfiles.Plugins].
func (s *Session) Active(ctx context.Context) []userfiles.Plugin {
	var all []userfiles.Plugin
	for _, c := range s.wanted(ctx) {
		if s.allowed(&c) {
			all = append(all, c.about.Files)
		}
	}
	return all
}

// wanted returns the enabled plugins that all sessions use, and those that a project requires to whose list the user has agreed, without
// those that the project disables.
func (s *Session) wanted(ctx context.Context) []candidate {
	found := s.load(ctx)
	agreed := s.agreed()
	s.mu.Lock()
	required := s.required
	s.mu.Unlock()
	off := func(r *Required, name string) bool {
		return slices.ContainsFunc(r.Disabled, func(other string) bool { return strings.EqualFold(other, name) })
	}
	return slices.DeleteFunc(slices.Clone(found), func(c candidate) bool {
		if slices.ContainsFunc(required, func(r *Required) bool { return off(r, c.name) }) {
			return true
		}
		only := lockFile{Plugins: []Entry{c.entry}}
		return c.entry.Required && !slices.ContainsFunc(agreed, func(r Requirement) bool { return r.met(&only) != nil })
	})
}

// agreed returns the requirements of the projects to whose lists the user has agreed.
func (s *Session) agreed() (all []Requirement) {
	s.mu.Lock()
	required := s.required
	s.mu.Unlock()
	for _, r := range required {
		if r.Subject == nil || s.trust == nil {
			continue
		}
		if v, err := s.trust.Look(r.Subject); err == nil && v.State == trust.Trusted {
			all = append(all, r.Plugins...)
		}
	}
	return all
}

// install installs what the user has agreed to, each once in a session.
func (s *Session) install(ctx context.Context) {
	s.installing.Lock()
	defer s.installing.Unlock()
	for _, r := range s.agreed() {
		key := r.String()
		s.mu.Lock()
		_, tried := s.tried[key]
		s.mu.Unlock()
		if l, err := s.store.read(); tried || err != nil || r.met(l) != nil {
			continue
		}
		n := userfiles.Notice{Title: "A plugin that this project requires was installed."}
		e, about, err := s.store.InstallRequired(ctx, &r)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n = userfiles.Notice{
				Problem: true, Title: `A plugin that this project requires could not be installed; "gjc plugin install" in the project tries again.`,
				Detail: trust.Printable(r.Source + ": " + err.Error()),
			}
		default:
			n.Detail = trust.Printable(strings.TrimSpace(e.Name+" "+e.Version)) + " from " + trust.Printable(r.Source) + ": " + about.Holds()
		}
		s.mu.Lock()
		s.tried[key] = n
		s.mu.Unlock()
	}
}

// requirements returns the questions about lists of plugins, unless all of their plugins are installed for all sessions.
func (s *Session) requirements() []*trust.Question {
	l, err := s.store.read()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	required := s.required
	s.mu.Unlock()
	var all []*trust.Question
	for _, r := range required {
		open := slices.ContainsFunc(r.Plugins, func(one Requirement) bool { e := one.met(l); return e == nil || e.Required })
		if !open || r.Subject == nil {
			continue
		}
		if q := s.trust.Question(r.Subject); q != nil {
			q.Title = "Install the plugins that this project requires?"
			q.Text = "A file in this workspace lists plugins. Installing them runs nothing; gjc asks again before a program in one runs:"
			q.Unasked = "The plugins that the project requires are not installed: allow it when the editor asks, or with \"gjc plugin install\" in the project."
			all = append(all, q)
		}
	}
	return all
}

// Questions implements [userfiles.Plugins]: one for each list of plugins that a project requires, and one for each plugin. It installs the
// plugins of those lists to which the user has agreed.
func (s *Session) Questions(ctx context.Context) []*trust.Question {
	if s.trust == nil {
		return nil
	}
	s.load(ctx)
	s.install(ctx)
	all := s.requirements()
	for _, c := range s.wanted(ctx) {
		if c.subject == nil {
			continue
		}
		if q := s.trust.Question(c.subject); q != nil {
			q.Title = "Use the plugin " + c.name + "?"
			q.Text = "Sessions that use this plugin can run these programs in it:"
			q.Unasked = "The plugin " + c.name + " is not used because you have not allowed its programs: allow them when the editor asks, or with \"gjc trust add --plugin " + c.name + "\"."
			all = append(all, q)
		}
	}
	return all
}

// Stamp implements [userfiles.Plugins].
func (s *Session) Stamp(ctx context.Context) string {
	s.load(ctx)
	s.mu.Lock()
	stamp := strconv.Itoa(s.loads)
	s.mu.Unlock()
	if s.trust != nil {
		stamp += " " + s.trust.Stamp()
	}
	return stamp
}

// Notices implements [userfiles.Plugins].
func (s *Session) Notices(ctx context.Context) []userfiles.Notice {
	found := s.wanted(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []userfiles.Notice
	if s.err != nil {
		all = append(all, userfiles.Notice{Problem: true, Title: "No plugin is used.", Detail: s.err.Error()})
	}
	for _, r := range s.required {
		for _, p := range r.Problems {
			all = append(all, userfiles.Notice{Problem: true, Title: "The list of the plugins that this project requires has a mistake.", Detail: trust.Printable(p)})
		}
	}
	for _, c := range found {
		if c.problem != "" {
			all = append(all, userfiles.Notice{Problem: true, Title: "A plugin is not used.", Detail: c.name + ": " + c.problem})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.tried)) {
		all = append(all, s.tried[key])
	}
	return all
}

// Status is a plugin with its state.
type Status struct {
	Entry
	// Dir is the directory with its files.
	Dir string
	// State is "used", "disabled", "not trusted", "denied" or "broken", and Detail the reason.
	State, Detail string
	// About is nil for a broken plugin.
	About *About
	// Subject is nil for a plugin that runs nothing.
	Subject *trust.Subject
}

// Survey returns all plugins with their states.
func (s *Store) Survey(ctx context.Context, answers *trust.Store) ([]Status, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	var all []Status
	for i := range l.Plugins {
		e := &l.Plugins[i]
		c, _ := s.candidate(ctx, e)
		st := Status{Entry: *e, Dir: s.dir(e), State: "used", About: c.about, Subject: c.subject}
		switch {
		case c.problem != "":
			st.State, st.Detail = "broken", c.problem
		case !e.Enabled:
			st.State = "disabled"
		case e.Required && c.subject == nil:
			st.Detail = "only projects that require it use it; gjc plugin enable " + e.Name + " lets all sessions use it"
		case c.subject != nil:
			v, err := answers.Look(c.subject)
			if err != nil {
				return nil, err
			}
			switch v.State {
			case trust.Trusted:
			case trust.Denied:
				st.State = "denied"
			default:
				st.State, st.Detail = "not trusted", "the next session asks whether it may run its programs; gjc trust add --plugin "+e.Name+" allows them now"
			}
		}
		all = append(all, st)
	}
	return all, nil
}

// Finding is a mistake that [Store.Doctor] has found.
type Finding struct {
	Text string `json:"text"`
	// Fix says what repairs it, and Fixed that it was done.
	Fix   string `json:"fix,omitzero"`
	Fixed bool   `json:"fixed,omitzero"`
}

// Doctor looks for missing and changed directories, broken manifests, and leftovers. With fix it removes leftovers, and installs damaged
// plugins again if their source still has the content that the list names.
func (s *Store) Doctor(ctx context.Context, fix bool) ([]Finding, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	var all []Finding
	for i := range l.Plugins {
		e := &l.Plugins[i]
		c, _ := s.candidate(ctx, e)
		if c.problem == "" {
			for _, n := range c.about.Notes {
				all = append(all, Finding{Text: e.Name + ": " + n})
			}
			continue
		}
		f := Finding{Text: e.Name + ": " + c.problem, Fix: "gjc plugin doctor --fix installs it again"}
		if e.Link != "" {
			f.Fix = "gjc plugin remove " + e.Name
		} else if fix {
			if err := s.repair(ctx, e); err != nil {
				f.Fix = "gjc plugin update " + e.Name + " (" + trust.Printable(err.Error()) + ")"
			} else {
				f.Fix, f.Fixed = "installed again", true
			}
		}
		all = append(all, f)
	}
	for _, name := range s.leftovers(l, time.Now()) {
		all = append(all, Finding{Text: name + " belongs to no plugin", Fix: "gjc plugin doctor --fix removes it", Fixed: fix})
	}
	if fix {
		return all, s.sweep(ctx)
	}
	return all, nil
}

// repair installs the same content again.
func (s *Store) repair(ctx context.Context, e *Entry) error {
	l, err := s.read()
	if err != nil {
		return err
	}
	c, err := s.prepare(ctx, l, want{source: e.Source, name: e.Name, commit: e.Commit})
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Entry.SHA256 != e.SHA256 {
		return errors.New("its source has other content now")
	}
	c.Old, c.Entry = e, *e
	return c.Apply(ctx)
}

// Difference describes a change for the user: lines of plain text, at most about fifty.
func (c *Change) Difference() []string {
	var all []string
	if c.Old.Commit != c.Entry.Commit {
		all = append(all, fmt.Sprintf("commit %.12s → %.12s", cmp.Or(c.Old.Commit, "none"), cmp.Or(c.Entry.Commit, "none")))
	}
	if c.Old.Version != c.Entry.Version {
		all = append(all, trust.Printable("version "+cmp.Or(c.Old.Version, "none")+" → "+cmp.Or(c.Entry.Version, "none")))
	}
	const most = 40
	for i, f := range c.Files {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more files", len(c.Files)-most))
			break
		}
		all = append(all, trust.Printable(f))
	}
	if len(c.Programs) > 0 {
		all = append(all, "programs:")
		for _, p := range c.Programs {
			all = append(all, "  "+trust.Printable(p))
		}
	}
	return slices.Clip(all)
}

// Holds describes in one line what a plugin holds.
func (a *About) Holds() string {
	var all []string
	for _, p := range []struct {
		one, many string
		n         int
	}{
		{"command", "commands", len(a.Commands)},
		{"skill", "skills", len(a.Skills)},
		{"agent", "agents", len(a.Agents)},
		{"hook", "hooks", len(a.Hooks)},
		{"tool", "tools", len(a.Tools)},
		{"MCP server", "MCP servers", len(a.Servers)},
	} {
		switch {
		case p.n == 1:
			all = append(all, "1 "+p.one)
		case p.n > 1:
			all = append(all, strconv.Itoa(p.n)+" "+p.many)
		}
	}
	return strings.Join(all, ", ")
}
