package text_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/text"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"gopls", "gopls", 0}, {"gopl", "gopls", 1}, {"fileTyps", "fileTypes", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := text.Distance(tt.a, tt.b); got != tt.want || text.Distance(tt.b, tt.a) != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNear(t *testing.T) {
	for s, want := range map[string]string{"comand": "command", "Settings": "settings", "rootMarker": "rootMarkers", "zzz": "", "arg": "args", "initializationOptions": ""} {
		if got := text.Near(s, []string{"args", "command", "initOptions", "rootMarkers", "settings"}); got != want {
			t.Errorf("%s: %q", s, got)
		}
	}
}
