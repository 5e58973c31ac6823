package demo

import (
	"strings"
	"testing"
)

// The first line is printed before the workspace is made, which takes a while: here git is missing.
func TestRun_FirstLine(t *testing.T) {
	t.Setenv("PATH", "")
	var out strings.Builder
	err := Run(t.Context(), Options{Env: []string{"PATH="}, Out: &out, Version: "0"})
	if err == nil || !strings.HasPrefix(out.String(), `gjc demo: an editor and "gjc acp"`) {
		t.Errorf("%v: %q", err, out.String())
	}
}
