package air

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// watchPeriod is the time between two looks at the lists that a client has read.
	watchPeriod = 2 * time.Second
	// watchFor is the time for which a list is looked at after the client has read it.
	watchFor = 10 * time.Minute
	// maxWatches bounds the lists of one client. The oldest gives way.
	maxWatches = 32
)

// Watches looks for changes of the lists that a client has read. Only lists of one directory are watched. It is safe for concurrent use.
// A watch is only a help: the client also lists again from time to time.
type Watches struct {
	// Start runs a function in a goroutine, or reports false if the server ends. The function returns when its context ends.
	Start func(fn func(context.Context)) bool
	// Read returns a checksum of the first page of a list.
	Read func(ctx context.Context, l *List) (string, error)
	// Changed notifies the client of a change in the list of a directory.
	Changed func(ctx context.Context, cwd string)

	mu      sync.Mutex // guards the fields below
	lists   map[watchKey]*watch
	running bool
}

type watchKey struct {
	cwd       string
	worktrees bool
}

type watch struct {
	list List
	sum  string
	till time.Time
}

// Add begins to watch a list whose first page has a checksum, or continues.
func (w *Watches) Add(l *List, sum string) {
	if l.Cwd == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lists == nil {
		w.lists = make(map[watchKey]*watch)
	}
	w.lists[watchKey{l.Cwd, l.Worktrees}] = &watch{*l, sum, time.Now().Add(watchFor)}
	if len(w.lists) > maxWatches {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(w.lists)), func(a, b watchKey) int { return w.lists[a].till.Compare(w.lists[b].till) })
		delete(w.lists, oldest)
	}
	if !w.running {
		w.running = w.Start(w.run)
	}
}

// run looks at the lists until there is none.
func (w *Watches) run(ctx context.Context) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		lists := w.current()
		if lists == nil {
			return
		}
		for _, l := range lists {
			w.look(ctx, &l)
		}
	}
}

// current returns the lists to look at, and forgets the others. It returns nil, and the goroutine must end, if there is none.
func (w *Watches) current() []List {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(w.lists, func(_ watchKey, one *watch) bool { return now.After(one.till) })
	if len(w.lists) == 0 {
		w.running = false
		return nil
	}
	all := make([]List, 0, len(w.lists))
	for _, one := range w.lists {
		all = append(all, one.list)
	}
	slices.SortFunc(all, func(a, b List) int { return cmp.Compare(a.Cwd, b.Cwd) })
	return all
}

// look reports a list if its first page differs from the one that the client knows.
func (w *Watches) look(ctx context.Context, l *List) {
	sum, err := w.Read(ctx, l)
	if err != nil {
		return // the client's next list has the error
	}
	w.mu.Lock()
	one := w.lists[watchKey{l.Cwd, l.Worktrees}]
	changed := one != nil && one.list == *l && one.sum != sum
	if changed {
		one.sum = sum
	}
	w.mu.Unlock()
	if changed {
		w.Changed(ctx, l.Cwd)
	}
}
