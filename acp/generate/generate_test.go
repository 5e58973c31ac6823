package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

func schemaDir(t *testing.T) string {
	t.Helper()
	testenv.NeedsInterop(t)
	return filepath.Join(testenv.ModuleRoot(t), filepath.FromSlash(schemaInModule))
}

// The committed files match the generator's output for the pinned schema. The generator also fails for a type without a comment and
// for a comment without a type.
func TestFresh(t *testing.T) {
	files, err := generate(schemaDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		// A checkout may have changed the line endings.
		if text := strings.ReplaceAll(string(got), "\r\n", "\n"); text != string(want) {
			t.Errorf("acp/%s is out of date; run: go generate ./acp\n%s", name, cmp.Diff(text, string(want)))
		}
	}
}

func TestEveryTypeHasAComment(t *testing.T) {
	s, err := loadSchema(schemaDir(t))
	if err != nil {
		t.Fatal(err)
	}
	m, err := newModel(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range m.structs {
		if strings.TrimSuffix(st.doc, " Unstable.") == "" {
			t.Errorf("%s has no comment", st.name)
		}
	}
	if err := m.unusedComments(); err != nil {
		t.Error(err)
	}
	// Remove one comment to check that its absence is reported.
	delete(m.comments.text, "ToolCall")
	m.comments.get("ToolCall", true)
	if m.comments.err() == nil {
		t.Error("a missing comment is not reported")
	}
}

func TestCommentsAreOurOwn(t *testing.T) {
	s, err := loadSchema(schemaDir(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := loadComments()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(schemaDir(t), "schema.unstable.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range c.text {
		if len(text) > 40 && strings.Contains(string(data), text) {
			t.Errorf("the comment of %s is the schema's: %s", name, text)
		}
	}
	if len(s.defs) == 0 {
		t.Error("the schema has no definitions")
	}
}

func TestPinnedVersion(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "testdata", "interop", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pkg struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(data, &pkg); err != nil {
		t.Fatal(err)
	}
	if got := pkg.DevDependencies["@agentclientprotocol/sdk"]; got != sdkVersion {
		t.Errorf("package.json pins the SDK to %q, the generator to %q", got, sdkVersion)
	}
}

func TestLockFileNamesNoHost(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "testdata", "interop", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"://", `"resolved"`} {
		if strings.Contains(string(data), bad) {
			t.Errorf("package-lock.json contains %q; see .npmrc next to it, and drop the funding entries", bad)
		}
	}
}

func TestGoName(t *testing.T) {
	for in, want := range map[string]string{
		"sessionId": "SessionID", "mcpServers": "MCPServers", "McpServerAcpId": "MCPServerACPID", "baseUrl": "BaseURL",
		"LlmProtocol": "LLMProtocol", "fs/read_text_file": "FSReadTextFile", "$/cancel_request": "CancelRequest",
		"date-time": "DateTime", "mimeType": "MIMEType", "oneOf": "OneOf", "openai": "OpenAI", "_meta": "Meta",
		"identity": "Identity",
	} {
		if got := goName(in); got != want {
			t.Errorf("goName(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestLoadSchemaSaysWhatToDo(t *testing.T) {
	_, err := loadSchema(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "npm ci") {
		t.Errorf("got %v", err)
	}
}
