package code_test

import (
	"maps"
	"os"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/lsp"
)

// Some servers support only one direction of a hierarchy, or declare a method that they do not support.
func TestLSP_UnknownMethods(t *testing.T) {
	item := object{"name": "one", "kind": 12, "uri": "file://$W/a.x", "range": lineSpan(0, 0, 3), "selectionRange": lineSpan(0, 0, 3)}
	w, _ := serverWorld(t, map[string]string{"a.x": "one\n"}, serverScript{
		Capabilities: object{"callHierarchyProvider": true, "typeHierarchyProvider": true, "renameProvider": object{"prepareProvider": true}},
		Answers: map[string][]any{
			"textDocument/prepareCallHierarchy": {[]any{item}},
			"callHierarchy/incomingCalls":       {[]any{object{"from": item, "fromRanges": []any{lineSpan(0, 0, 3)}}}},
			"callHierarchy/outgoingCalls":       {"unknown"},
			"textDocument/prepareTypeHierarchy": {"unknown"},
			"textDocument/prepareRename":        {"unknown"},
			"textDocument/rename":               {object{"changes": object{"file://$W/a.x": []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}}}},
		},
	})
	place := func(action string, more toolstest.Input) toolstest.Input {
		in := toolstest.Input{"action": action, "file": "a.x", "line": 1, "symbol": "one"}
		maps.Copy(in, more)
		return in
	}
	res := toolstest.Run(t, w, "lsp", place("call_hierarchy", nil))
	toolstest.Same(t, "calls", res.Text, "function one a.x:1:1\n  called by:\n    function one a.x:1:1 (call at line 1)\n  calls: unknown, fake does not support callHierarchy/outgoingCalls")
	err := toolstest.Fails(t, w, "lsp", place("call_hierarchy", toolstest.Input{"direction": "outgoing"}))
	toolstest.Contains(t, err.Error(), "fake does not support callHierarchy/outgoingCalls")
	err = toolstest.Fails(t, w, "lsp", place("type_hierarchy", nil))
	toolstest.Contains(t, err.Error(), "fake does not support textDocument/prepareTypeHierarchy")
	err = toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "request", "file": "a.x", "query": "textDocument/prepareTypeHierarchy"})
	toolstest.Contains(t, err.Error(), "LSP error from fake on textDocument/prepareTypeHierarchy: method not found")
	toolstest.Run(t, w, "lsp", place("rename", toolstest.Input{"new_name": "two"}))
	toolstest.Same(t, "a.x", w.Disk(t, "a.x"), "two\n")
}

// The editor must run commands that a server does not list: those with an edit are made, others are reported.
func TestLSP_CommandsOfTheEditor(t *testing.T) {
	edits := []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}
	command := func(name string, args ...any) object {
		return object{"title": "Rename to 'two'", "command": name, "arguments": args}
	}
	for _, tt := range []struct {
		name    string
		command object
		listed  []any
		text    string // of the file afterwards
		says    string
	}{
		{"an edit", command("_css.applyCodeAction", "file://$W/a.x", 1, edits), nil, "two\n", "Applied \"Rename to 'two'\":\n  a.x: 1 edit\n"},
		{"an edit of any version", command("_x.apply", "file://$W/a.x", nil, edits), []any{"run.it"}, "two\n", "  a.x: 1 edit\n"},
		{"an edit of another version", command("_x.apply", "file://$W/a.x", 7, edits), nil, "one\n", "the edit is for another version of the text"},
		{"something else", command("json.sort", "file://$W/a.x", 1), nil, "one\n", "\"Rename to 'two'\" needs json.sort, an editor command that fake does not run itself"},
		{"a list of something else", command("x.pick", "file://$W/a.x", 1, []any{object{"label": "a"}}), nil, "one\n", "needs x.pick, an editor command"},
		{"its own command", command("run.it", "file://$W/a.x", 1, edits), []any{"run.it"}, "one\n", "fake ran run.it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			caps := object{"codeActionProvider": true}
			if tt.listed != nil {
				caps["executeCommandProvider"] = object{"commands": tt.listed}
			}
			w, _ := serverWorld(t, map[string]string{"a.x": "one\n"}, serverScript{Capabilities: caps, Answers: map[string][]any{"textDocument/codeAction": {[]any{tt.command}}}})
			_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "lsp"), w.Call(t, "lsp", toolstest.Input{"action": "code_actions", "file": "a.x", "apply": true, "query": "1"}))
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = res.Text
			}
			toolstest.Contains(t, said, tt.says)
			toolstest.Same(t, "a.x", w.Disk(t, "a.x"), tt.text)
		})
	}
}

// A linter that fixes files when asked to format them, without declaring it, is asked if its settings allow it.
func TestLSP_FormatsUnsaid(t *testing.T) {
	for settings, says := range map[string]string{`{"format":true}`: "Applied format:\n", `{"format":false}`: "fake does not support textDocument/formatting", "": "fake does not support textDocument/formatting"} {
		t.Run(settings, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.x": "one;;\n"})
			spec := serverSpec(t, w, "fake", serverScript{Answers: map[string][]any{"textDocument/formatting": {[]any{object{"range": lineSpan(0, 4, 5), "newText": ""}}}}})
			spec.Linter = true
			if settings != "" {
				spec.Settings = []byte(settings)
			}
			openServers(t, w, &fakeServers{Specs: []*lsp.Spec{spec}}, os.Environ())
			_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "lsp"), w.Call(t, "lsp", toolstest.Input{"action": "format", "file": "a.x"}))
			said, want := "", "one;;\n"
			if err != nil {
				said = err.Error()
			} else {
				said, want = res.Text, "one;\n"
			}
			toolstest.Contains(t, said, says)
			toolstest.Same(t, "a.x", w.Disk(t, "a.x"), want)
		})
	}
}

// Fixes depend on problems: a server that has not reported its problems yet may have more fixes.
func TestLSP_CodeActionsBeforeProblems(t *testing.T) {
	w, _ := serverWorld(t, map[string]string{"a.x": "one\n"}, serverScript{Silent: true, Capabilities: provides("codeActionProvider")})
	res := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "code_actions", "file": "a.x", "timeout": 5})
	toolstest.Same(t, "text", res.Text, "No code actions available\n\n[fake has not reported the diagnostics of a.x yet; there may be more actions for them.]")
}
