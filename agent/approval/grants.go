package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
)

// Grant is an answer of the user's that is remembered: in a session, or for a workspace.
type Grant struct {
	Kind GrantKind `json:"kind"`
	// Subject names the kind of commands or the exact line, the action on files, the host, the tool or the step.
	Subject string `json:"subject,omitzero"`
	// Dir is where it holds: for commands the directory in which the command ran, for files the directory or the file.
	Dir string `json:"dir,omitzero"`
	// State is the description of a tool, and a yes ends when that changes; of a file that is an archive, the member.
	State string `json:"state,omitzero"`
	// More lists what commands may do in addition, for [GrantMore] and [GrantHosts].
	More    []boundary.Refusal `json:"more,omitzero"`
	Allowed bool               `json:"allowed"`
	// Label is the wording of the answer.
	Label string    `json:"label"`
	When  time.Time `json:"when"`
}

// GrantKind says what a [Grant] is for.
type GrantKind string

// The kinds.
const (
	GrantCommands GrantKind = "commands" // commands of a kind: "go test"
	GrantLine     GrantKind = "line"     // an exact line
	GrantFiles    GrantKind = "files"    // an action on the files of a directory
	GrantFile     GrantKind = "file"     // an action on one file that asks whatever the mode is
	GrantHost     GrantKind = "host"     // a step of a tool to a host
	GrantTool     GrantKind = "tool"
	GrantStep     GrantKind = "step"  // a step of a debugger
	GrantMore     GrantKind = "more"  // what a line may do in addition inside the boundary
	GrantHosts    GrantKind = "hosts" // hosts that all commands may reach
	GrantMade     GrantKind = "made"  // what a line makes is kept, although programs run it
)

// Keeper keeps the answers for a workspace. It is safe for concurrent use.
type Keeper interface {
	// Grants returns those that are kept, the oldest first. Without a readable file there are none.
	Grants() []Grant
	// Keep adds one.
	Keep(ctx context.Context, g Grant) error
	// Revoke removes those that drop reports.
	Revoke(ctx context.Context, drop func(*Grant) bool) error
}

// Grants are the remembered answers of one session and its children. The zero value is ready.
type Grants struct {
	// Keeper has the answers for the workspace. Optional; set it before use.
	Keeper Keeper

	mu  sync.Mutex // guards the fields below
	own []Grant    // those of the session, the oldest first
	// forgotten counts calls of Forget: an answer to a question from before one is good for that question alone.
	forgotten int
}

