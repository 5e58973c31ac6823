package providers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
)

func TestRetryPolicy_Waits(t *testing.T) {
	server := &providers.Error{Kind: providers.KindServer}
	for _, test := range []struct {
		jitter float64
		want   []time.Duration
	}{
		{0, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{0.999999, []time.Duration{2500 * time.Millisecond, 5 * time.Second, 10 * time.Second}},
	} {
		p := providers.RetryPolicy{Jitter: func() float64 { return test.jitter }}
		var got []time.Duration
		for n := 1; ; n++ {
			wait, again := p.Next(n, fmt.Errorf("turn: %w", server))
			if !again {
				break
			}
			got = append(got, wait.Round(time.Millisecond))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("jitter %v (-want +got):\n%s", test.jitter, diff)
		}
	}
	p := providers.RetryPolicy{Attempts: 100, Max: 3 * time.Second, Jitter: func() float64 { return 0 }}
	if wait, again := p.Next(70, server); !again || wait != 3*time.Second {
		t.Errorf("wait = %v, want the maximum", wait)
	}
}

func TestRetryPolicy_HonoursTheProvider(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := providers.RetryPolicy{Now: func() time.Time { return now }}
	for _, test := range []struct {
		err   error
		wait  time.Duration
		again bool
	}{
		{&providers.Error{Kind: providers.KindRateLimit, RetryAfter: 90 * time.Second}, 90 * time.Second, true},
		{&providers.Error{Kind: providers.KindRateLimit, ResetsAt: now.Add(time.Minute)}, time.Minute, true},
		{&providers.Error{Kind: providers.KindRateLimit, RetryAfter: time.Hour}, time.Hour, false},
		{&providers.Error{Kind: providers.KindRateLimit, ResetsAt: now.Add(time.Hour)}, time.Hour, false},
		{&providers.Error{Kind: providers.KindAuth, RetryAfter: time.Second}, 0, false},
		{&providers.Error{Kind: providers.KindContextOverflow}, 0, false},
		{context.Canceled, 0, false},
		{errors.New("a bug"), 0, false},
		{nil, 0, false},
	} {
		if wait, again := p.Next(1, test.err); wait != test.wait || again != test.again {
			t.Errorf("%v: %v, %v; want %v, %v", test.err, wait, again, test.wait, test.again)
		}
	}
}

func TestRetryPolicy_WaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := (providers.RetryPolicy{}).Wait(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
		cause := errors.New("cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if err := (providers.RetryPolicy{}).Wait(ctx, time.Minute); !errors.Is(err, cause) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestModelInfo_ClampThinking(t *testing.T) {
	for _, test := range []struct {
		levels    []providers.ThinkingLevel
		want, ask providers.ThinkingLevel
	}{
		{nil, "off", "high"},
		{[]providers.ThinkingLevel{"low", "high"}, "off", ""},
		{[]providers.ThinkingLevel{"low", "high"}, "off", "off"},
		{[]providers.ThinkingLevel{"low", "high"}, "low", "minimal"},
		{[]providers.ThinkingLevel{"low", "high"}, "low", "medium"},
		{[]providers.ThinkingLevel{"low", "high"}, "high", "max"},
		{[]providers.ThinkingLevel{"high", "low"}, "high", "xhigh"},
		{[]providers.ThinkingLevel{"high"}, "high", "low"},
	} {
		if got := (providers.ModelInfo{Thinking: test.levels}).ClampThinking(test.ask); got != test.want {
			t.Errorf("%v asked for %q: %q, want %q", test.levels, test.ask, got, test.want)
		}
	}
}

func TestBuilder(t *testing.T) {
	var b providers.Builder
	for _, ev := range []providers.Event{
		providers.ThinkingDelta{Text: "a"},
		providers.ThinkingDelta{Text: "b"},
		providers.TextDelta{Text: "c"},
		providers.ToolCallStart{ID: "1", Name: "x"},
		providers.ToolCallStart{ID: "2", Name: "y"},
		providers.ToolCallDelta{ID: "1", Input: `{"a"`},
		providers.ToolCallDelta{ID: "2", Input: `{}`},
		providers.ToolCallDelta{ID: "1", Input: `:1}`},
		providers.ToolCallDelta{ID: "9", Input: "lost"},
		providers.TextDelta{Text: "d"},
	} {
		b.Add(ev)
	}
	want := []providers.Part{
		providers.Thinking{Text: "ab"},
		providers.Text{Text: "c"},
		providers.ToolCall{ID: "1", Name: "x", Input: []byte(`{"a":1}`)},
		providers.ToolCall{ID: "2", Name: "y", Input: []byte(`{}`)},
		providers.Text{Text: "d"},
	}
	if diff := cmp.Diff(want, b.Message().Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if b.Calls() != 2 || b.Input("1") != `{"a":1}` {
		t.Errorf("calls = %d, input = %s", b.Calls(), b.Input("1"))
	}
}
