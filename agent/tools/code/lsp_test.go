package code_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/lsp"
)

// The result merges all forms of an answer and identical answers of two servers. A linter is not asked.
func TestLSP_Definitions(t *testing.T) {
	outside := filepath.Join(filepath.Dir(t.TempDir()), "outside.x")
	w := toolstest.NewWorld(t, map[string]string{"a.x": "zero\n𝄞 one\ntwo\n", "b.x": "first\n"})
	specs := []*lsp.Spec{
		serverSpec(t, w, "one", serverScript{Capabilities: provides("definitionProvider", "typeDefinitionProvider"), Answers: map[string][]any{
			"textDocument/definition":     {[]any{locationAt("a.x", 1, 3, 6), object{"targetUri": "file://$W/b.x", "targetRange": lineSpan(0, 0, 5), "targetSelectionRange": lineSpan(0, 2, 3)}}},
			"textDocument/typeDefinition": {locationAt("b.x", 0, 0, 1)},
		}}),
		serverSpec(t, w, "two", serverScript{Encoding: "utf-8", Capabilities: provides("definitionProvider", "implementationProvider"), Answers: map[string][]any{
			"textDocument/definition": {[]any{locationAt("a.x", 1, 5, 8), object{"uri": fileURI(outside), "range": lineSpan(4, 0, 1)}, object{"uri": "jdt://contents/x", "range": lineSpan(0, 0, 1)}}},
		}}),
		serverSpec(t, w, "linter", serverScript{Capabilities: provides("definitionProvider"), Answers: map[string][]any{"textDocument/definition": {locationAt("b.x", 0, 4, 5)}}}),
	}
	specs[2].Linter = true
	openServers(t, w, &fakeServers{Specs: specs}, os.Environ())
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "definition", "file": "a.x", "line": 2, "symbol": "one"})
	toolstest.Same(t, "definitions", strings.ReplaceAll(res.Text, outside, "OUTSIDE"), `Found 4 definitions:
OUTSIDE:5:1
a.x:2:3
  1: zero
  2: 𝄞 one
  3: two
b.x:1:3
  1: first
jdt://contents/x:1:1`)
	toolstest.Same(t, "locations", res.Locations, []agent.Location{{Path: outside, Line: 5}, {Path: w.Path("a.x"), Line: 2}, {Path: w.Path("b.x"), Line: 1}})
	// Each server receives the position in its own encoding.
	if h := receivedBy(t, specs[0]); !strings.Contains(h, `"position":{"line":1,"character":3}`) {
		t.Errorf("the server with UTF-16 heard\n%s", h)
	}
	if h := receivedBy(t, specs[1]); !strings.Contains(h, `"position":{"line":1,"character":5}`) {
		t.Errorf("the server with UTF-8 heard\n%s", h)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(specs[2].Args[1]), "heard")); err == nil {
		t.Error("the linter was started")
	}

	res = toolstest.Run(t, w, "lsp", toolstest.Input{"action": "type_definition", "file": "a.x", "line": 2, "symbol": "one"})
	toolstest.Contains(t, res.Text, "Found 1 type definition:\nb.x:1:1")
	res = toolstest.Run(t, w, "lsp", toolstest.Input{"action": "implementation", "file": "a.x", "line": 2, "symbol": "one"})
	toolstest.Contains(t, res.Text, "No implementation found")
	err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "hover", "file": "a.x", "line": 2, "symbol": "one"})
	toolstest.Contains(t, err.Error(), "one does not support textDocument/hover", "two does not support textDocument/hover")
}

// A server that is still indexing is asked again.
func TestLSP_ReferencesAreRetried(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "name name\n"}, serverScript{Capabilities: provides("referencesProvider"), Answers: map[string][]any{
		"textDocument/references": {nil, []any{locationAt("a.x", 0, 0, 4)}, []any{locationAt("a.x", 0, 0, 4), locationAt("a.x", 0, 5, 9)}},
	}})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "references", "file": "a.x", "line": 1, "symbol": "name"})
	toolstest.Contains(t, res.Text, "Found 2 references:\na.x:1:1\n", "a.x:1:6\n")
}

