package commands

import (
	"context"
	"os"
	"time"
)

// stamp is what a file or a directory looked like from outside. The zero time stands for one that is not there.
type stamp struct {
	path    string
	changed time.Time
	size    int64
	mode    os.FileMode
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{path: path}
	}
	return stamp{path: path, changed: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// Stale reports whether [Load] would find something else by now. It reads no file: it looks at the times and sizes of
// those that were read and of the directories that they stand in. When ctx ends it reports false.
func (s *Set) Stale(ctx context.Context) bool {
	for _, old := range s.stamps {
		if ctx.Err() != nil {
			return false
		}
		now := stampOf(old.path)
		if !now.changed.Equal(old.changed) || now.size != old.size || now.mode != old.mode {
			return true
		}
	}
	return false
}
