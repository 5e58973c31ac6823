package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

func TestReadLimits(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{
		"exact.txt":  lines(300, "line %d"),
		"long.txt":   lines(5000, "line %d"),
		"wide.txt":   lines(500, "%d "+strings.Repeat("x", 500)),
		"column.txt": strings.Repeat("é", 768) + "\n" + strings.Repeat("é", 769) + "\n",
		"one.txt":    strings.Repeat("0123456789", 10_000),
	})
	for path, c := range map[string]struct {
		first, last string
		shown       int
		note        string
	}{
		"exact.txt":            {"    1|line 1", "  300|line 300", 300, ""},
		"long.txt":             {"    1|line 1", "  300|line 300", 300, "[long.txt has 5000 lines; continue with long.txt:301]"},
		"long.txt:301":         {"  300|line 300", " 3299|line 3299", 3000, "[long.txt has 5000 lines; continue with long.txt:3300]"},
		"long.txt:3300":        {" 3299|line 3299", " 5000|line 5000", 1702, ""},
		"long.txt:1-5000":      {"    1|line 1", " 3000|line 3000", 3000, "[long.txt has 5000 lines; continue with long.txt:3001]"},
		"long.txt:1-10:raw":    {"line 1", "line 10", 10, ""},
		"long.txt:raw":         {"line 1", "line 3000", 3000, "[long.txt has 5000 lines; continue with long.txt:3001:raw]"},
		"wide.txt":             {"    1|1 xxx", "  100|100 xxx", 100, "[wide.txt has 500 lines; continue with wide.txt:101]"},
		"wide.txt:90-99,5-200": {"    4|4 xxx", "  103|103 xxx", 100, "[wide.txt has 500 lines; continue with wide.txt:104]"},
	} {
		res := toolstest.Run(t, w, "read", toolstest.Input{"path": path})
		body, note, _ := strings.Cut(res.Text, "\n\n")
		got := strings.Split(body, "\n")
		if !strings.HasPrefix(got[0], c.first) || !strings.HasPrefix(got[len(got)-1], c.last) || len(got) != c.shown || note != c.note {
			t.Errorf("%s: %.20q to %.20q, %d lines, %q", path, got[0], got[len(got)-1], len(got), note)
		}
		if len(body) > 50<<10 {
			t.Errorf("%s: %d bytes", path, len(body))
		}
	}
	toolstest.Same(t, "columns", toolstest.Run(t, w, "read", toolstest.Input{"path": "column.txt"}).Text,
		"    1|"+strings.Repeat("é", 768)+"\n    2|"+strings.Repeat("é", 768)+"… [1 more character]")
	toolstest.Same(t, "one line", toolstest.Run(t, w, "read", toolstest.Input{"path": "one.txt"}).Text,
		"    1|"+strings.Repeat("0123456789", 100)[:768]+"… [99232 more characters]")
	raw := toolstest.Run(t, w, "read", toolstest.Input{"path": "one.txt:raw"}).Text
	if !strings.HasPrefix(raw, "0123") || len(raw) > 51<<10 || !strings.Contains(raw, "Line 1 has 97 KiB; its first 50 KiB are shown.") {
		t.Errorf("one raw line: %d bytes, %q", len(raw), raw[len(raw)-80:])
	}
}

func TestRead_BinaryFiles(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"latin.txt": "caf\xE9\n", "halves.txt": "\xFF\xFEa\x00\x00\xD8", "noise": "\x01\x02\x03\xFF\xFE\xFD\x04\x05", "zero": "text\x00text"})
	toolstest.Same(t, "latin1", toolstest.Run(t, w, "read", toolstest.Input{"path": "latin.txt"}).Text,
		"    1|caf\uFFFD\n\n[The file is not UTF-8; characters that could not be decoded are shown as \uFFFD.]")
	toolstest.Same(t, "half characters", toolstest.Run(t, w, "read", toolstest.Input{"path": "halves.txt"}).Text,
		"    1|a\uFFFD\n\n[The file is UTF-16 (little endian) with errors; characters that could not be decoded are shown as \uFFFD.]")
	for _, name := range []string{"noise", "zero"} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": name}); !strings.Contains(err.Error(), name+" cannot be shown: the file is binary") {
			t.Errorf("%v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "/dev/null"}); !strings.Contains(err.Error(), "is a device") {
		t.Errorf("%v", err)
	}
	sparse := w.Path("sparse")
	if err := os.WriteFile(sparse, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 65<<20); err != nil {
		t.Fatal(err)
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "sparse"}); !strings.Contains(err.Error(), "is binary, not text (65 MiB)") {
		t.Errorf("%v", err)
	}
	for _, read := range w.FS.Reads {
		if read == sparse {
			t.Error("it was read all the same")
		}
	}
}

