package hashline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// Every input is parsed or rejected. A parsed input finds its lines or reports which anchors are wrong.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"§f\n»BOF\nx", "≔1ab..2cd\n", "§a\n«EOF\n\\§x\n§b\n»1ab|text\ny\n§a\n≔BOF..EOF\nz", "»", "§", "\\", "≔EOF..BOF\n", "»0aa\nx"} {
		f.Add(s, "a\nb\n", "p")
	}
	f.Fuzz(func(t *testing.T, in, text, path string) {
		sections, err := hashline.Parse(in, path)
		if err != nil {
			if !errors.Is(err, hashline.ErrSyntax) {
				t.Error(err)
			}
			return
		}
		parsed := lines.Parse(text)
		for i := range sections {
			for _, old := range []*lines.Text{nil, lines.Parse("x\n" + text)} {
				res, err := hashline.Apply(parsed, old, sections[i].Ops)
				if err != nil {
					if _, ok := errors.AsType[*hashline.MismatchError](err); !ok && !errors.Is(err, lines.ErrOverlap) {
						t.Errorf("%q: %v", in, err)
					}
					continue
				}
				if _, err := parsed.Apply(res.Splices); err != nil {
					t.Errorf("%q in %q: %v", in, text, err)
				}
			}
		}
	})
}

// An escaped line of text survives the round trip.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "§x", `\§x`, `\\»`, `\n`, "12ab|x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\r\n") || hashline.Bare([]string{line})[0] != line {
			return
		}
		sections, err := hashline.Parse("»BOF\n"+hashline.Escape(line)+"\n", "f")
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		empty := lines.Parse("")
		res, err := hashline.Apply(empty, nil, sections[0].Ops)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := empty.Apply(res.Splices); err != nil || got != line+"\n" {
			t.Errorf("%q came back as %q, %v", line, got, err)
		}
	})
}

// Identical lines are not confused when a file has changed.
func TestApply_Moved(t *testing.T) {
	old := "{\na\n}\n{\nb\n}\n"
	at := func(n int) string { return hashline.Anchor(n, strings.Split(old, "\n")[n-1]) }
	for name, tt := range map[string]struct {
		now, in, want string
		bad           bool
	}{
		"lines before":            {"new\n" + old, "≔" + at(5) + "\nB", "new\n{\na\n}\n{\nB\n}\n", false},
		"the line is gone":        {"{\na\n}\n{\n}\n", "≔" + at(5) + "\nB", "", true},
		"a line came in between":  {"{\na\n}\n{\nx\nb\n}\n", "≔" + at(4) + ".." + at(5) + "\nB", "", true},
		"the same bracket at it":  {"{\n}\n{\nb\n}\n", "»" + at(3) + "\nx", "{\n}\nx\n{\nb\n}\n", false},
		"old is not known at all": {"x\n{\nb\n}\n", "≔" + at(2) + "\nB", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			sections, err := hashline.Parse(tt.in, "f")
			if err != nil {
				t.Fatal(err)
			}
			before := lines.Parse(old)
			if strings.HasPrefix(name, "old is") {
				before = nil
			}
			now := lines.Parse(tt.now)
			res, err := hashline.Apply(now, before, sections[0].Ops)
			if (err != nil) != tt.bad {
				t.Fatalf("err = %v", err)
			}
			if err == nil {
				if got, _ := now.Apply(res.Splices); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}
