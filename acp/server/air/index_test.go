package air

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// A watch reports each change once, ends ten minutes after the client has read the list, and begins again with the next one.
func TestWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running atomic.Int32
		var sum atomic.Value
		var failing atomic.Bool
		sum.Store("1")
		var changed []string
		w := &Watches{
			Start: func(fn func(context.Context)) bool {
				running.Add(1)
				go func() {
					fn(ctx)
					running.Add(-1)
				}()
				return true
			},
			Read: func(_ context.Context, l *List) (string, error) {
				if failing.Load() {
					return "", errors.New("no")
				}
				return l.Cwd + sum.Load().(string), nil
			},
			Changed: func(_ context.Context, cwd string) { changed = append(changed, cwd) },
		}
		w.Add(&List{}, "all directories")
		if running.Load() != 0 {
			t.Error("a list of all directories is watched")
		}
		w.Add(&List{Cwd: "/a"}, "/a1")
		w.Add(&List{Cwd: "/b"}, "/b0")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !slices.Equal(changed, []string{"/b"}) || running.Load() != 1 {
			t.Errorf("%d running: %v", running.Load(), changed)
		}
		failing.Store(true)
		sum.Store("2")
		time.Sleep(10 * time.Second)
		failing.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !slices.Equal(changed, []string{"/b", "/a", "/b"}) {
			t.Errorf("after an error: %v", changed)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if running.Load() != 0 {
			t.Error("it watches for ever")
		}
		w.Add(&List{Cwd: "/a"}, "/a2")
		for i := range 100 {
			w.Add(&List{Cwd: fmt.Sprint("/", i)}, "")
		}
		if len(w.lists) != maxWatches || running.Load() != 1 {
			t.Errorf("%d lists, %d running", len(w.lists), running.Load())
		}
		cancel()
		synctest.Wait()
		if running.Load() != 0 {
			t.Error("it does not end with its context")
		}
	})
}

// Whatever the options and the cursor are, a list has a page of a possible size, and a cursor of its own list comes back as it was.
func FuzzParseList(f *testing.F) {
	f.Add(`{"limit":3,"archived":"all","includeWorktrees":true}`, "abc", "/a")
	f.Add(`{"limit":1e400}`, ".", "")
	f.Fuzz(func(t *testing.T, options, cursor, cwd string) {
		raw := jsonx.Raw(`{"air":{"list":` + options + `}}`)
		if !jsonx.Valid(raw) {
			return
		}
		l, err := ParseList(cwd, sessions.ArchivedExclude, acp.Meta{"jetbrains": raw})
		if err != nil {
			return
		}
		if l.Limit < 1 || l.Limit > mostRows {
			t.Errorf("limit %d", l.Limit)
		}
		if after, err := l.After(cursor); err == nil && cursor != "" && l.Cursor(after) != cursor {
			t.Errorf("%q means %q", cursor, after)
		}
		if after, err := l.After(l.Cursor(cursor)); err != nil || after != cursor {
			t.Errorf("%q: %q, %v", cursor, after, err)
		}
		other := *l
		other.Worktrees = !l.Worktrees
		if _, err := other.After(l.Cursor("x")); !errors.Is(err, sessions.ErrBadCursor) {
			t.Errorf("the cursor of another list: %v", err)
		}
	})
}
