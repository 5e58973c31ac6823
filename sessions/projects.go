package sessions

import (
	"context"
	"path/filepath"
	"strings"
	"time"
)

// Project is a working directory that has sessions.
type Project struct {
	Cwd string
	// Sessions is how many it has.
	Sessions     int
	LastActivity time.Time
	// LastTitle is the title of the session that was written last.
	LastTitle string
}

// ListAll returns the sessions of all directories that hold a message and are not archived, the one that was written
// last first, at most limit of them; all if limit is zero. total is how many there are.
func (s *Store) ListAll(ctx context.Context, limit int) (list []Info, total int, err error) {
	list, err = s.heads(ctx)
	if err != nil {
		return nil, 0, err
	}
	total = len(list)
	if limit > 0 && limit < total {
		list = list[:limit]
	}
	return list, total, nil
}

// Projects returns the working directories of the sessions that [Store.ListAll] returns, the one with the latest
// activity first.
func (s *Store) Projects(ctx context.Context) ([]Project, error) {
	list, err := s.heads(ctx)
	if err != nil {
		return nil, err
	}
	projects := []Project{}
	at := make(map[string]int)
	for i := range list {
		info := &list[i]
		cwd := filepath.Clean(info.Cwd)
		key := cwd
		if filepath.Separator == '\\' {
			key = strings.ToLower(cwd) // as in samePath
		}
		place, ok := at[key]
		if !ok {
			place = len(projects)
			at[key] = place
			projects = append(projects, Project{Cwd: cwd, LastActivity: info.UpdatedAt, LastTitle: info.Title})
		}
		projects[place].Sessions++
	}
	return projects, nil
}

// heads reads the heads of all sessions that the list shows.
func (s *Store) heads(ctx context.Context) ([]Info, error) {
	candidates, err := s.candidates(ctx, "")
	if err != nil {
		return nil, err
	}
	var list []Info
	for len(candidates) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		const batch = 1000 // between two looks at ctx
		n := min(len(candidates), batch)
		for _, info := range readHeads(candidates[:n], ArchivedExclude) {
			if info != nil {
				list = append(list, *info)
			}
		}
		candidates = candidates[n:]
	}
	return list, nil
}
