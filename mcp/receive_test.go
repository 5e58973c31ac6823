package mcp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// clientMethods lists the methods that a server can send, and some that do not exist.
var clientMethods = []string{
	"ping", "roots/list", "sampling/createMessage", "elicitation/create", "completion/complete", "nobody/knows", "",
	"notifications/cancelled", "notifications/tools/list_changed", "notifications/prompts/list_changed",
	"notifications/resources/list_changed", "notifications/resources/updated", "notifications/message",
	"notifications/progress", "notifications/elicitation/complete", "notifications/subscriptions/acknowledged",
	"notifications/roots/list_changed", "notifications/initialized", "initialize", "tools/call",
}

// oddParams lists params that are invalid JSON, or valid JSON of a form that no method accepts.
var oddParams = []string{
	"", "null", "{}", "[]", "5", `""`, `{"_meta":null}`, `{"_meta":5}`, `{"progressToken":null,"progress":"x"}`,
	`{"progressToken":{},"progress":1}`, `{"progressToken":7.5,"progress":1e308}`, `{"elicitationId":null}`, `{"elicitationId":{}}`,
	`{"requestId":null}`, `{"requestId":{}}`, `{"requestId":1e400}`, `{"mode":"url"}`, `{"mode":"url","url":"x:"}`, `{"mode":5}`,
	`{"message":"m","requestedSchema":null}`, `{"message":"m","requestedSchema":{"type":"object","properties":null}}`,
	`{"message":"m","requestedSchema":{"type":"object","properties":{"a":null}}}`,
	`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[null]}}}}}`,
	`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[null]}}}}`,
	`{"message":"m","requestedSchema":{"type":"object","allOf":[{"$ref":"#"}]}}`,
	`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","$ref":"#/properties/a"}}}}`,
	`{"messages":null,"maxTokens":1}`, `{"messages":[null],"maxTokens":1}`, `{"messages":[{"role":"user","content":null}]}`,
	`{"messages":[{"role":"user","content":[null]}]}`, `{"ref":null}`, `{"ref":{"type":"x"}}`, `{"uri":null}`, `{"level":5,"data":null}`,
}

// TestReceive_OddMessages sends invalid messages of every kind to the client, then makes a call.
func TestReceive_OddMessages(t *testing.T) {
	eachPuppet(t, "", func(t *testing.T, open func(testing.TB, mcp.Options) *watched) {
		t.Run("mute", func(t *testing.T) { sendOddMessages(open(t, mcp.Options{})) })
		t.Run("elicits", func(t *testing.T) {
			sendOddMessages(open(t, mcp.Options{Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
				return mcp.ElicitResult{Action: "accept", Content: jsonx.Raw(`{"a":"b"}`)}, nil
			}}))
		})
	})
}

func sendOddMessages(set *watched) {
	id := 0
	for _, method := range clientMethods {
		var lines []string
		for _, params := range oddParams {
			if params != "" {
				params = `,"params":` + params
			}
			id++
			lines = append(lines,
				fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, params),
				fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q%s}`, id, method, params))
		}
		if res, err := set.say(says{Lines: lines}); err != nil || res.Text != "said" {
			set.t.Errorf("%s: %+v, %v", method, res, err)
		}
	}
	if got := set.says("puppet", "heard", "{}"); strings.Contains(got, "cannot process") {
		set.t.Errorf("a message has caused a panic:\n%s", got)
	}
}

// TestReceive_OddResults checks calls that a server answers with unexpected results.
func TestReceive_OddResults(t *testing.T) {
	eachPuppet(t, "", func(t *testing.T, open func(testing.TB, mcp.Options) *watched) {
		set := open(t, mcp.Options{Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
			return mcp.ElicitResult{Action: "accept"}, nil
		}})
		for _, answer := range []string{
			"null", "5", "[]", "{}", `{"content":null}`, `{"content":[null]}`, `{"content":[{"type":"resource","resource":null}]}`,
			`{"content":[{"type":"image","data":5}]}`, `{"content":[{"type":"tool_result","content":[null]}]}`,
			`{"inputRequests":{"q":null},"resultType":"input_required"}`, `{"inputRequests":{},"resultType":"input_required"}`,
			`{"inputRequests":{"q":{"method":"elicitation/create","params":null}},"resultType":"input_required"}`,
			`{"inputRequests":{"q":{"method":"sampling/createMessage","params":{"messages":[null]}}}}`,
			`{"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","allOf":[{"$ref":"#"}]}}}}}`,
			`{"structuredContent":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`,
			`{"structuredContent":` + strings.Repeat("[", 90_000) + strings.Repeat("]", 90_000) + `}`,
		} {
			_, _ = set.say(says{Mute: true, Lines: []string{`{"jsonrpc":"2.0","id":$ID,"result":` + answer + `}`}})
			if got := set.says("puppet", "say", `{}`); got != "said" {
				t.Errorf("after %.100s: %q", answer, got)
			}
		}
	})
}

// TestReceive_Unanswered covers a server that sends requests endlessly and reads no response.
func TestReceive_Unanswered(t *testing.T) {
	r, w := io.Pipe()
	n := mcp.ReadRequests(io.NopCloser(strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 10_000))), w)
	if n != 256 {
		t.Errorf("%d requests wait for an answer", n)
	}
	_ = r.Close()
}

// FuzzReceive feeds arbitrary server output to a set. The set must survive, and the server must stay usable or be restarted.
func FuzzReceive(f *testing.F) {
	for _, method := range clientMethods {
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method))
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":null}`, method))
	}
	for _, params := range oddParams {
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, params))
	}
	f.Add(`{"jsonrpc":"2.0","id":2,"result":null}`)
	f.Add(`{"jsonrpc":"2.0","id":2,"error":null}`)
	f.Add(`{"jsonrpc":"2.0","id":{},"error":{"code":"x"}}`)
	f.Add(`[{"jsonrpc":"2.0","method":"notifications/elicitation/complete"},null,5]`)
	opts := mcp.Options{Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
		return mcp.ElicitResult{Action: "accept", Content: jsonx.Raw(`{"a":1}`)}, nil
	}}
	stdio, web := fake(f, "puppet"), webPuppet(f, "")
	stdio.Name, web.Name = "stdio", "web"
	set := startChannelPuppet(f, opts, "", stdio, web).connected()
	f.Fuzz(func(t *testing.T, line string) {
		for _, server := range []string{"stdio", "web", "puppet"} {
			_, _ = set.sayTo(server, says{Lines: strings.Split(line, "\n")})
			for tries := 0; ; tries++ {
				res, err := set.sayTo(server, says{})
				if err == nil && res.Text == "said" {
					break
				}
				if tries == 20 {
					t.Fatalf("%s: no call after %q goes through: %+v, %v", server, line, res, err)
				}
				if err := set.Reconnect(t.Context(), server); err != nil {
					t.Logf("%s: reconnecting: %v", server, err)
				}
			}
		}
	})
}