func TestReadPlan(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"d/a.go": "x", "d/a.go:7": "x"})
	outside := w.Path("../x.go")
	for path, want := range map[string]*agent.CallPlan{
		"d/a.go":       {Title: "Read d/a.go", Locations: []agent.Location{{Path: w.Path("d/a.go")}}, Effects: []approval.Effect{{Action: approval.ActionRead, Path: w.Path("d/a.go")}}},
		"d/a.go:5-9":   {Title: "Read d/a.go", Locations: []agent.Location{{Path: w.Path("d/a.go"), Line: 5}}, Effects: []approval.Effect{{Action: approval.ActionRead, Path: w.Path("d/a.go")}}},
		"d/a.go:7":     {Title: "Read d/a.go:7", Locations: []agent.Location{{Path: w.Path("d/a.go:7")}}, Effects: []approval.Effect{{Action: approval.ActionRead, Path: w.Path("d/a.go:7")}}},
		"../x.go:3":    {Title: "Read " + outside, Locations: []agent.Location{{Path: outside, Line: 3}}, Effects: []approval.Effect{{Action: approval.ActionRead, Path: outside}}},
		"artifact://1": {Title: "Read artifact://1"},
	} {
		if d := cmp.Diff(want, toolstest.MustPlan(t, w, "read", toolstest.Input{"path": path})); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}

func TestReadArtifacts(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	url, err := w.Artifacts.Put(t.Context(), "bash", []byte(lines(400, "line %d")))
	if err != nil {
		t.Fatal(err)
	}
	if text := toolstest.Run(t, w, "read", toolstest.Input{"path": url}).Text; !strings.HasSuffix(text, "continue with artifact://1:301]") {
		t.Errorf("%q", text[len(text)-100:])
	}
	toolstest.Same(t, "range", toolstest.Run(t, w, "read", toolstest.Input{"path": url + ":400"}).Text, "  399|line 399\n  400|line 400")
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "artifact://9"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	w.Artifacts = nil
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": url}); !strings.Contains(err.Error(), "keeps no outputs") {
		t.Errorf("%v", err)
	}
}

func TestReadFailures(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a": "x", "d/e/f": "x"})
	broken := errors.New("the editor said no")
	for _, op := range []string{"stat", "read", "readdir"} {
		w.FS.Fail = func(got, path string) error {
			if got == op && path != w.Path("d") {
				return broken
			}
			return nil
		}
		path := "a"
		if op == "readdir" {
			path = "."
		}
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": path}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", op, err)
		}
	}
	// An unreadable subdirectory does not spoil the listing.
	w.FS.Fail = func(op, path string) error {
		if op == "readdir" && path == w.Path("d") {
			return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		return nil
	}
	toolstest.Same(t, "listing", toolstest.Run(t, w, "read", toolstest.Input{"path": "."}).Text, "./\n  a\n  d/\n    (permission denied)")
}

func TestCancelledCalls(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a": "x"})
	w.Terminal = &toolstest.Terminal{}
	stop := errors.New("the turn is over")
	for name, in := range map[string]toolstest.Input{
		"read": {"path": "a"}, "write": {"path": "a", "content": "y"}, "find": {"paths": []string{"*"}}, "search": {"pattern": "x"},
		"edit": {"path": "a", "edits": []any{toolstest.Input{"old_text": "x", "new_text": "y"}}}, "bash": {"command": "x"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if _, _, err := toolstest.Do(ctx, toolstest.Tool(t, name), w.Call(t, name, in)); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
	toolstest.Same(t, "file", w.Disk(t, "a"), "x")
}

func TestRead_PDF(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.pdf": "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"})
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "a.pdf"}); !strings.Contains(err.Error(), "a.pdf is a PDF") || !strings.Contains(err.Error(), "pdftotext") {
		t.Error(err)
	}
}

// The addresses of a helper give its report and its conversation as Markdown.
func TestReadHelpers(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	for _, path := range []string{"agent://Scout", "history://Scout"} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": path}); !strings.Contains(err.Error(), "no helpers") {
			t.Errorf("%v", err)
		}
	}
	r := roster.New(nil)
	m, err := r.New(t.Context(), "", "Scout", &roster.About{Title: "Look"}, sessions.Header{ID: "id-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []providers.Message{
		{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "the task"}}},
		{Role: providers.RoleAssistant, Parts: []providers.Part{providers.Text{Text: "the answer"}}},
	} {
		if _, err := m.Memory.AppendMessage(&message); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.End(t.Context(), "one\ntwo"); err != nil {
		t.Fatal(err)
	}
	do := func(path string) string {
		call := w.Call(t, "read", toolstest.Input{"path": path})
		call.Conversation = r.Conversation
		call.Document = func(ctx context.Context, address string) ([]byte, error) {
			return r.Report(ctx, strings.TrimPrefix(address, "agent://"))
		}
		plan, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "read"), call)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Effects) > 0 {
			t.Errorf("%s has the effects %+v", path, plan.Effects)
		}
		return res.Text
	}
	if text := do("agent://Scout:2"); !strings.Contains(text, "2|two") || !strings.Contains(text, "1|one") {
		t.Errorf("the report is %q", text)
	}
	if text := do("history://scout:raw"); !strings.HasPrefix(text, "# Scout: Look\n") || !strings.Contains(text, "the task") || !strings.Contains(text, "the answer") {
		t.Errorf("the conversation is %q", text)
	}
}
