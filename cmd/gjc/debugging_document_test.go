package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// hunt is the bug hunt of docs/debugging.md: the model's calls, in order.
var hunt = []string{
	`set_breakpoint file=main.go line=19 condition=i==1`,
	`launch program=.`,
	`evaluate expression=list[i].balance`,
	`step_over`,
	`run_to file=main.go line=21`,
	`inspect depth=2`,
	`terminate`,
}

// TestDebuggingDocument compares the transcript in docs/debugging.md with a real one. -update rewrites it.
func TestDebuggingDocument(t *testing.T) {
	t.Parallel()
	a := goAdapter()
	h := a.start(t)
	var b strings.Builder
	for _, do := range hunt {
		call := h.prompt(h.id, "!debug "+do).only(t)
		text := call.Text
		if _, result, ok := strings.Cut(text, "Session: debug-1\nAdapter"); ok { // after the question to the user
			text = "Session: debug-1\nAdapter" + result
		}
		b.WriteString("> debug " + do + "\n" + strings.TrimSpace(strings.ReplaceAll(text, h.work, "~/bank")) + "\n\n")
	}
	h.stop()
	got := "```text\n" + strings.TrimSpace(b.String()) + "\n```\n"
	path := filepath.Join(testenv.ModuleRoot(t), "docs", "debugging.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(data), "```text\n")
	shown, after, ok2 := strings.Cut(rest, "```\n")
	if !ok1 || !ok2 {
		t.Fatal("docs/debugging.md has no transcript")
	}
	if testenv.Update() {
		if err := os.WriteFile(path, []byte(before+got+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(steady("```text\n"+shown+"```\n"), "\n"), strings.Split(steady(got), "\n")); diff != "" {
		t.Errorf("the transcript of docs/debugging.md (-document +hunt), run with -update:\n%s", diff)
	}
}
