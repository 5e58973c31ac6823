package lsp_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

func decodeEdit(t testing.TB, raw string) *lsp.WorkspaceEdit {
	t.Helper()
	w, err := lsp.DecodeWorkspaceEdit(jsonx.Raw(raw))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDecodeWorkspaceEdit(t *testing.T) {
	const r = `"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":2}}`
	one := []protocol.TextEdit{edit(0, 1, 0, 2, "x")}
	for _, tt := range []struct {
		name, raw string
		want      []lsp.DocumentChange
	}{
		{"null", `null`, nil},
		{"nothing", ``, nil},
		{"empty", `{}`, nil},
		{"nulls", `{"changes":null,"documentChanges":null}`, nil},
		{"changes by URI", `{"changes":{"file:///b":[{` + r + `,"newText":"x"}],"file:///a":[]}}`, []lsp.DocumentChange{
			&lsp.TextDocumentEdit{URI: "file:///a", Edits: []protocol.TextEdit{}}, &lsp.TextDocumentEdit{URI: "file:///b", Edits: one},
		}},
		{
			"document changes win", `{"changes":{"file:///b":[]},"documentChanges":[{"textDocument":{"uri":"file:///a","version":3},"edits":[{` + r + `,"newText":"x"}]}]}`,
			[]lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///a", Version: new(int32(3)), Edits: one}},
		},
		{"no document changes", `{"changes":{"file:///b":[]},"documentChanges":[]}`, []lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///b", Edits: []protocol.TextEdit{}}}},
		{
			"all kinds, in order", `{"documentChanges":[
			{"kind":"create","uri":"file:///c","options":{"overwrite":true}},
			{"textDocument":{"uri":"file:///c","version":null},"edits":[{` + r + `,"newText":"x","annotationId":"1"}]},
			{"kind":"rename","oldUri":"file:///a","newUri":"file:///b","options":{"ignoreIfExists":true}},
			{"kind":"delete","uri":"file:///d","options":{"recursive":true,"ignoreIfNotExists":true},"annotationId":"1"},
			{"kind":"delete","uri":"file:///e","options":null}],"changeAnnotations":{"1":{"label":"l","needsConfirmation":true}}}`,
			[]lsp.DocumentChange{
				&lsp.CreateFile{URI: "file:///c", Overwrite: true}, &lsp.TextDocumentEdit{URI: "file:///c", Edits: one},
				&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///b", IgnoreIfExists: true},
				&lsp.DeleteFile{URI: "file:///d", Recursive: true, IgnoreIfNotExists: true}, &lsp.DeleteFile{URI: "file:///e"},
			},
		},
		{
			"snippets", `{"changes":{"file:///a":[{` + r + `,"snippet":{"kind":"snippet","value":"${1:x}$0"}},{` + r + `,"newText":"$1x","insertTextFormat":2},{` + r + `,"newText":"$1","insertTextFormat":1}]}}`,
			[]lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///a", Edits: []protocol.TextEdit{one[0], one[0], edit(0, 1, 0, 2, "$1")}}},
		},
		{
			"positions without a bound", `{"changes":{"file:///a":[{"range":{"start":{"line":-1,"character":0},"end":{"line":9007199254740991,"character":1e300}},"newText":""}]}}`,
			[]lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///a", Edits: []protocol.TextEdit{edit(0, 0, 1<<32-1, 1<<32-1, "")}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, decodeEdit(t, tt.raw).Changes); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for _, raw := range []string{
		`[]`, `{`, `{"documentChanges":[{"kind":"melt"}]}`, `{"changes":{"file:///a":[{` + r + `}]}}`, `{"changes":{"file:///a":[{"range":{"start":{"line":"one"}},"newText":""}]}}`,
	} {
		if _, err := lsp.DecodeWorkspaceEdit(jsonx.Raw(raw)); !errors.Is(err, lsp.ErrBadEdit) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestDecodeTextEdits(t *testing.T) {
	for _, raw := range []string{`null`, ``, `[]`} {
		if got, err := lsp.DecodeTextEdits(jsonx.Raw(raw)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", raw, got, err)
		}
	}
	if _, err := lsp.DecodeTextEdits(jsonx.Raw(`{}`)); !errors.Is(err, lsp.ErrBadEdit) {
		t.Error(err)
	}
}

func TestSnippets(t *testing.T) {
	for snippet, want := range map[string]string{
		"plain":                       "plain",
		"a$1b$0":                      "ab",
		"f(${1:x}, ${2:y})$0":         "f(x, y)",
		"${1|one,two|}!":              "one!",
		`${1|a\,b,c|}`:                "a,b",
		"${1:outer ${2:inner} end}":   "outer inner end",
		"$TM_FILENAME ${NAME:unset}":  " unset",
		"${NAME/(.*)/${1:/upcase}/g}": "",
		`\$1 \} \\ \n`:                `$1 } \ \n`,
		"cost: $ 5, ${, ${1, ${1:":    "cost: $ 5, ${, ${1, ${1:",
		"$1x":                         "x",
		"é${1:ü}":                     "éü",
	} {
		w := decodeEdit(t, `{"changes":{"file:///a":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"snippet":{"value":`+string(quote(t, snippet))+`}}]}}`)
		if got := w.Changes[0].(*lsp.TextDocumentEdit).Edits[0].NewText; got != want {
			t.Errorf("%q became %q, want %q", snippet, got, want)
		}
	}
	deep := strings.Repeat("${1:", 10_000) + strings.Repeat("}", 10_000)
	decodeEdit(t, `{"changes":{"file:///a":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"snippet":{"value":"`+deep+`"}}]}}`)
}

func quote(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := jsonx.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// files is a fake disk: texts by path; a path that ends in "/" is a directory.
type files map[string]string

func (f files) around() lsp.EditSurroundings {
	return lsp.EditSurroundings{
		Encoding: lsp.UTF16, GOOS: "linux",
		Kind: func(path string) (lsp.FileKind, error) {
			if _, ok := f[path]; ok {
				return lsp.PlainFile, nil
			}
			for name := range f {
				if strings.HasPrefix(name, path+"/") {
					return lsp.Directory, nil
				}
			}
			return lsp.NoFile, nil
		},
		Read: func(path string) (string, error) {
			text, ok := f[path]
			if !ok {
				return "", &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
			}
			return text, nil
		},
		Version: func(path string) (int32, bool) { return 7, path == "/held" },
	}
}

func docEdit(uri string, edits ...protocol.TextEdit) *lsp.TextDocumentEdit {
	return &lsp.TextDocumentEdit{URI: uri, Edits: edits}
}

func TestWorkspaceEdit_Plan(t *testing.T) {
	disk := files{"/a": "aaa\n", "/b": "bbb\n", "/d/x": "x\n", "/d/y": "y\n", "/crlf": "a\r\nb\r\n", "/held": "h\n", "/e é": "e\n"}
	insert := func(text string) protocol.TextEdit { return edit(0, 0, 0, 0, text) }
	for _, tt := range []struct {
		name    string
		changes []lsp.DocumentChange
		want    []lsp.FileOperation
	}{
		{"nothing", nil, nil},
		{
			"one file twice is one operation",
			[]lsp.DocumentChange{docEdit("file:///a", insert("1")), docEdit("file:///b", insert("2")), docEdit("file:///a", insert("3"))},
			[]lsp.FileOperation{{Path: "/a", Old: "aaa\n", New: "31aaa\n", Edits: 2}, {Path: "/b", Old: "bbb\n", New: "2bbb\n", Edits: 1}},
		},
		{"an edit that changes nothing", []lsp.DocumentChange{docEdit("file:///a", edit(0, 0, 0, 1, "a")), docEdit("file:///b")}, nil},
		{"percent-encoded and with dots", []lsp.DocumentChange{docEdit("file:///x/../e%20%C3%A9", insert("1"))}, []lsp.FileOperation{{Path: "/e é", Old: "e\n", New: "1e\n", Edits: 1}}},
		{
			"line ends stay",
			[]lsp.DocumentChange{docEdit("file:///crlf", insert("1\n2\r\n")), docEdit("file:///a", insert("1\r\n"))},
			[]lsp.FileOperation{{Path: "/crlf", Old: "a\r\nb\r\n", New: "1\r\n2\r\na\r\nb\r\n", Edits: 1}, {Path: "/a", Old: "aaa\n", New: "1\naaa\n", Edits: 1}},
		},
		{
			"the version that is held",
			[]lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///held", Version: new(int32(7)), Edits: []protocol.TextEdit{insert("1")}}},
			[]lsp.FileOperation{{Path: "/held", Old: "h\n", New: "1h\n", Edits: 1}},
		},
		{
			"a version of what is not held",
			[]lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///a", Version: new(int32(1)), Edits: []protocol.TextEdit{insert("1")}}},
			[]lsp.FileOperation{{Path: "/a", Old: "aaa\n", New: "1aaa\n", Edits: 1}},
		},
		{
			"create, then edit",
			[]lsp.DocumentChange{&lsp.CreateFile{URI: "file:///n/w"}, docEdit("file:///n/w", insert("new\n"))},
			[]lsp.FileOperation{{Kind: lsp.MakeFile, Path: "/n/w", New: "new\n", Edits: 1}},
		},
		{"create what is there", []lsp.DocumentChange{&lsp.CreateFile{URI: "file:///a", IgnoreIfExists: true}}, nil},
		{
			"create over what is there",
			[]lsp.DocumentChange{&lsp.CreateFile{URI: "file:///a", Overwrite: true, IgnoreIfExists: true}, docEdit("file:///a", insert("1"))},
			[]lsp.FileOperation{{Path: "/a", Old: "aaa\n", New: "1", Edits: 2}},
		},
		{
			"rename, then edit by the new name",
			[]lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///z/a"}, docEdit("file:///z/a", insert("1"))},
			[]lsp.FileOperation{{Kind: lsp.MoveFile, Path: "/a", NewPath: "/z/a"}, {Path: "/z/a", Old: "aaa\n", New: "1aaa\n", Edits: 1}},
		},
		{
			"rename, then edit by the old name",
			[]lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///z"}, docEdit("file:///a", insert("1")), docEdit("file:///z", insert("2"))},
			[]lsp.FileOperation{{Kind: lsp.MoveFile, Path: "/a", NewPath: "/z"}, {Path: "/z", Old: "aaa\n", New: "21aaa\n", Edits: 2}},
		},
		{
			"edit, then rename, then edit",
			[]lsp.DocumentChange{docEdit("file:///a", insert("1")), &lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///z"}, docEdit("file:///z", insert("2"))},
			[]lsp.FileOperation{{Path: "/a", Old: "aaa\n", New: "1aaa\n", Edits: 1}, {Kind: lsp.MoveFile, Path: "/a", NewPath: "/z"}, {Path: "/z", Old: "1aaa\n", New: "21aaa\n", Edits: 1}},
		},
		{
			"a directory moves with its files",
			[]lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///d", NewURI: "file:///n"}, docEdit("file:///n/x", insert("1")), docEdit("file:///d/y", insert("2"))},
			[]lsp.FileOperation{{Kind: lsp.MoveFile, Path: "/d", NewPath: "/n", Directory: true}, {Path: "/n/x", Old: "x\n", New: "1x\n", Edits: 1}, {Path: "/n/y", Old: "y\n", New: "2y\n", Edits: 1}},
		},
		{"two files change places", []lsp.DocumentChange{
			&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///t"}, &lsp.RenameFile{OldURI: "file:///b", NewURI: "file:///a"}, &lsp.RenameFile{OldURI: "file:///t", NewURI: "file:///b"}, docEdit("file:///a", insert("1")),
		}, []lsp.FileOperation{{Kind: lsp.MoveFile, Path: "/a", NewPath: "/t"}, {Kind: lsp.MoveFile, Path: "/b", NewPath: "/a"}, {Kind: lsp.MoveFile, Path: "/t", NewPath: "/b"}, {Path: "/a", Old: "bbb\n", New: "1bbb\n", Edits: 1}}},
		{
			"rename onto another",
			[]lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///b", Overwrite: true}, docEdit("file:///b", insert("1"))},
			[]lsp.FileOperation{{Kind: lsp.RemoveFile, Path: "/b", Recursive: true}, {Kind: lsp.MoveFile, Path: "/a", NewPath: "/b"}, {Path: "/b", Old: "aaa\n", New: "1aaa\n", Edits: 1}},
		},
		{"rename that gives way", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///b", IgnoreIfExists: true}}, nil},
		{"rename to itself", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///./a"}}, nil},
		{
			"delete, then create",
			[]lsp.DocumentChange{&lsp.DeleteFile{URI: "file:///a"}, &lsp.CreateFile{URI: "file:///a"}, docEdit("file:///a", insert("1"))},
			[]lsp.FileOperation{{Kind: lsp.RemoveFile, Path: "/a", Old: "aaa\n"}, {Kind: lsp.MakeFile, Path: "/a", New: "1", Edits: 1}},
		},
		{
			"delete a directory",
			[]lsp.DocumentChange{&lsp.DeleteFile{URI: "file:///d", Recursive: true}, &lsp.DeleteFile{URI: "file:///d/x", IgnoreIfNotExists: true}},
			[]lsp.FileOperation{{Kind: lsp.RemoveFile, Path: "/d", Directory: true, Recursive: true}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := (&lsp.WorkspaceEdit{Changes: tt.changes}).Plan(disk.around())
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				got = nil
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWorkspaceEdit_PlanErrors(t *testing.T) {
	disk := files{"/a": "aaa\n", "/b": "bbb\n", "/d/x": "x\n", "/held": "h\n"}
	for _, tt := range []struct {
		name    string
		changes []lsp.DocumentChange
		is      error
		says    string
	}{
		{"overlap", []lsp.DocumentChange{docEdit("file:///a", edit(0, 0, 0, 2, "x"), edit(0, 1, 0, 3, "y"))}, lsp.ErrOverlap, "/a: overlapping LSP edits: 1:1-1:3 conflicts with 1:2-1:4"},
		{"another version", []lsp.DocumentChange{&lsp.TextDocumentEdit{URI: "file:///held", Version: new(int32(6))}}, lsp.ErrEditVersion, "for version 6 of /held, which now has version 7"},
		{"no file URI", []lsp.DocumentChange{docEdit("untitled:Untitled-1")}, lsp.ErrNotAFile, "untitled:Untitled-1"},
		{"no URI", []lsp.DocumentChange{&lsp.CreateFile{}}, lsp.ErrNotAFile, `""`},
		{"a new URI that is none", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "https://x/y"}}, lsp.ErrNotAFile, "https://x/y"},
		{"edit of nothing", []lsp.DocumentChange{docEdit("file:///none", edit(0, 0, 0, 0, ""))}, fs.ErrNotExist, "/none"},
		{"edit of a directory", []lsp.DocumentChange{docEdit("file:///d")}, lsp.ErrEditTarget, "/d"},
		{"edit of what is deleted", []lsp.DocumentChange{&lsp.DeleteFile{URI: "file:///d"}, docEdit("file:///d/x")}, fs.ErrNotExist, "/d/x"},
		{"create twice", []lsp.DocumentChange{&lsp.CreateFile{URI: "file:///n"}, &lsp.CreateFile{URI: "file:///n"}}, lsp.ErrEditTarget, "/n"},
		{"create over a directory", []lsp.DocumentChange{&lsp.CreateFile{URI: "file:///d", Overwrite: true}}, lsp.ErrEditTarget, "/d"},
		{"create a parent of a file", []lsp.DocumentChange{&lsp.CreateFile{URI: "file:///n/x"}, &lsp.CreateFile{URI: "file:///n"}}, lsp.ErrEditTarget, "/n"},
		{"rename onto another", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///a", NewURI: "file:///b"}}, lsp.ErrEditTarget, "/b"},
		{"rename nothing", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///none", NewURI: "file:///b"}}, fs.ErrNotExist, "/none"},
		{"rename into itself", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///d", NewURI: "file:///d/e"}}, lsp.ErrEditTarget, "/d/e"},
		{"rename over the parent", []lsp.DocumentChange{&lsp.RenameFile{OldURI: "file:///d/x", NewURI: "file:///d", Overwrite: true}}, lsp.ErrEditTarget, "/d/x"},
		{"delete nothing", []lsp.DocumentChange{&lsp.DeleteFile{URI: "file:///none"}}, fs.ErrNotExist, "/none"},
		{"delete twice", []lsp.DocumentChange{&lsp.DeleteFile{URI: "file:///a"}, &lsp.DeleteFile{URI: "file:///a"}}, fs.ErrNotExist, "/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := (&lsp.WorkspaceEdit{Changes: tt.changes}).Plan(disk.around())
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v; want an error that is %v and says %q", got, err, tt.is, tt.says)
			}
		})
	}
}

func TestWorkspaceEdit_PlanOnWindows(t *testing.T) {
	disk := files{`C:\w\a.go`: "a\n", `\\host\share\b.go`: "b\n"}
	around := disk.around()
	around.GOOS = "windows"
	w := lsp.WorkspaceEdit{Changes: []lsp.DocumentChange{
		docEdit("file:///c%3A/w/x/../a.go", edit(0, 0, 0, 0, "1")), docEdit("file://host/share/b.go", edit(0, 0, 0, 0, "2")),
		&lsp.RenameFile{OldURI: "file:///C:/w", NewURI: "file:///C:/v"}, docEdit("file:///c:/v/a.go", edit(0, 0, 0, 0, "3")),
	}}
	around.Kind = func(path string) (lsp.FileKind, error) {
		if path == `C:\w` {
			return lsp.Directory, nil
		}
		if _, ok := disk[path]; ok {
			return lsp.PlainFile, nil
		}
		return lsp.NoFile, nil
	}
	got, err := w.Plan(around)
	if err != nil {
		t.Fatal(err)
	}
	want := []lsp.FileOperation{
		{Path: `C:\w\a.go`, Old: "a\n", New: "1a\n", Edits: 1},
		{Path: `\\host\share\b.go`, Old: "b\n", New: "2b\n", Edits: 1},
		{Kind: lsp.MoveFile, Path: `C:\w`, NewPath: `C:\v`, Directory: true},
		{Path: `C:\v\a.go`, Old: "1a\n", New: "31a\n", Edits: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, uri := range []string{"file:///a.go", "file://host/share", "file:///c:a.go"} {
		if _, err := (&lsp.WorkspaceEdit{Changes: []lsp.DocumentChange{docEdit(uri)}}).Plan(around); !errors.Is(err, lsp.ErrNotAFile) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// FuzzWorkspaceEdit checks that decoding and planning terminate with a consistent plan or an error.
func FuzzWorkspaceEdit(f *testing.F) {
	for _, raw := range []string{
		`{"changes":{"file:///a":[{"range":{"start":{"line":0,"character":0},"end":{"line":9,"character":9}},"newText":"${1:x}"}]}}`,
		`{"documentChanges":[{"kind":"rename","oldUri":"file:///d","newUri":"file:///n"},{"textDocument":{"uri":"file:///n/x"},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"snippet":{"value":"a"}}]}]}`,
		`{"documentChanges":[{"kind":"delete","uri":"file:///d"},{"kind":"create","uri":"file:///d/x"},{"kind":"rename","oldUri":"file:///d","newUri":"file:///a","options":{"overwrite":true}}]}`,
	} {
		f.Add(raw, true)
	}
	f.Fuzz(func(t *testing.T, raw string, windows bool) {
		w, err := lsp.DecodeWorkspaceEdit(jsonx.Raw(raw))
		if err != nil {
			return
		}
		around := files{"/a": "aaa\n", "/b": "b𝄞\r\n", "/d/x": "x\n", `C:\a`: "a\n"}.around()
		if windows {
			around.GOOS = "windows"
		}
		ops, err := w.Plan(around)
		if err != nil {
			return
		}
		for _, o := range ops {
			for _, path := range o.Paths() {
				if path == "" || strings.ContainsRune(path, 0) {
					t.Errorf("%+v has the path %q", o, path)
				}
			}
			if o.Kind == lsp.WriteFile && o.Old == o.New {
				t.Errorf("%+v does nothing", o)
			}
		}
	})
}

// FuzzPlan checks that planning edits without overlaps has the same result as applying them one by one from the end.
func FuzzPlan(f *testing.F) {
	f.Add("one\ntwo\n𝄞three", []byte{1, 2, 3, 4, 5, 9}, "x")
	f.Fuzz(func(t *testing.T, text string, cuts []byte, with string) {
		if strings.ContainsAny(text+with, "\r\n") || len(text) == 0 {
			return // line breaks follow other rules
		}
		doc := lsp.NewText(text)
		var edits []protocol.TextEdit
		want, last := "", 0
		for i := 0; i+1 < len(cuts); i += 2 {
			from := doc.Offset(doc.Position(last+int(cuts[i])%7, lsp.UTF16), lsp.UTF16)
			to := doc.Offset(doc.Position(from+int(cuts[i+1])%7, lsp.UTF16), lsp.UTF16)
			if from < last || to < from || from == len(text) {
				break
			}
			edits = append(edits, protocol.TextEdit{Range: protocol.Range{Start: doc.Position(from, lsp.UTF16), End: doc.Position(to, lsp.UTF16)}, NewText: with})
			want += text[last:from] + with
			last = to
		}
		want += text[last:]
		for i, j := 0, len(edits)-1; i < j; i, j = i+2, j-1 { // reverse the edits, but keep the order of insertions at the same position
			if edits[i].Range.Start != edits[j].Range.Start {
				edits[i], edits[j] = edits[j], edits[i]
			}
		}
		ops, err := (&lsp.WorkspaceEdit{Changes: []lsp.DocumentChange{docEdit("file:///f", edits...)}}).Plan(files{"/f": text}.around())
		if err != nil {
			t.Fatal(err)
		}
		got := text
		if len(ops) == 1 {
			got = ops[0].New
		}
		if got != want {
			t.Errorf("%q with %v is %q, want %q", text, edits, got, want)
		}
	})
}
