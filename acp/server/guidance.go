package server

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/rules"
)

// guidance is what a session's model is told of rules and skills.
type guidance struct {
	mu   sync.Mutex // guards what follows; held while files are read, so that they are read once
	book *rules.Book
	told map[string]bool // the problems that the user has been told of
}

// guide returns what tells a session of the rules and skills of its workspace, as they are now.
func (s *Server) guide(e *entry, ws agent.Workspace) func(context.Context) *agent.Guidance {
	roots := append([]string{ws.Cwd}, ws.Additional...)
	return func(ctx context.Context) *agent.Guidance {
		set := e.commands.Files(ctx)
		g := &agent.Guidance{Rules: s.ruleFiles(ctx, e, roots), ReadSkill: set.ReadSkill}
		for _, skill := range set.Skills() {
			if s.enabled(commands.SkillPrefix + skill.Name) {
				g.Skills = append(g.Skills, agent.Skill{Name: skill.Name, Description: skill.Description})
			}
		}
		return g
	}
}

// ruleFiles returns the rules as they are now.
func (s *Server) ruleFiles(ctx context.Context, e *entry, roots []string) *rules.Book {
	g := &e.guidance
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.book != nil && !g.book.Stale(ctx) {
		return g.book
	}
	book, problems := rules.Load(ctx, rules.Options{UserDir: s.opts.UserDir, Roots: roots})
	if ctx.Err() != nil && g.book != nil {
		return g.book // what was read is not all
	}
	g.book = book
	for _, p := range problems {
		text := p.String()
		if g.told[text] {
			continue
		}
		if g.told == nil {
			g.told = make(map[string]bool)
		}
		g.told[text] = true
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "A rule file has a mistake.", Detail: text})
	}
	return book
}
