package typo_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/typo"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"gopls", "gopls", 0}, {"gopl", "gopls", 1}, {"fileTyps", "fileTypes", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := typo.Distance(tt.a, tt.b); got != tt.want || typo.Distance(tt.b, tt.a) != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
