package server

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/rules"
)

// guidance reads the rules and skills of a session for its model.
type guidance struct {
	commands *slash.Commands
	enabled  func(command string) bool
	sources  rules.Options
	out      *outlet

	mu       sync.Mutex // guards the fields below; held while files are read, so that they are read once
	book     *rules.Book
	reported map[string]bool // the problems in files that were reported to the user
}

// load returns the rules and skills. It reads the files again if they have changed.
func (g *guidance) load(ctx context.Context) *agent.Guidance {
	set := g.commands.Files(ctx)
	all := &agent.Guidance{Rules: g.rules(ctx), ReadSkill: set.ReadSkill, UserDir: g.sources.UserDir, Home: g.sources.Home, CodexHome: g.sources.CodexHome}
	for _, skill := range set.Skills() {
		if g.enabled(commands.SkillPrefix + skill.Name) {
			all.Skills = append(all.Skills, agent.Skill{Name: skill.Name, Description: skill.Description})
		}
	}
	return all
}

func (g *guidance) rules(ctx context.Context) *rules.Book {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.book != nil && !g.book.Stale(ctx) {
		return g.book
	}
	book, problems := rules.Load(ctx, g.sources)
	if ctx.Err() != nil && g.book != nil {
		return g.book // the new book may be incomplete
	}
	g.book = book
	for _, p := range problems {
		if text := p.String(); !g.reported[text] {
			if g.reported == nil {
				g.reported = make(map[string]bool)
			}
			g.reported[text] = true
			g.out.notice(agent.SeverityWarning, "A rule file has an error.", text)
		}
	}
	return book
}
