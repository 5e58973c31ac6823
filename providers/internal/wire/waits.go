package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// longestWait bounds the wait that a server requests, in nanoseconds: more would overflow a time.Duration.
const longestWait = float64(365 * 24 * time.Hour)

// retryAfter returns how long to wait, and the time at which a limit resets.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, resets time.Time) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		wait = time.Duration(min(ms*float64(time.Millisecond), longestWait))
	} else if s := h.Get("Retry-After"); s != "" {
		if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds > 0 {
			wait = time.Duration(min(seconds*float64(time.Second), longestWait))
		} else if at, err := http.ParseTime(s); err == nil && at.After(now) {
			wait = at.Sub(now)
		}
	}
	for _, limit := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if h.Get("Anthropic-Ratelimit-"+limit+"-Remaining") != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+limit+"-Reset")); err == nil && at.After(resets) {
			resets = at
		}
	}
	return wait, resets
}

// limitEnds returns, from Anthropic's headers, the time at which the exceeded limit resets: the limit that is used up, else that of
// the account's plan, else the first one to reset; zero if there is none.
func limitEnds(h http.Header, now time.Time) (ends time.Time) {
	first := func(at time.Time) {
		if at.After(now) && at.Sub(now) < time.Duration(longestWait) && (ends.IsZero() || at.Before(ends)) {
			ends = at
		}
	}
	if seconds, err := strconv.ParseInt(h.Get("Anthropic-Ratelimit-Unified-Reset"), 10, 64); err == nil {
		first(time.Unix(seconds, 0))
	}
	if !ends.IsZero() {
		return ends
	}
	for name := range h {
		limit, ok := strings.CutPrefix(name, "Anthropic-Ratelimit-")
		if _, is := strings.CutSuffix(limit, "-Reset"); !ok || !is {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get(name)); err == nil {
			first(at)
		}
	}
	return ends
}

var waitWords = lazyregexp.New(`(?i)\b(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|s|m|h)){1,4})(?:[^0-9a-z]|$)|` +
	`\b(?:try again|retry) (?:in|after) (\d{1,9}(?:\.\d{1,9})?) (milliseconds?|seconds?|minutes?|hours?)\b`)

// saidWait returns the wait that an error text mentions, such as "try again in 1.2s"; zero if there is none.
func saidWait(message string) time.Duration {
	found := waitWords().FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	words := strings.ToLower(found[1])
	if words == "" {
		unit := map[byte]string{'s': "s", 'h': "h", 'm': "m"}[found[3][0]|0x20]
		if strings.HasPrefix(strings.ToLower(found[3]), "milli") {
			unit = "ms"
		}
		words = found[2] + unit
	}
	wait, err := time.ParseDuration(words)
	if err != nil || wait < 0 || wait > time.Duration(longestWait) {
		return 0
	}
	return wait
}
