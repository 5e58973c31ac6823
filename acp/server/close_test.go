package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Of several who wait for a session's end, the one with the least time decides: an editor that goes away does not wait
// for a close that has more.
func TestEntry_CloseHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewStore(t.TempDir(), nil)
		log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		e := newEntry("s", newOutlet(nil, "s", features{}))
		e.box = &toolbox{}
		session := agent.New(agent.Options{
			ID: "s", Log: log, Model: providers.ModelInfo{Provider: "p", ID: "m"}, Mode: approval.ModeDefault,
			Emit: func(agent.Event) {}, NewID: func() string { return "id" }, CancelGrace: time.Hour,
		})
		e.settle(session, nil)
		deaf := make(chan struct{})
		session.Answer(func(context.Context, *agent.Turn) error {
			<-deaf
			return nil
		})
		begin := time.Now()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_ = e.close(ctx) // that it ends is what counts
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 800*time.Millisecond, errors.New("hurry"))
		defer cancel()
		_ = e.close(ctx)
		if took := time.Since(begin); took != 800*time.Millisecond {
			t.Errorf("the close took %v", took)
		}
		<-closed
		close(deaf)
	})
}
