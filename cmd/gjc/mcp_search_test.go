package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"

	"github.com/gajae-code/gjc/internal/testenv"
)

const (
	manyServers, manyTools = 20, 100
	// maxFirstRequest bounds the first request of a session with that many tools.
	maxFirstRequest = 45_000
)

// manyMCPServers starts servers with many tools each, with descriptions and schemas as real ones have. Each tool returns its name.
func manyMCPServers(t *testing.T) []acp.MCPServer {
	t.Helper()
	web := http.NewServeMux()
	srv := httptest.NewServer(web)
	t.Cleanup(srv.Close)
	verbs := []string{"get", "list", "create", "update", "delete", "search", "export", "import", "archive", "restore"}
	things := []string{"issue", "pull_request", "branch", "comment", "label", "milestone", "release", "workflow", "user", "team"}
	schema := json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string","description":"The account that owns the repository. The name is not case sensitive."},` +
		`"repo":{"type":"string","description":"The name of the repository without its extension."},"page":{"type":"integer","description":"Page of the results, from 1 on."},` +
		`"per_page":{"type":"integer","minimum":1,"maximum":100},"state":{"type":"string","enum":["open","closed","all"]}},"required":["owner"]}`)
	var specs []acp.MCPServer
	for s := range manyServers {
		name := fmt.Sprintf("service%02d", s)
		server := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
		for i := range manyTools {
			tool := verbs[i%10] + "_" + things[i/10]
			server.AddTool(&sdk.Tool{
				Name: tool, Title: verbs[i%10] + " a " + things[i/10], InputSchema: schema, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
				Description: "Works on a " + things[i/10] + " of " + name + ". " + strings.Repeat("It returns the changed object with all of its members. ", 4),
			}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ran " + name + " " + tool + "."}}}, nil
			})
		}
		web.Handle("/"+name, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
		specs = append(specs, &acp.MCPServerHTTP{Name: name, URL: srv.URL + "/" + name, Headers: []acp.HTTPHeader{}})
	}
	return specs
}

// startSearch starts gjc with a model and these MCP servers, and opens a session in which they are connected.
func startSearch(t *testing.T, model *providertest.Server, provider, settings string, servers []acp.MCPServer) *life {
	t.Helper()
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers: {p: {apiKey: k, "+provider+", models: [{id: m, contextWindow: 10000000}]}}\n")
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"modelRoles: {default: p/m}\n"+settings)
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: home})
	l.id = must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: l.work, MCPServers: servers}).SessionID
	l.connected(len(servers))
	return l
}

// connected waits until the session is connected to n servers.
func (l *life) connected(n int) {
	l.t.Helper()
	for {
		mark := l.mark()
		l.turn("/mcp")
		if strings.Count(wordsIn(l.since(mark), "agent_message_chunk"), "connected") == n {
			return
		}
	}
}

// The first request with 2,000 tools is small, whatever the API.
func TestMCP_SearchFirstRequest(t *testing.T) {
	servers := manyMCPServers(t)
	for _, test := range []struct {
		name, api string
		format    providertest.Format
	}{
		{"Anthropic", "api: anthropic-messages, toolSearch: true", providertest.AnthropicMessages()},
		{"Responses", "api: openai-responses, toolSearch: true", providertest.OpenAIResponses()},
		{"Completions", "api: openai-completions", providertest.OpenAICompletions()},
		{"Gemini", "api: google-generative-ai", providertest.Gemini()},
		{"Ollama", "api: ollama-chat", providertest.OllamaChat()},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := providertest.NewServer(
				providertest.Step{providertest.Call("c1", "search_tools", `{"query":"archive a milestone in service13"}`)},
				providertest.Step{providertest.Call("c2", "mcp__service13_archive_milestone", `{"owner":"me"}`)},
				providertest.Step{providertest.Text("done")},
			)
			l := startSearch(t, model, fmt.Sprintf("baseUrl: %q, %s", model.URL(test.format), test.api), "", servers)
			if got := l.turn("archive it"); got != "done" {
				t.Errorf("it says %q", got)
			}
			l.stop()
			requests := model.Requests()
			if len(requests) != 3 {
				t.Fatalf("%d requests", len(requests))
			}
			first := len(requests[0].Body)
			t.Logf("the first request has %d bytes", first)
			if first > maxFirstRequest || strings.Contains(string(requests[0].Body), "mcp__service") {
				t.Errorf("the first request has %d bytes: %.2000s", first, requests[0].Body)
			}
			if body := string(requests[0].Body); !strings.Contains(body, "service00: 100 tools") || !strings.Contains(body, "service19: 100 tools") {
				t.Error("the model does not learn of the servers")
			}
			if n := strings.Count(string(requests[1].Body), "The account that owns"); n != 8 {
				t.Errorf("the second request has %d definitions", n)
			}
			if !strings.Contains(string(requests[2].Body), "ran service13 archive_milestone.") {
				t.Errorf("the tool did not run: %.2000s", requests[2].Body)
			}
		})
	}
}

