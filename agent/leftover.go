package agent

import (
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// RemoveLeftovers removes temporary files of an earlier process that was killed during a call of this loaded session.
// It searches the working directory and the directories in which calls without a result would have written. It returns
// at once; the work ends with the session.
func (s *Session) RemoveLeftovers() {
	fs, ok := s.opts.FS.(LeftoverRemover)
	if !ok {
		return
	}
	dirs := []string{s.opts.Workspace.Cwd}
	dirs = append(dirs, s.opts.Workspace.Additional...)
	for _, c := range callsWithoutResult(s.opts.History) {
		r := &replay{ReplayOptions: ReplayOptions{Tools: s.opts.Tools.Tools(), Workspace: s.opts.Workspace}, ctx: s.ctx}
		var started ToolStarted
		r.describe(&started, c)
		for _, l := range started.Locations {
			dirs = append(dirs, filepath.Dir(l.Path))
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	s.do(func(st *state) error {
		if !st.closing {
			s.background.Go(func() { fs.RemoveLeftovers(s.ctx, dirs) })
		}
		return nil
	})
}

// callsWithoutResult returns the calls of the last answer that have no result.
func callsWithoutResult(history []providers.Message) []providers.ToolCall {
	results := make(map[string]bool)
	for _, m := range slices.Backward(history) {
		switch m.Role {
		case providers.RoleTool:
			results[m.ToolCallID] = true
		case providers.RoleAssistant:
			return slices.DeleteFunc(m.ToolCalls(), func(c providers.ToolCall) bool { return results[c.ID] })
		default:
		}
	}
	return nil
}