func TestLSP_ManyReferences(t *testing.T) {
	var list []any
	for n := range 60 {
		list = append(list, locationAt("a.x", n, 0, 1))
	}
	w, _ := serverWorld(t, map[string]string{"a.x": strings.Repeat("x\n", 60)}, serverScript{Capabilities: provides("referencesProvider"), Answers: map[string][]any{"textDocument/references": {list}}})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "references", "file": "a.x", "line": 1, "symbol": "x"})
	toolstest.Contains(t, res.Text, "Found 60 references:\na.x:1:1\n  1: x\n  2: x\n", "a.x:50:1\n  49: x\n  50: x\n  51: x\n... 10 additional reference(s) shown without context\na.x:51:1\na.x:52:1\n")
	if len(res.Locations) != 50 {
		t.Errorf("%d locations", len(res.Locations))
	}
}

// Servers that do not answer, die or refuse.
func TestLSP_ServersThatFail(t *testing.T) {
	for _, tt := range []struct {
		answer any
		says   []string
	}{
		{"hang", []string{"LSP hover timed out after 5s on fake."}},
		{"die", []string{"the fake server dies on textDocument/hover"}},
		{"error no package for file", []string{"LSP error: fake: textDocument/hover: no package for file"}},
	} {
		t.Run(fmt.Sprint(tt.answer), func(t *testing.T) {
			w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{Capabilities: provides("hoverProvider"), Answers: map[string][]any{"textDocument/hover": {tt.answer}}})
			err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "hover", "file": "a.x", "line": 1, "timeout": 1})
			toolstest.Contains(t, err.Error(), tt.says...)
		})
	}
}

func TestLSP_NoServers(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.x": "x\n"})
	openServers(t, w, &fakeServers{Unused: []lsp.Unused{{Name: "xls", Why: "xls is not installed; npm install -g xls", FileTypes: []string{".x"}}, {Name: "yls", Why: "there is nothing for it", FileTypes: []string{".y"}, Elsewhere: true}}}, nil)
	err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "a.x"})
	toolstest.Same(t, "error", err.Error(), "No language server found for a.x; nothing is known about it.\n- xls: xls is not installed; npm install -g xls")
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "status"})
	toolstest.Contains(t, res.Text, "No language servers configured for this project\n\nNot used:\n- xls: xls is not installed")
	if strings.Contains(res.Text, "yls") {
		t.Errorf("it tells of a server that nobody misses:\n%s", res.Text)
	}
	err = toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "*"})
	toolstest.Contains(t, err.Error(), "Cannot detect project type. ")
	res = toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "*.y"})
	toolstest.Contains(t, res.Text, "No files matched pattern: *.y")
	w.Languages = nil
	err = toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "status"})
	toolstest.Contains(t, err.Error(), "this session has no language servers")
}

// A rename of a server that moves files too, with positions in UTF-16.
func TestLSP_RenameWithFiles(t *testing.T) {
	edit := object{"documentChanges": []any{
		object{"textDocument": object{"uri": "file://$W/a.x", "version": nil}, "edits": []any{object{"range": lineSpan(0, 3, 6), "newText": "two"}}},
		object{"kind": "rename", "oldUri": "file://$W/one.x", "newUri": "file://$W/two.x"},
		object{"textDocument": object{"uri": "file://$W/two.x"}, "edits": []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}},
		object{"kind": "create", "uri": "file://$W/new.x"},
		object{"kind": "delete", "uri": "file://$W/old.x"},
	}}
	w, _ := serverWorld(t, map[string]string{"a.x": "\ufeff𝄞 one\r\nend\r\n", "one.x": "one\n", "old.x": "old\n"}, serverScript{
		Capabilities: provides("renameProvider"), Answers: map[string][]any{"textDocument/rename": {edit}},
	})
	before := toolstest.Tree(t, w)
	in := toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two", "apply": false}
	res := lspEdits(t, w, in)
	toolstest.Contains(t, res.Text, "Rename preview:\n  a.x: 1 edit\n  RENAME one.x → two.x\n  two.x: 1 edit\n  CREATE new.x\n  DELETE old.x\n")
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), before)
	delete(in, "apply")
	res = lspEdits(t, w, in,
		approval.Effect{Action: approval.ActionMove, Paths: []string{w.Path("one.x"), w.Path("two.x")}}, approval.Effect{Action: approval.ActionDelete, Path: w.Path("old.x")},
		approval.Effect{Action: approval.ActionEdit, Paths: []string{w.Path("a.x"), w.Path("new.x"), w.Path("two.x")}})
	toolstest.Contains(t, res.Text, "Applied rename:\n  a.x: 1 edit\n  RENAME one.x → two.x\n")
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"a.x": "\ufeff𝄞 two\r\nend\r\n", "two.x": "two\n", "new.x": ""})
}

