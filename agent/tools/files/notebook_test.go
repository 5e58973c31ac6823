package files_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

const aNotebook = "{\r\n \"cells\": [\r\n  {\r\n   \"cell_type\": \"code\",\r\n   \"execution_count\": 3,\r\n   \"metadata\": {},\r\n   \"outputs\": [],\r\n   \"source\": [\r\n    \"x = 1\"\r\n   ]\r\n  }\r\n ],\r\n \"nbformat\": 4,\r\n \"nbformat_minor\": 4\r\n}"

func TestNotebook(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.ipynb": aNotebook})
	toolstest.Run(t, w, "read", toolstest.Input{"path": "a.ipynb"})
	in := toolstest.Input{"path": "a.ipynb", "action": "replace", "cell": 0, "source": "x = 2\ny = 3"}
	p := toolstest.MustPlan(t, w, "notebook", in)
	want := strings.Replace(strings.Replace(aNotebook, "\"x = 1\"", "\"x = 2\\n\",\r\n    \"y = 3\"", 1), "3,\r\n   \"meta", "null,\r\n   \"meta", 1)
	old := aNotebook
	diff := agent.DiffContent{Path: w.Path("a.ipynb"), Old: &old, New: want}
	toolstest.Same(t, "content", p.Content, []agent.Content{diff})
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionEdit, Path: w.Path("a.ipynb"), Title: "Edit a.ipynb"}})
	res := toolstest.Run(t, w, "notebook", in)
	if got := w.Disk(t, "a.ipynb"); got != want {
		t.Errorf("%q", got)
	}
	toolstest.Same(t, "content", res.Content, []agent.Content{diff})
	if !strings.Contains(res.Text, "The notebook now has 1 cell.") || !strings.Contains(res.Text, "x = 2") {
		t.Errorf("%s", res.Text)
	}
	// A second change builds on the first, and undo reverses it.
	toolstest.Run(t, w, "notebook", toolstest.Input{"path": "a.ipynb", "action": "insert", "cell": 1, "source": "# text", "type": "markdown"})
	if got := w.Disk(t, "a.ipynb"); !strings.Contains(got, "  },\r\n  {\r\n   \"cell_type\": \"markdown\",\r\n   \"metadata\": {},\r\n   \"source\": [\r\n    \"# text\"\r\n   ]\r\n  }\r\n ],") {
		t.Errorf("%q", got)
	}
	toolstest.Run(t, w, "undo", toolstest.Input{})
	if got := w.Disk(t, "a.ipynb"); got != want {
		t.Errorf("undone: %q", got)
	}
	if err := toolstest.Fails(t, w, "notebook", toolstest.Input{"path": "a.ipynb", "action": "replace", "cell": 0, "source": "x = 2\ny = 3"}); !strings.Contains(err.Error(), "nothing to change") {
		t.Errorf("%v", err)
	}
	// Another program's change may have moved the cells.
	w.Put(t, "a.ipynb", strings.Replace(want, "x = 2", "x = 9", 1))
	if err := toolstest.Fails(t, w, "notebook", toolstest.Input{"path": "a.ipynb", "action": "delete", "cell": 0}); !strings.Contains(err.Error(), "numbered differently") || !strings.Contains(err.Error(), "x = 9") {
		t.Errorf("%v", err)
	}
	toolstest.Run(t, w, "notebook", toolstest.Input{"path": "a.ipynb", "action": "delete", "cell": 0}) // the model knows the change now
	if got := w.Disk(t, "a.ipynb"); !strings.HasPrefix(got, "{\r\n \"cells\": [],") {
		t.Errorf("%q", got)
	}
}

func TestNotebook_BadInput(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.ipynb": aNotebook, "broken.ipynb": "{", "a.txt": "x", "d.ipynb/x": ""})
	for in, want := range map[string]string{
		`{}`:                          "path, action, cell missing",
		`{"path": null, "action": 1}`: "",
		`{"path": "a.ipynb", "action": "x", "cell": 0}`:                                 "unknown action",
		`{"path": "a.ipynb", "action": "replace", "cell": "0", "source": ""}`:           "/cell",
		`{"path": "a.ipynb", "action": "replace", "cell": 0}`:                           "needs the source",
		`{"path": "a.ipynb", "action": "replace", "cell": 5, "source": ""}`:             "there is no cell 5",
		`{"path": "a.ipynb", "action": "insert", "cell": 99999999999999, "source": ""}`: "there is no cell",
		`{"path": "a.ipynb", "action": "delete", "cell": 0, "source": "x"}`:             "delete takes no source",
		`{"path": "a.ipynb", "action": "delete", "cell": 0, "cell_index": 1}`:           "cell_index",
		`{"path": "a.txt", "action": "delete", "cell": 0}`:                              "path must end in .ipynb",
		`{"path": "none.ipynb", "action": "delete", "cell": 0}`:                         "",
		`{"path": "broken.ipynb", "action": "delete", "cell": 0}`:                       "not a notebook",
		`{"path": "d.ipynb", "action": "delete", "cell": 0}`:                            "is a directory",
	} {
		if err := toolstest.Fails(t, w, "notebook", in); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
	if got := w.Disk(t, "a.ipynb"); got != aNotebook {
		t.Errorf("%q", got)
	}
}
