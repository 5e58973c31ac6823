package quota_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/quota"
)

func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestFromHeader(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for _, test := range []struct {
		name   string
		status int
		header http.Header
		want   []providers.Quota
	}{
		{"nothing", 200, header("Content-Type", "text/event-stream"), nil},
		{
			"an Anthropic key", 200, header(
				"anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "40", "anthropic-ratelimit-requests-reset", "2026-11-26T12:00:12Z",
				"anthropic-ratelimit-input-tokens-limit", "1000", "anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "2026-11-26T12:01:00Z",
				"anthropic-ratelimit-output-tokens-limit", "1000", "anthropic-ratelimit-output-tokens-remaining", "2000",
			), []providers.Quota{
				{Name: "input tokens", Used: 1, Limit: 1000, ResetAt: now.Add(time.Minute)},
				{Name: "output tokens", Used: 0, Limit: 1000, Remaining: 1000, Window: time.Minute},
				{Name: "requests", Used: 0.2, Limit: 50, Remaining: 40, ResetAt: now.Add(12 * time.Second)},
			},
		},
		{
			"an Anthropic subscription", 200, header(
				"anthropic-ratelimit-unified-5h-utilization", "0.42", "anthropic-ratelimit-unified-5h-reset", in(time.Hour), "anthropic-ratelimit-unified-5h-status", "allowed",
				"anthropic-ratelimit-unified-7d-utilization", "1.02", "anthropic-ratelimit-unified-7d-reset", in(50*time.Hour),
				"anthropic-ratelimit-unified-7d_opus-utilization", "0.1", "anthropic-ratelimit-unified-reset", in(time.Hour), "anthropic-ratelimit-unified-status", "allowed",
			), []providers.Quota{
				{Name: "5h", Used: 0.42, ResetAt: now.Add(time.Hour), Window: 5 * time.Hour},
				{Name: "7d", Used: 1, ResetAt: now.Add(50 * time.Hour), Window: 7 * 24 * time.Hour},
				{Name: "7d opus", Used: 0.1, Window: 7 * 24 * time.Hour},
			},
		},
		{
			"OpenAI", 200, header(
				"x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "20ms",
				"x-ratelimit-limit-tokens", "150000", "x-ratelimit-remaining-tokens", "75000", "x-ratelimit-reset-tokens", "6m0s",
			), []providers.Quota{
				{Name: "requests", Used: 1 - 59./60, Limit: 60, Remaining: 59, ResetAt: now.Add(20 * time.Millisecond)},
				{Name: "tokens", Used: 0.5, Limit: 150000, Remaining: 75000, ResetAt: now.Add(6 * time.Minute)},
			},
		},
		{
			"servers that imitate OpenAI", 200, header(
				"x-ratelimit-limit", "20", "x-ratelimit-remaining", "5", "x-ratelimit-reset", strconv.FormatInt(now.Add(time.Hour).UnixMilli(), 10),
				"x-ratelimit-limit-tokens-day", "100", "x-ratelimit-remaining-tokens-day", "1", "x-ratelimit-reset-tokens-day", "3600.5",
				"x-ratelimit-limit-req-minute", "6", "x-ratelimit-remaining-req-minute", "3",
			), []providers.Quota{
				{Name: "requests", Used: 0.75, Limit: 20, Remaining: 5, ResetAt: now.Add(time.Hour)},
				{Name: "req minute", Used: 0.5, Limit: 6, Remaining: 3, Window: time.Minute},
				{Name: "tokens day", Used: 0.99, Limit: 100, Remaining: 1, ResetAt: now.Add(3600*time.Second + 500*time.Millisecond), Window: 24 * time.Hour},
			},
		},
		{
			"Codex", 200, header(
				"x-codex-primary-used-percent", "42.5", "x-codex-primary-window-minutes", "300", "x-codex-primary-reset-at", in(time.Hour),
				"x-codex-secondary-used-percent", "130", "x-codex-secondary-window-minutes", "10080", "x-codex-secondary-reset-after-seconds", "60",
			), []providers.Quota{
				{Name: "primary", Used: 0.425, ResetAt: now.Add(time.Hour), Window: 5 * time.Hour},
				{Name: "secondary", Used: 1, ResetAt: now.Add(time.Minute), Window: 7 * 24 * time.Hour},
			},
		},
		{"only a wait", 429, header("Retry-After", "120"), []providers.Quota{{Name: "requests", Used: 1, ResetAt: now.Add(2 * time.Minute)}}},
		{"a wait that is no limit", 503, header("Retry-After", "120"), nil},
		{
			"nonsense", 429, header(
				"x-ratelimit-limit-nan", "NaN", "x-ratelimit-remaining-nan", "1",
				"x-ratelimit-limit-inf", "Inf", "x-ratelimit-remaining-inf", "1",
				"x-ratelimit-limit-negative", "-5", "x-ratelimit-remaining-negative", "1",
				"x-ratelimit-limit-zero", "0", "x-ratelimit-remaining-zero", "0",
				"x-ratelimit-limit-huge", "1e300", "x-ratelimit-remaining-huge", "1",
				"x-ratelimit-limit-words", "many", "x-ratelimit-remaining-words", "1",
				"x-ratelimit-limit-alone", "5",
				"x-ratelimit-limit-less", "5", "x-ratelimit-remaining-less", "-1",
				"anthropic-ratelimit-unified-5h-utilization", "-0.1", "x-codex-primary-used-percent", "NaN", "Retry-After", strings.Repeat("9", 400),
			), nil,
		},
		{
			"an odd reset", 200, header(
				"x-ratelimit-limit-a", "10", "x-ratelimit-remaining-a", "5", "x-ratelimit-reset-a", "-1h",
				"x-ratelimit-limit-b", "10", "x-ratelimit-remaining-b", "5", "x-ratelimit-reset-b", "99999999h",
				"x-ratelimit-limit-c", "10", "x-ratelimit-remaining-c", "5", "x-ratelimit-reset-c", "9e14",
				"x-ratelimit-limit-d", "10", "x-ratelimit-remaining-d", "5", "x-ratelimit-reset-d", "tomorrow",
			), []providers.Quota{
				{Name: "a", Used: 0.5, Limit: 10, Remaining: 5, Window: time.Minute},
				{Name: "b", Used: 0.5, Limit: 10, Remaining: 5, Window: time.Minute},
				{Name: "c", Used: 0.5, Limit: 10, Remaining: 5, Window: time.Minute},
				{Name: "d", Used: 0.5, Limit: 10, Remaining: 5, Window: time.Minute},
			},
		},
	} {
		if diff := cmp.Diff(test.want, quota.FromHeader(test.status, test.header, now), cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	many := make(http.Header)
	for i := range 1000 {
		many.Set(fmt.Sprintf("x-ratelimit-limit-w%d", i), "10")
		many.Set(fmt.Sprintf("x-ratelimit-remaining-w%d", i), "5")
	}
	if n := len(quota.FromHeader(200, many, now)); n != 16 {
		t.Errorf("%d of 1000 windows", n)
	}
}

func FuzzFromHeader(f *testing.F) {
	for _, name := range []string{"x-ratelimit-limit-tokens", "anthropic-ratelimit-unified-5h-utilization", "x-codex-primary-used-percent", "retry-after"} {
		for _, value := range []string{"1", "NaN", "-1", "1e308", "6m0s", "\xff"} {
			f.Add(name, value, value, value)
		}
	}
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, name, value, remaining, reset string) {
		h := header(name, value)
		for _, other := range []string{
			strings.Replace(name, "-limit", "-remaining", 1), strings.Replace(name, "-utilization", "-remaining", 1),
		} {
			if other != name {
				h.Set(other, remaining)
			}
		}
		for _, from := range []string{"-limit", "-utilization", "-used-percent"} {
			if other := strings.Replace(name, from, "-reset", 1); other != name {
				h.Set(other, reset)
			}
		}
		for _, q := range quota.FromHeader(429, h, now) {
			if q.Name == "" || len(q.Name) > 40 || strings.ContainsAny(q.Name, "|\n`<") {
				t.Errorf("name %q", q.Name)
			}
			if !(q.Used >= 0 && q.Used <= 1) || math.IsNaN(q.Limit+q.Remaining) || q.Remaining > q.Limit && q.Limit > 0 || q.Window < 0 {
				t.Errorf("%+v", q)
			}
			if !q.ResetAt.IsZero() && (q.ResetAt.After(now.AddDate(2, 0, 0)) || q.ResetAt.Before(now.AddDate(-2, 0, 0))) {
				t.Errorf("resets at %s", q.ResetAt)
			}
		}
	})
}

