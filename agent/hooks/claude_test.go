package hooks_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

const claudeSettings = `{
  "permissions": {"allow": ["Bash(ls)"]},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "scripts/check.sh", "timeout": 5}]},
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo $CLAUDE_PROJECT_DIR"}, {"type": "prompt", "prompt": "is it good?"}]}
    ],
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}],
    "Stop": [{"matcher": "*", "hooks": [{"command": "true"}]}],
    "WorktreeCreate": [{"hooks": [{"command": "true"}]}],
    "PostToolUse": [{"matcher": "(", "hooks": [{"command": "true"}]}, {"matcher": "x", "hooks": [{"command": " "}, {"command": "true", "timeout": "soon"}]}]
  }
}`

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// The hooks of Claude Code are read as they are, and used after a question for each file, also those of the user.
func TestLoad_Claude(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	put(t, filepath.Join(root, ".claude/settings.json"), claudeSettings)
	put(t, filepath.Join(root, ".claude/settings.local.json"), `{"hooks":{"Stop":[{"hooks":[{"command":"false"}]}]}}`)
	put(t, filepath.Join(root, "scripts/check.sh"), "exit 2")
	put(t, filepath.Join(home, ".claude/settings.json"), `{"hooks":{"SessionStart":[{"hooks":[{"command":"echo hello"}]}]}}`)
	session := trust.NewSession(nil)
	load := func() *hooks.Set {
		return hooks.Load(hooks.Options{Roots: []string{root}, Home: home, Trust: session})
	}
	set := load()
	if len(set.Hooks) != 0 || len(set.Untrusted) != 6 {
		t.Fatalf("%d hooks, %d untrusted", len(set.Hooks), len(set.Untrusted))
	}
	problems := strings.Join(set.Problems, "\n")
	for _, want := range []string{`gjc has no event "WorktreeCreate"`, "no regular expression", `hooks of the type "prompt" are not supported`, "has no command", "timeout must be"} {
		if !strings.Contains(problems, want) {
			t.Errorf("problems %s; want %q", problems, want)
		}
	}
	var asked []string
	for q := set.Question(); q != nil; q = load().Question() {
		asked = append(asked, strings.Join(q.Lines(), "|"))
		if err := q.Answer(t.Context(), len(asked) < 3, false); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		".claude/settings.json|  PreToolUse: scripts/check.sh|  PreToolUse: echo $CLAUDE_PROJECT_DIR|  UserPromptSubmit: date|  Stop: true|scripts/check.sh",
		".claude/settings.local.json|  Stop: false", ".claude/settings.json|  SessionStart: echo hello",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	set = load()
	if len(set.Hooks) != 5 || len(set.Untrusted) != 1 {
		t.Fatalf("after the answers: %d hooks, %d untrusted", len(set.Hooks), len(set.Untrusted))
	}
	for _, c := range []struct {
		hook int
		ev   hooks.Event
		tool string
		want bool
	}{
		{0, hooks.ToolCall, "edit", true},
		{0, hooks.ToolCall, "bash", false},
		{0, hooks.ToolResult, "edit", false},
		{1, hooks.ToolCall, "bash", true},
		{1, hooks.ToolCall, "mcp__a_bash", false},
		{2, hooks.Prompt, "", true},
		{3, hooks.TurnEnd, "", true},
	} {
		if got := set.Hooks[c.hook].For(c.ev, c.tool); got != c.want {
			t.Errorf("hook %d for %s of %q: %v", c.hook, c.ev, c.tool, got)
		}
	}
	if set.Hooks[0].Timeout != 5*time.Second {
		t.Errorf("the timeout is %v", set.Hooks[0].Timeout)
	}
	put(t, filepath.Join(root, "scripts/check.sh"), "exit 0")
	if set = load(); len(set.Hooks) != 1 {
		t.Errorf("after a change of a script: %d hooks", len(set.Hooks))
	}
	put(t, filepath.Join(root, ".claude/settings.json"), `{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`)
	if set = load(); len(set.Hooks)+len(set.Untrusted) != 2 {
		t.Errorf("with disableAllHooks: %d and %d hooks", len(set.Hooks), len(set.Untrusted))
	}
}

// printing is a [hooks.Runner] whose programs print what they read, or what a test says.
type printing struct {
	out    string
	code   int
	stderr string
	stdin  map[string]any
}

func (p *printing) LookPath(name string) (string, error) { return "/bin/" + name, nil }

func (p *printing) Run(_ context.Context, _ string, _ []string, _ string, stdin []byte, _ int) ([]byte, int, string, error) {
	p.stdin = nil
	err := json.Unmarshal(stdin, &p.stdin)
	return []byte(p.out), p.code, p.stderr, err
}

// claudeHook returns the hook of Claude Code for an event.
func claudeHook(t *testing.T, event string) *hooks.Hook {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, ".claude/settings.json"), `{"hooks":{"`+event+`":[{"hooks":[{"command":"x"}]}]}}`)
	set := hooks.Load(hooks.Options{Roots: []string{root}})
	if len(set.Untrusted) != 1 {
		t.Fatalf("%s: %v", event, set.Problems)
	}
	return set.Untrusted[0]
}

