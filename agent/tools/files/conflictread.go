package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/text"
)

// shownConflict is a call of read for the address of conflicts.
type shownConflict struct {
	address string
	picked  []knownConflict
	// side is ours, base or theirs; empty for all.
	side string
}

// findShown returns the conflicts that an address names: "conflict://1", "conflict://*", or one side of them, "conflict://1/ours".
func findShown(call *agent.Call, address string) (*shownConflict, error) {
	which, side, one := strings.Cut(strings.TrimPrefix(address, conflictScheme), "/")
	if one && side != "ours" && side != "base" && side != "theirs" {
		return nil, fmt.Errorf("%w for read: %s; the sides of a conflict are ours, base and theirs", agent.ErrBadInput, toolkit.CutLine(address, 60))
	}
	picked, err := conflictsOf(call).pick(conflictScheme + which)
	return &shownConflict{conflictScheme + which, picked, side}, err
}

// planShown plans the reading of the files that have the conflicts.
func planShown(call *agent.Call, address string) (*agent.CallPlan, error) {
	s, err := findShown(call, address)
	if err != nil {
		return nil, err
	}
	plan := &agent.CallPlan{Title: "Read " + address}
	for i := range s.picked {
		path := s.picked[i].path
		if slices.ContainsFunc(plan.Effects, func(e approval.Effect) bool { return e.Path == path }) {
			continue
		}
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionRead, Path: path})
		if len(plan.Locations) < edits.MaxFollowed {
			plan.Locations = append(plan.Locations, agent.Location{Path: path})
		}
	}
	return plan, nil
}

// readShown shows the conflicts that an address names, as their files have them.
func readShown(ctx context.Context, call *agent.Call, address string) (*agent.Result, error) {
	s, err := findShown(call, address)
	if err != nil {
		return nil, err
	}
	w := toolkit.Window{Name: address}
	files := make(map[string][]string)
	left := 0
	var more []string
	for i := range s.picked {
		k := &s.picked[i]
		lines, known := files[k.path]
		if !known {
			file, err := edits.OpenText(ctx, call, k.path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err == nil {
				_, lines = bareLines(file.Text)
			}
			files[k.path] = lines
		}
		found, _ := findConflicts(lines)
		nth := repeated(lines, found)
		at := 0
		for at < len(found) && !k.is(lines, found, nth, at) {
			at++
		}
		if at == len(found) {
			continue // it is resolved
		}
		number := s.address
		if strings.HasSuffix(number, "*") {
			number = conflictScheme + strconv.Itoa(i+1)
		}
		if left++; w.Out.Len() >= toolkit.MaxText || w.Shown >= toolkit.MaxLines {
			more = append(more, number)
			continue
		}
		if err := s.write(&w, number, toolkit.Display(&call.Workspace, k.path), &found[at], lines); err != nil {
			return nil, err
		}
	}
	switch {
	case left == 0 && strings.HasSuffix(s.address, "*"):
		return &agent.Result{Text: "No conflict is left of those that were shown."}, nil
	case left == 0:
		return nil, changedConflict(s.address, toolkit.Display(&call.Workspace, s.picked[0].path))
	case len(more) > 0:
		w.Notes = append(w.Notes, fmt.Sprintf("%s not shown; the first is %s", text.Count(len(more), "conflict"), more[0]))
	}
	return &agent.Result{Text: toolkit.JoinNotes(strings.TrimPrefix(w.Out.String(), "\n"), w.Notes)}, nil
}

// write shows one conflict.
func (s *shownConflict) write(w *toolkit.Window, address, name string, c *conflict, lines []string) error {
	fmt.Fprintf(&w.Out, "\n%s in %s, lines %d-%d\n", address, name, c.first, c.last)
	for _, side := range []struct {
		name string
		conflictSide
	}{{"ours", c.ours}, {"base", c.base}, {"theirs", c.theirs}} {
		if s.side != "" && s.side != side.name {
			continue
		}
		if s.side != "" && side.marker == 0 {
			return fmt.Errorf("%s in %s does not show its %s", address, name, side.name)
		}
		writeSide(w, side.name, side.conflictSide, lines)
	}
	return nil
}
