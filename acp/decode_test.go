package acp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, test := range []struct {
		name string
		in   string
		into any
		want string
	}{
		{"wrong type", `{"cwd":1,"mcpServers":[]}`, new(acp.NewSessionRequest), "/cwd: a number does not fit string"},
		{"missing", `{"mcpServers":[]}`, new(acp.NewSessionRequest), "/cwd: missing member"},
		{"null", `{"cwd":null,"mcpServers":[]}`, new(acp.NewSessionRequest), "/cwd: null does not fit string"},
		{"whole", `[]`, new(acp.NewSessionRequest), "an array does not fit object"},
		{"whole null", `null`, new(acp.NewSessionRequest), "null does not fit object"},
		{"first fault wins", `{"mcpServers":1,"cwd":2}`, new(acp.NewSessionRequest), "/mcpServers: a number does not fit array"},
		{
			"in a variant", `{"cwd":"/","mcpServers":[{"type":"http","name":"n","url":true,"headers":[]}]}`,
			new(acp.NewSessionRequest), "/mcpServers/0/url: a boolean does not fit string",
		},
		{
			"missing in a variant", `{"cwd":"/","mcpServers":[{"name":"n","args":[],"env":[]}]}`,
			new(acp.NewSessionRequest), "/mcpServers/0/command: missing member",
		},
		{
			"two unions deep", `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}}`,
			new(acp.SessionNotification), "/update/content/text: missing member",
		},
		{
			"no discriminator", `{"sessionId":"s","update":{"content":{}}}`,
			new(acp.SessionNotification), "/update/sessionUpdate: missing member",
		},
		{
			"wrong discriminator", `{"sessionId":"s","prompt":[{"type":7}]}`,
			new(acp.PromptRequest), "/prompt/0/type: a number does not fit string",
		},
		{
			"no object", `{"sessionId":"s","prompt":["hello"]}`,
			new(acp.PromptRequest), "/prompt/0: a string does not fit object",
		},
		{
			"union among the members", `{"id":"i","name":"n","type":"select","currentValue":1,"options":[]}`,
			new(acp.SessionConfigOption), "/currentValue: a number does not fit string",
		},
		{
			"switch", `{"sessionId":"s","configId":"c","type":"boolean","value":"yes"}`,
			new(acp.SetSessionConfigOptionRequest), "/value: a string does not fit boolean",
		},
		{
			"choice", `{"sessionId":"s","configId":"c","value":true}`,
			new(acp.SetSessionConfigOptionRequest), "/value: a boolean does not fit string",
		},
		{
			"scope", `{"message":"m","mode":"url","url":"u","elicitationId":"e"}`,
			new(acp.CreateElicitationRequest), "one of the members sessionId and requestId must be present",
		},
		{"fraction", `{"sessionId":"s","path":"/p","line":1.5}`, new(acp.ReadTextFileRequest), "/line: a number does not fit integer"},
		{"negative", `{"sessionId":"s","path":"/p","line":-1}`, new(acp.ReadTextFileRequest), "/line: the number must not be negative"},
		{"id", `{"requestId":1.5}`, new(acp.CancelRequestNotification), "/requestId: a request ID must be a string or a 64-bit integer"},
		{"twice", `{"sessionId":"s","sessionId":"t"}`, new(acp.CancelNotification), "/sessionId: duplicate member"},
		{
			"twice in a union", `{"sessionId":"s","prompt":[{"type":"text","text":"a","text":"b"}]}`,
			new(acp.PromptRequest), "/prompt/0/text: duplicate member",
		},
		{"other case", `{"sessionid":"s"}`, new(acp.CancelNotification), "/sessionId: missing member"},
		{
			"grouped options", `{"id":"i","name":"n","type":"select","currentValue":"v","options":[{"group":"g","name":"n","options":[{"value":1,"name":"n"}]},{"group":"g"}]}`,
			new(acp.SessionConfigOption), "/options/1/name: missing member",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := jsonx.Unmarshal([]byte(test.in), test.into)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if _, ok := errors.AsType[*jsonx.DecodeError](err); !ok {
				t.Errorf("got a %T", err)
			}
			if json.Unmarshal([]byte(test.in), test.into) == nil {
				t.Error("encoding/json takes it")
			}
		})
	}
}

