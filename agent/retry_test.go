package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

func busy() *providers.Error {
	return &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
}

func noJitter(o *agent.Options) { o.Retry.Jitter = func() float64 { return 0 } }

// A call is tried four times, with waits of two, four and eight seconds. Each wait is reported, and the error contains the number
// of attempts. Text received before a failure is not in the context of the next attempt.
func TestRetry_GivesUp(t *testing.T) {
	run(t, noJitter, func(w *world) {
		start := time.Now()
		r := w.prompt("go")
		if got := fmt.Sprint(r.Err); got != "test: busy (tried 4 times)" {
			t.Errorf("err %s", got)
		}
		if waited := time.Since(start); waited != 14*time.Second {
			t.Errorf("waited %s", waited)
		}
		want := []string{
			"The model call failed; trying again in 2s (attempt 2 of 4).", "The model call failed; trying again in 4s (attempt 3 of 4).",
			"The model call failed; trying again in 8s (attempt 4 of 4).",
		}
		if d := cmp.Diff(want, notices(w)); d != "" {
			t.Errorf("noticed (-want +got):\n%s", d)
		}
		for _, req := range w.script.Requests() {
			if got := heads(req.Messages); !slices.Equal(got, []string{"go"}) {
				t.Errorf("sent %q", got)
			}
		}
	}, slices.Repeat([]providertest.Step{{providertest.Text("half"), providertest.Fail(busy())}}, 4)...)
}

// The count restarts with each answer.
func TestRetry_CountsFromZeroAgain(t *testing.T) {
	fail := providertest.Step{providertest.Fail(busy())}
	run(t, noJitter, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
	}, fail, fail, fail, providertest.Step{providertest.Call("c", "echo", `{}`)}, fail, fail, fail, providertest.Step{providertest.Text("ok")})
}

func TestRetry_AsTheProviderAsks(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  *providers.Error
		wait time.Duration // before a call is retried; zero for no retry
		says string
	}{
		{"after a while", &providers.Error{Kind: providers.KindRateLimit, Provider: "test", Message: "slow", RetryAfter: 90 * time.Second}, 90 * time.Second, ""},
		{"after hours", &providers.Error{Kind: providers.KindRateLimit, Provider: "test", Message: "slow", RetryAfter: 2 * time.Hour}, 0, "test: slow; it can be tried again at 2000-01-01 02:00 UTC, in 2h0m0s"},
		{"a limit of the plan", &providers.Error{Kind: providers.KindQuota, Provider: "test", Message: "used up", ResetsAt: time.Date(2000, 1, 1, 5, 0, 0, 0, time.UTC)}, 0, "test: used up; it can be tried again at 2000-01-01 05:00 UTC, in 5h0m0s"},
		{"no money", &providers.Error{Kind: providers.KindQuota, Provider: "test", Message: "used up"}, 0, "test: used up"},
		{"refused", &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"}, 0, "test: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) { o.Clock = func() time.Time { return time.Now().UTC() } }, func(w *world) {
				start := time.Now()
				r := w.prompt("go")
				if got := time.Since(start); got != tt.wait {
					t.Errorf("waited %s", got)
				}
				if tt.says == "" && r.Err != nil || tt.says != "" && fmt.Sprint(r.Err) != tt.says {
					t.Errorf("err %v", r.Err)
				}
			}, providertest.Step{providertest.Fail(tt.err)}, providertest.Step{providertest.Text("ok")})
		})
	}
}

// A turn that is cancelled during the wait ends at once.
func TestRetry_Cancelled(t *testing.T) {
	run(t, noJitter, func(w *world) {
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		start := time.Now()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled || r.Err != nil || time.Since(start) > 0 {
			t.Errorf("%+v after %s", r, time.Since(start))
		}
		if n := len(w.script.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	}, providertest.Step{providertest.Fail(busy())})
}

// A conversation that is too long is never retried unchanged.
func TestRetry_NotOfAnOverflow(t *testing.T) {
	run(t, func(o *agent.Options) { noJitter(o); set(o).Compaction.Enabled = false }, func(w *world) {
		r := w.prompt("go")
		if !strings.HasPrefix(fmt.Sprint(r.Err), "test: too long") || len(notices(w)) > 0 {
			t.Errorf("err %v, noticed %q", r.Err, notices(w))
		}
	}, providertest.Step{providertest.Fail(overflow())})
}