// Each file outside the roots is a separate effect, even one reached through a link.
func TestLSP_RenameOutside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "o.x")
	if err := os.WriteFile(outside, []byte("one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	edits := []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}
	w := toolstest.NewWorld(t, map[string]string{"a.x": "one\n"})
	if err := os.Symlink(outside, w.Path("link.x")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	spec := serverSpec(t, w, "fake", serverScript{Capabilities: provides("renameProvider"), Answers: map[string][]any{
		"textDocument/rename": {object{"changes": object{"file://$W/a.x": edits, fileURI(outside): edits}}, object{"changes": object{"file://$W/link.x": edits}}},
	}})
	openServers(t, w, &fakeServers{Specs: []*lsp.Spec{spec}}, os.Environ())
	in := toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two", "apply": true}
	p := toolstest.MustPlan(t, w, "lsp", in)
	toolstest.Same(t, "effects", len(p.Effects), 2)
	toolstest.Same(t, "the one outside", p.Effects[0], approval.Effect{Action: approval.ActionEdit, Path: outside, Title: "Rename one in a.x to two: edit " + outside})
	p = toolstest.MustPlan(t, w, "lsp", in)
	toolstest.Same(t, "the one after the link", p.Effects[1].Path, w.Path("link.x"))
}

func TestLSP_RenameRefused(t *testing.T) {
	for _, tt := range []struct {
		prepare any
		says    string
	}{
		{nil, "fake refuses to rename one: nothing there can be renamed"},
		{"error it is a keyword", "fake refuses to rename one: it is a keyword"},
	} {
		w, _ := serverWorld(t, map[string]string{"a.x": "one\n"}, serverScript{
			Capabilities: object{"renameProvider": object{"prepareProvider": true}}, Answers: map[string][]any{"textDocument/prepareRename": {tt.prepare}},
		})
		err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"})
		toolstest.Contains(t, err.Error(), tt.says)
	}
	w, _ := serverWorld(t, map[string]string{"a.x": "one\n"}, serverScript{Capabilities: provides("renameProvider")})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"})
	toolstest.Same(t, "text", res.Text, "Rename returned no edits")
}

// A server computes its edit from the disk. If the editor has unsaved text, the server is asked again.
func TestLSP_RenameKnowsUnsavedText(t *testing.T) {
	edit := func(line int) object {
		return object{"changes": object{"file://$W/a.x": []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}, "file://$W/b.x": []any{object{"range": lineSpan(line, 0, 3), "newText": "two"}}}}
	}
	w, spec := serverWorld(t, map[string]string{"a.x": "one\n", "b.x": "one\n"}, serverScript{
		Capabilities: provides("renameProvider"), Answers: map[string][]any{"textDocument/rename": {edit(0), edit(1)}},
	})
	w.FS.Buffers[w.Path("b.x")] = "unsaved\none\n"
	lspEdits(t, w, toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"},
		approval.Effect{Action: approval.ActionEdit, Paths: []string{w.Path("a.x"), w.Path("b.x")}})
	toolstest.Same(t, "b.x", w.FS.Buffers[w.Path("b.x")], "unsaved\ntwo\n")
	toolstest.Contains(t, receivedBy(t, spec), `"text":"unsaved\none\n"`)
}

// The edits of two servers for one rename of a file are joined. If both change the same text, the first one's edit wins.
func TestLSP_RenameFileOfTwoServers(t *testing.T) {
	filters := func(glob string) object {
		return object{"workspace": object{"fileOperations": object{
			"willRename": object{"filters": []any{object{"scheme": "file", "pattern": object{"glob": glob}}}},
			"didRename":  object{"filters": []any{object{"pattern": object{"glob": "**/*.x", "matches": "file"}}}},
		}}}
	}
	w := toolstest.NewWorld(t, map[string]string{"dir/a.x": "a\n", "dir/b.y": "b\n", "use.x": "𝄞 dir/a dir/b\n"})
	specs := []*lsp.Spec{
		serverSpec(t, w, "one", serverScript{Capabilities: filters("**/*.x"), Answers: map[string][]any{
			"workspace/willRenameFiles": {object{"changes": object{"file://$W/use.x": []any{object{"range": lineSpan(0, 3, 6), "newText": "new"}}}}},
		}}),
		serverSpec(t, w, "two", serverScript{Encoding: "utf-8", Capabilities: filters("**/dir"), Answers: map[string][]any{
			"workspace/willRenameFiles": {object{"changes": object{"file://$W/use.x": []any{object{"range": lineSpan(0, 5, 8), "newText": "NEW"}, object{"range": lineSpan(0, 11, 14), "newText": "new"}}}}},
		}}),
		serverSpec(t, w, "three", serverScript{Capabilities: filters("**/*.x"), Answers: map[string][]any{"workspace/willRenameFiles": {"error not now"}}}),
		serverSpec(t, w, "four", serverScript{}),
	}
	openServers(t, w, &fakeServers{Specs: specs}, os.Environ())
	res := lspEdits(t, w, toolstest.Input{"action": "rename_file", "file": "dir", "new_name": "new"},
		approval.Effect{Action: approval.ActionMove, Paths: []string{w.Path("dir"), w.Path("new")}}, approval.Effect{Action: approval.ActionEdit, Path: w.Path("use.x")})
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"new/": "", "new/a.x": "a\n", "new/b.y": "b\n", "use.x": "𝄞 new/a new/b\n"})
	toolstest.Contains(t, res.Text, "  use.x: 2 edits\n  RENAME dir → new\n", "[Server notes:\nthree: workspace/willRenameFiles: not now]", "[1 edit of other servers were omitted")
	toolstest.Contains(t, receivedBy(t, specs[0]), `"files":[{"oldUri":"`+fileURI(w.Path("dir/a.x"))+`","newUri":"`+fileURI(w.Path("new/a.x"))+`"}]`, `"method":"workspace/didRenameFiles"`)
	toolstest.Contains(t, receivedBy(t, specs[1]), `"files":[{"oldUri":"`+fileURI(w.Path("dir"))+`","newUri":"`+fileURI(w.Path("new"))+`"}]`)
	if h := receivedBy(t, specs[3]); strings.Contains(h, "RenameFiles") {
		t.Errorf("a server that wants no renames heard\n%s", h)
	}
}

