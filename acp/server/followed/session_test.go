package followed_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/sessions"
)

// A client that waits while the session is opened here finds that it is not followed any more. If it were shown what follows, it would see what
// this process writes twice.
func TestSession_ShowWhileOpened(t *testing.T) {
	dir := t.TempDir()
	store := sessions.NewStore(dir, nil)
	log, err := store.Create(t.Context(), sessions.Header{ID: "one", Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
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
		shown, ok, err := s.Show(t.Context(), true)
		if err != nil || !ok {
			t.Fatalf("%t, %v", ok, err)
		}
		shown()
		s.Run()
		if err := <-ended; err != nil {
			t.Errorf("it has ended with %v", err)
		}
		if <-late {
			t.Error("a session that is open here is still followed")
		}
	})
}
