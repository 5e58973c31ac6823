package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two generations of the protocol.
const (
	stateless = "2026-07-28"
	handshake = "2025-11-25"
)

// kit is a server with a tool for each feature that a client can get wrong.
type kit struct {
	server    *sdk.Server
	mu        sync.Mutex
	cancelled chan struct{} // closed when a call of "wait" was cancelled
}

// newKit returns a server of the given generation, called name.
func newKit(name, version string) *kit {
	k := &kit{cancelled: make(chan struct{})}
	k.server = sdk.NewServer(&sdk.Implementation{Name: name, Version: "1.2"}, &sdk.ServerOptions{
		SupportedProtocolVersions: []string{version}, PageSize: 3, CompletionHandler: complete,
	})
	add := func(name, schema string, h sdk.ToolHandler, notes ...*sdk.ToolAnnotations) {
		tool := &sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(schema)}
		if len(notes) > 0 {
			tool.Annotations = notes[0]
		}
		k.server.AddTool(tool, h)
	}
	const empty = `{"type":"object"}`
	add("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Text string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		return text(in.Text), nil
	}, &sdk.ToolAnnotations{ReadOnlyHint: true})
	add("secret", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(os.Getenv("KIT_SECRET")), nil
	})
	add("who", empty, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		wd, _ := os.Getwd()
		out := fmt.Sprintf("%d %s", os.Getpid(), wd)
		if r.Extra != nil && r.Extra.Header != nil {
			out = strings.Join(r.Extra.Header.Values("X-Kit"), ",")
		}
		return text(out), nil
	})
	add("meta", empty, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(r.Params.Meta["traceparent"])), nil
	})
	add("wait", empty, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Message: "half", Progress: 1, Total: 2,
		})
		if err != nil {
			return nil, err
		}
		<-ctx.Done()
		k.mu.Lock()
		defer k.mu.Unlock()
		select {
		case <-k.cancelled:
		default:
			close(k.cancelled)
		}
		return nil, ctx.Err()
	})
	add("was_cancelled", empty, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-k.cancelled:
			return text("yes"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	add("mixed", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "one"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
			&sdk.ResourceLink{URI: "kit://a", Name: "a"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "kit://b", MIMEType: "text/plain", Text: "bee"}},
		}}, nil
	})
	add("fail", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := text("it broke")
		r.IsError = true
		return r, nil
	})
	add("refuse", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("not today")
	})
	add("big", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(strings.Repeat("0123456789abcde\n", 8<<10)), nil
	})
	add("grow", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("tall"), nil
		})
		k.server.RemoveTools("echo")
		return text("ok"), nil
	})
	add("publish", empty, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		k.server.AddPrompt(&sdk.Prompt{Name: "new"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{}, nil
		})
		k.server.RemoveResources("kit://a")
		return text("ok"), nil
	})
	k.addQuestions(add)
	k.server.AddPrompt(&sdk.Prompt{Name: "greet", Description: "Greets.", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Hello, " + r.Params.Arguments["who"]}},
			}}, nil
		})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		k.server.AddResource(&sdk.Resource{URI: "kit://" + name, Name: name, MIMEType: "text/plain"},
			func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "contents of " + name}}}, nil
			})
	}
	k.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "kit://t/{x}", Name: "t"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Blob: []byte{1, 2, 3}}}}, nil
		})
	return k
}

// complete suggests names that begin with the value, for any argument but "odd".
func complete(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	p, res := r.Params, new(sdk.CompleteResult)
	given := ""
	if p.Context != nil {
		given = p.Context.Arguments["greeting"]
	}
	switch {
	case p.Argument.Name == "broken":
		return nil, errors.New("no idea")
	case p.Argument.Name == "odd":
		res.Completion.Values = []string{"", "a\nb", strings.Repeat("x", 2000), "fine", "fine"}
		for i := range 200 {
			res.Completion.Values = append(res.Completion.Values, fmt.Sprint(i))
		}
		return res, nil
	case p.Ref.URI != "":
		res.Completion.Values = []string{p.Ref.URI}
		return res, nil
	}
	for _, name := range []string{"world", "wolf", "you"} {
		if strings.HasPrefix(name, p.Argument.Value) {
			res.Completion.Values = append(res.Completion.Values, name+given)
		}
	}
	return res, nil
}

// addQuestions adds the tools that ask the client questions, in the form that the protocol version uses.
func (k *kit) addQuestions(add func(string, string, sdk.ToolHandler, ...*sdk.ToolAnnotations)) {
	question := func(name string, q sdk.InputRequest, answer func(sdk.InputResponse) string) {
		add(name, `{"type":"object"}`, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if a, ok := r.Params.InputResponses["q"]; ok {
				return text(answer(a)), nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": q}}, nil
		})
	}
	elicited := func(a sdk.InputResponse) string {
		r := a.(*sdk.ElicitResult)
		return fmt.Sprintf("%s %v", r.Action, r.Content)
	}
	question("ask", &sdk.ElicitParams{Mode: "form", Message: "Which?", RequestedSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"n": {Type: "integer"}},
	}}, elicited)
	question("visit", &sdk.ElicitParams{Mode: "url", Message: "Log in", URL: "https://login.invalid/", ElicitationID: "e1"}, elicited)
	question("roots", &sdk.ListRootsParams{}, func(a sdk.InputResponse) string {
		var uris []string
		for _, root := range a.(*sdk.ListRootsResult).Roots {
			uris = append(uris, root.URI)
		}
		return strings.Join(uris, " ")
	})
	question("sample", &sdk.CreateMessageParams{MaxTokens: 1, Messages: []*sdk.SamplingMessage{
		{Role: "user", Content: &sdk.TextContent{Text: "hi"}},
	}}, func(sdk.InputResponse) string { return "sampled" })
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