func TestLSP_CodeActions(t *testing.T) {
	edits := object{"changes": object{"file://$W/a.x": []any{object{"range": lineSpan(0, 0, 1), "newText": "Y"}}}}
	diagnostic := object{"range": lineSpan(0, 0, 1), "message": "x is wrong", "data": object{"id": 7}}
	actions := []any{
		object{"title": "Fix it", "kind": "quickfix", "isPreferred": true, "edit": edits},
		object{"title": "Fix it later", "kind": "quickfix", "data": 3},
		object{"title": "Melt it", "kind": "refactor", "disabled": object{"reason": "too cold"}},
		object{"title": "Run it", "command": "run.it", "arguments": []any{1, object{"deep": true}}},
		object{"title": "Nothing", "kind": "source.nothing"},
	}
	script := serverScript{
		Capabilities: object{"codeActionProvider": object{"resolveProvider": true}, "executeCommandProvider": object{"commands": []any{"run.it"}}, "diagnosticProvider": object{"interFileDependencies": false, "workspaceDiagnostics": false}},
		Answers: map[string][]any{
			"textDocument/codeAction": {actions}, "codeAction/resolve": {object{"title": "Fix it later", "edit": edits}},
			"textDocument/diagnostic":  {object{"kind": "full", "items": []any{diagnostic, object{"range": lineSpan(1, 0, 1), "message": "elsewhere"}}}},
			"workspace/executeCommand": {object{"done": true}},
		},
		Applies: []any{edits, object{"documentChanges": []any{object{"kind": "create", "uri": "file:///nowhere/else.x"}}}},
	}
	files := map[string]string{"a.x": "x\nx\n"}
	w, spec := serverWorld(t, files, script)
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "code_actions", "file": "a.x", "line": 1})
	toolstest.Contains(t, res.Text, "5 code actions:\n1. [quickfix] Fix it (preferred) (fake)\n2. [quickfix] Fix it later (fake)\n3. [refactor] Melt it (fake) (disabled: too cold)\n4. Run it (fake)\n")
	h := receivedBy(t, spec)
	toolstest.Contains(t, h, `{"data":{"id":7},"message":"x is wrong","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}`, `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}`)
	if strings.Contains(h, "elsewhere") {
		t.Error("problems of other lines go along")
	}

	file := approval.Effect{Action: approval.ActionEdit, Path: w.Path("a.x")}
	lspEdits(t, w, toolstest.Input{"action": "code_actions", "file": "a.x", "line": 1, "apply": true, "query": "1"}, file)
	toolstest.Same(t, "a.x", w.Disk(t, "a.x"), "Y\nx\n")
	w.Put(t, "a.x", files["a.x"])
	lspEdits(t, w, toolstest.Input{"action": "code_actions", "file": "a.x", "line": 1, "apply": true, "query": "it later"}, file)
	toolstest.Same(t, "a.x after resolve", w.Disk(t, "a.x"), "Y\nx\n")
	toolstest.Contains(t, receivedBy(t, spec), `"method":"codeAction/resolve","params":{"data":3,"kind":"quickfix","title":"Fix it later"}`)

	w.Put(t, "a.x", files["a.x"])
	res = lspEdits(t, w, toolstest.Input{"action": "code_actions", "file": "a.x", "line": 1, "apply": true, "query": "run"}, file, approval.Effect{Action: approval.ActionCommand})
	toolstest.Contains(t, res.Text, `Applied "Run it":`, "  a.x: 1 edit\n", `fake answered: {"done":true}`)
	toolstest.Same(t, "a.x after the command", w.Disk(t, "a.x"), "Y\nx\n")
	toolstest.Contains(t, receivedBy(t, spec), `"command":"run.it","arguments":[1,{"deep":true}]`, `"applied":true`, "else.x is outside of the workspace")

	for query, says := range map[string]string{
		"melt": `the action "Melt it" is disabled: too cold`, "9": `no code action matches "9"`, "othing": `the action "Nothing" has no workspace edit or command to apply`,
		"t": "code actions match \"t\"; give the number of one:\n1. ", "": "needs query",
	} {
		err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "code_actions", "file": "a.x", "line": 1, "apply": true, "query": query})
		toolstest.Contains(t, err.Error(), says)
	}
}