// List returns all answers, the oldest first: those for the workspace, and then those of the session.
func (g *Grants) List() (kept, own []Grant) {
	if g.Keeper != nil {
		kept = g.Keeper.Grants()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return kept, slices.Clone(g.own)
}

// newest calls fn for each answer, the newest first, until it returns false. Those of the session come before those for the workspace.
func (g *Grants) newest(fn func(*Grant) bool) {
	all := slices.Concat(g.List())
	for i := len(all) - 1; i >= 0; i-- {
		if !fn(&all[i]) {
			return
		}
	}
}

// lookup returns the remembered answer for what s covers, if there is one. A line is allowed if each of its commands is, and rejected if
// one is.
func (g *Grants) lookup(s *Scope) (allowed, known bool) {
	wanted := s.grants()
	left := len(wanted)
	for i := range wanted {
		g.newest(func(have *Grant) bool {
			if !have.covers(&wanted[i]) {
				return true
			}
			allowed = have.Allowed
			left--
			return false
		})
		if left == len(wanted)-i {
			return false, false // this one is open
		}
		if !allowed {
			return false, true
		}
	}
	return allowed, left == 0 && len(wanted) > 0
}

// covers reports whether an answer is one to another question.
func (g *Grant) covers(want *Grant) bool {
	if g.Subject != want.Subject {
		return false
	}
	if g.Kind != want.Kind { // a no to the files of a directory is one to each of them
		return g.Kind == GrantFiles && want.Kind == GrantFile && !g.Allowed && places.Within(g.Dir, want.Dir)
	}
	switch g.Kind {
	case GrantCommands: // a yes holds in its directory and below
		return !g.Allowed || places.Within(g.Dir, want.Dir)
	case GrantLine:
		return !g.Allowed || g.Dir == want.Dir
	case GrantFiles:
		return places.Within(g.Dir, want.Dir)
	case GrantFile:
		return g.Dir == want.Dir && (g.State == want.State || !g.Allowed && g.State == "")
	case GrantMore, GrantMade:
		return g.Dir == want.Dir
	case GrantTool:
		return !g.Allowed || g.State == want.State
	default:
		return g.Subject != ""
	}
}

// grants returns the answers that cover the scope.
func (s *Scope) grants() []Grant {
	switch {
	case s.action == ActionCommand:
		var all []Grant
		for _, c := range s.commands {
			kind := GrantCommands
			if c.whole {
				kind = GrantLine
			}
			all = append(all, Grant{Kind: kind, Subject: c.text, Dir: s.dir})
		}
		return all
	case s.action == ActionDebug:
		return []Grant{{Kind: GrantStep, Subject: s.subject}}
	case s.Path != "" && s.Special:
		return []Grant{{Kind: GrantFile, Subject: actionNames[s.action], Dir: s.Path, State: s.member}}
	case s.Path != "":
		return []Grant{{Kind: GrantFiles, Subject: actionNames[s.action], Dir: s.Path}}
	case s.host != "":
		return []Grant{{Kind: GrantHost, Subject: s.host}}
	default:
		return []Grant{{Kind: GrantTool, Subject: s.tool, State: s.subject}}
	}
}

// Answer says how an answer is remembered.
type Answer struct {
	Allowed bool
	// Workspace keeps it for the workspace; otherwise it ends with the session.
	Workspace bool
	When      time.Time
	// Asked is the generation in which the question was put: see [Grants.Generation].
	Asked int
}

// Remember keeps an answer for what s covers.
func (g *Grants) Remember(ctx context.Context, s *Scope, a Answer) error {
	for _, grant := range s.grants() {
		if grant.Kind == GrantFiles {
			grant.Dir = s.dir
		}
		if grant.Kind == GrantTool && a.Asked != g.Generation() || grant.Subject == "" {
			continue
		}
		grant.Label = s.Name
		if err := g.add(ctx, grant, a); err != nil {
			return err
		}
	}
	return nil
}

func (g *Grants) add(ctx context.Context, grant Grant, a Answer) error {
	grant.Allowed, grant.When = a.Allowed, a.When
	return g.Add(ctx, grant, a.Workspace)
}

// Add keeps an answer, for the workspace or until the end of the session.
func (g *Grants) Add(ctx context.Context, grant Grant, workspace bool) error {
	if k, ok := g.Keeper.(interface {
		Add(context.Context, Grant, bool) error
	}); ok { // it also keeps those of the session
		return k.Add(ctx, grant, workspace)
	}
	if workspace && g.Keeper != nil {
		return g.Keeper.Keep(ctx, grant)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.own = append(slices.DeleteFunc(g.own, func(have Grant) bool { return have.Replaces(&grant) }), grant)
	return nil
}

// Replaces reports whether an answer, if it is newer, is to the same question as another.
func (g *Grant) Replaces(other *Grant) bool {
	return g.Kind == other.Kind && g.Subject == other.Subject && g.Dir == other.Dir && (g.Kind != GrantFile || g.State == other.State) && (g.Kind != GrantHosts || slices.Equal(g.More, other.More))
}

// Describe returns the answer on one line: what it allows or rejects, where, and when it was given.
func (g *Grant) Describe() string {
	verdict := "Rejected"
	if g.Allowed {
		verdict = "Allowed"
	}
	line := verdict + ": " + g.Label
	switch g.Kind {
	case GrantLine, GrantMore, GrantMade:
		line += fmt.Sprintf(": %s", g.Subject)
	default:
	}
	if g.Dir != "" {
		line += ", in " + g.Dir
	}
	return text.VisibleLine(text.Truncate(line, 500)) + " (" + g.When.Format("2006-01-02 15:04") + ")"
}

// Revoke removes answers of the session and for the workspace. It reports whether there was one.
func (g *Grants) Revoke(ctx context.Context, drop func(*Grant) bool) (was bool, err error) {
	seen := func(grant *Grant) bool {
		hit := drop(grant)
		was = was || hit
		return hit
	}
	g.mu.Lock()
	g.own = slices.DeleteFunc(g.own, func(grant Grant) bool { return seen(&grant) })
	g.mu.Unlock()
	if g.Keeper != nil {
		err = g.Keeper.Revoke(ctx, seen)
	}
	return was, err
}

// CommandKey identifies a command in answers: the exact line, in the directory that it runs in.
type CommandKey struct{ Line, Dir string }

// Keep remembers that what a command makes is kept.
func (g *Grants) Keep(ctx context.Context, key CommandKey, a Answer) error {
	return g.add(ctx, Grant{Kind: GrantMade, Subject: key.Line, Dir: key.Dir, Label: "what this command makes"}, a)
}

// Keeps reports whether what a command makes is kept without a question.
func (g *Grants) Keeps(key CommandKey) (keeps bool) {
	g.newest(func(have *Grant) bool {
		keeps = have.covers(&Grant{Kind: GrantMade, Subject: key.Line, Dir: key.Dir})
		return !keeps
	})
	return keeps
}

// Widen lets a command do more inside the boundary, from now on.
func (g *Grants) Widen(ctx context.Context, key CommandKey, more []boundary.Refusal, label string, a Answer) error {
	for _, have := range g.added(key) {
		if !slices.Contains(more, have) {
			more = append(more[:len(more):len(more)], have)
		}
	}
	return g.add(ctx, Grant{Kind: GrantMore, Subject: key.Line, Dir: key.Dir, More: more, Label: label}, a)
}

// Open lets all commands reach hosts.
func (g *Grants) Open(ctx context.Context, hosts []string, label string, a Answer) error {
	var more []boundary.Refusal
	for _, host := range hosts {
		more = append(more, boundary.Refusal{Host: host})
	}
	return g.add(ctx, Grant{Kind: GrantHosts, Subject: strings.Join(hosts, " "), More: more, Label: label}, a)
}

// added returns what answers have added to the access of a command.
func (g *Grants) added(key CommandKey) []boundary.Refusal {
	var more []boundary.Refusal
	g.newest(func(have *Grant) bool {
		if have.Kind == GrantHosts || have.covers(&Grant{Kind: GrantMore, Subject: key.Line, Dir: key.Dir}) {
			more = append(more, have.More...)
		}
		return true
	})
	return more
}

// Wider returns the access of a command with what answers have added to it.
func (g *Grants) Wider(a *boundary.Access, key CommandKey) *boundary.Access {
	if more := g.added(key); len(more) > 0 {
		return a.Extend(more)
	}
	return a
}

// Forget removes the answers of the session for the tools that drop reports, and begins a new generation.
func (g *Grants) Forget(drop func(tool string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgotten++
	g.own = slices.DeleteFunc(g.own, func(grant Grant) bool { return grant.Kind == GrantTool && drop(grant.Subject) })
}

// Generation returns how often Forget was called. A caller reads it before it asks the user and passes it to [Grants.Remember], so
// that an answer to a question from before Forget is not kept.
func (g *Grants) Generation() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forgotten
}
