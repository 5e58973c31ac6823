package server_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// translator has a prompt with a required and an optional argument, whose values it completes.
func translator() *sdk.Server {
	languages := []string{"French", "Frisian", "Greek"}
	s := sdk.NewServer(&sdk.Implementation{Name: "translator"}, &sdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			res := new(sdk.CompleteResult)
			res.Completion.Values = []string{}
			for _, l := range languages {
				if r.Params.Argument.Name == "language" && strings.HasPrefix(l, r.Params.Argument.Value) {
					res.Completion.Values = append(res.Completion.Values, l)
				}
			}
			return res, nil
		},
	})
	s.AddPrompt(&sdk.Prompt{Name: "translate", Arguments: []*sdk.PromptArgument{{Name: "language", Required: true}, {Name: "tone", Description: "How it sounds"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			if l := r.Params.Arguments["language"]; !slices.Contains(languages, l) && l != "Latin" {
				return nil, errors.New("unknown language " + l)
			}
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{
				Text: "Translate to " + r.Params.Arguments["language"] + ", " + r.Params.Arguments["tone"],
			}}}}, nil
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "text://{language}", Name: "t"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{}, nil
	})
	return s
}

// A form asks for the arguments of a prompt that were not typed, with the values that the server suggests. Without forms, a text lists them.
func TestMCP_PromptArguments(t *testing.T) {
	var mu sync.Mutex
	var forms []string
	var action acp.ElicitationAction
	answer := func(a acp.ElicitationAction) {
		mu.Lock()
		defer mu.Unlock()
		action, forms = a, nil
	}
	accept := func(pairs ...string) acp.ElicitationAction {
		content := make(map[string]acp.ElicitationContentValue)
		for i := 0; i < len(pairs); i += 2 {
			content[pairs[i]] = acp.ElicitationString(pairs[i+1])
		}
		return &acp.ElicitationAcceptAction{Content: content}
	}
	script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000})
	script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("ok")} })
	for _, tt := range []struct {
		name    string
		options []func(*config)
		steps   func(t *testing.T, said func(string) string, asked func() string)
	}{
		{"forms", nil, func(t *testing.T, said func(string) string, asked func() string) {
			answer(accept("language", "Greek", "tone", "formal"))
			said("/mcp:t:translate")
			if got := asked(); got != "Translate to Greek, formal" {
				t.Errorf("the model was asked %q", got)
			}
			mu.Lock()
			if len(forms) != 1 || !containsAll(forms[0], "French", "Frisian", "Greek", "language_other", "How it sounds") || strings.Contains(forms[0], "tone_other") {
				t.Errorf("forms: %q", forms)
			}
			mu.Unlock()
			answer(accept("language_other", "Latin"))
			said("/mcp:t:translate tone=kind")
			if got := asked(); got != "Translate to Latin, kind" {
				t.Errorf("the model was asked %q", got)
			}
			answer(accept("tone", "kind"))
			if got := said("/mcp:t:translate"); !strings.Contains(got, "language is missing") {
				t.Errorf("an answer without the language: %q", got)
			}
			answer(&acp.ElicitationDeclineAction{})
			if got := said("/mcp:t:translate"); !containsAll(got, "language is missing", "suggests: French") {
				t.Errorf("no answer: %q", got)
			}
			answer(nil)
			said("/mcp:t:translate French")
			mu.Lock()
			defer mu.Unlock()
			if len(forms) > 0 {
				t.Errorf("with its argument, it asks %q", forms)
			}
		}},
		{"no forms", []func(*config){as(&acp.ClientCapabilities{})}, func(t *testing.T, said func(string) string, _ func() string) {
			if got := said("/mcp:t:translate"); !containsAll(got, "language is missing; use /mcp:t:translate <language> [tone]", "for language the server suggests: French, Frisian, Greek") {
				t.Errorf("without an argument: %q", got)
			}
			if got := said("/mcp:t:translate Fr"); !containsAll(got, "unknown language Fr", "for language the server suggests: French, Frisian") || strings.Contains(got, "Greek") {
				t.Errorf("a wrong argument: %q", got)
			}
			if got := said("/mcp:t:translate Klingon"); !containsAll(got, "unknown language Klingon", "suggests: French, Frisian, Greek") {
				t.Errorf("a wrong argument: %q", got)
			}
			for command, want := range map[string]string{
				"/mcp complete t translate language Fr":        "- `French`\n- `Frisian`",
				"/mcp complete t text://{language} language G": "- `Greek`",
				"/mcp complete t translate tone":               "suggests no values",
				"/mcp complete t":                              "use /mcp complete <server>",
				"/mcp complete x translate language":           "unknown MCP server",
			} {
				if got := said(command); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", command, got, want)
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httpServer(t, nil)
			srv.Config.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return translator() }, nil)
			e := start(t, append(tt.options, func(c *config) {
				c.server.Models.Models = &models{list: []providers.Model{script}}
				c.editor.Elicit = func(_ context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
					mu.Lock()
					defer mu.Unlock()
					raw, err := jsonx.Marshal(p)
					forms = append(forms, string(raw))
					return &acp.CreateElicitationResponse{Action: action}, err
				}
			})...)
			id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("t", srv.URL, "")}}).SessionID
			tt.steps(t, func(prompt string) string {
				t.Helper()
				text, _ := e.after(id, prompt)
				return text
			}, func() string {
				reqs := script.Requests()
				m := reqs[len(reqs)-1].Messages
				return m[len(m)-1].Text()
			})
		})
	}
}