// TestClaude_Answers covers the exit codes and outputs that Claude Code documents.
func TestClaude_Answers(t *testing.T) {
	for _, c := range []struct {
		event, out string
		code       int
		stderr     string
		want       hooks.Answer
		fails      string
	}{
		{"PreToolUse", "", 0, "", hooks.Answer{}, ""},
		{"PreToolUse", "text for the transcript", 0, "", hooks.Answer{}, ""},
		{"PreToolUse", "", 2, "no rm", hooks.Answer{Block: true, Reason: "no rm"}, ""},
		{"PreToolUse", "", 1, "broken", hooks.Answer{}, "exit code 1: broken"},
		{"PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"never"}}`, 0, "", hooks.Answer{Block: true, Reason: "never"}, ""},
		{"PreToolUse", `{"hookSpecificOutput":{"permissionDecision":"allow"}}`, 0, "", hooks.Answer{}, ""},
		{"PreToolUse", `{"decision":"approve"}`, 0, "", hooks.Answer{}, ""},
		{"PreToolUse", `{"decision":"block","reason":"old form"}`, 0, "", hooks.Answer{Block: true, Reason: "old form"}, ""},
		{"PreToolUse", `{"hookSpecificOutput":{"updatedInput":{"file_path":"b"}}}`, 0, "", hooks.Answer{Input: jsonx.Raw(`{"path":"b"}`)}, ""},
		{"PreToolUse", `{"continue":false,"stopReason":"enough"}`, 0, "", hooks.Answer{Block: true, Reason: "enough"}, ""},
		{"PreToolUse", `{"systemMessage":"look"}`, 0, "", hooks.Answer{Notice: "look"}, ""},
		{"PreToolUse", `{"decision":5}`, 0, "", hooks.Answer{}, "not a valid answer"},
		{"PermissionRequest", `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}}`, 0, "", hooks.Answer{Block: true, Reason: "no"}, ""},
		{"PermissionRequest", `{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`, 0, "", hooks.Answer{}, ""},
		{"PostToolUse", "", 2, "lint fails", hooks.Answer{Context: "lint fails"}, ""},
		{"PostToolUse", `{"decision":"block","reason":"fix it","hookSpecificOutput":{"additionalContext":"more"}}`, 0, "", hooks.Answer{Context: "more\nfix it"}, ""},
		{"UserPromptSubmit", "it is Monday", 0, "", hooks.Answer{Context: "it is Monday"}, ""},
		{"UserPromptSubmit", `{"decision":"block","reason":"a key"}`, 0, "", hooks.Answer{Block: true, Reason: "a key"}, ""},
		{"SessionStart", "branch main", 0, "", hooks.Answer{Context: "branch main"}, ""},
		{"Stop", `{"decision":"block","reason":"test it"}`, 0, "", hooks.Answer{Block: true, Reason: "test it"}, ""},
		{"Stop", `{"continue":false}`, 0, "", hooks.Answer{}, ""},
	} {
		h := claudeHook(t, c.event)
		a, err := h.Run(t.Context(), &printing{out: c.out, code: c.code, stderr: c.stderr}, hooks.Input{Event: h.Events[0]})
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) || !reflect.DeepEqual(a, c.want) {
			t.Errorf("%s %s with %d: %+v, %v", c.event, c.out, c.code, a, err)
		}
	}
}

// TestClaude_Input has the names of Claude Code.
func TestClaude_Input(t *testing.T) {
	h := claudeHook(t, "PreToolUse")
	p := new(printing)
	if _, err := h.Run(t.Context(), p, hooks.Input{
		Event: hooks.ToolCall, SessionID: "s", Cwd: "/w", Mode: "plan", Tool: &hooks.ToolInput{CallID: "1", Name: "edit", Input: jsonx.Raw(`{"path":"/w/a","x":1}`)},
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"session_id": "s", "transcript_path": "", "cwd": "/w", "permission_mode": "plan", "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "1",
		"tool_input": map[string]any{"file_path": "/w/a", "x": 1.0}, "stop_hook_active": false,
	}
	if diff := cmp.Diff(want, p.stdin); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
