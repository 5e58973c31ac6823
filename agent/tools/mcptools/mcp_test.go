package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

const pngHead = "\x89PNG\r\n\x1a\n"

// mcpSet returns a connected set with one server, called web, to which add adds what the test needs.
func mcpSet(t *testing.T, add func(*sdk.Server)) *mcp.Set {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
	add(server)
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	t.Cleanup(srv.Close)
	testenv.NoLeaks(t)
	set := mcp.NewSet(mcp.Options{Cwd: t.TempDir()}, []mcp.Server{{Name: "web", HTTP: &mcp.HTTP{URL: srv.URL}}})
	t.Cleanup(func() {
		if err := set.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	set.Start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := set.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if st := set.Status()[0]; st.State != mcp.StateConnected {
		t.Fatalf("%+v", st)
	}
	return set
}

func mcpTool(t *testing.T, set *mcp.Set, name string) agent.Tool {
	t.Helper()
	all := mcptools.MCP(set)
	i := slices.IndexFunc(all, func(tool agent.Tool) bool { return tool.Spec().Name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	return all[i]
}

func sdkTool(s *sdk.Server, tool *sdk.Tool, res *sdk.CallToolResult) {
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	s.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return res, nil })
}

// TestMCP_Effects checks which hints of a server have an effect: a tool that only reads needs no question.
func TestMCP_Effects(t *testing.T) {
	hints := map[string]*sdk.ToolAnnotations{
		"none":        nil,
		"reads":       {ReadOnlyHint: true},
		"fetches":     {ReadOnlyHint: true, OpenWorldHint: new(true)},
		"destroys":    {DestructiveHint: new(true), Title: "Wipe\nall"},
		"adds":        {DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false)},
		"contradicts": {ReadOnlyHint: true, DestructiveHint: new(true)},
	}
	set := mcpSet(t, func(s *sdk.Server) {
		for name, a := range hints {
			sdkTool(s, &sdk.Tool{Name: name, Annotations: a}, &sdk.CallToolResult{})
		}
	})
	type shown struct {
		Kind      agent.ToolKind
		Exclusive bool
		Effect    approval.Effect
	}
	want := map[string]shown{
		"none":        {agent.KindOther, true, approval.Effect{Action: approval.ActionMCP, Title: "web: none"}},
		"reads":       {agent.KindRead, false, approval.Effect{Action: approval.ActionRead, Title: "web: reads"}},
		"fetches":     {agent.KindFetch, false, approval.Effect{Action: approval.ActionRead, Title: "web: fetches"}},
		"destroys":    {agent.KindOther, true, approval.Effect{Action: approval.ActionMCP, Title: "web: destroys (Wipe all) (destructive)"}},
		"adds":        {agent.KindOther, true, approval.Effect{Action: approval.ActionMCP, Title: "web: adds"}},
		"contradicts": {agent.KindRead, false, approval.Effect{Action: approval.ActionRead, Title: "web: contradicts"}},
	}
	got := make(map[string]shown)
	for name := range hints {
		tool := mcpTool(t, set, "mcp__web_"+name)
		p, err := tool.Plan(t.Context(), &agent.Call{Input: []byte("{}")})
		if err != nil || len(p.Effects) != 1 {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		if p.Effects[0].Subject == "" {
			t.Errorf("%s: an answer would hold for another tool of the name", name)
		}
		p.Effects[0].Subject = ""
		got[name] = shown{tool.Spec().Kind, tool.Spec().Exclusive, p.Effects[0]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMCP_BadInput(t *testing.T) {
	set := mcpSet(t, func(s *sdk.Server) {
		sdkTool(s, &sdk.Tool{Name: "sum", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`)},
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ran"}}})
	})
	w := toolstest.NewWorld(t, nil)
	tool := mcpTool(t, set, "mcp__web_sum")
	if p, err := tool.Plan(t.Context(), w.Call(t, "mcp__web_sum", toolstest.Input{"a": "one"})); !errors.Is(err, agent.ErrBadInput) || p.Title != "web: sum" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, res, err := toolstest.Do(t.Context(), tool, w.Call(t, "mcp__web_sum", toolstest.Input{"a": 1})); err != nil || !isMarked(res.Text, "web", "ran") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestMCP_Result(t *testing.T) {
	long := strings.Repeat("line of text\n", 10_000)
	set := mcpSet(t, func(s *sdk.Server) {
		sdkTool(s, &sdk.Tool{Name: "mixed"}, &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "one"},
			&sdk.ImageContent{MIMEType: "image/gif", Data: []byte(pngHead)}, // the content decides the type
			&sdk.ImageContent{MIMEType: "image/svg+xml", Data: []byte("<svg/>")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
			&sdk.ResourceLink{URI: "kit://a", Name: "a", Title: "The A"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "kit://b", Text: "bee"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "kit://c", MIMEType: "x/y", Blob: []byte{1}}},
		}})
		sdkTool(s, &sdk.Tool{Name: "failed"}, &sdk.CallToolResult{
			IsError: true, StructuredContent: map[string]any{"code": 5},
			Content: []sdk.Content{&sdk.TextContent{Text: "no"}},
		})
		sdkTool(s, &sdk.Tool{Name: "long"}, &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: long}}})
	})
	w := toolstest.NewWorld(t, nil)
	do := func(name string) *agent.Result {
		t.Helper()
		_, res, err := toolstest.Do(t.Context(), mcpTool(t, set, name), w.Call(t, name, "{}"))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := do("mcp__web_mixed")
	picture := providers.Image{MIMEType: "image/png", Data: []byte(pngHead)}
	if diff := cmp.Diff([]providers.Image{picture}, res.Images); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	want := []agent.Content{
		agent.TextContent{Text: "one"},
		agent.ImageContent{Image: picture},
		agent.TextContent{Text: "[Unsupported image: image/svg+xml, 6 bytes]"},
		agent.TextContent{Text: "[Audio: audio/wav, 4 bytes]"},
		agent.LinkContent{URI: "kit://a", Name: "The A"},
		agent.LinkContent{URI: "kit://b", Name: "kit://b"},
		agent.TextContent{Text: "bee"},
		agent.LinkContent{URI: "kit://c", Name: "kit://c"},
		agent.TextContent{Text: "[Binary data: x/y, 1 byte]"},
	}
	if diff := cmp.Diff(want, res.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	res = do("mcp__web_failed")
	if !res.IsError || !isMarked(res.Text, "web", "no") || !slices.Equal(res.Content, []agent.Content{agent.TextContent{Text: "no"}}) || res.Raw == nil {
		t.Errorf("failed: %+v", res)
	}
	res = do("mcp__web_long")
	if len(res.Text) > 51<<10 || !strings.Contains(res.Text, "artifact://") {
		t.Errorf("%d bytes: …%s", len(res.Text), res.Text[len(res.Text)-100:])
	}
	url := res.Text[strings.Index(res.Text, "artifact://"):]
	url = url[:strings.IndexByte(url, ';')]
	if full, err := w.Artifacts.Get(t.Context(), url); err != nil || string(full) != long {
		t.Errorf("%s: %d bytes, %v", url, len(full), err)
	}
}

func TestMCP_Progress(t *testing.T) {
	set := mcpSet(t, func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 1000 { // more than a person can read
				_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Message: "Indexing", Progress: float64(i + 1), Total: 1000,
				})
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	w := toolstest.NewWorld(t, nil)
	call := w.Call(t, "mcp__web_slow", "{}")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first agent.Progress
	reports := 0
	call.Update = func(p agent.Progress) {
		if reports++; reports == 1 {
			first = p
			cancel()
		}
	}
	if _, err := mcpTool(t, set, "mcp__web_slow").Run(ctx, call); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if diff := cmp.Diff(agent.Progress{Content: []agent.Content{agent.TextContent{Text: "Indexing (1/1000)"}}}, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if reports > 100 {
		t.Errorf("%d reports", reports)
	}
}

func TestMCP_Resources(t *testing.T) {
	set := mcpSet(t, func(s *sdk.Server) {
		read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "all of " + r.Params.URI}}}, nil
		}
		s.AddResource(&sdk.Resource{URI: "kit://a", Name: "a", Title: "The A", MIMEType: "text/plain", Description: "First\nletter."}, read)
		s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "kit://n/{n}", Name: "numbers"}, read)
	})
	w := toolstest.NewWorld(t, nil)
	do := func(name string, in toolstest.Input) (*agent.Result, error) {
		t.Helper()
		_, res, err := toolstest.Do(t.Context(), mcpTool(t, set, name), w.Call(t, name, in))
		return res, err
	}
	const want = "web kit://a · The A · text/plain · First letter.\nweb kit://n/{n} (template: fill in the parts in braces) · numbers\n"
	if res, err := do("mcp_resources", nil); err != nil || res.Text != want {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := do("mcp_resources", toolstest.Input{"server": "other"}); err != nil || res.Text != "There are no resources. Servers with resources: web" {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := do("mcp_read_resource", toolstest.Input{"server": "web", "uri": "kit://n/3"}); err != nil || !strings.Contains(res.Text, "all of kit://n/3") {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := do("mcp_read_resource", toolstest.Input{"server": "web", "uri": "kit://none"}); err == nil {
		t.Errorf("%+v", res)
	}
	plan, err := mcpTool(t, set, "mcp_read_resource").Plan(t.Context(), w.Call(t, "mcp_read_resource", toolstest.Input{"server": "web", "uri": "kit://a"}))
	if err != nil || plan.Title != "web: read kit://a" || plan.Effects[0].Action != approval.ActionRead {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestMCP_Snapshot checks that there are no tools without a server.
func TestMCP_Snapshot(t *testing.T) {
	if got := mcptools.MCP(mcp.NewSet(mcp.Options{}, nil)); len(got) != 0 {
		t.Errorf("%d tools", len(got))
	}
	set := mcpSet(t, func(s *sdk.Server) { sdkTool(s, &sdk.Tool{Name: "only"}, &sdk.CallToolResult{}) })
	if got := mcptools.MCP(set); len(got) != 1 || got[0].Spec().Description != "only" {
		t.Errorf("%d tools", len(got))
	}
}

// TestMCP_Many checks that no tool is left out: the agent holds them back.
func TestMCP_Many(t *testing.T) {
	set := mcpSet(t, func(s *sdk.Server) {
		for i := range 300 {
			sdkTool(s, &sdk.Tool{Name: fmt.Sprintf("t%03d", i), Title: "Tool"}, &sdk.CallToolResult{})
		}
	})
	got := mcptools.MCP(set)
	if len(got) != 300 {
		t.Fatalf("%d tools", len(got))
	}
	if spec := got[0].Spec(); spec.Name != "mcp__web_t000" || spec.Origin != (discovery.Origin{Server: "web", Remote: "t000", Title: "Tool"}) {
		t.Errorf("%+v", spec)
	}
}

// isMarked reports whether a text for the model is a server's text between two lines that the server cannot have known.
func isMarked(text, server, words string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	id, ok := strings.CutSuffix(strings.TrimPrefix(first, "<data id="), ` from="the MCP server `+server+`">`)
	return ok && len(id) == 18 && strings.HasPrefix(rest, words+"\n</data id="+id+">\n")
}
