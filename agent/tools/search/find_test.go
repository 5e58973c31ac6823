package search_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// age sets modification times; the first file's is the newest.
func age(t testing.TB, w *toolstest.World, names ...string) {
	t.Helper()
	for i, name := range names {
		at := time.Date(2024, 1, 1, 0, 0, -i, 0, time.UTC)
		if err := os.Chtimes(w.Path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func findWorld(t testing.TB) *toolstest.World {
	w := toolstest.NewWorld(t, map[string]string{
		"a.go": "", "b.go": "", "sub/c.go": "", "sub/deep/d.go": "", "sub/deep/e.txt": "", ".hid/h.go": "", ".env": "",
		"out/x.go": "", ".gitignore": "out/\n", ".git/x.go": "", "sub/.git/y.go": "", "[x]/z.go": "",
	})
	// Creating a file changes the time of its directory, so all times are set in a fixed order.
	age(t, w, "sub/deep/d.go", "b.go", ".hid/h.go", "a.go", "sub/c.go", "[x]/z.go", "out/x.go", "sub/deep/e.txt", ".env", ".gitignore", "sub/deep", "sub", ".hid", "out", "[x]")
	return w
}

func TestFind(t *testing.T) {
	w := findWorld(t)
	for name, c := range map[string]struct {
		in   toolstest.Input
		want []string
	}{
		"name at any depth": {toolstest.Input{"paths": []string{"*.go"}}, []string{"sub/deep/d.go", "b.go", ".hid/h.go", "a.go", "sub/c.go", "[x]/z.go"}},
		"top level only":    {toolstest.Input{"paths": []string{"./*.go"}}, []string{"b.go", "a.go"}},
		"no hidden":         {toolstest.Input{"paths": []string{"*.go"}, "hidden": false}, []string{"sub/deep/d.go", "b.go", "a.go", "sub/c.go", "[x]/z.go"}},
		"no gitignore":      {toolstest.Input{"paths": []string{"*.go"}, "gitignore": false}, []string{"sub/deep/d.go", "b.go", ".hid/h.go", "a.go", "sub/c.go", "[x]/z.go", "out/x.go"}},
		"directory":         {toolstest.Input{"paths": []string{"sub"}}, []string{"sub/deep/d.go", "sub/c.go", "sub/deep/e.txt", "sub/deep/"}},
		"one level":         {toolstest.Input{"paths": []string{"sub/*"}}, []string{"sub/c.go", "sub/deep/"}},
		"directory's name":  {toolstest.Input{"paths": []string{"deep"}}, []string{"sub/deep/"}},
		"file's name":       {toolstest.Input{"paths": []string{"e.txt"}}, []string{"sub/deep/e.txt"}},
		"file's path":       {toolstest.Input{"paths": []string{"sub/c.go"}}, []string{"sub/c.go"}},
		"alternatives":      {toolstest.Input{"paths": []string{"sub/**/*.{go,txt}"}}, []string{"sub/deep/d.go", "sub/c.go", "sub/deep/e.txt"}},
		"absolute":          {toolstest.Input{"paths": []string{w.Path("sub") + "/**/*.txt"}}, []string{"sub/deep/e.txt"}},
		"both once":         {toolstest.Input{"paths": []string{"a.go", "./*.go", "a.go"}}, []string{"b.go", "a.go"}},
		"brackets":          {toolstest.Input{"paths": []string{"[x]"}}, []string{"[x]/z.go"}},
		"ignored by name":   {toolstest.Input{"paths": []string{"out"}}, []string{"out/x.go"}},
		"nothing":           {toolstest.Input{"paths": []string{"*.rs"}}, []string{"Nothing matches."}},
		"limit":             {toolstest.Input{"paths": []string{"*.go"}, "limit": 2}, []string{"sub/deep/d.go", "b.go", "", "[2 of 6 results; narrow the pattern, or raise limit]"}},
	} {
		if d := cmp.Diff(c.want, strings.Split(toolstest.Run(t, w, "find", c.in).Text, "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	p := toolstest.MustPlan(t, w, "find", toolstest.Input{"paths": []string{"sub/*.go", "../*"}})
	toolstest.Same(t, "title", p.Title, "Find sub/*.go, ../*")
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionRead, Path: w.Path("sub")}, {Action: approval.ActionRead, Path: filepath.Dir(w.Dir)}})
}

// The working directory itself may look like a glob.
func TestGlobsInADirectoryWithBrackets(t *testing.T) {
	outer := findWorld(t)
	w := &toolstest.World{Dir: outer.Path("[x]"), FS: outer.FS}
	toolstest.Same(t, "find", toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{"*.go"}}).Text, "z.go")
	toolstest.Same(t, "find", toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{w.Path("*.go")}}).Text, "z.go")
	w.Put(t, "z.go", "needle\n")
	toolstest.Same(t, "search", toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{"**/*.go"}}).Text, "z.go\n    1:needle")
}

func TestFindRefuses(t *testing.T) {
	w := findWorld(t)
	for want, in := range map[string]toolstest.Input{
		"paths is empty":             {"paths": []string{}},
		"a path is empty":            {"paths": []string{" "}},
		"limit is -1":                {"paths": []string{"*"}, "limit": -1},
		"is no valid glob":           {"paths": []string{"sub/[a"}},
		"use a glob such as":         {"paths": []string{"nope/x.go"}},
		"the directory nope cannot":  {"paths": []string{"nope/*.go"}},
		"the directory a.go cannot":  {"paths": []string{"a.go/*.go"}},
		"paths missing":              {},
		"unknown object member name": {"paths": []string{"*"}, "pattern": "x"},
	} {
		if err := toolstest.Fails(t, w, "find", in); !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", in, err, want)
		}
	}
	broken := errors.New("the disk is gone")
	w.FS.Fail = func(op, _ string) error {
		if op == "readdir" {
			return broken
		}
		return nil
	}
	if err := toolstest.Fails(t, w, "find", toolstest.Input{"paths": []string{"*"}}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Partial results before a timeout are better than an error.
func TestFindTimeout(t *testing.T) {
	for seconds, want := range map[float64]string{0: "5", 0.1: "0.5", 7: "7", 1000: "60"} {
		w := findWorld(t)
		synctest.Test(t, func(t *testing.T) {
			w.FS.Fail = func(op, path string) error {
				if op == "readdir" && path == w.Path("sub/deep") {
					time.Sleep(10 * time.Minute) // of the bubble's clock
				}
				return nil
			}
			text := toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{"*.go"}, "timeout": seconds}).Text
			if !strings.Contains(text, "b.go\n") || !strings.Contains(text, "find stopped after "+want+" seconds") {
				t.Errorf("%g: %s", seconds, text)
			}
		})
	}
}

func TestFindManyResults(t *testing.T) {
	files := make(map[string]string)
	for i := range 1100 {
		files[fmt.Sprintf("%s/%04d", strings.Repeat("d", 60), i)] = ""
	}
	w := toolstest.NewWorld(t, files)
	text := toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{"**/*"}}).Text
	if len(text) > 51<<10 || !strings.Contains(text, " of 1101 results") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-100:])
	}
	text = toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{"0*"}}).Text
	if !strings.Contains(text, " of 1000 results") {
		t.Errorf("%q", text[len(text)-100:])
	}
}

// An unclosed brace is literal.
func TestFind_UnclosedBrace(t *testing.T) {
	w := findWorld(t)
	for _, name := range []string{"a{b.go", "a{c.go", "{x}/y{z.txt"} {
		w.Put(t, name, "x\n")
	}
	for glob, want := range map[string]string{
		"a{*.go": "a{b.go\na{c.go", "a{b.g?": "a{b.go", "*{c*": "a{c.go", "**/y{?.{txt,md}": "{x}/y{z.txt",
	} {
		got := strings.Split(strings.TrimSpace(toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{glob}}).Text), "\n")
		slices.Sort(got)
		if strings.Join(got, "\n") != want {
			t.Errorf("%s finds %q, want %q", glob, got, want)
		}
	}
}
