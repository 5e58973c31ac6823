package gjc

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/prose"
)

// stumbles are wordings that hinder a reader, with their replacements. They are the rules of docs/contributing.md that a program
// can check.
var stumbles = []struct {
	re      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being) told\b|\btells?\b`), "report, notify, return or receive, with its object"},
	{regexp.MustCompile(`(?i)\btakes? note\b`), "record"},
	{regexp.MustCompile(`(?i)\bbeside\b`), "next to, with"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\bcan not\b`), "cannot"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "the actor's name"},
	{regexp.MustCompile(`(?i)\bof ours\b`), "gjc's own"},
	{regexp.MustCompile(`(?i)\b(as a rule|for want of|all the same|in vain|by now)\b`), "nothing, or usually, without, anyway, without success, already"},
	{regexp.MustCompile(`^[A-Za-z.]+ (is|are) (what|who|whether|all|how [^lofm])\b`), "a verb: returns, reports, holds"},
}

// TestEnglish reports the wordings in [stumbles] that occur in comments, including those of tests, in error texts and in documents.
// ./cmd/sample selects texts for a reader who judges the rest.
func TestEnglish(t *testing.T) {
	texts, err := prose.Read(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range [][]prose.Text{texts.Comments, texts.Errors, texts.Paragraphs} {
		for _, text := range kind {
			dir := path.Dir(text.File)
			for _, s := range stumbles {
				word := s.re.FindString(strings.ReplaceAll(text.Text, "tell the user", "")) // an instruction to models
				if word == "" || dir == "." && path.Ext(text.File) == ".go" {
					continue
				}
				t.Errorf("%s:%d: %q: write %s", text.File, text.Line, word, s.instead)
			}
		}
	}
}
