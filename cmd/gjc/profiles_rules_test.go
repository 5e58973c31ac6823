package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

func profileOf(t *testing.T, name string) editorProfile {
	t.Helper()
	all := editorProfiles()
	i := slices.IndexFunc(all, func(p editorProfile) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no profile %s", name)
	}
	return all[i]
}

// The JSON of what the profiles advertise, so that the test shows a change.
func TestEditorProfiles_Advertise(t *testing.T) {
	want := map[string]string{
		"zed": `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"session":{"configOptions":{"boolean":{}}},` +
			`"auth":{"terminal":true},"elicitation":{"form":{},"url":{}},"_meta":{"terminal-auth":true,"terminal_output":true}}`,
		"zed-beta": `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"session":{"compaction":{},"configOptions":{"boolean":{}},"notices":{}},` +
			`"auth":{"terminal":true},"elicitation":{"form":{},"url":{}},"_meta":{"terminal-auth":true,"terminal_output":true}}`,
		"acpx":    `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}`,
		"minimal": `{}`,
	}
	const files = `{"fs":{"readTextFile":true,"writeTextFile":true}}`
	names := make(map[string]bool)
	for _, p := range editorProfiles() {
		if names[p.Name] {
			t.Errorf("two profiles %s", p.Name)
		}
		names[p.Name] = true
		raw, err := json.Marshal(p.Capabilities)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := want[p.Name]
		if !ok {
			text = files
		}
		if got, want := plain(t, raw), plain(t, []byte(text)); got != want {
			t.Errorf("%s advertises\n%s, want\n%s", p.Name, got, want)
		}
	}
	for _, name := range []string{"zed", "zed-beta", "jetbrains", "codecompanion", "agent-shell", "acpx", "minimal"} {
		if !names[name] {
			t.Errorf("there is no profile %s", name)
		}
	}
}

