package files_test

import (
	"slices"
	"testing"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/providers"
)

// Each model is offered one tool to change parts of files: the one for which it was trained, or the one that the user has chosen.
func TestEditModes_OnePerModel(t *testing.T) {
	models := map[string]string{
		"gpt-6-sol": "apply_patch", "gpt-5.2-codex": "apply_patch", "openai/gpt-oss-120b": "apply_patch", "openai.gpt-oss-20b-1:0": "apply_patch",
		"gpt-4.1-mini": "apply_patch", "codex-mini-latest": "apply_patch", "gpt-10": "apply_patch",
		"gpt-4o": "edit", "gpt-4-turbo": "edit", "gpt-3.5-turbo": "edit", "gpt-large": "edit", "gpt-": "edit", "o3": "edit",
		"claude-opus-5-5": "edit", "gemini-3.8-flash": "edit", "demo": "edit", "": "edit",
	}
	for id, want := range models {
		if got := offered(files.EditAuto, id); !slices.Equal(got, []string{want}) {
			t.Errorf("%q is offered %v, want %s", id, got, want)
		}
		for _, mode := range []files.EditMode{files.EditReplace, files.EditPatch, files.EditHashline, files.EditApplyPatch} {
			want := "edit"
			if mode == files.EditApplyPatch {
				want = "apply_patch"
			}
			if got := offered(mode, id); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q is offered %v, want %s", mode, id, got, want)
			}
		}
	}
}

func offered(mode files.EditMode, id string) []string {
	var names []string
	for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
		spec := tool.Spec()
		if spec.Name != "edit" && spec.Name != "apply_patch" {
			continue
		}
		if spec.For == nil || spec.For(&providers.ModelInfo{Provider: "p", ID: id}) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// Every mode preserves the bytes that it does not change, through the editor.
func TestEditModes_KeepBytes(t *testing.T) {
	const bom = "\xEF\xBB\xBF"
	inputs := map[files.EditMode]toolstest.Input{
		files.EditReplace:    {"path": "f", "edits": []any{toolstest.Input{"old_text": "two\n", "new_text": "2\n"}}},
		files.EditPatch:      {"path": "f", "edits": []any{toolstest.Input{"diff": "@@\n one\n-two\n+2\n"}}},
		files.EditApplyPatch: {"input": "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n+2\n*** End Patch"},
		files.EditHashline:   {"path": "f", "input": "≔2bp\n2"},
	}
	for name, tt := range map[string]struct{ text, want string }{
		"lf":          {"one\ntwo\nthree\n", "one\n2\nthree\n"},
		"crlf":        {"one\r\ntwo\r\nthree\r\n", "one\r\n2\r\nthree\r\n"},
		"mixed":       {"one\r\ntwo\r\nthree\n", "one\r\n2\r\nthree\n"},
		"open":        {"one\ntwo\nthree", "one\n2\nthree"},
		"mark":        {bom + "one\ntwo\n", bom + "one\n2\n"},
		"mark, utf16": {toolstest.UTF16LE("one\ntwo\nü\n"), toolstest.UTF16LE("one\n2\nü\n")},
		"last":        {"one\ntwo\n", "one\n2\n"},
	} {
		for mode, in := range inputs {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				w := toolstest.NewWorld(t, map[string]string{"f": tt.text})
				editTool := editTool(t, mode)
				p, res, err := toolstest.Do(t.Context(), editTool, w.Call(t, editTool.Spec().Name, in))
				if err != nil {
					t.Fatal(err)
				}
				toolstest.Same(t, "the file", w.Disk(t, "f"), tt.want)
				if len(p.Content) != 1 || len(res.Content) != 1 {
					t.Fatalf("preview %v, result %v", p.Content, res.Content)
				}
				toolstest.Same(t, "the diff before and after", p.Content, res.Content)
			})
		}
	}
}