// A method with unknown effects requires permission like a command, for each call separately.
func TestLSP_RequestEffects(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{})
	for query, asks := range map[string]bool{
		"textDocument/hover": false, "workspace/symbol": false, "codeAction/resolve": false,
		"workspace/executeCommand": true, "workspace/willRenameFiles": true, "rust-analyzer/runFlycheck": true, "textDocument/didSave": true,
	} {
		p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": "request", "query": query, "payload": `{"a":"it's"}`})
		if asked := len(p.Effects) == 1 && p.Effects[0].Action == approval.ActionCommand; asked != asks {
			t.Errorf("%s: effects %+v", query, p.Effects)
		}
	}
	err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "request", "query": "shutdown"})
	toolstest.Contains(t, err.Error(), "gjc sends shutdown itself")
}

// Problems of the whole workspace come from a server that supports this. No checker is run then.
func TestLSP_WorkspaceDiagnostics(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "𝄞x\n", "go.mod": "module m\n"}, serverScript{
		Capabilities: object{"diagnosticProvider": object{"interFileDependencies": true, "workspaceDiagnostics": true}},
		Answers: map[string][]any{"workspace/diagnostic": {object{"items": []any{
			object{"kind": "full", "uri": "file://$W/a.x", "version": nil, "items": []any{object{"range": lineSpan(0, 2, 3), "severity": 1, "message": "no such x", "code": 7}}},
		}}}},
	})
	p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "*"})
	toolstest.Same(t, "effects", p.Effects, nil)
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "*"})
	toolstest.Contains(t, res.Text, "Workspace diagnostics of the language servers:\na.x: 1 error\n  1:2 [error] no such x (7)")
	toolstest.Same(t, "locations", res.Locations, []agent.Location{{Path: w.Path("a.x"), Line: 1}})
}

