package followed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// storeWithSession returns a store with the session "one", which has prompts without answers.
func storeWithSession(t *testing.T, prompts ...string) *sessions.Store {
	t.Helper()
	dir := t.TempDir()
	store := sessions.NewStore(dir, nil)
	log, err := store.Create(t.Context(), sessions.Header{ID: "one", Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range prompts {
		if _, err := log.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return store
}

// follow shows a session, and what follows until it is not followed any more.
func follow(t *testing.T, s *followed.Session) {
	t.Helper()
	shown, ok, err := s.Show(t.Context(), true)
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	shown()
	s.Run()
}

// A client that waits while the session is opened here finds that it is not followed any more. If it were shown what follows, it would see what
// this process writes twice.
func TestSession_ShowWhileOpened(t *testing.T) {
	store := storeWithSession(t)
	synctest.Test(t, func(t *testing.T) {
		late := make(chan bool, 1)
		ended := make(chan error, 1)
		var s *followed.Session
		s = followed.New(followed.Options{
			Store: store, ID: "one", Missing: func(string) string { return "" },
			Sink:  func() func(agent.Event) { return func(agent.Event) {} },
			About: func(followed.About) {}, Changed: func(followed.State) {},
			Open: func(context.Context, func() error) error {
				go func() {
					shown, ok, err := s.Show(context.Background(), false)
					if err != nil {
						t.Error(err)
					}
					if ok {
						shown()
					}
					late <- ok
				}()
				synctest.Wait() // it waits for its turn
				return nil
			},
			Ended: func(err error) { ended <- err },
		})
		follow(t, s)
		if err := <-ended; err != nil {
			t.Errorf("it has ended with %v", err)
		}
		if <-late {
			t.Error("a session that is open here is still followed")
		}
	})
}

// A session that could not be opened here is tried again, since the reason may have passed. The turn that was cut is shown once.
func TestSession_RefusedForAWhile(t *testing.T) {
	store := storeWithSession(t, "hi")
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var notices, reasons []string
		var tries []time.Duration
		ended := make(chan error, 1)
		s := followed.New(followed.Options{
			Store: store, ID: "one", Missing: func(string) string { return "" },
			Sink: func() func(agent.Event) {
				return func(ev agent.Event) {
					if n, ok := ev.(agent.Noticed); ok {
						notices = append(notices, n.Title)
					}
				}
			},
			About: func(followed.About) {}, Changed: func(state followed.State) { reasons = append(reasons, state.Reason) },
			Open: func(_ context.Context, rest func() error) error {
				if err := rest(); err != nil {
					t.Error(err)
				}
				if tries = append(tries, time.Since(begin)); len(tries) < 3 {
					return errors.New("no space left on device")
				}
				return nil
			},
			Ended: func(err error) { ended <- err },
		})
		follow(t, s)
		if err := <-ended; err != nil {
			t.Errorf("it has ended with %v", err)
		}
		if len(notices) != 1 || !strings.HasPrefix(notices[0], "The turn was interrupted.") {
			t.Errorf("the notices are %q", notices)
		}
		if len(reasons) != 1 || !strings.HasSuffix(reasons[0], "no space left on device") {
			t.Errorf("the client receives the reasons %q", reasons)
		}
		if len(tries) != 3 || tries[1]-tries[0] < 10*time.Second || tries[2] > 25*time.Second {
			t.Errorf("it was tried after %v", tries)
		}
	})
}