// plain returns a JSON object with sorted members and without those that are false.
func plain(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(withoutNo(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func withoutNo(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, member := range object {
		inner, isObject := member.(map[string]any)
		wasEmpty := len(inner) == 0
		member = withoutNo(member)
		if member == false || member == nil || isObject && !wasEmpty && len(inner) == 0 {
			delete(object, name)
		}
	}
	return object
}

const (
	opens = `> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
`
	prompts = opens + `> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
`
	question = `< {"jsonrpc":"2.0","id":"q1","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}
`
	question2 = `< {"jsonrpc":"2.0","id":"q2","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}
`
)

func updateLine(u string) string {
	return `< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + "}}\n"
}

func initializeLines(result string) string {
	return "> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n< {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":" + result + "}\n"
}

const says = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`

// Each message that an editor does not tolerate is reported, and no other.
func TestEditorWatch(t *testing.T) {
	const old = `"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true}}`
	tests := []struct {
		name    string
		profile string
		lines   string
		want    string // in the complaint about the last line; empty for none
	}{
		{"a turn", "minimal", prompts + updateLine(says), ""},
		{"junk", "minimal", "< Starting up…\n", "not a message"},
		{"unknown session", "minimal", updateLine(says), "does not know"},
		{"session of a load", "minimal", `> {"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}` + "\n" + updateLine(says), ""},
		{"answer to nothing", "minimal", `< {"jsonrpc":"2.0","id":9,"result":{}}` + "\n", "no open request"},
		{"file that was not advertised", "minimal", prompts + `< {"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a"}}` + "\n", "not advertised"},
		{"file", "codecompanion", prompts + `< {"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a"}}` + "\n", ""},
		{"terminal that was not advertised", "jetbrains", prompts + `< {"jsonrpc":"2.0","id":"r","method":"terminal/create","params":{"sessionId":"s","command":"/bin/sh"}}` + "\n", "not advertised"},
		{"terminal", "acpx", prompts + `< {"jsonrpc":"2.0","id":"r","method":"terminal/create","params":{"sessionId":"s","command":"/bin/sh"}}` + "\n", ""},
		{"form that was not advertised", "acpx", prompts + `< {"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{"sessionId":"s","mode":"form"}}` + "\n", "not advertised"},
		{"form", "zed", prompts + `< {"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{"sessionId":"s","mode":"form"}}` + "\n", ""},
		{"unknown request", "zed", prompts + `< {"jsonrpc":"2.0","id":"r","method":"mcp/message","params":{"sessionId":"s"}}` + "\n", "not advertised"},
		{"notice that was not advertised", "zed", prompts + updateLine(`{"sessionUpdate":"notice","severity":"info","title":"x"}`), "not advertised"},
		{"notice", "zed-beta", prompts + updateLine(`{"sessionUpdate":"notice","severity":"info","title":"x"}`), ""},
		{"compaction that was not advertised", "zed", prompts + updateLine(`{"sessionUpdate":"compaction_update"}`), "not advertised"},
		{"compaction", "zed-beta", prompts + updateLine(`{"sessionUpdate":"compaction_update"}`), ""},
		{"plan that was not advertised", "zed-beta", prompts + updateLine(`{"sessionUpdate":"plan_update"}`), "not advertised"},
		{"child that was not advertised", "zed-beta", prompts + updateLine(`{"sessionUpdate":"subagent_update","sessionId":"c"}`), "not advertised"},
		{"switch that was not advertised", "acpx", prompts + updateLine(`{"sessionUpdate":"config_option_update","configOptions":[{"type":"boolean"}]}`), "switch"},
		{"switch", "zed", prompts + updateLine(`{"sessionUpdate":"config_option_update","configOptions":[{"type":"boolean"}]}`), ""},
		{"switch in an answer", "acpx", `> {"jsonrpc":"2.0","id":1,"method":"session/set_config_option","params":{"sessionId":"s"}}` + "\n" +
			`< {"jsonrpc":"2.0","id":1,"result":{"configOptions":[{"type":"boolean"}]}}` + "\n", "switch"},
		{"sign-in in a terminal that was not advertised", "codecompanion", initializeLines(`{"protocolVersion":1,"authMethods":[{"id":"x","name":"x","type":"terminal"}]}`), "not advertised"},
		{"sign-in in a terminal", "zed", initializeLines(`{"protocolVersion":1,"authMethods":[{"id":"x","name":"x","type":"terminal"}]}`), ""},
		{"sign-in by meta that was not advertised", "codecompanion", initializeLines(`{"protocolVersion":1,"authMethods":[{"id":"x","name":"x","_meta":{"terminal-auth":{}}}]}`), "not advertised"},
		{"output by meta that was not advertised", "codecompanion", prompts + updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{}}}`), "not advertised"},
		{"output by meta", "zed", prompts + updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{}}}`), ""},

		{"two questions", "codecompanion", prompts + question + question2, "another one is open"},
		{"one question after the other", "codecompanion", prompts + question + `> {"jsonrpc":"2.0","id":"q1","result":{}}` + "\n" + question2, ""},
		{"two questions elsewhere", "zed", prompts + question + question2, ""},

		{"words outside of a turn", "agent-shell", opens + updateLine(says), "outside of a turn"},
		{"a message after a turn", "agent-shell", prompts + `< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}` + "\n" + updateLine(says), "outside of a turn"},
		{"a message after a failed turn", "agent-shell", prompts + `< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"x"}}` + "\n" + updateLine(says), "outside of a turn"},
		{"words of the next turn", "agent-shell", prompts + `> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}` + "\n" +
			`< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}` + "\n" + updateLine(says), ""},
		{"title outside of a turn", "agent-shell", opens + updateLine(`{"sessionUpdate":"session_info_update","title":"x"}`), ""},
		{"words outside of a turn elsewhere", "zed", opens + updateLine(says), ""},

		{"all old flags", "jetbrains", initializeLines(`{"protocolVersion":1,"futureMember":7,"authMethods":[{"id":"x","name":"x"}],` + old + `}`), ""},
		{"a flag is missing", "jetbrains", initializeLines(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true}}}`), "is missing"},
		{"unknown sign-in", "jetbrains", initializeLines(`{"protocolVersion":1,"authMethods":[{"id":"x","name":"x","type":"env_var"}]}`), `unknown type "env_var"`},
		{"version is a string", "jetbrains", initializeLines(`{"protocolVersion":"1"}`), "not a whole number"},
		{"known update", "jetbrains", prompts + updateLine(says), ""},
		{"unknown update", "jetbrains", prompts + updateLine(`{"sessionUpdate":"usage"}`), `unknown sessionUpdate "usage"`},
		{"unknown content", "jetbrains", prompts + updateLine(`{"sessionUpdate":"agent_message_chunk","content":{"type":"smell"}}`), `unknown type "smell"`},
		{"unknown tool kind", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"mcp"}`), "mcp is none of"},
		{"unknown status", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"cancelled"}`), "cancelled is none of"},
		{"null for an optional member", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":null,"future":{}}`), ""},
		{"member missing", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call","title":"x"}`), "toolCallId is missing"},
		{"number for a string", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call","toolCallId":1,"title":"x"}`), "not a string"},
		{"fraction for a line", "jetbrains", prompts + updateLine(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","locations":[{"path":"/a","line":1.5}]}`), "not a whole number"},
		{"unknown option kind", "jetbrains", prompts + strings.Replace(question, `"options":[]`, `"options":[{"optionId":"a","name":"a","kind":"allow_session"}]`, 1), "allow_session is none of"},
		{"unknown stop reason", "jetbrains", prompts + `< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"error"}}` + "\n", "error is none of"},
		{"grouped choices", "jetbrains", prompts + updateLine(`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"a","name":"a","currentValue":"x","options":[{"group":"g","name":"g","options":[{"value":"x","name":"x"}]}]}]}`), ""},
		{"choice without a name", "jetbrains", prompts + updateLine(`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"a","name":"a","currentValue":"x","options":[{"value":"x"}]}]}`), "name is missing"},
		{"extension", "jetbrains", prompts + `< {"jsonrpc":"2.0","method":"_gjc/x","params":{}}` + "\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.profile+"/"+tt.name, func(t *testing.T) {
			p := profileOf(t, tt.profile)
			w := p.watch()
			var err error
			for line := range strings.Lines(tt.lines) {
				if err != nil {
					t.Fatalf("too early: %v", err)
				}
				text, sent := strings.CutPrefix(line, "> ")
				err = w.Line(sent, []byte(strings.TrimPrefix(text, "< ")))
			}
			if tt.want == "" && err != nil {
				t.Errorf("complains: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want a complaint about %q", err, tt.want)
			}
		})
	}
}

// The decoder accepts exactly the words of the stable schema. A new version of the schema fails the test if it changes them.
func TestEditorWatch_KnowsTheStableSchema(t *testing.T) {
	dir := testenv.NeedsInterop(t)
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			OneOf []struct {
				Const      string `json:"const"`
				Properties map[string]struct {
					Const string `json:"const"`
				} `json:"properties"`
			} `json:"oneOf"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	p := profileOf(t, "jetbrains")
	complaint := func(u string) string {
		w := p.watch()
		for line := range strings.Lines(prompts) {
			text, sent := strings.CutPrefix(line, "> ")
			if err := w.Line(sent, []byte(strings.TrimPrefix(text, "< "))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Line(false, []byte(strings.TrimPrefix(updateLine(u), "< "))); err != nil {
			return err.Error()
		}
		return ""
	}
	for def, form := range map[string]string{
		"SessionUpdate":   `{"sessionUpdate":"$"}`,
		"ContentBlock":    `{"sessionUpdate":"agent_message_chunk","content":{"type":"$"}}`,
		"ToolCallContent": `{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"$"}]}`,
		"ToolKind":        `{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"$"}`,
		"ToolCallStatus":  `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"$"}`,
	} {
		words := 0
		for _, variant := range schema.Defs[def].OneOf {
			word := variant.Const
			for _, m := range variant.Properties {
				word = m.Const + word
			}
			words++
			switch word {
			case "notice", "compaction_update", "compaction_summary_chunk":
				continue // only for those that advertise them
			}
			if got := complaint(strings.ReplaceAll(form, "$", word)); strings.Contains(got, "unknown") || strings.Contains(got, "none of") {
				t.Errorf("%s: %s", def, got)
			}
		}
		if words < 3 {
			t.Errorf("the schema has %d kinds of %s", words, def)
		}
	}
}

func TestEditorProfile_Sandbox(t *testing.T) {
	p := profileOf(t, "acpx")
	opts := p.Editor(acptest.EditorOptions{}, func(err error, line []byte) { t.Errorf("%v in %s", err, line) })
	for line := range strings.Lines(opens) {
		text, sent := strings.CutPrefix(line, "> ")
		opts.Trace(sent, []byte(strings.TrimPrefix(text, "< ")))
	}
	for path, want := range map[string]bool{"/w/a.txt": true, "/w": true, "/w/..b": true, "/wa": false, "/": false, "/w/../x": false} {
		for _, params := range []any{
			&acp.ReadTextFileRequest{SessionID: "s", Path: path}, &acp.WriteTextFileRequest{SessionID: "s", Path: path},
			&acp.CreateTerminalRequest{SessionID: "s", Cwd: path},
		} {
			if err := opts.Requested("x", params); (err == nil) != want {
				t.Errorf("%T of %s: %v", params, path, err)
			}
		}
	}
	if err := opts.Requested("x", &acp.ReadTextFileRequest{SessionID: "other", Path: "/w/a.txt"}); err == nil {
		t.Error("a file was read for a session that is not there")
	}
}
