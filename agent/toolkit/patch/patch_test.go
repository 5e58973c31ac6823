package patch_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/agent/toolkit/patch"
)

// The unified diff between any two texts turns one into the other.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("a\na\na\na\na\na\na\na\na\n", "a\na\na\na\nb\na\na\na\na\na\n")
	f.Add("x", "x\n")
	f.Add("-- a\n++ b\n@@ c\n", "-- a\n@@ d\n")
	f.Add("", "new\n")
	f.Fuzz(func(t *testing.T, old, now string) {
		if old == now || strings.Contains(old+now, "\r") {
			return
		}
		diff := udiff.Unified("a", "b", old, now)
		hunks, err := patch.ParseUnified(diff)
		if err != nil {
			t.Fatalf("%v:\n%s", err, diff)
		}
		text := lines.Parse(old)
		res, err := patch.Apply(text, hunks)
		if err != nil {
			t.Fatalf("%v:\n%s", err, diff)
		}
		got, err := text.Apply(res.Splices)
		if err != nil || got != now || len(res.Loose) > 0 {
			t.Fatalf("%q to %q: got %q, %v, loose %v\n%s", old, now, got, err, res.Loose, diff)
		}
	})
}

// Every input is parsed or rejected. A parsed patch can be searched for in any text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"@@\n a\n-b\n+c\n", "@@ -1 +1 @@\n-a\n+b", "-a", "@@ x @@\n+y", "*** Begin Patch\n*** Update File: a\n@@ x\n@@ y\n a\n-b\n*** End of File\n*** End Patch",
		"*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n*** End Patch", "```\n*** Begin Patch\n*** End Patch\n```",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF", "@@ -99999999999999999999 +1 @@\n+a",
	} {
		f.Add(s, "a\nb\nx\ny\n")
	}
	f.Fuzz(func(t *testing.T, in, text string) {
		check := func(hunks []patch.Hunk) {
			parsed := lines.Parse(text)
			res, err := patch.Apply(parsed, hunks)
			if err != nil {
				if _, ok := errors.AsType[*patch.HunkError](err); !ok {
					t.Errorf("%q: %v", in, err)
				}
				return
			}
			if _, err := parsed.Apply(res.Splices); err != nil {
				t.Errorf("%q in %q: %v", in, text, err)
			}
		}
		if hunks, err := patch.ParseUnified(in); err == nil {
			check(hunks)
		} else if !errors.Is(err, patch.ErrSyntax) {
			t.Error(err)
		}
		files, err := patch.ParseEnvelope(in)
		if err != nil && !errors.Is(err, patch.ErrSyntax) {
			t.Error(err)
		}
		for i := range files {
			if files[i].Path == "" {
				t.Errorf("%q: a file without a path", in)
			}
			if len(files[i].Hunks) > 0 {
				check(files[i].Hunks)
			}
		}
	})
}

func TestParseEnvelope_Added(t *testing.T) {
	for name, tt := range map[string]struct{ lines, want string }{
		"blank lines between":  {"+a\n\n\n+b\n", "a\n\n\nb\n"},
		"one of blanks":        {"+a\n  \n+b\n", "a\n\nb\n"},
		"blank lines around":   {"\n+a\n\n\n", "a\n"},
		"blank lines with a +": {"+\n+a\n+\n", "\na\n\n"},
		"nothing":              {"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := patch.ParseEnvelope("*** Begin Patch\n*** Add File: a\n" + tt.lines + "*** Delete File: b\n*** End Patch")
			if err != nil || len(files) != 2 || files[0].Content != tt.want {
				t.Errorf("%+v, %v", files, err)
			}
		})
	}
}

