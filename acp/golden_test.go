package acp_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// golden holds the exact encoding of one value of each kind of type.
var golden = []struct {
	name  string
	value any
	want  string
}{
	{
		"every flag is written",
		acp.InitializeResponse{ProtocolVersion: 1},
		`{"protocolVersion":1,"agentCapabilities":{"loadSession":false,` +
			`"promptCapabilities":{"image":false,"audio":false,"embeddedContext":false},` +
			`"mcpCapabilities":{"http":false,"sse":false},"sessionCapabilities":{},"auth":{}},"authMethods":[]}`,
	},
	{
		"capability objects",
		acp.SessionCapabilities{List: &acp.SessionListCapabilities{}, Close: &acp.SessionCloseCapabilities{}},
		`{"list":{},"close":{}}`,
	},
	{
		"required arrays",
		acp.NewSessionRequest{Cwd: "/w"},
		`{"cwd":"/w","mcpServers":[]}`,
	},
	{
		"message chunk",
		acp.SessionNotification{
			SessionID: "s1",
			Update:    &acp.AgentMessageChunk{Content: &acp.TextContent{Text: "a<b"}, MessageID: "m1"},
		},
		`{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk",` +
			`"content":{"type":"text","text":"a<b"},"messageId":"m1"}}`,
	},
	{
		"tool call",
		acp.SessionNotification{SessionID: "s1", Update: &acp.ToolCall{
			ToolCallID: "t1", Title: "Read", Kind: acp.ToolKindRead, Status: acp.ToolCallStatusPending,
			Content: []acp.ToolCallContent{
				&acp.Diff{Path: "/w/a", NewText: "n"},
				&acp.Diff{Path: "/w/a", OldText: new(""), NewText: "n"},
				&acp.Terminal{TerminalID: "x"},
			},
			Locations: []acp.ToolCallLocation{{Path: "/w/a", Line: new(0)}},
			RawInput:  jsonx.Raw(`{"path": "/w/a"}`),
		}},
		`{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read","kind":"read",` +
			`"status":"pending","content":[{"type":"diff","path":"/w/a","newText":"n"},` +
			`{"type":"diff","path":"/w/a","oldText":"","newText":"n"},{"type":"terminal","terminalId":"x"}],` +
			`"locations":[{"path":"/w/a","line":0}],"rawInput":{"path":"/w/a"}}}`,
	},
	{
		"tool call update as a variant",
		acp.ToolCallUpdate{ToolCallID: "t1", Status: acp.Value(acp.ToolCallStatusCompleted), Title: acp.Null[string]()},
		`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","title":null}`,
	},
	{
		"tool call update as a member",
		acp.RequestPermissionRequest{
			SessionID: "s", ToolCall: acp.ToolCallUpdate{ToolCallID: "t"},
			Options: []acp.PermissionOption{{OptionID: "y", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}},
		},
		`{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`,
	},
	{"variant without members", &acp.CancelledPermissionOutcome{}, `{"outcome":"cancelled"}`},
	{
		"untagged variants", acp.InitializeResponse{AuthMethods: []acp.AuthMethod{
			&acp.AuthMethodAgent{ID: "a", Name: "A"}, &acp.AuthMethodTerminal{ID: "t", Name: "T", Args: []string{"login"}},
		}}.AuthMethods,
		`[{"id":"a","name":"A"},{"type":"terminal","id":"t","name":"T","args":["login"]}]`,
	},
	{
		"stdio server",
		acp.LoadSessionRequest{
			SessionID: "s", Cwd: "/", MCPServers: []acp.MCPServer{&acp.MCPServerStdio{Name: "n", Command: "/c"}},
		},
		`{"mcpServers":[{"name":"n","command":"/c","args":[],"env":[]}],"cwd":"/","sessionId":"s"}`,
	},
	{
		"union among the members",
		acp.SessionConfigOption{
			ID: "mode", Name: "Mode", Category: acp.SessionConfigOptionCategoryMode,
			Kind: &acp.SessionConfigSelect{
				CurrentValue: "a", Options: acp.SessionConfigUngroupedOptions{{Value: "a", Name: "A"}},
			},
		},
		`{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"a",` +
			`"options":[{"value":"a","name":"A"}]}`,
	},
	{
		"union among the members twice",
		acp.CreateElicitationRequest{
			Message: "m", Mode: &acp.ElicitationFormMode{
				RequestedSchema: acp.ElicitationSchema{Properties: map[string]acp.ElicitationPropertySchema{
					"b": &acp.BooleanPropertySchema{Default: new(false)}, "a": &acp.StringPropertySchema{Default: new("")},
				}},
				Scope: &acp.ElicitationSessionScope{SessionID: "s"},
			},
		},
		`{"message":"m","mode":"form","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":""},` +
			`"b":{"type":"boolean","default":false}}},"sessionId":"s"}`,
	},
	{
		"elicitation answer",
		acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{
			"i": acp.ElicitationInteger(1), "n": acp.ElicitationNumber(0.5), "s": acp.ElicitationStrings(nil),
		}}},
		`{"action":"accept","content":{"i":1,"n":0.5,"s":[]}}`,
	},
	{
		"switch",
		acp.SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: acp.SessionConfigBoolValue(false)},
		`{"sessionId":"s","configId":"c","type":"boolean","value":false}`,
	},
	{
		"choice",
		acp.SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: acp.SessionConfigValueID("v")},
		`{"sessionId":"s","configId":"c","value":"v"}`,
	},
	{"null id", acp.CancelRequestNotification{}, `{"requestId":null}`},
	{"string id", acp.CancelRequestNotification{RequestID: acp.StringRequestID("1")}, `{"requestId":"1"}`},
	{"number id", acp.CancelRequestNotification{RequestID: acp.NumberRequestID(-1)}, `{"requestId":-1}`},
	{"error", acp.Error{Code: acp.ErrorCodeAuthenticationRequired, Message: "sign in"}, `{"code":-32000,"message":"sign in"}`},
	{"empty answer of a server", acp.MessageMCPResponse{}, `{"result":null}`},
	{
		"meta",
		acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{}, Meta: acp.Meta{"b": nil, "a": jsonx.Raw(`[1]`)}},
		`{"sessionId":"s","prompt":[],"_meta":{"a":[1],"b":null}}`,
	},
}

func TestGolden(t *testing.T) {
	for _, test := range golden {
		t.Run(test.name, func(t *testing.T) {
			got, err := jsonx.Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
			std, err := json.Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, got, std)
		})
	}
}

func TestRequiredUnionMustBeSet(t *testing.T) {
	for _, v := range []any{
		acp.SessionNotification{SessionID: "s"},
		acp.PromptRequest{Prompt: []acp.ContentBlock{nil}},
		acp.CreateElicitationResponse{},
	} {
		if data, err := jsonx.Marshal(v); err == nil {
			t.Errorf("%T without its union is written as %s", v, data)
		}
	}
}
