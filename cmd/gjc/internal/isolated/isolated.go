// Package isolated lets "gjc run" work in a worktree of its own, and stores the changes in a branch.
package isolated

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/worktree"
)

// Options describe the worktree of a run.
type Options struct {
	Maker *worktree.Maker
	// Branch is the name of the branch, after "gjc/"; empty for one that nothing else has.
	Branch string
	// Apply merges the changes into the working tree. The branch is made only if that fails for a file.
	Apply bool
	// Notice receives a text for the user.
	Notice func(text string)
}

// Run is the worktree of a run.
type Run struct {
	tree   *worktree.Worktree
	branch string
	apply  bool
}

// Begin makes a worktree of the session's directory and moves the session there. It first removes what killed runs have left without
// changes. The caller must call Finish.
func Begin(ctx context.Context, o *Options, session *headless.Session) (*Run, error) {
	left, err := o.Maker.Sweep(ctx)
	if err != nil {
		return nil, err
	}
	for i := range left {
		o.Notice(isolation.Leftover(&left[i]))
	}
	tree, err := o.Maker.New(ctx, session.Cwd)
	if err != nil {
		return nil, err
	}
	r := &Run{tree: tree, apply: o.Apply}
	if r.branch, err = tree.BranchName(ctx, cmp.Or(o.Branch, tree.ID())); err == nil {
		err = r.enter(session)
	}
	if err != nil {
		_ = tree.Remove() // the first error is what the user needs
		return nil, err
	}
	return r, nil
}

// enter moves a session's directories into the worktree.
func (r *Run) enter(session *headless.Session) (err error) {
	if session.Cwd, err = r.tree.Dir(session.Cwd); err != nil {
		return err
	}
	for i, dir := range session.Additional {
		if session.Additional[i], err = r.tree.Dir(dir); err != nil {
			return fmt.Errorf("--add-dir: %w; a worktree has the files of one repository", err)
		}
	}
	return nil
}

// finishTime bounds the time for the branch after a run, which also an interrupted run has.
const finishTime = 5 * time.Minute

// Finish stores the changes of the run in a branch and removes the worktree. If that fails, the worktree stays, and the result names it.
func (r *Run) Finish(ctx context.Context, prompt []acp.ContentBlock, result *headless.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	about := &headless.Worktree{Branches: []headless.Branch{}}
	result.Worktree = about
	changes, err := r.tree.Changes(ctx)
	all := err != nil || !r.apply
	if !all {
		all, err = r.merge(ctx, about, changes)
	}
	var branches []worktree.Branch
	if err == nil && all && len(changes) > 0 {
		branches, err = r.tree.Commit(ctx, r.branch, message(prompt), changes)
	}
	for i := range branches {
		about.Branches = append(about.Branches, describe(&branches[i]))
	}
	if err == nil {
		err = r.tree.Remove()
	}
	if err != nil {
		r.tree.Keep()
		about.Path = r.tree.Top()
		result.Errors = append(result.Errors, fmt.Sprintf("the worktree %s stays: %v", about.Path, err))
		result.Status = cmp.Or(result.Status, headless.Failed)
	}
}

// merge merges the changes into the working tree, and reports whether some of them are not there now.
func (r *Run) merge(ctx context.Context, about *headless.Worktree, changes []worktree.Change) (missing bool, err error) {
	merged, err := r.tree.Apply(ctx, r.branch, changes)
	about.Applied = []headless.AppliedFile{}
	for _, one := range merged {
		about.Applied = append(about.Applied, headless.AppliedFile{Path: one.Path, Kind: string(one.Kind), Outcome: string(one.Outcome), Reason: one.Reason})
		missing = missing || one.Outcome != worktree.Applied
	}
	return missing, err
}

// describe returns the description of a branch.
func describe(b *worktree.Branch) headless.Branch {
	to := headless.Branch{Name: b.Name, Repository: b.Repository, Commit: b.Commit, Before: b.Before, Uncommitted: b.Uncommitted, Command: b.Command()}
	for _, f := range b.Files {
		to.Files = append(to.Files, headless.BranchFile{Path: f.Path, Kind: string(f.Kind), Added: f.Added, Removed: f.Removed, Binary: f.Binary})
	}
	return to
}

// maxSubject bounds the first line of a commit's message.
const maxSubject = 72

// message returns the message of the commit: the first line of the prompt.
func message(prompt []acp.ContentBlock) string {
	for _, block := range prompt {
		if t, ok := block.(*acp.TextContent); ok {
			line, _, _ := strings.Cut(strings.TrimSpace(t.Text), "\n")
			if line != "" {
				return text.Truncate(text.VisibleLine(line), maxSubject) + "\n"
			}
		}
	}
	return "Changes of gjc run\n"
}

// Dir returns the directory of all worktrees, given a home directory and the environment.
func Dir(home string, getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "gjc", "worktrees")
}
