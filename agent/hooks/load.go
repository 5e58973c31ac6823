package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

const (
	defaultTimeout = 60 * time.Second
	maxTimeout     = 600 * time.Second
	// maxFiles and maxHooks limit what is read from one place.
	maxFiles = 200
	maxHooks = 500
)

// Options adjusts [Load]. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// Roots are the workspace's roots, starting with the working directory.
	Roots []string
	// Home is the user's home directory, for the hooks of Claude Code. They too run only after a question: the user has written them
	// for another program.
	Home string
	// Trust stores the user's decisions. If nil, nothing is trusted.
	Trust *trust.Session
	// Plugins are those whose hooks may run. They run last.
	Plugins []userfiles.Plugin
}

// Set is a snapshot of the hooks, as returned by [Load].
type Set struct {
	// Hooks are the hooks that may run, starting with the user's.
	Hooks []*Hook
	// Extensions run after the hooks. [Load] returns none.
	Extensions []Handler
	// Untrusted are workspace hooks that the user has not trusted.
	Untrusted []*Hook
	// Problems describes the hooks that were omitted, with their positions.
	Problems []string
	subjects []*trust.Subject
	opts     Options
	// plugins describes the hooks of plugins.
	plugins []string
}

// Load reads the hooks. It reads all files each time, so that what runs is what was checked.
func Load(opts Options) *Set {
	s := &Set{opts: opts}
	seen := make(map[string]bool)
	if opts.UserDir != "" {
		for _, f := range readPlace(opts.UserDir, "", false, seen) {
			s.Hooks = append(s.Hooks, s.parse(f, opts.UserDir, false)...)
		}
	}
	for _, root := range opts.Roots {
		var own []*Hook
		sub := &trust.Subject{Path: root}
		for _, f := range readPlace(filepath.Join(root, ".gjc"), ".gjc", true, seen) {
			hooks := s.parse(f, root, true)
			own = append(own, hooks...)
			if len(hooks) > 0 {
				for _, h := range hooks {
					f.Runs = append(f.Runs, h.Name+": "+h.shown())
				}
				sub.Files = append(sub.Files, f.TrustFile())
			}
		}
		s.use(sub, own)
		for _, f := range claudePlaces(root, claudeFiles[:], seen) {
			s.useClaude(f, root, "")
		}
	}
	if opts.Home != "" {
		for _, f := range claudePlaces(opts.Home, claudeFiles[:1], seen) {
			s.useClaude(f, opts.Home, "")
		}
	}
	for i := range opts.Plugins {
		s.usePlugin(&opts.Plugins[i])
	}
	return s
}

// usePlugin adds the hooks of a plugin. The user has been asked about all of the plugin's programs.
func (s *Set) usePlugin(p *userfiles.Plugin) {
	cwd := ""
	if len(s.opts.Roots) > 0 {
		cwd = s.opts.Roots[0]
	}
	for _, file := range p.Hooks {
		f := &configfile.File{Path: filepath.Join(p.Dir, filepath.FromSlash(file.Name)), Name: file.Name, Data: file.Data}
		top := (&configfile.File{Path: f.Path, Data: f.Data}).Parse("hooks") // its problems are reported below
		var own []*Hook
		if top != nil && top.Member("hooks") != nil && top.Member("hooks").Kind == configfile.List {
			own = s.parse(f, p.Dir, true)
		} else {
			own = s.readClaude(f, cwd, p.Dir)
		}
		for _, h := range own {
			h.Name = p.Name + ":" + h.Name
			events := make([]string, len(h.Events))
			for i, e := range h.Events {
				events[i] = string(e)
			}
			s.plugins = append(s.plugins, "hook at "+strings.Join(events, ", ")+": "+h.shown())
		}
		s.Hooks = append(s.Hooks, own...)
	}
}

// PluginPrograms describes what the hooks of plugins run.
func (s *Set) PluginPrograms() []string { return s.plugins }

// Handlers returns all that may run, in order.
func (s *Set) Handlers() []Handler {
	all := make([]Handler, 0, len(s.Hooks)+len(s.Extensions))
	for _, h := range s.Hooks {
		all = append(all, h)
	}
	return append(all, s.Extensions...)
}

// For reports whether anything runs at an event.
func (s *Set) For(ev Event, tool string) bool {
	return slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.For(ev, tool) }) ||
		slices.ContainsFunc(s.Extensions, func(h Handler) bool { return h.For(ev, tool) })
}