func TestBrokenJSON(t *testing.T) {
	const whole = `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","content":[{"type":"content",` +
		`"content":{"type":"text","text":"a","annotations":{"audience":["user"]}}}],"_meta":{"k":[1,{"a":null}]}}}`
	if err := jsonx.Unmarshal([]byte(whole), new(acp.SessionNotification)); err != nil {
		t.Fatal(err)
	}
	for i := range len(whole) {
		err := jsonx.Unmarshal([]byte(whole[:i]), new(acp.SessionNotification))
		if de, ok := errors.AsType[*jsonx.DecodeError](err); !ok || !de.Syntax {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	// A forgiving member may have another type, but not invalid JSON.
	broken := strings.Replace(whole, `["user"]`, `[nope]`, 1)
	if err := jsonx.Unmarshal([]byte(broken), new(acp.SessionNotification)); err == nil {
		t.Error("broken JSON in a forgiving member is taken")
	}
}

func TestForgivingMembers(t *testing.T) {
	for _, test := range []struct {
		name, in string
		into     any
		want     string
	}{
		{
			"wrong scalars are dropped",
			`{"toolCallId":"t","title":"x","name":1,"kind":{},"status":[],"_meta":5}`,
			new(acp.ToolCall), `{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}`,
		},
		{
			"bad items are dropped",
			`{"toolCallId":"t","title":"x","content":[1,{"type":"diff"},{"type":"terminal","terminalId":"a"}],"locations":[{},{"path":"/p","line":"x"}]}`,
			new(acp.ToolCall),
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","content":[{"type":"terminal","terminalId":"a"}],"locations":[{"path":"/p"}]}`,
		},
		{
			"a whole bad array is dropped",
			`{"toolCallId":"t","title":"x","content":{"a":[1]},"locations":null}`,
			new(acp.ToolCall), `{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}`,
		},
		{
			"an object with a fault inside is dropped, its siblings stay",
			`{"protocolVersion":1,"agentInfo":{"name":1,"version":"v"},"agentCapabilities":{"loadSession":"yes","mcpCapabilities":[],` +
				`"promptCapabilities":{"image":true,"audio":1},"sessionCapabilities":{"list":{},"close":3}},"authMethods":[{"id":1},{"id":"a","name":"A"}]}`,
			new(acp.InitializeResponse),
			`{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":false},` +
				`"mcpCapabilities":{"http":false,"sse":false},"sessionCapabilities":{"list":{}},"auth":{}},"authMethods":[{"id":"a","name":"A"}]}`,
		},
		{
			"null for a default",
			`{"protocolVersion":1,"clientCapabilities":null,"clientInfo":null}`,
			new(acp.InitializeRequest),
			`{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"auth":{"terminal":false}}}`,
		},
		{
			"null for an empty array",
			`{"cwd":"/","mcpServers":null,"additionalDirectories":null}`,
			new(acp.NewSessionRequest), `{"cwd":"/","mcpServers":[]}`,
		},
		{
			"a required array may be wrong but not missing",
			`{"availableCommands":7}`, new(acp.AvailableCommandsUpdate),
			`{"sessionUpdate":"available_commands_update","availableCommands":[]}`,
		},
		{
			"a fault in an update's member leaves it omitted",
			`{"toolCallId":"t","status":1,"title":null,"content":"x"}`, new(acp.ToolCallUpdate),
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":null}`,
		},
		{"null for a result without members", `null`, new(acp.WriteTextFileResponse), `{}`},
		{"unknown members are passed over", `{"x":{"y":[1]},"sessionId":"s","z":null}`, new(acp.CancelNotification), `{"sessionId":"s"}`},
		{"escaped names", `{"\u0073essionId":"s"}`, new(acp.CancelNotification), `{"sessionId":"s"}`},
		{"whole numbers in other spellings", `{"used":1e3,"size":2.0}`, new(acp.UsageUpdate), `{"sessionUpdate":"usage_update","used":1000,"size":2}`},
		{
			"the greatest uint64 for no limit", `{"sessionId":"s","command":"c","outputByteLimit":18446744073709551615}`,
			new(acp.CreateTerminalRequest), `{"sessionId":"s","command":"c","outputByteLimit":9223372036854775807}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := jsonx.Unmarshal([]byte(test.in), test.into); err != nil {
				t.Fatal(err)
			}
			got, err := jsonx.Marshal(test.into)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProtocolVersionIsNeverAFault(t *testing.T) {
	for in, want := range map[string]acp.ProtocolVersion{"1": 1, "2": 2, `"2024-11-05"`: 0, "-3": 0, "99999999": 65535} {
		var p acp.InitializeRequest
		if err := jsonx.Unmarshal([]byte(`{"protocolVersion":`+in+`}`), &p); err != nil || p.ProtocolVersion != want {
			t.Errorf("%s: got %d, %v; want %d", in, p.ProtocolVersion, err, want)
		}
	}
}

func TestUnknownVariantsSurvive(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		into any
		kind func(any) any // extracts the union's value
		want any
	}{
		"session update": {
			`{"sessionId":"s","update":{"sessionUpdate":"hologram","b":[1,null],"a":{"x":1}}}`, new(acp.SessionNotification),
			func(v any) any { return v.(*acp.SessionNotification).Update },
			&acp.UnknownSessionUpdate{Type: "hologram", Raw: jsonx.Raw(`{"sessionUpdate":"hologram","b":[1,null],"a":{"x":1}}`)},
		},
		"content": {
			`{"sessionId":"s","prompt":[{"type":"smell","data":"rose"}]}`, new(acp.PromptRequest),
			func(v any) any { return v.(*acp.PromptRequest).Prompt[0] },
			&acp.UnknownContentBlock{Type: "smell", Raw: jsonx.Raw(`{"type":"smell","data":"rose"}`)},
		},
		"server": {
			`{"cwd":"/","mcpServers":[{"type":"carrier-pigeon","name":"n"}]}`, new(acp.NewSessionRequest),
			func(v any) any { return v.(*acp.NewSessionRequest).MCPServers[0] },
			&acp.UnknownMCPServer{Type: "carrier-pigeon", Raw: jsonx.Raw(`{"type":"carrier-pigeon","name":"n"}`)},
		},
		"resource": {
			`{"resource":{"uri":"x:y","audio":"?"}}`, new(acp.EmbeddedResource),
			func(v any) any { return v.(*acp.EmbeddedResource).Resource },
			&acp.UnknownEmbeddedResourceResource{Raw: jsonx.Raw(`{"uri":"x:y","audio":"?"}`)},
		},
		"config option": {
			`{"id":"i","name":"n","type":"slider","max":3,"_meta":{"k":1}}`, new(acp.SessionConfigOption),
			func(v any) any { return v.(*acp.SessionConfigOption).Kind },
			&acp.UnknownSessionConfigOptionKind{Type: "slider", Raw: jsonx.Raw(`{"type":"slider","max":3}`)},
		},
		"elicitation mode": {
			`{"message":"m","mode":"voice","sessionId":"s","say":"x"}`, new(acp.CreateElicitationRequest),
			func(v any) any { return v.(*acp.CreateElicitationRequest).Mode },
			&acp.UnknownElicitationMode{Type: "voice", Raw: jsonx.Raw(`{"mode":"voice","sessionId":"s","say":"x"}`)},
		},
		"outcome": {
			`{"outcome":{"outcome":"later","when":1}}`, new(acp.RequestPermissionResponse),
			func(v any) any { return v.(*acp.RequestPermissionResponse).Outcome },
			&acp.UnknownRequestPermissionOutcome{Type: "later", Raw: jsonx.Raw(`{"outcome":"later","when":1}`)},
		},
		"state": {
			`{"sessionId":"s","state":{"state":"asleep"}}`, new(acp.SubagentUpdate),
			func(v any) any { s, _ := v.(*acp.SubagentUpdate).State.Get(); return s },
			&acp.OtherStateUpdate{Type: "asleep", Raw: jsonx.Raw(`{"state":"asleep"}`)},
		},
		"answer": {
			`{"action":"accept","content":{"a":{"b":1}}}`, new(acp.CreateElicitationResponse),
			func(v any) any {
				return v.(*acp.CreateElicitationResponse).Action.(*acp.ElicitationAcceptAction).Content["a"]
			},
			&acp.UnknownElicitationContentValue{Raw: jsonx.Raw(`{"b":1}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(test.in)
			if err := jsonx.Unmarshal(in, test.into); err != nil {
				t.Fatal(err)
			}
			clear(in) // decoded values must not point into the message
			if diff := cmp.Diff(test.want, test.kind(test.into)); diff != "" {
				t.Error(diff)
			}
			back, err := jsonx.Marshal(test.into)
			if err != nil {
				t.Fatal(err)
			}
			want, got := plain(t, []byte(test.in)), plain(t, back)
			if missing := notIn(want, got); missing != "" {
				t.Errorf("%s is lost: %s", missing, back)
			}
		})
	}
}

func TestTypesThatMeanTheDefault(t *testing.T) {
	var p acp.NewSessionRequest
	in := `{"cwd":"/","mcpServers":[{"type":"stdio","name":"n","command":"c","args":[],"env":[]}]}`
	if err := jsonx.Unmarshal([]byte(in), &p); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.MCPServers[0].(*acp.MCPServerStdio); !ok {
		t.Errorf("got %T", p.MCPServers[0])
	}
	m, err := acp.DecodeAuthMethod(jsonx.Raw(`{"type":"agent","id":"a","name":"A"}`))
	if _, ok := m.(*acp.AuthMethodAgent); !ok || err != nil {
		t.Errorf("got %T, %v", m, err)
	}
}

func TestMetaSurvives(t *testing.T) {
	const in = `{"sessionId":"s","_meta":{"traceparent":"00-a","n":1e2,"big":12345678901234567890,"o":{"z":1,"a":[null,""]}}}`
	var p acp.CancelNotification
	if err := jsonx.Unmarshal([]byte(in), &p); err != nil {
		t.Fatal(err)
	}
	back, err := jsonx.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, []byte(in), back)
	var trace string
	if ok, err := p.Meta.Get("traceparent", &trace); !ok || err != nil || trace != "00-a" {
		t.Errorf("Get: %t, %v, %q", ok, err, trace)
	}
	if ok, err := p.Meta.Get("none", &trace); ok || err != nil {
		t.Errorf("Get of what is not there: %t, %v", ok, err)
	}
	if ok, err := p.Meta.Get("n", &trace); !ok || err == nil {
		t.Errorf("Get of another type: %t, %v", ok, err)
	}
	var m acp.Meta
	if err := m.Set("k", map[string]int{"a": 1}); err != nil || string(m["k"]) != `{"a":1}` {
		t.Errorf("Set: %v, %s", err, m["k"])
	}
	if err := m.Set("f", func() {}); err == nil {
		t.Error("Set takes a function")
	}
}

func TestElicitationContentValues(t *testing.T) {
	for in, want := range map[string]acp.ElicitationContentValue{
		`"s"`: acp.ElicitationString("s"), "1": acp.ElicitationInteger(1), "2.0": acp.ElicitationInteger(2),
		"1.5": acp.ElicitationNumber(1.5), "1e300": acp.ElicitationNumber(1e300), "true": acp.ElicitationBoolean(true),
		`["a"]`: acp.ElicitationStrings{"a"}, `[]`: acp.ElicitationStrings{},
		`[1]`: &acp.UnknownElicitationContentValue{Raw: jsonx.Raw("[1]")}, "null": &acp.UnknownElicitationContentValue{Raw: jsonx.Raw("null")},
		"9223372036854775807": acp.ElicitationInteger(9223372036854775807),
	} {
		got, err := acp.DecodeElicitationContentValue(jsonx.Raw(in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}
