package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	linetext "github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// corpusModules are dependencies of this module, in consecutive versions.
var corpusModules = [][]string{
	{"golang.org/x/tools@v0.10.0", "golang.org/x/tools@v0.20.0", "golang.org/x/tools@v0.27.0", "golang.org/x/tools@v0.30.0", "golang.org/x/tools@v0.33.0", "golang.org/x/tools@v0.36.0", "golang.org/x/tools@v0.38.0"},
	{"github.com/spf13/cobra@v1.7.0", "github.com/spf13/cobra@v1.8.0", "github.com/spf13/cobra@v1.9.1"},
	{"github.com/google/go-cmp@v0.4.0", "github.com/google/go-cmp@v0.5.9", "github.com/google/go-cmp@v0.7.0"},
	{"golang.org/x/sys@v0.20.0", "golang.org/x/sys@v0.30.0", "golang.org/x/sys@v0.40.0"},
	{"golang.org/x/net@v0.10.0", "golang.org/x/net@v0.20.0", "golang.org/x/net@v0.30.0", "golang.org/x/net@v0.40.0"},
}

const (
	// corpusPairs is the minimum number of edits.
	corpusPairs = 2000
	// maxCorpusFile bounds the size of the files, in bytes: larger ones are generated tables.
	maxCorpusFile = 100 << 10
	// maxCorpusDownload bounds the download of the modules.
	maxCorpusDownload = 2 * time.Minute
)

// pair is a file in two versions.
type pair struct{ name, old, now string }

// Real changes to real files, written in each mode, produce the exact result.
func TestEditModes_Corpus(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("thousands of edits")
	}
	pairs := corpus(t)
	if len(pairs) < corpusPairs {
		t.Errorf("there are %d pairs, want at least %d", len(pairs), corpusPairs)
	}
	for _, mode := range []struct {
		mode  files.EditMode
		input func(p *pair) any
		// final reports whether the mode can change the line ending at the end of a file.
		final bool
	}{
		{files.EditReplace, replaceInput, true},
		{files.EditPatch, unifiedInput, true},
		{files.EditApplyPatch, envelopeInput, false},
		{files.EditHashline, hashlineInput, false},
	} {
		t.Run(string(mode.mode), func(t *testing.T) {
			t.Parallel()
			w := toolstest.NewWorld(t, nil)
			editTool := editTool(t, mode.mode)
			done, failed := 0, 0
			for i := range pairs {
				p := &pairs[i]
				if !mode.final && linetext.Parse(p.old).Open() != linetext.Parse(p.now).Open() {
					continue
				}
				done++
				w.Put(t, "f", p.old)
				w.Values = agent.NewValues(nil) // forgets the earlier files of this name
				_, res, err := toolstest.Do(t.Context(), editTool, w.Call(t, editTool.Spec().Name, mode.input(p)))
				switch got := w.Disk(t, "f"); {
				case err != nil:
					t.Errorf("%s: %v", p.name, err)
				case strings.Contains(res.Text, "not in the file exactly"), strings.Contains(res.Text, "different white space"):
					t.Errorf("%s: the place was guessed: %s", p.name, res.Text)
				case got != p.now:
					t.Errorf("%s: the text is another one:\n%s", p.name, udiff.Unified("want", "got", p.now, got))
				default:
					continue
				}
				if failed++; failed == 5 {
					t.FailNow()
				}
			}
			t.Logf("%d edits", done)
			if done < corpusPairs {
				t.Errorf("%d edits, want at least %d", done, corpusPairs)
			}
		})
	}
}

// corpus returns the files that differ between two versions of a module.
func corpus(t *testing.T) []pair {
	var pairs []pair
	for _, versions := range corpusModules {
		dirs := make([]string, len(versions))
		for i, v := range versions {
			dirs[i] = moduleDir(t, v)
		}
		for i := range dirs[1:] {
			root := os.DirFS(dirs[i])
			err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				old, err := fs.ReadFile(root, path)
				if err != nil {
					return err
				}
				now, err := os.ReadFile(filepath.Join(dirs[i+1], filepath.FromSlash(path)))
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if usable(old) && usable(now) && !bytes.Equal(old, now) {
					pairs = append(pairs, pair{versions[i+1] + "/" + path, string(old), string(now)})
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return pairs
}

// usable reports whether a file is text with one kind of line ending: no mode can change mixed ones.
func usable(data []byte) bool {
	crlf := bytes.Count(data, []byte("\r\n"))
	return len(data) > 0 && len(data) <= maxCorpusFile && bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) && !bytes.HasPrefix(data, []byte("\uFEFF")) && (crlf == 0 || crlf == bytes.Count(data, []byte("\n")))
}

// moduleDir returns the directory of a module, which the go command downloads. It skips the test if that fails.
func moduleDir(t *testing.T, module string) string {
	ctx, cancel := context.WithTimeout(t.Context(), maxCorpusDownload)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // outside a module, so that go.sum is unchanged
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	var info struct {
		Dir   string `json:"Dir"`
		Error string `json:"Error"`
	}
	if uerr := jsonx.Unmarshal(out, &info); err == nil {
		err = uerr
	}
	if err != nil || info.Dir == "" {
		testenv.Skip(t, "%s cannot be downloaded: %v %s", module, err, info.Error)
	}
	return info.Dir
}

// changedLines returns the regions in which the versions differ.
func (p *pair) changedLines() (old, now *linetext.Text, regions []linetext.Region) {
	old, now = linetext.Parse(p.old), linetext.Parse(p.now)
	return old, now, linetext.Changed(old, now)
}

// editTool returns the tool of a mode. It is allowed to change generated files.
func editTool(t testing.TB, mode files.EditMode) agent.Tool {
	t.Helper()
	for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode, AllowGenerated: true}}) {
		if name := tool.Spec().Name; name == "edit" || name == "apply_patch" {
			return tool
		}
	}
	t.Fatalf("there is no tool for %s", mode)
	return nil
}

