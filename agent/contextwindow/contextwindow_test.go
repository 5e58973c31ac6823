package contextwindow_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/contextwindow"
)

func TestCompactionSettings_Threshold(t *testing.T) {
	for _, tt := range []struct {
		percent        float64
		tokens, window int
		want           int
	}{
		{-1, -1, 200_000, 170_000},      // 15% is more than the reserve
		{-1, -1, 100_000, 83_616},       // the reserve is more
		{-1, -1, 20_000, 10_000},        // at least half
		{-1, -1, 0, 0},                  // an unknown window
		{50, -1, 200_000, 100_000},      // a percentage
		{50, 7000, 200_000, 7000},       // tokens take precedence
		{0, 0, 200_000, 170_000},        // zero is the default
		{-1, 500_000, 200_000, 200_000}, // at most the window
		{-1, 500_000, 0, 500_000},
	} {
		c := contextwindow.DefaultCompaction()
		c.ThresholdPercent, c.ThresholdTokens = tt.percent, tt.tokens
		if got := c.Threshold(tt.window); got != tt.want {
			t.Errorf("%v %%, %d tokens of %d: %d, want %d", tt.percent, tt.tokens, tt.window, got, tt.want)
		}
	}
}

func TestShortSummary(t *testing.T) {
	for _, tt := range []struct{ summary, want string }{
		{"## Goal\n\n- Fix   the **bug**\n", "Fix the **bug**"},
		{"---\n<read-files>\na\n", "a"},
		{"", ""},
		{strings.Repeat("é", 200), strings.Repeat("é", 119) + "…"},
	} {
		if got := contextwindow.ShortSummary(tt.summary); got != tt.want {
			t.Errorf("%q: %q", tt.summary, got)
		}
	}
}