// names returns the names of windows with the percentage used.
func names(quotas []providers.Quota) string {
	var all []string
	for _, q := range quotas {
		all = append(all, fmt.Sprintf("%s %.0f", q.Name, 100*q.Used))
	}
	return strings.Join(all, ", ")
}

// A warning comes once for each level of a window, and again in the next window. Short windows cause none.
func TestBook_Warnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := quota.New(nil)
		reset := time.Now().Add(5 * time.Hour)
		see := func(want string, quotas ...providers.Quota) {
			t.Helper()
			b.Put("p", "a", quotas)
			if got := names(b.Warnings("p")); got != want {
				t.Errorf("after %s: %q, want %q", names(quotas), got, want)
			}
			if got := names(b.Warnings("p")); got != "" {
				t.Errorf("after %s a second time: %q", names(quotas), got)
			}
		}
		five := func(used float64) providers.Quota {
			return providers.Quota{Name: "5h", Used: used, ResetAt: reset, Window: 5 * time.Hour}
		}
		see("", five(0.79))
		see("5h 80", five(0.8))
		see("", five(0.94))
		see("", five(0.5)) // another request of the same window is late
		see("", five(0.94))
		see("5h 95", five(0.95))
		see("", five(1))
		see("", providers.Quota{Name: "tokens", Used: 1, Limit: 1, ResetAt: time.Now().Add(time.Minute)}, providers.Quota{Name: "per minute", Used: 1, Limit: 1, Window: time.Minute})
		time.Sleep(5 * time.Hour)
		if got := names(b.Quotas("p")); got != "" {
			t.Errorf("after the reset the windows are %q", got)
		}
		reset = reset.Add(5 * time.Hour)
		see("5h 99", five(0.99)) // one warning, not two
		time.Sleep(4*time.Hour + 55*time.Minute)
		see("", five(1)) // the window is still that of five hours
		day := func(used float64, left time.Duration) providers.Quota {
			return providers.Quota{Name: "requests", Used: used, Limit: 10, Remaining: 10 * (1 - used), ResetAt: time.Now().Add(left)}
		}
		see("requests 90", day(0.9, time.Hour)) // of unknown length, with a reset that is far away
		credits := func(used float64) providers.Quota {
			return providers.Quota{Name: "credits", Used: used, Limit: 10, Remaining: 10 * (1 - used)}
		}
		see("credits 85", credits(0.85))
		see("", credits(0.75))
		see("", credits(0.85))
		see("", credits(0.2)) // the user has paid
		see("credits 85", credits(0.85))
	})
}