// replaceInput returns an input with a chunk of old text for each region, extended by surrounding lines until it is unique. Regions
// that meet share a chunk.
func replaceInput(p *pair) any {
	old, now := splitAfter(p.old), splitAfter(p.now)
	_, _, regions := p.changedLines()
	if len(regions) == 0 { // only the end differs
		regions = []linetext.Region{{OldStart: len(old) - 1, OldEnd: len(old), Start: len(now) - 1, End: len(now)}}
	} else if last := &regions[len(regions)-1]; strings.HasSuffix(p.old, "\n") != strings.HasSuffix(p.now, "\n") && last.OldEnd < len(old) {
		regions = append(regions, linetext.Region{OldStart: len(old) - 1, OldEnd: len(old), Start: len(now) - 1, End: len(now)})
	}
	// Each edit applies to the result of the previous ones, so its old text must be unique at that point. The last region comes
	// first.
	type edit = map[string]any
	var edits []edit
	text := p.old
	for i := len(regions) - 1; i >= 0; i-- {
		r := regions[i]
		for wide := 0; ; wide++ {
			lo, hi := max(0, r.OldStart-wide), min(len(old), r.OldEnd+wide)
			head, tail := r.OldStart-lo, hi-r.OldEnd
			if i > 0 && lo < regions[i-1].OldEnd {
				lo = regions[i-1].OldEnd
				head = r.OldStart - lo
			}
			rest := strings.Join(now[r.End:], "")
			chunk := strings.Join(old[lo:r.OldEnd], "")
			with := strings.Join(old[lo:r.OldStart], "") + strings.Join(now[r.Start:r.End], "")
			_ = head
			// The text after the region has already been replaced.
			after := splitAfter(rest)
			after = after[:min(tail, len(after))]
			chunk += strings.Join(after, "")
			with += strings.Join(after, "")
			if chunk != "" && strings.Count(text, chunk) == 1 {
				edits = append(edits, edit{"old_text": chunk, "new_text": with})
				text = strings.Replace(text, chunk, with, 1)
				break
			}
			if wide > len(old)+len(now) {
				edits = append(edits, edit{"old_text": text, "new_text": strings.Join(old[:r.OldStart], "") + strings.Join(now[r.Start:], "")})
				text = strings.Join(old[:r.OldStart], "") + strings.Join(now[r.Start:], "")
				break
			}
		}
	}
	return map[string]any{"path": "f", "edits": edits}
}

func splitAfter(text string) []string {
	parts := strings.SplitAfter(text, "\n")
	if n := len(parts); parts[n-1] == "" {
		parts = parts[:n-1]
	}
	return parts
}

func unifiedInput(p *pair) any {
	return map[string]any{"path": "f", "edits": []any{map[string]any{"diff": udiff.Unified("a/f", "b/f", p.old, p.now)}}}
}

// envelopeInput returns an input with a hunk for each region, extended by surrounding lines until it fits in only one place.
func envelopeInput(p *pair) any {
	old, now, regions := p.changedLines()
	a, b := old.Lines(), now.Lines()
	var out strings.Builder
	out.WriteString("*** Begin Patch\n*** Update File: f\n")
	from := 0
	for i := 0; i < len(regions); {
		// Regions whose contexts meet share a hunk.
		j := i
		context := 3
		for {
			lo, hi := max(from, regions[i].OldStart-context), min(len(a), regions[j].OldEnd+context)
			if j+1 < len(regions) && hi > regions[j+1].OldStart {
				j++
				continue
			}
			at := linetext.Places(a, a[lo:hi], from, linetext.Exact, 2)
			if lo < hi && len(at) == 1 || lo == from && hi == len(a) {
				break
			}
			context *= 2
		}
		lo, hi := max(from, regions[i].OldStart-context), min(len(a), regions[j].OldEnd+context)
		out.WriteString("@@\n")
		at := lo
		for _, r := range regions[i : j+1] {
			writeLines(&out, " ", a[at:r.OldStart])
			writeLines(&out, "-", a[r.OldStart:r.OldEnd])
			writeLines(&out, "+", b[r.Start:r.End])
			at = r.OldEnd
		}
		writeLines(&out, " ", a[at:hi])
		if hi == len(a) {
			out.WriteString("*** End of File\n")
		}
		from, i = hi, j+1
	}
	out.WriteString("*** End Patch\n")
	return map[string]any{"input": out.String()}
}

func writeLines(b *strings.Builder, op string, all []string) {
	for _, l := range all {
		b.WriteString(op + l + "\n")
	}
}

func hashlineInput(p *pair) any {
	old, now, regions := p.changedLines()
	var out strings.Builder
	out.WriteString("§f\n")
	anchor := func(i int) string { return hashline.Anchor(i+1, old.Line(i)) }
	for _, r := range regions {
		switch {
		case r.OldStart < r.OldEnd:
			fmt.Fprintf(&out, "≔%s..%s\n", anchor(r.OldStart), anchor(r.OldEnd-1))
		case r.OldStart == 0:
			out.WriteString("»BOF\n")
		default:
			fmt.Fprintf(&out, "»%s\n", anchor(r.OldStart-1))
		}
		for _, l := range now.Lines()[r.Start:r.End] {
			out.WriteString(hashline.Escape(l) + "\n")
		}
	}
	return map[string]any{"input": out.String()}
}

// anchorOf returns the anchor of line n, from 1, of a text.
func anchorOf(text string, n int) string { return hashline.Anchor(n, linetext.Parse(text).Line(n-1)) }