// A server that does not answer does not count as one that finds nothing.
func TestLSP_SilentServer(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{Silent: true})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "a.x", "timeout": 5})
	if strings.Contains(res.Text, "no problems") {
		t.Errorf("it says %q", res.Text)
	}
	toolstest.Contains(t, res.Text, "fake has not answered in time")
}

// A text that is too long for the model is stored.
func TestLSP_LongAnswer(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{Capabilities: provides("hoverProvider"), Answers: map[string][]any{
		"textDocument/hover": {object{"contents": []any{object{"language": "x", "value": "x"}, strings.Repeat("long line\n", 10_000)}}},
	}})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "hover", "file": "a.x", "line": 1})
	if len(res.Text) > 52<<10 || !strings.HasPrefix(res.Text, "```x\nx\n```\n\nlong line\n") {
		t.Errorf("%d bytes: %.60q", len(res.Text), res.Text)
	}
	toolstest.Contains(t, res.Text, "KiB left out. The full text is in artifact://1; use read with line ranges of it.]")
}

// The file is deleted while the server is working.
func TestLSP_FileIsDeletedMeanwhile(t *testing.T) {
	edit := object{"changes": object{"file://$W/a.x": []any{object{"range": lineSpan(0, 0, 1), "newText": "y"}}, "file://$W/gone.x": []any{object{"range": lineSpan(0, 0, 1), "newText": "y"}}}}
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{Capabilities: provides("renameProvider"), Answers: map[string][]any{"textDocument/rename": {edit}}})
	err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "x", "new_name": "y"})
	toolstest.Contains(t, err.Error(), "gone.x: file does not exist")
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"a.x": "x\n"})
}

// A request that a change has made obsolete is repeated.
func TestLSP_Overtaken(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "x\n"}, serverScript{Capabilities: provides("hoverProvider"), Answers: map[string][]any{
		"textDocument/hover": {"overtaken", object{"contents": "by now"}},
	}})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "hover", "file": "a.x", "line": 1})
	toolstest.Same(t, "text", res.Text, "by now")
}

// A name that looks like a glob is one file for all actions, and for their effects.
func TestLSP_NamesLikeGlobs(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"[id].x": "x\n", "i.x": "x\n"}, serverScript{Capabilities: provides("hoverProvider"), Answers: map[string][]any{
		"textDocument/hover": {object{"contents": "here"}},
	}})
	for _, action := range []string{"hover", "diagnostics"} {
		p := toolstest.MustPlan(t, w, "lsp", toolstest.Input{"action": action, "file": "[id].x", "line": 1})
		toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionRead, Path: w.Path("[id].x")}})
	}
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "hover", "file": "[id].x", "line": 1})
	toolstest.Same(t, "hover", res.Text, "here")
	res = toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "[id].x"})
	toolstest.Same(t, "diagnostics", res.Text, "[id].x: no problems (fake)")
}