// A file may contain lines that look like an envelope's. With a space before them they are context.
func TestParseEnvelope_Markers(t *testing.T) {
	const end = "*** End Patch"
	for name, tt := range map[string]struct {
		lines string
		want  []patch.Line
		atEnd bool
	}{
		"end of a patch":        {" *** End Patch\n-a\n" + end, []patch.Line{{' ', "*** End Patch"}, {'-', "a"}}, false},
		"end of a file":         {" *** End of File\n-a\n" + end, []patch.Line{{' ', "*** End of File"}, {'-', "a"}}, false},
		"both, last":            {"-a\n *** End of File\n *** End Patch\n" + end, []patch.Line{{'-', "a"}, {' ', "*** End of File"}, {' ', "*** End Patch"}}, false},
		"blanks after them":     {"-a\n*** End of File \n" + end + "\t\n", []patch.Line{{'-', "a"}}, true},
		"the end has an indent": {"-a\n  " + end + "\n\n", []patch.Line{{'-', "a"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := patch.ParseEnvelope("*** Begin Patch\n*** Update File: f\n@@\n" + tt.lines)
			if err != nil {
				t.Fatal(err)
			}
			if h := files[0].Hunks; len(h) != 1 || !slices.Equal(h[0].Lines, tt.want) || h[0].AtEnd != tt.atEnd {
				t.Errorf("%+v", h)
			}
		})
	}
}

func TestApply_Places(t *testing.T) {
	const text = "func a() {\n\tone()\n\ttwo()\n}\n\nfunc b() {\n\tone()\n\ttwo()\n}\n"
	for name, tt := range map[string]struct {
		diff, want string
		err        error
	}{
		"two places":            {"@@\n-\tone()\n+\t1()\n", "", patch.ErrPlaces},
		"by its number":         {"@@ -7 +7 @@\n-\tone()\n+\t1()\n", "7", nil},
		"a number that is off":  {"@@ -6 +6 @@\n-\tone()\n+\t1()\n", "", patch.ErrPlaces},
		"after an anchor":       {"@@ func b() {\n-\tone()\n+\t1()\n", "7", nil},
		"no such anchor":        {"@@ func c() {\n-\tone()\n+\t1()\n", "", patch.ErrNoAnchor},
		"one line is wrong":     {"@@\n func z() {\n-\tone()\n+\t1()\n", "", patch.ErrNoPlace},
		"context is wrong":      {"@@\n }\n \n // comment\n func b() {\n-\tone()\n+\t1()\n \ttwo()\n", "", patch.ErrNoPlace},
		"first context wrong":   {"@@\n // gone\n func b() {\n-\tone()\n+\t1()\n \ttwo()\n", "7", nil},
		"in the wrong order":    {"@@ -6,2 +6,2 @@\n func b() {\n-\tone()\n+\t1()\n@@\n func a() {\n-\tone()\n+\t1()\n", "", patch.ErrOrder},
		"nothing changes":       {"@@\n func b() {\n", "", patch.ErrSame},
		"two in a row, no hint": {"@@\n func a() {\n-\tone()\n+\t1()\n@@\n-\tone()\n+\t1()\n", "2 7", nil},
	} {
		t.Run(name, func(t *testing.T) {
			hunks, err := patch.ParseUnified(tt.diff)
			if err != nil {
				t.Fatal(err)
			}
			parsed := lines.Parse(text)
			res, err := patch.Apply(parsed, hunks)
			if !errors.Is(err, tt.err) || err == nil != (tt.err == nil) {
				t.Fatalf("err = %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			got, err := parsed.Apply(res.Splices)
			if err != nil {
				t.Fatal(err)
			}
			var at []string
			for i, l := range strings.Split(got, "\n") {
				if l == "\t1()" {
					at = append(at, string(rune('1'+i)))
				}
			}
			if s := strings.Join(at, " "); s != tt.want {
				t.Errorf("changed lines %s, want %s:\n%s", s, tt.want, got)
			}
		})
	}
}

// Anchors that occur many times are found without searching for each pair of them.
func TestApply_ManyAnchors(t *testing.T) {
	const n = 4000
	for name, tt := range map[string]struct{ line, anchors string }{
		"one line":  {"}\n", "@@ }\n@@ }\n@@ }\n"},
		"two lines": {"{\n},\n", "@@ {\n@@ },\n"},
		"loose":     {"{ \n\t},\n", "@@ {\n@@ },\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := lines.Parse(strings.Repeat(tt.line, n) + "end\n")
			files, err := patch.ParseEnvelope("*** Begin Patch\n*** Update File: a\n" + tt.anchors + "-end\n+END\n*** End Patch")
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res, err := patch.Apply(text, files[0].Hunks)
			runtime.ReadMemStats(&after)
			if err != nil || len(res.Splices) != 1 || res.Splices[0].Start != n*strings.Count(tt.line, "\n") {
				t.Errorf("%+v, %v", res, err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("it took %d MB", used>>20)
			}
		})
	}
}

// A line that differs from the anchor only in its indentation matches if no better one follows.
func TestApply_LooseAnchors(t *testing.T) {
	const text = "class A:\n  run():\n    return 0\n  run():\n    return 1\nclass A:\n    run():\n    return 1\n"
	for name, tt := range map[string]struct {
		hunk string
		at   []int
	}{
		"one after each": {"@@ class A:\n@@   run():\n-    return 1\n+    return 2\n", []int{5, 8}},
		"one":            {"@@ class A:\n@@   run():\n     return 0\n+    more()\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := patch.ParseEnvelope("*** Begin Patch\n*** Update File: a\n" + tt.hunk + "*** End Patch")
			if err != nil {
				t.Fatal(err)
			}
			_, err = patch.Apply(lines.Parse(text), files[0].Hunks)
			if tt.at == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if failed, ok := errors.AsType[*patch.HunkError](err); !ok || !slices.Equal(failed.Lines, tt.at) {
				t.Errorf("%v, want the places %v", err, tt.at)
			}
		})
	}
}
