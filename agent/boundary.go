package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
)

// enclose makes the call's programs run inside the boundary, with what earlier answers have added.
func (r *toolRun) enclose(ctx context.Context) {
	s := r.turn.session
	access := s.opts.Policy.Access(ctx, s.paths())
	r.before, r.lingered = s.standing.baseline(access)
	r.permit.Enclose(s.grants.Wider(access, r.commandKey()))
}

// Access returns what programs that belong to no call, such as language servers, may do inside the boundary.
func (s *Session) Access(ctx context.Context) *boundary.Access {
	return s.grants.Wider(s.opts.Policy.Access(ctx, s.paths()), approval.CommandKey{})
}

// standing holds the state of the roots at the end of the last call inside the boundary, if programs ran on there: they can have made files
// since then, also if they have ended meanwhile.
type standing struct {
	mu   sync.Mutex // guards last
	last *boundary.Access
}

// baseline returns the state in which a call found the roots: now, or, if programs ran on, what it was before they could change it.
func (s *standing) baseline(now *boundary.Access) (before *boundary.Access, lingered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return now, false
	}
	return s.last, true
}

func (s *standing) set(a *boundary.Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = a
}

// commandKey identifies the call's command in the user's answers: its line, and the directory that it runs in; or the debugged program.
func (r *toolRun) commandKey() approval.CommandKey {
	for _, e := range r.plan.Effects {
		if e.Action == approval.ActionCommand {
			return approval.CommandKey{Line: e.Command, Dir: cmp.Or(e.Dir, r.turn.session.opts.Workspace.Cwd)}
		}
		if e.Action == approval.ActionDebug && e.Subject != "" {
			return approval.CommandKey{Line: e.Subject, Dir: r.turn.session.opts.Workspace.Cwd}
		}
	}
	return approval.CommandKey{}
}

// widen implements [Call.Widen].
func (r *toolRun) widen(ctx context.Context, refused []boundary.Refusal) (bool, error) {
	s, access := r.turn.session, r.permit.Inside()
	if access == nil || len(refused) == 0 || s.opts.Approver == nil {
		return false, nil
	}
	refused = slices.DeleteFunc(slices.Clone(refused), func(r boundary.Refusal) bool { return r.Path != "" && access.Forbids(r.Path) })
	if len(refused) == 0 {
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
		Title: r.plan.Title, Text: "The sandbox refused it. It needs to " + strings.Join(needs, ", and to ") + ". Run it again with that?", Always: always, Workspace: true,
	})
	if errors.Is(err, ErrCancelled) || err != nil {
		return false, err
	}
	switch decision {
	case AllowAlways, AllowWorkspace:
		answer := remembered(decision, s.opts.Clock(), 0)
		if len(together) > 0 {
			if err := s.grants.Open(ctx, together, always, answer); err != nil {
				return false, err
			}
			for _, host := range together {
				refused = append(refused, boundary.Refusal{Host: host})
			}
		} else if err := s.grants.Widen(ctx, r.commandKey(), refused, always, answer); err != nil {
			return false, err
		}
	case AllowOnce:
	default:
		return false, nil
	}
	r.permit.Enclose(access.Extend(refused))
	return true, nil
}

// settle asks about files that the call's command has made inside the boundary and that programs run by themselves or believe. Those
// that exist before a command are kept as they are; a new one cannot be prevented by its name. If the user does not want to keep them,
// they get another name, under which no program looks for them. It returns a note for the model, or "".
func (r *toolRun) settle(ctx context.Context) (note string, err error) {
	s, inside := r.turn.session, r.permit.Inside()
	if inside == nil {
		return "", nil
	}
	look := func() *boundary.Access { return s.opts.Policy.Access(context.WithoutCancel(ctx), s.paths()) } // also after a command that has been stopped
	t, ok := s.opts.Terminal.(EnclosingTerminal)
	lingers := ok && t.Lingers(ctx) // before the look, which sees all that those programs have made that end meanwhile
	now := look()
	if s.standing.set(nil); lingers {
		s.standing.set(now)
	}
	before := r.before.With(inside.Wider)
	made := now.Made(before)
	if len(made) == 0 || s.grants.Keeps(r.commandKey()) {
		return "", nil
	}
	var names []string
	for _, path := range made {
		names = append(names, s.opts.Workspace.Display(path))
	}
	list := strings.Join(names, ", ")
	decision := RejectOnce
	if s.opts.Approver != nil && !slices.ContainsFunc(made, now.Forbids) {
		decision, err = r.consent(ctx, Consent{
			Title: "Keep " + list, Text: r.maker() + " made " + list + ". Programs run or follow what is there by themselves. Keep it?", Always: "what this command makes", Workspace: true,
		})
	}
	switch {
	case decision == AllowAlways || decision == AllowWorkspace:
		return "", s.grants.Keep(ctx, r.commandKey(), remembered(decision, s.opts.Clock(), 0))
	case decision == AllowOnce:
		return "", nil
	case err != nil && !errors.Is(err, ErrCancelled):
		return "", err
	}
	if lingers { // or they make the files again
		if failed := t.EndLingering(context.WithoutCancel(ctx)); failed != nil {
			return "", errors.Join(err, failed)
		}
		now = look()
		made = now.Made(before)
	}
	names, failed := reject(made, now.Moved(before), s.opts.Workspace.Display)
	if lingers {
		s.standing.set(look())
	}
	if failed != nil {
		return fmt.Sprintf("[The command made %s, which the user does not want to keep; it could not be renamed: %v]", list, failed), err
	} else if len(names) > 0 {
		list = strings.Join(names, ", ")
	}
	note = fmt.Sprintf("[The command made files that programs run or follow by themselves. The user did not want to keep them: %s.", list)
	if lingers {
		note += " Programs that commands had left running were ended; jobs and language servers go on."
	}
	return note + "]", err
}

// maker says who may have made a file that is new after a command. If programs ran before it, they and the user had the time since the last
// command, too.
func (r *toolRun) maker() string {
	if r.lingered {
		return "The command, a program in the background, or you"
	}
	return "The command"
}

// reject gives files other names, and puts those back that were elsewhere before. It describes what it has done, with paths as display
// returns them.
func reject(made []string, moved map[string]string, display func(string) string) (done []string, err error) {
	for _, path := range made {
		if moved[path] != "" {
			continue
		}
		aside, err := setAside(path)
		if err != nil {
			return done, err
		}
		done = append(done, display(path)+" is now "+display(aside))
	}
	for _, path := range made {
		was := moved[path]
		if was == "" {
			continue
		}
		if _, err := os.Lstat(was); err == nil {
			if was, err = setAside(path); err != nil {
				return done, err
			}
		} else if err := os.MkdirAll(filepath.Dir(was), 0o755); err != nil {
			return done, err
		} else if err := os.Rename(path, was); err != nil {
			return done, err
		}
		done = append(done, display(path)+" is now "+display(was))
	}
	return done, nil
}

// setAside gives what a command has made a name that no program looks for. It removes nothing: the user may have made it meanwhile.
func setAside(path string) (aside string, err error) {
	for i := 1; ; i++ {
		aside = fmt.Sprintf("%s.rejected-%d", path, i)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(path, aside)
		}
	}
}
