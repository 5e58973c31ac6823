package search

import (
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/gitignore"
)

// collect walks the directories below root concurrently and returns the values that visit selects, in the order of a walk. visit is
// called, concurrently, for each entry that a walk visits: take selects value, and enter enters a directory. The goroutines end
// before collect returns. It skips directories that cannot be read, except root.
func collect[T any](ctx context.Context, w *walk.Walker, root string, visit func(path string, d fs.DirEntry) (value T, take, enter bool)) ([]T, error) {
	c := &collector[T]{walker: w, visit: visit}
	c.idle.L = &c.mu
	top := &collected[T]{dir: root, rules: w.RulesAt(root)}
	if err := c.list(ctx, top); err != nil {
		return nil, err
	}
	if len(c.waiting) > 0 {
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for d := c.take(ctx); d != nil; d = c.take(ctx) {
					_ = c.list(ctx, d) // an unreadable directory does not stop the walk
					c.finish()
				}
			})
		}
		workers.Wait()
	}
	if ctx.Err() != nil {
		return top.append(nil), context.Cause(ctx)
	}
	return top.append(nil), nil
}

// collected holds the results of one directory.
type collected[T any] struct {
	dir   string
	rules *gitignore.Rules
	parts []collectedPart[T]
}

// collectedPart is one entry: a selected value, the content of a directory, or both.
type collectedPart[T any] struct {
	value T
	taken bool
	below *collected[T]
}

func (d *collected[T]) append(all []T) []T {
	for i := range d.parts {
		p := &d.parts[i]
		if p.taken {
			all = append(all, p.value)
		}
		if p.below != nil {
			all = p.below.append(all)
		}
	}
	return all
}

// collector is the state that the workers share.
type collector[T any] struct {
	walker *walk.Walker
	visit  func(path string, d fs.DirEntry) (value T, take, enter bool)

	mu   sync.Mutex // guards the fields below
	idle sync.Cond
	// waiting lists the directories to list. busy counts those being listed, which may add more.
	waiting []*collected[T]
	busy    int
}

// take returns a directory to list, or nil if there are no more.
func (c *collector[T]) take(ctx context.Context) *collected[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) == 0 && c.busy > 0 {
		c.idle.Wait()
	}
	if len(c.waiting) == 0 || ctx.Err() != nil {
		return nil
	}
	last := len(c.waiting) - 1
	d := c.waiting[last]
	c.waiting = c.waiting[:last]
	c.busy++
	return d
}

func (c *collector[T]) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy == 0 {
		c.idle.Broadcast()
	}
}

// list lists one directory and adds its subdirectories to waiting.
func (c *collector[T]) list(ctx context.Context, d *collected[T]) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, err := c.walker.FS.ReadDir(ctx, d.dir)
	if err != nil {
		return err
	}
	rules := d.rules
	if c.walker.Ignore {
		rules = c.walker.DirRules(d.dir, entries, rules)
	}
	prefix, below := gitignore.SlashPrefix(d.dir), strings.TrimSuffix(d.dir, string(filepath.Separator))+string(filepath.Separator)
	var more []*collected[T]
	for _, e := range entries {
		name := e.Name()
		if c.walker.LeavesOut(rules, prefix, name, e.IsDir()) {
			continue
		}
		path := below + name
		value, take, enter := c.visit(path, e)
		part := collectedPart[T]{value: value, taken: take}
		if enter && e.IsDir() {
			part.below = &collected[T]{dir: path, rules: rules}
			more = append(more, part.below)
		}
		if part.taken || part.below != nil {
			d.parts = append(d.parts, part)
		}
	}
	if len(more) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = append(c.waiting, more...)
		c.idle.Broadcast()
	}
	return nil
}
