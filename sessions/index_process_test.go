package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

const (
	creators        = 8
	createdSessions = 25
)

// creator creates sessions and prints each one once its messages are written. It keeps every fifth session open. It also lists, so
// that several processes write the index concurrently.
func creator(dir, id string) {
	s := sessions.NewStore(dir, &sessions.StoreOptions{Sync: sessions.SyncNever})
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	for i := range createdSessions {
		l, err := s.Create(ctx, sessions.Header{Cwd: "/w/shared", ID: fmt.Sprintf("%s-%d", id, i)})
		fail(err)
		for _, m := range []string{"prompt", "again"} {
			m := user(m)
			_, err = l.AppendMessage(&m)
			fail(err)
		}
		if i%5 != 0 {
			fail(l.Close())
		}
		fmt.Println(l.ID())
		page, err := s.List(ctx, sessions.ListOptions{Limit: 1000})
		fail(err)
		if !slices.ContainsFunc(page.Sessions, func(i sessions.Info) bool { return i.ID == l.ID() }) {
			fail(fmt.Errorf("%s is not in the list", l.ID()))
		}
	}
	fmt.Println("done")
}

// Eight processes create sessions in one directory while another one lists. Every acknowledged session is in every
// list, once and with all its messages.
func TestIndex_BetweenProcesses(t *testing.T) {
	s := sessions.NewStore(filepath.Join(t.TempDir(), "sessions"), nil)
	var mu sync.Mutex // guards created
	created := make(map[string]bool)
	var wg sync.WaitGroup
	for p := range creators {
		_, out := fake(t, "creator", s.Dir(), fmt.Sprint("p", p))
		wg.Go(func() {
			for {
				line, err := out.ReadString('\n')
				line = strings.TrimSpace(line)
				switch {
				case err != nil || strings.HasPrefix(line, "error:"):
					t.Errorf("process %d: %q, %v", p, line, err)
					return
				case line == "done":
					return
				}
				mu.Lock()
				created[line] = true
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		mu.Lock()
		want := make([]string, 0, len(created))
		for id := range created {
			want = append(want, id)
		}
		mu.Unlock()
		for _, s := range []*sessions.Store{s, sessions.NewStore(s.Dir(), nil)} {
			at := make(map[string]int)
			for _, id := range pages(t, s, sessions.ListOptions{Limit: 40}) {
				at[id]++
			}
			for _, id := range want {
				if at[id] != 1 {
					t.Fatalf("%s is %d times in the list", id, at[id])
				}
			}
		}
	}
	if t.Failed() {
		return
	}
	for _, s := range []*sessions.Store{s, sessions.NewStore(s.Dir(), nil)} {
		all := list(t, s, sessions.ListOptions{Limit: 1000}).Sessions
		if len(all) != creators*createdSessions {
			t.Errorf("%d sessions", len(all))
		}
		for _, info := range all {
			if info.Messages != 2 || info.Title != "prompt" {
				t.Errorf("%+v", info)
			}
		}
	}
}

// A store is used from many goroutines.
func TestIndex_Concurrent(t *testing.T) {
	s := sessions.NewStore(filepath.Join(t.TempDir(), "sessions"), &sessions.StoreOptions{Sync: sessions.SyncNever})
	ctx := t.Context()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				l, err := s.Create(ctx, sessions.Header{Cwd: fmt.Sprint("/w/", g%3), ID: fmt.Sprintf("g%d-%d", g, i)})
				if err != nil {
					t.Error(err)
					return
				}
				m := user("x")
				if _, err := l.AppendMessage(&m); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if _, err := s.Info(ctx, l.ID()); err != nil {
					t.Error(err)
				}
				page, err := s.List(ctx, sessions.ListOptions{Limit: 5})
				if err != nil {
					t.Error(err)
				}
				if page.Next != "" {
					if _, err := s.List(ctx, sessions.ListOptions{Limit: 5, Cursor: page.Next}); err != nil {
						t.Error(err)
					}
				}
				if _, err := s.Projects(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, total, err := s.ListAll(ctx, 1); err != nil || total != 160 {
		t.Errorf("%d sessions, %v", total, err)
	}
	canceled, cancel := context.WithCancelCause(ctx)
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := s.List(canceled, sessions.ListOptions{}); !errors.Is(err, stopped) {
		t.Errorf("err = %v", err)
	}
	if _, total, err := s.ListAll(ctx, 0); err != nil || total != 160 {
		t.Errorf("after a list that was stopped: %d sessions, %v", total, err)
	}
}
