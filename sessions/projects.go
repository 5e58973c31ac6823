package sessions

import (
	"context"
	"path/filepath"
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
	list, err = s.all(ctx)
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
	list, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	projects := []Project{}
	at := make(map[string]int)
	for i := range list {
		info := &list[i]
		cwd := filepath.Clean(info.Cwd)
		key := cwdKey(cwd)
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

// all returns all sessions that the list shows.
func (s *Store) all(ctx context.Context) ([]Info, error) {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.refreshLocked(ctx, s); err != nil {
		return nil, err
	}
	list := make([]Info, 0, len(x.rows))
	for _, f := range x.rows {
		if ArchivedExclude.takes(f.archived) {
			list = append(list, f.info())
		}
	}
	return list, nil
}
