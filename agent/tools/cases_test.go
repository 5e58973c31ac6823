package tools_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// TestCases runs each archive testdata/cases/*.txtar of a package of tools as a test. Its comment says what the case is for; its files are those
// of the workspace and the calls. A file "call TOOL …" holds the input of a call, the file "result" after it the expected result. A
// file "after PATH" is what the disk holds in the end. A file "put PATH" between calls is written as by another program.
//
// Lines of the comment change files in ways that an archive cannot hold: "crlf PATH", "bom PATH", "utf16 PATH", "nofinal PATH" (no
// line feed at the end), "buffer PATH" (only the editor has this text, not the disk). A line "mode MODE" sets the edit mode. With
// -update the archives are rewritten.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("*", "testdata", "cases", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.ToSlash(path), ".txtar"), func(t *testing.T) { runCase(t, path) })
	}
}

func runCase(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := toolstest.NewWorld(t, nil)
	for _, f := range archive.Files {
		if kind, _, _ := strings.Cut(f.Name, " "); kind == "call" || kind == "result" || kind == "after" || kind == "put" {
			continue
		}
		text, buffer := dress(string(archive.Comment), f.Name, string(f.Data))
		if buffer {
			w.FS.Buffers[w.Path(f.Name)] = text
		} else {
			w.Put(t, f.Name, text)
		}
	}
	got := ""
	for i := range archive.Files {
		f := &archive.Files[i]
		kind, rest, _ := strings.Cut(f.Name, " ")
		switch kind {
		case "call":
			name, _, _ := strings.Cut(rest, " ")
			got = caseResult(t, w, caseTool(t, string(archive.Comment), name), string(f.Data))
		case "put":
			w.Put(t, rest, string(f.Data))
		case "result":
			check(t, f, got)
		case "after":
			check(t, f, undress(string(archive.Comment), rest, w.Disk(t, rest)))
		}
	}
	if testenv.Update() {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, f *txtar.File, got string) {
	t.Helper()
	if !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	if testenv.Update() {
		f.Data = []byte(got)
	}
	if d := cmp.Diff(string(f.Data), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", f.Name, d)
	}
}

// caseTool returns the tool called name, in the edit mode that the comment names.
func caseTool(t *testing.T, comment, name string) agent.Tool {
	t.Helper()
	for line := range strings.Lines(comment) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), "mode "); ok {
			for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: files.EditMode(mode)}}) {
				if tool.Spec().Name == name {
					return tool
				}
			}
		}
	}
	return toolstest.Tool(t, name)
}

func caseResult(t *testing.T, w *toolstest.World, tool agent.Tool, in string) string {
	_, res, err := toolstest.Do(t.Context(), tool, w.Call(t, tool.Spec().Name, in))
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), w.Dir, "$W")
	}
	var text strings.Builder
	text.WriteString(res.Text)
	for _, c := range res.Content {
		if d, ok := c.(agent.DiffContent); ok && d.Old == nil {
			text.WriteString("\n(diff: a new file)")
		}
	}
	for _, loc := range res.Locations {
		if loc.Line > 0 {
			rel, err := filepath.Rel(w.Dir, loc.Path)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString("\n(at " + filepath.ToSlash(rel) + ":" + strconv.Itoa(loc.Line) + ")")
		}
	}
	return strings.ReplaceAll(text.String(), w.Dir, "$W")
}

// dress applies the comment's directives to the text of a file.
func dress(comment, name, text string) (dressed string, buffer bool) {
	for line := range strings.Lines(comment) {
		what, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != name {
			continue
		}
		switch what {
		case "crlf":
			text = strings.ReplaceAll(text, "\n", "\r\n")
		case "nofinal":
			text = strings.TrimSuffix(text, "\n")
		case "bom":
			text = "\xEF\xBB\xBF" + text
		case "utf16":
			text = toolstest.UTF16LE(text)
		case "buffer":
			buffer = true
		}
	}
	return text, buffer
}

// undress makes carriage returns, byte order marks and a missing final line feed visible.
func undress(comment, name, text string) string {
	for line := range strings.Lines(comment) {
		if strings.TrimSpace(line) == "utf16 "+name {
			text = fromUTF16LE(text)
		}
	}
	text = strings.ReplaceAll(text, "\r", "<CR>")
	text = strings.ReplaceAll(text, "\uFEFF", "<BOM>")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "<EOF>"
	}
	return text
}

// fromUTF16LE decodes little-endian UTF-16. It keeps a byte order mark.
func fromUTF16LE(s string) string {
	var units []uint16
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, binary.LittleEndian.Uint16([]byte(s[i:])))
	}
	return string(utf16.Decode(units))
}
