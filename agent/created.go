package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settle asks about files that the call's command has made inside the boundary and that programs run by themselves or believe. Those
// that exist before a command are kept as they are; a new one cannot be prevented by its name. If the user does not want to keep them,
// they are put aside. It returns a note for the model, or "".
func (r *toolRun) settle(ctx context.Context) (note string, err error) {
	s, before := r.turn.session, r.permit.Inside()
	if before == nil {
		return "", nil
	}
	now := s.opts.Policy.Boundary.Access(ctx, s.paths())
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
	if s.opts.Approver != nil {
		decision, err = r.consent(ctx, Consent{
			Title: "Keep " + list, Text: fmt.Sprintf("The command made %s. Programs run or follow what is there by themselves. Keep it?", list), Always: "what this command makes",
		})
	}
	switch {
	case decision == AllowAlways:
		s.grants.Keep(r.commandKey())
		return "", nil
	case decision == AllowOnce:
		return "", nil
	case err != nil && !errors.Is(err, ErrCancelled):
		return "", err
	}
	for _, path := range made {
		if moved := putAside(path); moved != nil {
			return fmt.Sprintf("[The command made %s, which the user does not want to keep; it could not be removed: %v]", list, moved), err
		}
	}
	return fmt.Sprintf("[The command made %s, which programs run or follow by themselves. The user did not want to keep it: it was removed.]", list), err
}

// putAside removes what a command has made: it moves it away first, so that it is gone at once.
func putAside(path string) error {
	aside := filepath.Join(filepath.Dir(path), ".gjc-removed-"+filepath.Base(path))
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}
