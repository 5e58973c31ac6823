package openai

import (
	"strconv"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// longRequest has a conversation of 20,000 messages.
func longRequest() *providers.Request {
	req := &providers.Request{System: "sys"}
	for i := range 5000 {
		call := providers.ToolCall{ID: "call_" + strconv.Itoa(i), Name: "read", Input: jsonx.Raw(`{"path":"some/file/name.go","lines":"1-200"}`), Signature: "fc_1"}
		req.Messages = append(
			req.Messages,
			providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "Look at this file, tell me what is in it, and go on with the next one."}}},
			providers.Message{Role: providers.RoleAssistant, Provider: "p", Model: "m", Parts: []providers.Part{
				providers.Thinking{Text: "I think about it.", Signature: `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I think about it."}],"encrypted_content":"gAAAAAgAAAAAgAAAAAgAAAAAgAAAAAgAAAAAgAAAAAgAAAAAgAAAAA"}`},
				providers.Text{Text: "I look at the file.", Signature: "msg_1"},
				call,
			}},
			providers.Message{Role: providers.RoleTool, ToolCallID: call.ID, ToolName: "read", Parts: []providers.Part{providers.Text{Text: "package a\n\nfunc main() {}\n"}}},
			providers.Message{Role: providers.RoleAssistant, Provider: "p", Model: "m", Parts: []providers.Part{providers.Text{Text: "It is a small file.", Signature: "msg_2"}}},
		)
	}
	return req
}

func BenchmarkEncode(b *testing.B) {
	req := longRequest()
	info := providers.ModelInfo{Provider: "p", ID: "m"}
	completions, err := Open(providers.Config{Info: info})
	if err != nil {
		b.Fatal(err)
	}
	responses, err := OpenResponses(providers.Config{Info: info})
	if err != nil {
		b.Fatal(err)
	}
	for name, encode := range map[string]func(*providers.Request) ([]byte, error){"Completions": completions.(*model).encode, "Responses": func(req *providers.Request) ([]byte, error) { return responses.(*responsesModel).encode(req, nil) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
