package tools_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func tool(t testing.TB, name string) agent.Tool {
	t.Helper()
	for _, tool := range tools.All() {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

func TestSmoke(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.go": "package a\n\nfunc A() {}\n", "d/b.txt": "x\r\ny\r\n", ".gitignore": "*.log\n", "z.log": "func"})
	for _, c := range []struct {
		tool  string
		input any
	}{
		{"read", map[string]any{"path": "a.go"}},
		{"read", map[string]any{"path": "a.go:2+1"}},
		{"read", map[string]any{"path": "."}},
		{"read", map[string]any{"path": "b.txt"}},
		{"write", map[string]any{"path": "n/x.txt", "content": "hello\n"}},
		{"edit", map[string]any{"path": "d/b.txt", "edits": []any{map[string]any{"old_text": "x\ny", "new_text": "1\n2"}}}},
		{"edit", map[string]any{"path": "a.go", "edits": []any{map[string]any{"old_text": "func  A() {", "new_text": "1\n2"}}}},
		{"search", map[string]any{"pattern": "func"}},
		{"find", map[string]any{"paths": []string{"*.txt", "d"}}},
		{"todo_write", map[string]any{"todos": []any{map[string]any{"content": "x"}}}},
	} {
		plan, res, err := toolstest.Do(t.Context(), tool(t, c.tool), w.Call(t, c.tool, c.input))
		if err != nil {
			t.Logf("%s %v: error %v", c.tool, c.input, err)
			continue
		}
		t.Logf("%s %v: %s\n%s", c.tool, c.input, plan.Title, res.Text)
	}
}