// Each of 2,000 tools can be found by its name and then called, and the model always has room for those that it has just found.
func TestMCP_SearchReachesEveryTool(t *testing.T) {
	testenv.LongWithRace(t)
	servers := manyMCPServers(t)
	var names []string
	for s := range manyServers {
		for _, verb := range []string{"get", "list", "create", "update", "delete", "search", "export", "import", "archive", "restore"} {
			for _, thing := range []string{"issue", "pull_request", "branch", "comment", "label", "milestone", "release", "workflow", "user", "team"} {
				names = append(names, fmt.Sprintf("mcp__service%02d_%s_%s", s, verb, thing))
			}
		}
	}
	model := providertest.NewServer()
	const batch = 50
	next, searched := 0, false
	model.Else(func(r providertest.Recorded) providertest.Step { // requests come one after the other
		if next == len(names) {
			return providertest.Step{providertest.Text("done")}
		}
		searched = !searched
		var step providertest.Step
		for i, name := range names[next : next+batch] {
			if searched {
				step = append(step, providertest.Call(fmt.Sprintf("s%d", next+i), "search_tools", fmt.Sprintf(`{"query":%q,"limit":1}`, name)))
				continue
			}
			if !strings.Contains(string(jsonx.Lookup(r.Body, "tools")), `"`+name+`"`) {
				t.Errorf("the request does not offer %s", name)
			}
			step = append(step, providertest.Call(fmt.Sprintf("c%d", next+i), name, `{"owner":"me"}`))
		}
		if !searched {
			next += batch
		}
		return append(step, providertest.Use(providers.Usage{Input: 1}))
	})
	l := startSearch(t, model, fmt.Sprintf("baseUrl: %q, api: openai-completions", model.OpenAIURL()), "", servers)
	if got := l.turn("use every tool"); got != "done" {
		t.Fatalf("it says %q", got)
	}
	l.stop()
	requests := model.Requests()
	last := string(requests[len(requests)-1].Body)
	for _, name := range names {
		server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "_")
		if n := strings.Count(last, "ran "+server+" "+tool+"."); n != 1 {
			t.Fatalf("%s ran %d times", name, n)
		}
	}
}

// What the model has found is kept with the session: after a restart, and in a fork.
func TestMCP_SearchKept(t *testing.T) {
	servers := manyMCPServers(t)[:1]
	hi := providertest.Step{providertest.Text("hi")}
	model := providertest.NewServer(
		providertest.Step{providertest.Call("c1", "search_tools", `{"query":"restore_team"}`)}, hi, hi, hi,
	)
	l := startSearch(t, model, fmt.Sprintf("baseUrl: %q, api: anthropic-messages, toolSearch: true", model.AnthropicURL()), "tools: {discovery: mcp}\n", servers)
	l.turn("find it")
	id, home, work := l.id, l.home, l.work
	l.stop()
	l = startLife(t, lifeOptions{home: home, work: work})
	must(l.scenario, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: work, MCPServers: servers})
	l.id = id
	l.connected(1)
	l.turn("again")
	l.id = must(l.scenario, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: work, MCPServers: servers}).SessionID
	l.connected(1)
	l.turn("in the fork")
	l.stop()
	for i, r := range model.Requests()[1:] {
		body := string(r.Body)
		if !strings.Contains(body, `"name":"mcp__service00_restore_team"`) || !strings.Contains(body, `{"type":"tool_reference","tool_name":"mcp__service00_restore_team"}`) {
			t.Errorf("request %d lacks the tool: %.500s", i+1, jsonx.Lookup(r.Body, "tools"))
		}
	}
}

// Without the search the request has as many tools as the API takes, and the user learns of the others.
func TestMCP_SearchOff(t *testing.T) {
	servers := manyMCPServers(t)[:3]
	model := providertest.NewServer(providertest.Step{providertest.Text("hi")})
	l := startSearch(t, model, fmt.Sprintf("baseUrl: %q, api: openai-completions", model.OpenAIURL()), "tools: {discovery: off}\n", servers)
	mark := l.mark()
	l.turn("hi")
	var tools []jsonx.Raw
	if err := jsonx.Unmarshal(jsonx.Lookup(model.Requests()[0].Body, "tools"), &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) != 128 {
		t.Errorf("%d tools", len(tools))
	}
	if got := shown(l.since(mark)); !strings.Contains(got, "The model cannot take all tools") || !strings.Contains(got, "service02: ") {
		t.Errorf("the user is not told: %s", got)
	}
	l.stop()
}
