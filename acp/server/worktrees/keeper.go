package worktrees

import (
	"context"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/places"
)

// keeper has the answers for the user's directories, for a session that works in copies of them. New ones are kept for the user's
// directories: the next session, in another worktree or in none, has them too.
type keeper struct {
	of      approval.Keeper
	session *Session
}

// Keeper returns the answers for the user's directories as answers for those in the worktree.
func (s *Session) Keeper(of approval.Keeper) approval.Keeper { return keeper{of, s} }

// Grants implements [approval.Keeper].
func (k keeper) Grants() []approval.Grant {
	kept := k.of.Grants()
	all := append(kept[:0:0], kept...)
	for i := range all {
		all[i].Dir = moved(all[i].Dir, k.session.Source(), k.session.Top())
	}
	return all
}

// Keep implements [approval.Keeper].
func (k keeper) Keep(ctx context.Context, g approval.Grant) error {
	g.Dir = moved(g.Dir, k.session.Top(), k.session.Source())
	return k.of.Keep(ctx, g)
}

// Revoke implements [approval.Keeper].
func (k keeper) Revoke(ctx context.Context, drop func(*approval.Grant) bool) error {
	return k.of.Revoke(ctx, func(g *approval.Grant) bool {
		here := *g
		here.Dir = moved(g.Dir, k.session.Source(), k.session.Top())
		return drop(&here)
	})
}

// moved translates the directory of an answer; one outside of the worktree, and its repository, stays.
func moved(dir, from, to string) string {
	if dir == "" {
		return dir
	}
	dir, _ = places.Moved(dir, from, to)
	return dir
}