func TestBook_Accounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := quota.New(nil)
		if got := b.Quotas("p"); len(got) != 0 {
			t.Errorf("an empty book has %+v", got)
		}
		one := func(name string, used float64) []providers.Quota {
			return []providers.Quota{{Name: name, Used: used, ResetAt: time.Now().Add(time.Hour)}}
		}
		b.Put("p", quota.Account("key1"), one("a", 0.9))
		b.Put("p", quota.Account("key2"), one("b", 0.1))
		b.Put("q", quota.Account("key1"), one("c", 0.1))
		if got := names(b.Quotas("p")); got != "b 10" {
			t.Errorf("the account used last has %q", got)
		}
		if got := names(b.Warnings("p")); got != "" {
			t.Errorf("a warning about another account: %q", got)
		}
		b.Observe("p", quota.Account("key1"), 200, nil) // a response without limits
		if got := names(b.Quotas("p")); got != "a 90" {
			t.Errorf("the first account has %q", got)
		}
		b.Put("p", quota.Account("key1"), []providers.Quota{{Name: "minute", Window: time.Minute}, {Name: "7d", Window: 7 * 24 * time.Hour}, {Name: "5h", Window: 5 * time.Hour}})
		if got := names(b.Quotas("p")); got != "a 90, 5h 0, 7d 0, minute 0" {
			t.Errorf("the order is %q", got)
		}
		time.Sleep(11 * time.Minute)
		if got := names(b.Quotas("p")); got != "a 90, 5h 0, 7d 0" {
			t.Errorf("after some minutes there are %q", got)
		}
		for i := range 1000 {
			b.Put("p", quota.Account(strconv.Itoa(i)), one("x", 0.1))
			b.Put("p", "same", one(strconv.Itoa(i), 0.1))
		}
		if n := len(b.Quotas("p")); n != 16 {
			t.Errorf("%d windows", n)
		}
		if quota.Account("key1") == quota.Account("key2") || strings.Contains(quota.Account("key1"), "key1") {
			t.Errorf("the account is %q", quota.Account("key1"))
		}
	})
}

func TestOpenRouter(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   []providers.Quota
		fails  string
	}{
		{"a limit", 200, `{"data":{"label":"x","limit":5,"usage":1.5,"limit_remaining":4,"limit_reset":null,"is_free_tier":false}}`, []providers.Quota{{Name: "credits", Used: 0.2, Limit: 5, Remaining: 4}}, ""},
		{"a monthly limit that is exceeded", 200, `{"data":{"limit":5,"limit_remaining":-1,"limit_reset":"monthly"}}`, []providers.Quota{{Name: "credits monthly", Used: 1, Limit: 5}}, ""},
		{"no limit", 200, `{"data":{"limit":null,"limit_remaining":null,"usage":7}}`, nil, ""},
		{"an odd limit", 200, `{"data":{"limit":-1,"limit_remaining":1}}`, nil, ""},
		{"no JSON", 200, `<html>`, nil, "decode the answer of openrouter.ai"},
		{"a number as text", 200, `{"data":{"limit":"5"}}`, nil, "data/limit"},
		{"refused", 401, `{"error":{"message":"No auth"}}`, nil, "HTTP 401"},
		{"elsewhere", 302, ``, nil, "HTTP 302"},
		{"too long", 200, `{"data":{"label":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, "decode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/api/v1/key" || r.Header.Get("Authorization") != "Bearer k" {
					t.Errorf("%s %v", r.URL, r.Header)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer srv.Close()
			got, err := quota.OpenRouter(t.Context(), srv.Client(), srv.URL+"/api/v1", "k")
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) || asked != 1 {
				t.Errorf("%v after %d requests, want %q", err, asked, test.fails)
			}
		})
	}
}