// useClaude adds the hooks of one file of Claude Code.
func (s *Set) useClaude(f *configfile.File, dir, plugin string) {
	hooks := s.readClaude(f, dir, plugin)
	if len(hooks) == 0 {
		return
	}
	for _, h := range hooks {
		h.Project = true
		f.Runs = append(f.Runs, h.claude.event+": "+h.shown())
	}
	s.use(&trust.Subject{Path: dir, Files: []trust.File{f.TrustFile()}}, hooks)
}

// use adds the hooks of a subject, as far as the user trusts it.
func (s *Set) use(sub *trust.Subject, own []*Hook) {
	own = s.scripts(sub, own)
	if len(own) == 0 {
		return
	}
	s.subjects = append(s.subjects, sub)
	if s.trusts(sub) {
		s.Hooks = append(s.Hooks, own...)
	} else {
		s.Untrusted = append(s.Untrusted, own...)
	}
}

func (s *Set) trusts(sub *trust.Subject) bool {
	if s.opts.Trust == nil {
		return false
	}
	v, err := s.opts.Trust.Look(sub)
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	return err == nil && v.State == trust.Trusted
}

// Listed is a hook for a list. State is "used", "asks for trust" or "not trusted".
type Listed struct {
	*Hook
	Origin, State string
	// Runs is the command line.
	Runs string
}

// List lists the hooks that may run, and those that wait for an answer of the user's or have got a no.
func (s *Set) List() []Listed {
	var all []Listed
	for _, h := range s.Hooks {
		all = append(all, s.listed(h, "used"))
	}
	for _, h := range s.Untrusted {
		state := "asks for trust"
		if s.opts.Trust != nil && slices.ContainsFunc(s.subjects, func(sub *trust.Subject) bool {
			v, err := s.opts.Trust.Look(sub)
			return sub.Path == h.Dir && err == nil && v.State == trust.Denied
		}) {
			state = "not trusted"
		}
		all = append(all, s.listed(h, state))
	}
	return all
}

func (s *Set) listed(h *Hook, state string) Listed {
	l := Listed{Hook: h, Origin: "gjc", State: state, Runs: h.shown()}
	if h.claude != nil {
		l.Origin = "Claude Code"
	}
	for i := range s.opts.Plugins {
		if p := &s.opts.Plugins[i]; strings.HasPrefix(h.At, p.Dir+string(filepath.Separator)) {
			l.Origin = "plugin " + p.Name
		}
	}
	return l
}

// Subject returns what the user must trust for a workspace's hooks to run, whether trusted or not; nil for none.
func (s *Set) Subject(root string) *trust.Subject {
	var all *trust.Subject
	for _, sub := range s.subjects {
		if sub.Path == root {
			all = trust.Merge(all, sub)
		}
	}
	return all
}

// Question returns the next question; nil if there is none.
func (s *Set) Question() *trust.Question {
	if s.opts.Trust == nil {
		return nil
	}
	for _, sub := range s.subjects {
		if q := s.opts.Trust.Question(sub); q != nil {
			q.Title = "Trust this workspace to run its own hooks?"
			q.Text = "Files in this workspace name programs that gjc would run before and after the agent's steps:"
			return q
		}
	}
	return nil
}

// fileNames are the names of files with hooks.
var fileNames = [...]string{"hooks.yml", "hooks.yaml", "hooks.json"}

// Files returns the patterns of the files in a workspace that hooks are read from, with a slash at the end of directories.
func Files() []string {
	all := append([]string{".gjc/hooks/"}, claudeFiles[:]...)
	for _, name := range fileNames {
		all = append(all, ".gjc/"+name)
	}
	return all
}

// readPlace reads the hook files in a directory.
func readPlace(dir, within string, project bool, seen map[string]bool) []*configfile.File {
	var all []*configfile.File
	names := fileNames[:]
	entries, err := os.ReadDir(filepath.Join(dir, "hooks")) // sorted by name
	if err == nil {
		for _, e := range entries {
			switch filepath.Ext(e.Name()) {
			case ".yml", ".yaml", ".json":
				if !strings.HasPrefix(e.Name(), ".") && len(names) < maxFiles {
					names = append(names, "hooks/"+e.Name())
				}
			}
		}
	}
	for _, name := range names {
		place := configfile.Place{Dir: dir, Within: within, Project: project}
		all = append(all, configfile.ReadPlace(place, []string{filepath.FromSlash(name)}, seen)...)
	}
	return all
}

