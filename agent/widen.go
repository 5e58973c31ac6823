package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
)

// enclose makes the call's commands run inside the boundary, with what earlier answers have added.
func (r *toolRun) enclose(ctx context.Context) {
	s := r.turn.session
	access := s.opts.Policy.Boundary.Access(ctx, s.paths())
	r.permit.Enclose(s.grants.Wider(access, r.commandKey()))
}

// commandKey identifies the call's command in the user's answers: its line, and the directory that it runs in.
func (r *toolRun) commandKey() approval.CommandKey {
	for _, e := range r.plan.Effects {
		if e.Action == approval.ActionCommand {
			return approval.CommandKey{Line: e.Command, Dir: cmp.Or(e.Dir, r.turn.session.opts.Workspace.Cwd)}
		}
	}
	return approval.CommandKey{}
}

// widen implements [Call.Widen].
func (r *toolRun) widen(ctx context.Context, refused []approval.Refusal) (bool, error) {
	s, access := r.turn.session, r.permit.Inside()
	if access == nil || len(refused) == 0 || s.opts.Approver == nil {
		return false, nil
	}
	var needs []string
	for _, refusal := range refused {
		needs = append(needs, refusal.Describe(s.opts.Workspace.Display))
	}
	always := "this command may " + strings.Join(needs, ", ")
	together := s.opts.Policy.Boundary.Together(refused, s.paths())
	if len(together) > 0 {
		always = "commands in this workspace may reach " + strings.Join(together, ", ")
	}
	decision, err := r.consent(ctx, Consent{
		Title: r.plan.Title, Text: "The sandbox refused it. It needs to " + strings.Join(needs, ", and to ") + ". Run it again with that?", Always: always,
	})
	if errors.Is(err, ErrCancelled) || err != nil {
		return false, err
	}
	switch decision {
	case AllowAlways:
		if len(together) > 0 {
			s.grants.Open(together)
			for _, host := range together {
				refused = append(refused, approval.Refusal{Host: host})
			}
		} else {
			s.grants.Widen(r.commandKey(), refused)
		}
	case AllowOnce:
	default:
		return false, nil
	}
	r.permit.Enclose(access.Extend(refused))
	return true, nil
}
