package approval

import (
	"context"
	"fmt"

	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
)

// Gate decides on the effects of a session's calls: by the mode, the user's rules, the boundary, and earlier answers.
type Gate struct {
	Policy *Policy
	Grants *Grants
	Files  Files
	// OS is the operating system: what [runtime.GOOS] is.
	OS    string
	Paths *places.Paths
}

// Inquiry is an effect of a call and what is known about it.
type Inquiry struct {
	gate  *Gate
	parts []part
}

// part is an effect on one path, or one command.
type part struct {
	effect Effect
	scope  Scope
	facts  Facts
}

// Inquire finds out what is to be known about an effect of a tool, now. display shortens a real path for people.
func (g *Gate) Inquire(ctx context.Context, tool string, e *Effect, display func(path string) string) *Inquiry {
	q := &Inquiry{gate: g}
	for _, e := range e.Each() {
		p := part{effect: e, scope: scopeOf(ctx, tool, &e, g.Files, g.OS, g.Paths, e.Action == ActionCommand && g.Policy.Boundary.Holds())}
		p.scope.Outside = e.Path != "" && g.Paths.Outside(e.Path)
		p.scope.Given = e.Path
		p.facts = FactsOf(g.Policy, g.OS, tool, &e, &p.scope, g.Paths)
		p.scope.Special = len(p.facts.Special) > 0
		p.scope.Name = p.scope.label(display)
		q.parts = append(q.parts, p)
	}
	return q
}

// Permit adds the effect to a permit.
func (q *Inquiry) Permit(l *Permit) {
	for i := range q.parts {
		l.give(q.gate.Files, q.gate.Paths, &q.parts[i].effect, q.parts[i].scope.Path)
	}
}

// Real returns where the effect's paths lead with all symbolic links resolved.
func (q *Inquiry) Real() []string {
	paths := make([]string, len(q.parts))
	for i := range q.parts {
		paths[i] = q.parts[i].scope.Path
	}
	return paths
}

// Judgment is the decision on an effect.
type Judgment struct {
	// Verdict is [Allow], [Ask] or [Deny].
	Verdict Verdict
	// Reason is why it is denied, for the model.
	Reason string
	// Inside says that the effect is to happen inside the boundary.
	Inside bool
	// Open are the parts that the user must decide on, and Special the reasons why they ask whatever the mode is.
	Open    []*Scope
	Special []string
}

// Judge decides on the effect. answered says that the user has allowed it.
func (q *Inquiry) Judge(mode Mode, answered bool) Judgment {
	j := Judgment{Verdict: Allow}
	for i := range q.parts {
		p := &q.parts[i]
		v, why, inside := q.gate.judge(mode, p)
		if v == Ask && answered {
			v = Allow
		}
		j.Inside = j.Inside || inside
		switch v {
		case Deny:
			return Judgment{Verdict: Deny, Reason: why}
		case Ask:
			j.Verdict = Ask
			j.Open = append(j.Open, &p.scope)
			j.Special = append(j.Special, p.facts.Special...)
		default:
		}
	}
	return j
}

// judge decides on one part by what is known before the user is asked.
func (g *Gate) judge(mode Mode, p *part) (v Verdict, why string, inside bool) {
	v, why = g.Policy.Judge(mode, &p.effect, &p.facts)
	by := byMode
	if p.facts.Rule == Allow {
		by = byRule
	}
	v, inside = g.Policy.unattended(v, &p.effect, &p.facts, by)
	if v != Ask {
		return v, why, inside
	}
	allowed, known := g.Grants.lookup(&p.scope)
	switch {
	case !known, allowed && p.effect.Action == ActionShare:
		return Ask, "", false
	case !allowed:
		return Deny, fmt.Sprintf("rejected by the user (always, for %s)", p.scope.Name), false
	default:
		v, inside = g.Policy.unattended(Allow, &p.effect, &p.facts, byAnswer)
		return v, "", inside
	}
}

// Once reports whether an answer to a question about an effect is for this once: a command that must run inside the boundary asks each
// time on a machine without one, and so does what sends the conversation to others.
func (p *Policy) Once(e *Effect) bool {
	v, _ := p.unattended(Allow, e, new(Facts), byAnswer)
	return v != Allow || e.Action == ActionShare
}

// Answered reports whether an effect that the user has just allowed is to happen inside the boundary; always says that the answer
// is remembered.
func (q *Inquiry) Answered(always bool) (inside bool) {
	p := q.gate.Policy
	if len(q.parts) == 0 {
		return false
	}
	e := &q.parts[0].effect
	if !always && p.Boundary.Use != boundary.Require {
		return e.Where == Inside
	}
	_, inside = p.unattended(Allow, e, new(Facts), byAnswer)
	return inside
}
