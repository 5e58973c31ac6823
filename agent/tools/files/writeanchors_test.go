package files_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// In the mode hashline a model sees lines with anchors, and may copy them into its output. They do not reach files, the editor's
// preview or archives. In the other modes, and if one line has none, the text is unchanged.
func TestWrite_CopiedAnchors(t *testing.T) {
	const plain = "package x\n\nfunc f() {}\n"
	var copied strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(plain, "\n"), "\n") {
		copied.WriteString("    " + hashline.Anchor(i+1, line) + "|" + line + "\n")
	}
	pasted := copied.String()
	for name, tt := range map[string]struct {
		mode       files.EditMode
		path       string
		give, want string
	}{
		"new file":            {files.EditHashline, "new.go", pasted, plain},
		"existing file":       {files.EditHashline, "old.go", pasted, plain},
		"CRLF":                {files.EditHashline, "crlf.go", pasted, strings.ReplaceAll(plain, "\n", "\r\n")},
		"without a last line": {files.EditHashline, "new.go", strings.TrimSuffix(pasted, "\n"), strings.TrimSuffix(plain, "\n")},
		"one line without":    {files.EditHashline, "new.go", pasted + "more\n", pasted + "more\n"},
		"tables":              {files.EditHashline, "new.md", "1aa|x\n2bb|y\n", "1aa|x\n2bb|y\n"},
		"empty":               {files.EditHashline, "new.md", "", ""},
		"another mode":        {files.EditReplace, "new.go", pasted, pasted},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"old.go": "package old\n", "crlf.go": "package old\r\n"})
			plan, res, err := doWrite(t, w, tt.mode, toolstest.Input{"path": tt.path, "content": tt.give})
			if err != nil {
				t.Fatal(err)
			}
			toolstest.Same(t, "the file", w.Disk(t, tt.path), tt.want)
			for _, c := range append(plan.Content, res.Content...) {
				if d, ok := c.(agent.DiffContent); ok && strings.ReplaceAll(d.New, "\r\n", "\n") != strings.ReplaceAll(tt.want, "\r\n", "\n") {
					t.Errorf("the editor is shown %q", d.New)
				}
			}
			if left := strings.Contains(res.Text, "anchors"); left != (tt.give == pasted && tt.mode == files.EditHashline || name == "without a last line") {
				t.Errorf("the model is told %q", res.Text)
			}
		})
	}
	w := toolstest.NewWorld(t, nil)
	if _, _, err := doWrite(t, w, files.EditHashline, toolstest.Input{"path": "a.zip:x.go", "content": pasted}); err != nil {
		t.Fatal(err)
	}
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "a.zip:x.go"}).Text; strings.Contains(got, "|package x|") || strings.Contains(got, hashline.Anchor(1, "package x")) {
		t.Errorf("in the archive is %s", got)
	}
}

func doWrite(t *testing.T, w *toolstest.World, mode files.EditMode, in any) (*agent.CallPlan, *agent.Result, error) {
	t.Helper()
	for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
		if tool.Spec().Name == "write" {
			return toolstest.Do(t.Context(), tool, w.Call(t, "write", in))
		}
	}
	t.Fatal("there is no tool write")
	return nil, nil, nil
}
