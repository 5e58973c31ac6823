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

// If several calls close a session, the shortest deadline decides: the end of the server does not wait for a session/close with a
// later one.
func TestSession_CloseHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewStore(t.TempDir(), nil)
		log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession("s", "/w", newOutlet(nil, "s", features{}), nil)
		o := &opened{tools: new(toolbox), Session: agent.New(agent.Options{
			ID:           "s",
			Conversation: agent.Conversation{Log: log},
			ModelOptions: agent.ModelOptions{Model: providers.ModelInfo{Provider: "p", ID: "m"}},
			Mode:         approval.ModeDefault,
			Emit:         func(agent.Event) {},
			NewID:        func() string { return "id" },
			CancelGrace:  time.Hour,
		})}
		s.finish(o, nil)
		deaf := make(chan struct{})
		o.Prompt(agent.Prompt{Answer: func(context.Context, *agent.RunningTurn) error {
			<-deaf
			return nil
		}})
		begin := time.Now()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_ = s.close(ctx) // the test only requires that it returns
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 800*time.Millisecond, errors.New("hurry"))
		defer cancel()
		_ = s.close(ctx)
		if took := time.Since(begin); took != 800*time.Millisecond {
			t.Errorf("the close took %v", took)
		}
		<-closed
		close(deaf)
	})
}
