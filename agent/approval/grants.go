package approval

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// Scope describes the reach of an "always" answer to an effect: the commands of a line, a directory, what is debugged, or a tool.
type Scope struct {
	action   Action
	commands []commandScope
	// line is what is known of a command line.
	line *shell.Line
	// Special says that the effect asks whatever the mode is. An answer covers this one file, or this exact line.
	Special bool
	// subject and covers are the effect's, for [ActionDebug]; subject also for tools.
	subject, covers string
	// Path is the path of the effect with all symbolic links resolved: a link must not lead a grant to another place. dir is the
	// directory that it is in, or path itself if that is one. Both are empty for what is not about a file. Of a command dir is
	// where it runs.
	Path, dir string
	// Given is the effect's path as it stands there.
	Given string
	// Outside says that path is not in the roots.
	Outside bool
	tool    string
	// host is where a step on the network goes.
	host string
	// Name describes it to the user.
	Name string
}

// ScopeOf returns the scope of one effect of a tool. Lines for the shell of the operating system called "windows" are
// not taken apart: it does not read them as POSIX shells do. inside says that commands run inside the boundary.
func ScopeOf(ctx context.Context, tool string, e *Effect, files Files, system string, paths *shell.Paths, inside bool) Scope {
	s := Scope{action: e.Action, tool: tool, host: strings.TrimSuffix(strings.ToLower(e.Host), "."), subject: e.Subject, covers: e.Covers}
	switch {
	case e.Action == ActionCommand:
		dir := cmp.Or(e.Dir, paths.Roots[0])
		s.dir = files.RealPath(dir)
		if system != "windows" {
			s.line = shell.Read(e.Command, dir, paths)
		}
		s.commands = commandScopes(e.Command, s.line, inside, func(name string) string { return remoteAddress(s.dir, paths, name) })
	case e.Path != "":
		s.Path = files.RealPath(e.Path)
		s.dir = filepath.Dir(s.Path)
		if info, err := files.Stat(ctx, s.Path); err == nil && info.IsDir() {
			s.dir = s.Path
		}
	}
	return s
}

// maxNamed bounds the directories that the option of an "always" answer names.
const maxNamed = 5

