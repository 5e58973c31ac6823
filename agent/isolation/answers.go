package isolation

import (
	"context"

	"github.com/gajae-code/gjc/agent/approval"
)

// answers has the remembered answers of a session for a worktree, in which the directories are translated. New ones are kept for the
// session's own directories, so that none is kept for a worktree.
type answers struct {
	of   *approval.Grants
	tree *Tree
}

// Answers returns the remembered answers of a session for the worktree.
func (t *Tree) Answers(of *approval.Grants) *approval.Grants {
	return &approval.Grants{Keeper: answers{of, t}}
}

// Grants implements [approval.Keeper].
func (a answers) Grants() []approval.Grant {
	kept, own := a.of.List()
	all := append(kept[:len(kept):len(kept)], own...)
	for i := range all {
		if all[i].Dir != "" {
			all[i].Dir = a.tree.here(all[i].Dir)
		}
	}
	return all
}

// Keep implements [approval.Keeper].
func (a answers) Keep(ctx context.Context, g approval.Grant) error { return a.Add(ctx, g, true) }

// Add keeps an answer for the session, or for its workspace.
func (a answers) Add(ctx context.Context, g approval.Grant, workspace bool) error {
	if g.Dir != "" {
		g.Dir = a.tree.there(g.Dir)
	}
	return a.of.Add(ctx, g, workspace)
}

// Revoke implements [approval.Keeper].
func (a answers) Revoke(ctx context.Context, drop func(*approval.Grant) bool) error {
	_, err := a.of.Revoke(ctx, drop)
	return err
}
