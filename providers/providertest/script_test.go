package providertest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

func play(ctx context.Context, m providers.Model) (last providers.Event, n int, err error) {
	for ev, e := range m.Stream(ctx, &providers.Request{Messages: []providers.Message{providertest.User("hi")}}) {
		last, err = ev, e
		n++
	}
	return last, n, err
}

func TestScript_PlaysSteps(t *testing.T) {
	boom := errors.New("boom")
	s := providertest.NewScript(providers.ModelInfo{},
		providertest.Step{providertest.SignedThink("t", "s"), providertest.Text("a"), providertest.Call("1", "x", `{`, `}`), providertest.Use(providers.Usage{Input: 7})},
		providertest.Step{providertest.ReportUsage(providers.Usage{Input: 7}), providertest.Text("a"), providertest.Fail(boom)})
	last, n, err := play(t.Context(), s)
	want := providers.Done{Message: providers.Message{
		Role: providers.RoleAssistant, API: "test", Provider: "test", Model: "scripted", StopReason: providers.StopTools,
		Usage: providers.Usage{Input: 7},
		Parts: []providers.Part{
			providers.Thinking{Text: "t", Signature: "s"}, providers.Text{Text: "a"}, providers.ToolCall{ID: "1", Name: "x", Input: []byte("{}")},
		},
	}}
	if diff := cmp.Diff(want, last); diff != "" || n != 6 || err != nil {
		t.Errorf("%d events, err %v (-want +got):\n%s", n, err, diff)
	}
	if _, n, err := play(t.Context(), s); !errors.Is(err, boom) || n != 3 {
		t.Errorf("%d events, err %v", n, err)
	}
	_, _, err = play(t.Context(), s)
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Retryable() {
		t.Errorf("without a step: %v", err)
	}
	s.Else(func(*providers.Request) providertest.Step {
		return providertest.Step{providertest.Stop(providers.StopRefusal)}
	})
	last, _, _ = play(t.Context(), s)
	if last.(providers.Done).Message.StopReason != providers.StopRefusal || len(s.Requests()) != 4 || s.Left() != 0 {
		t.Errorf("last = %+v", last)
	}
}

func TestScript_HoldsAtAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := providertest.NewGate()
		step := providertest.Step{providertest.Text("a"), gate.Hold(), providertest.Text("b")}
		s := providertest.NewScript(providers.ModelInfo{}, step, step)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("cancelled")
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, ctx := range []context.Context{t.Context(), ctx} {
			wg.Go(func() { _, _, errs[i] = play(ctx, s) })
		}
		<-gate.Reached()
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		gate.Open()
		wg.Wait()
		if errs[0] != nil || !errors.Is(errs[1], cause) {
			t.Errorf("errs = %v", errs)
		}
	})
}