// LabelAll describes all scopes of one question; display shortens a real path.
func LabelAll(scopes []*Scope, display func(path string) string) string {
	if len(scopes) == 1 {
		return scopes[0].Name
	}
	var dirs []string
	for _, s := range scopes {
		if dir := display(s.dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	label := actionVerb(scopes[0].action) + " in " + strings.Join(dirs[:min(len(dirs), maxNamed)], ", ")
	if more := len(dirs) - maxNamed; more > 0 {
		label += fmt.Sprintf(" and %d more directories of these files", more)
	}
	return label
}

// Label describes the scope, for the option of an "always" answer; display shortens a real path.
func (s *Scope) Label(display func(path string) string) string {
	switch {
	case s.action == ActionCommand:
		var names []string
		for _, c := range s.commands {
			if c.whole {
				return "this exact command here"
			}
			names = append(names, c.text)
		}
		return strings.Join(names, ", ") + " commands here"
	case s.action == ActionDebug && s.covers != "":
		return s.covers
	case s.action == ActionDebug:
		return "this exact step"
	case s.Special && s.Path != "":
		return fmt.Sprintf("%s %s", actionVerb(s.action), display(s.Path))
	case s.host != "":
		return "fetching from " + s.host
	case s.dir != "":
		return fmt.Sprintf("%s in %s", actionVerb(s.action), display(s.dir))
	default:
		return s.tool
	}
}

func actionVerb(a Action) string {
	switch a {
	case ActionRead:
		return "reading"
	case ActionEdit:
		return "edits"
	case ActionDelete:
		return "deleting"
	case ActionMove:
		return "moving"
	default:
		return "this"
	}
}

// Grants are the answers that a user gave with "always", for one session and its children.
type Grants struct {
	mu       sync.Mutex // guards the fields below
	commands []commandGrant
	places   []placeGrant
	tools    map[string]toolGrant // by the tool's name
	hosts    map[string]bool      // host → allowed
	subjects map[string]bool      // subject of [ActionDebug] → allowed
	// widened is what commands may do in addition to other commands.
	widened map[CommandKey][]Refusal
	// makers are the commands whose files are kept, although programs run them.
	makers map[CommandKey]bool
	// reachable are hosts that all commands may reach.
	reachable []string
	// forgotten counts calls of forget: an answer to a question from before one is good for that question alone.
	forgotten int
}

// commandGrant is for a command. A yes holds in the directory in which the command ran, and, if it is not for an exact line, below.
type commandGrant struct {
	commandScope
	dir     string
	allowed bool
}

// toolGrant is for a tool as it was then: a yes does not hold for what has another subject now.
type toolGrant struct {
	subject string
	allowed bool
}

type placeGrant struct {
	action Action
	dir    string
	// special grants are for one file that asks whatever the mode is; no other covers that.
	special bool
	allowed bool
}

// Lookup returns the remembered answer for what s covers, if there is one.
func (g *Grants) Lookup(s *Scope) (allowed, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case s.action == ActionCommand:
		return g.lookupCommands(s)
	case s.action == ActionDebug:
		allowed, known = g.subjects[s.subject]
		return allowed, known && s.subject != ""
	case s.Path != "":
		for i := len(g.places) - 1; i >= 0; i-- {
			p := g.places[i]
			if p.action != s.action || !shell.Within(p.dir, s.Path) || p.allowed && p.special != s.Special {
				continue
			}
			return p.allowed, true
		}
	case s.host != "":
		allowed, known = g.hosts[s.host]
	default:
		var have toolGrant
		have, known = g.tools[s.tool]
		return have.allowed, known && (!have.allowed || have.subject == s.subject)
	}
	return allowed, known
}

// lookupCommands allows a line when every command in it is allowed, and denies it when any is denied.
func (g *Grants) lookupCommands(s *Scope) (allowed, known bool) {
	line := s.commands
	left := len(line)
	for _, want := range line {
		for i := len(g.commands) - 1; i >= 0; i-- {
			have := g.commands[i]
			if have.commandScope != want || have.allowed && have.dir != s.dir && (want.whole || !shell.Within(have.dir, s.dir)) {
				continue
			}
			if !have.allowed {
				return false, true
			}
			left--
			break
		}
	}
	return true, left == 0 && len(line) > 0
}

// CommandKey identifies a command in answers: the exact line, in the directory that it runs in.
type CommandKey struct{ Line, Dir string }

// Keep remembers that what a command makes is kept.
func (g *Grants) Keep(key CommandKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.makers == nil {
		g.makers = make(map[CommandKey]bool)
	}
	g.makers[key] = true
}

// Keeps reports whether what a command makes is kept without a question.
func (g *Grants) Keeps(key CommandKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.makers[key]
}

// Widen lets a command do more inside the boundary, from now on.
func (g *Grants) Widen(key CommandKey, more []Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.widened == nil {
		g.widened = make(map[CommandKey][]Refusal)
	}
	g.widened[key] = append(g.widened[key], more...)
}

// Open lets all commands reach hosts.
func (g *Grants) Open(hosts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reachable = append(g.reachable, hosts...)
}

// Wider returns the access of a command with what answers have added to it.
func (g *Grants) Wider(a *Access, key CommandKey) *Access {
	g.mu.Lock()
	defer g.mu.Unlock()
	more := slices.Clone(g.widened[key])
	for _, host := range g.reachable {
		more = append(more, Refusal{Host: host})
	}
	if len(more) == 0 {
		return a
	}
	return a.Extend(more)
}

// Forget removes the grants of the tools that drop reports, and begins a new generation.
func (g *Grants) Forget(drop func(tool string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgotten++
	maps.DeleteFunc(g.tools, func(tool string, _ toolGrant) bool { return drop(tool) })
}

// Generation returns how often Forget was called. A caller reads it before it asks the user and passes it to [Grants.Remember], so
// that an answer to a question from before Forget is not kept.
func (g *Grants) Generation() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forgotten
}

// Remember keeps an "always" answer for what s covers, to a question that was put in the generation asked.
func (g *Grants) Remember(s *Scope, allowed bool, asked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case s.action == ActionCommand:
		for _, c := range s.commands {
			g.commands = append(g.commands, commandGrant{c, s.dir, allowed})
		}
	case s.action == ActionDebug:
		if g.subjects == nil {
			g.subjects = make(map[string]bool)
		}
		g.subjects[s.subject] = allowed
	case s.Path != "":
		p := placeGrant{s.action, s.dir, s.Special, allowed}
		if s.Special {
			p.dir = s.Path
		}
		if len(g.places) == 0 || g.places[len(g.places)-1] != p {
			g.places = append(g.places, p)
		}
	case s.host != "":
		if g.hosts == nil {
			g.hosts = make(map[string]bool)
		}
		g.hosts[s.host] = allowed
	case asked == g.forgotten:
		if g.tools == nil {
			g.tools = make(map[string]toolGrant)
		}
		g.tools[s.tool] = toolGrant{s.subject, allowed}
	}
}
