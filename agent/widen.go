package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
)

// enclose makes the call's commands run inside the boundary, with what earlier answers have added for the command of e.
func (r *toolRun) enclose(ctx context.Context, e *approval.Effect) {
	s := r.turn.session
	access := s.opts.Policy.Boundary.Access(ctx, s.paths())
	r.permit.Enclose(s.grants.Wider(access, e.Command, cmp.Or(e.Dir, s.opts.Workspace.Cwd)))
}

// widen implements [Call.Widen].
func (r *toolRun) widen(ctx context.Context, refused []approval.Refusal) (bool, error) {
	s, access := r.turn.session, r.permit.Inside()
	i := slices.IndexFunc(r.plan.Effects, func(e approval.Effect) bool { return e.Action == approval.ActionCommand })
	if access == nil || i < 0 || len(refused) == 0 || s.opts.Approver == nil {
		return false, nil
	}
	e := &r.plan.Effects[i]
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
			s.grants.Widen(e.Command, cmp.Or(e.Dir, s.opts.Workspace.Cwd), refused)
		}
	case AllowOnce:
	default:
		return false, nil
	}
	r.permit.Enclose(access.Extend(refused))
	return true, nil
}
