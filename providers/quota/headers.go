package quota

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

const (
	// maxWindows bounds the windows of one response, and of one account.
	maxWindows = 16
	// maxName bounds the name of a window, in bytes.
	maxName = 40
	// mostAmount bounds limits: more is not a number of tokens or requests.
	mostAmount = 1e15
	// furthest is the latest time at which a window can reset.
	furthest = 366 * 24 * time.Hour
	week     = 7 * 24 * time.Hour
)

// FromHeader returns the windows that the header of a response describes, in the order of their names. It knows the headers of Anthropic,
// of OpenAI and servers that imitate it, and of Codex. It ignores a window whose numbers make no sense.
func FromHeader(status int, h http.Header, now time.Time) []providers.Quota {
	var all []providers.Quota
	add := func(q providers.Quota, ok bool) {
		if ok && q.Name != "" && len(all) < maxWindows {
			all = append(all, q)
		}
	}
	for _, name := range slices.Sorted(keys(h)) {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "anthropic-ratelimit-unified-"):
			if what, ok := strings.CutSuffix(lower[len("anthropic-ratelimit-unified-"):], "-utilization"); ok {
				add(unified(h, what, now))
			}
		case strings.HasPrefix(lower, "anthropic-ratelimit-"):
			if what, ok := strings.CutSuffix(lower[len("anthropic-ratelimit-"):], "-limit"); ok {
				prefix := "anthropic-ratelimit-" + what
				add(counted(what, h.Get(name), h.Get(prefix+"-remaining"), h.Get(prefix+"-reset"), now))
			}
		case lower == "x-ratelimit-limit":
			add(counted("requests", h.Get(name), h.Get("x-ratelimit-remaining"), h.Get("x-ratelimit-reset"), now))
		case strings.HasPrefix(lower, "x-ratelimit-limit-"):
			what := lower[len("x-ratelimit-limit-"):]
			add(counted(what, h.Get(name), h.Get("x-ratelimit-remaining-"+what), h.Get("x-ratelimit-reset-"+what), now))
		case strings.HasPrefix(lower, "x-codex-"):
			if what, ok := strings.CutSuffix(lower[len("x-codex-"):], "-used-percent"); ok {
				add(codex(h, what, now))
			}
		}
	}
	if wait := resetAt(h.Get("Retry-After"), now); status == http.StatusTooManyRequests && len(all) == 0 && !wait.IsZero() {
		add(providers.Quota{Name: "requests", Used: 1, ResetAt: wait}, true)
	}
	return all
}

func keys(h http.Header) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// unified returns a window of an Anthropic subscription, such as "5h" or "7d_opus".
func unified(h http.Header, what string, now time.Time) (providers.Quota, bool) {
	prefix := "anthropic-ratelimit-unified-" + what
	used, ok := amount(h.Get(prefix + "-utilization"))
	q := providers.Quota{Name: windowName(what), Used: min(used, 1), ResetAt: resetAt(h.Get(prefix+"-reset"), now)}
	switch length, _, _ := strings.Cut(what, "_"); length {
	case "5h":
		q.Window = 5 * time.Hour
	case "7d":
		q.Window = week
	}
	return q, ok
}

// codex returns a window of Codex: "primary" or "secondary".
func codex(h http.Header, what string, now time.Time) (providers.Quota, bool) {
	prefix := "x-codex-" + what
	percent, ok := amount(h.Get(prefix + "-used-percent"))
	q := providers.Quota{Name: windowName(what), Used: min(percent/100, 1), ResetAt: resetAt(h.Get(prefix+"-reset-at"), now)}
	if q.ResetAt.IsZero() {
		q.ResetAt = resetAt(h.Get(prefix+"-reset-after-seconds"), now)
	}
	if minutes, ok := amount(h.Get(prefix + "-window-minutes")); ok && minutes > 0 && minutes <= furthest.Minutes() {
		q.Window = time.Duration(minutes * float64(time.Minute))
	}
	return q, ok
}

// counted returns a window with a limit. Without a time of its reset it counts as one of a minute, as most are.
func counted(what, limit, remaining, reset string, now time.Time) (providers.Quota, bool) {
	most, ok := amount(limit)
	left, ok2 := amount(remaining)
	if !ok || !ok2 || most <= 0 {
		return providers.Quota{}, false
	}
	left = min(left, most)
	q := providers.Quota{Name: windowName(what), Used: 1 - left/most, Limit: most, Remaining: left, ResetAt: resetAt(reset, now)}
	_, unit, _ := cutLast(what)
	switch unit {
	case "minute":
		q.Window = time.Minute
	case "hour":
		q.Window = time.Hour
	case "day":
		q.Window = 24 * time.Hour
	default:
		if q.ResetAt.IsZero() {
			q.Window = time.Minute
		}
	}
	return q, true
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// amount parses a number that is not negative.
func amount(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil && f >= 0 && f <= mostAmount && !math.IsNaN(f)
}

// resetAt parses the time of a reset: a date, a duration such as 6m0s, seconds from now, or seconds or milliseconds since 1970. It
// returns the zero time for anything else, and for a time that is far away.
func resetAt(s string, now time.Time) (at time.Time) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxName {
		return at
	}
	const epoch, epochMillis = 1e9, 1e12
	if f, ok := amount(s); ok {
		switch {
		case f >= epochMillis:
			at = time.UnixMilli(int64(f))
		case f >= epoch:
			at = time.Unix(int64(f), 0)
		case f <= furthest.Seconds():
			at = now.Add(time.Duration(f * float64(time.Second)))
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 && d <= furthest {
		at = now.Add(d)
	} else if date, err := time.Parse(time.RFC3339, s); err == nil {
		at = date
	} else if date, err := http.ParseTime(s); err == nil {
		at = date
	}
	if at.After(now.Add(furthest)) || at.Before(now.Add(-furthest)) {
		return time.Time{}
	}
	return at
}

// windowName returns the name of a window for people. Headers come from servers, so it keeps only letters, digits and spaces.
func windowName(what string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c == '-', c == '_':
			return ' '
		}
		return -1
	}, strings.ToLower(what))
	return strings.TrimSpace(name[:min(len(name), maxName)])
}