// parse parses one file. It skips invalid hooks and reports them as problems.
func (s *Set) parse(f *configfile.File, dir string, project bool) (hooks []*Hook) {
	defer func() { s.Problems = append(s.Problems, f.Problems...) }()
	if f.Data == nil {
		return nil
	}
	top := f.Parse("hooks")
	if top == nil {
		return nil
	}
	list := top.Member("hooks")
	if list == nil || list.Kind != configfile.List {
		f.Problem(top.Line, "the file must contain hooks: and a list; it is not used")
		return nil
	}
	for i, item := range list.List {
		if len(hooks) >= maxHooks {
			f.Problem(item.Line, "more than %d hooks; the rest are ignored", maxHooks)
			break
		}
		h := &Hook{
			Name: strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path)) + "#" + strconv.Itoa(i+1), Timeout: defaultTimeout,
			At: f.At(item.Line), Dir: dir, Project: project,
		}
		if line, why := h.read(item); why != "" {
			f.Problem(line, "%s; the hook is ignored", why)
			continue
		}
		hooks = append(hooks, h)
	}
	return hooks
}

// read parses the members of a hook. It returns the first error and its position.
func (h *Hook) read(item *configfile.Node) (line int, why string) {
	if item.Kind != configfile.Object {
		return item.Line, "a hook must be a mapping with event and command"
	}
	for _, m := range item.Members {
		if why := h.member(m.Name, m.Value); why != "" {
			return m.Value.Line, why
		}
	}
	switch {
	case len(h.Events) == 0:
		return item.Line, "the hook has no event; the events are " + eventNames()
	case len(h.Command) == 0 || h.Command[0] == "" || strings.Contains(strings.Join(h.Command, ""), "\x00"):
		return item.Line, "the hook has no command"
	case h.Blocking && !slices.Contains(h.Events, ToolCall):
		return item.Line, "blocking is only for tool_call hooks"
	}
	return 0, ""
}

// member sets the member name of the hook to n. It returns an error text for an invalid one, or "".
func (h *Hook) member(name string, n *configfile.Node) (why string) {
	switch name {
	case "name":
		if n.Kind != configfile.Text || n.Text == "" || len(n.Text) > 100 {
			why = "name must be a short string"
		}
		h.Name = strings.Join(strings.Fields(trust.Printable(n.Text)), " ")
	case "event", "events":
		h.Events = nil
		for _, event := range texts(n) {
			h.Events = append(h.Events, Event(event))
			if !slices.Contains(Events(), Event(event)) {
				why = fmt.Sprintf("unknown event %s; the events are %s", configfile.Quote(event), eventNames())
			}
		}
	case "tool", "tools":
		h.Tools = texts(n)
		if len(h.Tools) == 0 || !allGlobs(h.Tools) {
			why = "tools must be tool names or globs"
		}
	case "command":
		h.Command = texts(n)
		if n.Kind == configfile.Text && strings.ContainsAny(n.Text, " \t\n") {
			why = `command must be a list of the program and its arguments, such as [sh, -c, "..."]; no shell splits it`
		}
	case "timeout":
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != configfile.Number || err != nil || f <= 0 || f > maxTimeout.Seconds() {
			why = fmt.Sprintf("timeout must be a number of seconds up to %v", maxTimeout.Seconds())
		}
		h.Timeout = time.Duration(f * float64(time.Second))
	case "blocking":
		if n.Kind != configfile.Boolean {
			why = "blocking must be true or false"
		}
		h.Blocking = n.True()
	default:
		why = "the fields of a hook are name, event, tools, command, timeout and blocking, not " + configfile.Quote(name)
	}
	return why
}

// allGlobs reports whether all patterns are valid.
func allGlobs(patterns []string) bool {
	return !slices.ContainsFunc(patterns, func(p string) bool { return !doublestar.ValidatePattern(p) })
}

// texts returns the texts of a list, or a single text as a list.
func texts(n *configfile.Node) []string {
	if n.Kind == configfile.Text {
		return []string{n.Text}
	}
	return n.Strings()
}

func eventNames() string {
	var names []string
	for _, e := range Events() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}
