package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// httpServer starts an MCP server with one prompt and two tools: whoami, which returns its caller, and drop. change, if not nil,
// modifies the server.
func httpServer(t *testing.T, change func(*sdk.Server)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		user := r.Header.Get("X-User")
		server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "whoami", Description: "Says who asks", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you are " + user}}}, nil, nil
			})
		sdk.AddTool(server, &sdk.Tool{Name: "drop", Description: "Drops a table"},
			func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "dropped"}}}, nil, nil
			})
		server.AddPrompt(&sdk.Prompt{Name: "greet", Description: "Greets a person", Arguments: []*sdk.PromptArgument{{Name: "whom", Required: true}}},
			func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Say hello to " + req.Params.Arguments["whom"]}}}}, nil
			})
		if change != nil {
			change(server)
		}
		return server
	}, nil))
	t.Cleanup(srv.Close)
	return srv
}

func httpSpec(name, url, user string) obj {
	return obj{"type": "http", "name": name, "url": url, "headers": []any{obj{"name": "X-User", "value": user}}}
}

// toolText returns the results of a session's calls.
func (e *env) toolText(id acp.SessionID) string { return toolText(e.Updates(id)) }

func toolText(updates []acp.SessionUpdate) string {
	var s strings.Builder
	for _, u := range updates {
		if u, ok := u.(*acp.ToolCallUpdate); ok {
			raw, _ := json.Marshal(u)
			s.Write(raw)
		}
	}
	return s.String()
}

// Two sessions have a server with the same name. Each has a separate connection with its own headers.
func TestMCP_SessionsAreSeparate(t *testing.T) {
	srv := httpServer(t, nil)
	e := start(t)
	a := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	b := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "bob")}}).SessionID
	none := e.session()
	for _, id := range []acp.SessionID{a, b, none} {
		e.say(id, "!mcp mcp__db_whoami {}", acp.StopReasonEndTurn)
	}
	if got := e.toolText(a); !strings.Contains(got, "you are ann") || strings.Contains(got, "bob") {
		t.Errorf("session a: %s", got)
	}
	if got := e.toolText(b); !strings.Contains(got, "you are bob") || strings.Contains(got, "ann") {
		t.Errorf("session b: %s", got)
	}
	if got := e.Text(none); !strings.Contains(got, "offers no tool called mcp__db_whoami") {
		t.Errorf("a session without servers said %q", got)
	}
	if calls := e.Calls(); slices.Contains(calls, "session/request_permission") {
		t.Error("a tool that only reads asks")
	}
	e.say(a, "!mcp drop {}", acp.StopReasonEndTurn)
	if calls := e.Calls(); !slices.Contains(calls, "session/request_permission") {
		t.Error("a tool that may change something does not ask")
	}
}

// A load with another list replaces the servers; the same list keeps them.
func TestMCP_LoadReplaces(t *testing.T) {
	srv := httpServer(t, nil)
	e := start(t)
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.say(id, "!mcp whoami {}", acp.StopReasonEndTurn)
	load := func(servers ...any) {
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": append([]any{}, servers...)})
	}
	load(httpSpec("db", srv.URL, "carl"))
	e.say(id, "!mcp whoami {}", acp.StopReasonEndTurn)
	if got := e.toolText(id); !strings.Contains(got, "you are carl") {
		t.Errorf("after the load: %s", got)
	}
	load()
	e.say(id, "!mcp whoami {}", acp.StopReasonEndTurn)
	if got := e.Text(id); !strings.Contains(got, "offers no tool called whoami") {
		t.Errorf("after a load without servers it said %q", got)
	}
}

// The user sees the error of an invalid server, and the session works.
func TestMCP_BadServers(t *testing.T) {
	e := start(t, as(&acp.ClientCapabilities{}))
	for name, tt := range map[string]struct {
		servers []any
		want    []string
	}{
		"empty name":      {[]any{obj{"name": "", "command": "/bin/true", "args": []any{}, "env": []any{}}}, []string{"name"}},
		"twice":           {[]any{httpSpec("x", "http://127.0.0.1:1", ""), httpSpec("x", "http://127.0.0.1:1", "")}, []string{"x"}},
		"command and URL": {[]any{obj{"name": "both", "command": "/bin/true", "args": []any{}, "env": []any{}, "url": "http://127.0.0.1:1"}}, []string{"both"}},
		"unknown type":    {[]any{obj{"type": "carrier-pigeon", "name": "coo"}}, []string{"coo"}},
		"no such program": {[]any{obj{"name": "gone", "command": "/no/such/program", "args": []any{}, "env": []any{}}}, []string{"gone", "/no/such/program"}},
		"no server":       {[]any{httpSpec("void", "http://127.0.0.1:1", "")}, []string{"void"}},
		"no channel":      {[]any{obj{"type": "acp", "name": "mute", "serverId": "1"}}, []string{"mute", "mcp/message"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": tt.servers}).SessionID
			e.say(id, "!say alive", acp.StopReasonEndTurn)
			text := e.Text(id)
			if !containsAll(text, append(tt.want, "alive")...) {
				t.Errorf("got %q, want %q in it", text, tt.want)
			}
			e.say(id, "/mcp", acp.StopReasonEndTurn)
			if got := e.Text(id); !containsAll(got, tt.want[0]) {
				t.Errorf("/mcp said %q", got)
			}
			call[struct{}](e, "session/close", obj{"sessionId": id})
		})
	}
}

// The prompts of a server are slash commands, which are advertised when they are known.
func TestMCP_Prompts(t *testing.T) {
	srv := httpServer(t, nil)
	var script *providertest.Script
	e := start(t, as(&acp.ClientCapabilities{}), scripted(providertest.Step{providertest.Text("hi")}), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.await(id, acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
		return slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool {
			hint, ok := c.Input.(*acp.UnstructuredCommandInput)
			return c.Name == "mcp:db:greet" && c.Description == "Greets a person" && ok && hint.Hint == "<whom>"
		})
	}))
	e.say(id, "/mcp:db:greet the whole world", acp.StopReasonEndTurn)
	if got := script.Requests()[0].Messages[0].Text(); got != "Say hello to the whole world" {
		t.Errorf("the model was asked %q", got)
	}
	e.say(id, "/mcp:db:greet", acp.StopReasonEndTurn)
	if got := e.Text(id); !strings.Contains(got, "whom is missing") {
		t.Errorf("without its argument it said %q", got)
	}
}

// A command about servers waits for those that are connecting.
func TestMCP_CommandsWaitForServers(t *testing.T) {
	srv := httpServer(t, nil)
	var script *providertest.Script
	e := start(t, scripted(providertest.Step{providertest.Text("hi")}), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
		script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("hi")} })
	})
	for range 10 {
		id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
		e.say(id, "/mcp", acp.StopReasonEndTurn)
		if got := e.Text(id); !strings.Contains(got, "db (http)") {
			t.Fatalf("/mcp said %q", got)
		}
		e.say(id, "wait for it", acp.StopReasonEndTurn) // a server whose client disconnects while connecting keeps its session
		call[struct{}](e, "session/close", obj{"sessionId": id})
	}
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.say(id, "/mcp:db:greet you", acp.StopReasonEndTurn)
	reqs := script.Requests()
	if got := reqs[len(reqs)-1].Messages[0].Text(); got != "Say hello to you" {
		t.Errorf("the model was asked %q", got)
	}
}

// A server's question reaches the user of its session. A form must not ask for a secret.
func TestMCP_Elicitation(t *testing.T) {
	var asked []string
	var mu sync.Mutex
	srv := httpServer(t, func(server *sdk.Server) {
		for _, field := range []string{"colour", "password"} {
			sdk.AddTool(server, &sdk.Tool{Name: "ask_" + field, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
				func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
					res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Your " + field + "?", RequestedSchema: map[string]any{
						"type": "object", "properties": map[string]any{field: map[string]any{"type": "string"}}, "required": []string{field},
					}})
					text := "failed"
					if err == nil {
						text = fmt.Sprint(res.Action, res.Content)
					}
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
				})
		}
	})
	e := start(t, func(c *config) {
		c.editor.Elicit = func(_ context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, p.Message)
			form := p.Mode.(*acp.ElicitationFormMode)
			return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: acptest.Fill(&form.RequestedSchema)}}, nil
		}
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.say(id, "!mcp ask_colour {}", acp.StopReasonEndTurn)
	e.say(id, "!mcp ask_password {}", acp.StopReasonEndTurn)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[0] != "db: Your colour?" {
		t.Errorf("the user was asked %q\ncalls: %s", asked, e.toolText(id))
	}
}

// With MCP over ACP the editor has the server, and mcp/message carries the requests.
func TestMCP_OverACP(t *testing.T) {
	e := start(t, func(c *config) {
		c.editor.MCP = func(_ context.Context, p *acp.MessageMCPRequest) (*acp.MessageMCPResponse, error) {
			answer := func(v string) (*acp.MessageMCPResponse, error) {
				return &acp.MessageMCPResponse{Result: jsonx.Raw(v)}, nil
			}
			if p.ServerID != "srv-1" || p.RequestID == "" {
				return nil, &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: "who?"}
			}
			switch p.Method {
			case "server/discover":
				return answer(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"editor","version":"1"}}`)
			case "tools/list":
				return answer(`{"tools":[{"name":"selection","description":"What is selected","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
			case "tools/call":
				return answer(`{"content":[{"type":"text","text":"func main() {}"}]}`)
			default:
				return &acp.MessageMCPResponse{Error: &acp.MCPError{Code: -32601, Message: "no " + p.Method}}, nil
			}
		}
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{obj{"type": "acp", "name": "editor", "serverId": "srv-1"}}}).SessionID
	e.say(id, "!mcp mcp__editor_selection {}", acp.StopReasonEndTurn)
	if got := e.toolText(id); !strings.Contains(got, "func main() {}") {
		t.Errorf("calls: %s\nsaid: %s", got, e.Text(id))
	}
	// A notification about an unknown request is ignored.
	if err := e.Conn.Notify(t.Context(), "mcp/message", obj{"serverId": "srv-1", "requestId": "nope", "method": "notifications/progress"}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "!say alive", acp.StopReasonEndTurn)
}

// The first model request of a turn has the tools of servers that are slow to connect.
func TestMCP_FirstRequestHasTheTools(t *testing.T) {
	srv := httpServer(t, nil)
	var script *providertest.Script
	e := start(t, scripted(providertest.Step{providertest.Text("hi")}), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.say(id, "hello", acp.StopReasonEndTurn)
	if !slices.ContainsFunc(script.Requests()[0].Tools, func(tool providers.Tool) bool { return tool.Name == "mcp__db_whoami" }) {
		t.Error("the first request lacks the server's tools")
	}
}

// The trace context of a prompt is passed to the calls that follow from it.
func TestMCP_TraceContext(t *testing.T) {
	got := make(chan any, 1)
	srv := httpServer(t, func(server *sdk.Server) {
		sdk.AddTool(server, &sdk.Tool{Name: "traced", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
			func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
				got <- req.Params.Meta["traceparent"]
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}, nil, nil
			})
	})
	e := start(t)
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	call[struct{}](e, "session/prompt", obj{
		"sessionId": id, "prompt": []any{obj{"type": "text", "text": "!mcp traced {}"}}, "_meta": obj{"traceparent": parent, "other": 1},
	})
	if v := <-got; v != parent {
		t.Errorf("the server got the trace parent %v", v)
	}
	put(t, filepath.Join(e.dir, ".gjc", "commands", "again.md"), "!mcp traced {}")
	call[struct{}](e, "session/prompt", obj{
		"sessionId": id, "prompt": []any{obj{"type": "text", "text": "/again"}}, "_meta": obj{"traceparent": parent},
	})
	if v := <-got; v != parent {
		t.Errorf("from a command the server got the trace parent %v", v)
	}
}

// "Always allow" applies to one server, not to another one with the same name.
func TestMCP_GrantsEndWithTheServers(t *testing.T) {
	srv := httpServer(t, nil)
	asked := 0
	e := start(t, func(c *config) {
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			asked++
			return acptest.Choose("allow_always"), nil
		}
	})
	load := func(user string, id acp.SessionID) {
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, user)}})
	}
	id := e.session()
	load("ann", id)
	e.say(id, "!mcp drop {}", acp.StopReasonEndTurn)
	e.say(id, "!mcp drop {}", acp.StopReasonEndTurn)
	load("ann", id) // the same servers
	e.say(id, "!mcp drop {}", acp.StopReasonEndTurn)
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	load("bob", id)
	e.say(id, "!mcp drop {}", acp.StopReasonEndTurn)
	if asked != 2 {
		t.Errorf("asked %d times, want again for another server of the name", asked)
	}
}

// Of three consecutive loads the last list applies, and nothing of the others remains.
func TestMCP_ConsecutiveLoads(t *testing.T) {
	var mu sync.Mutex
	var made []*sdk.Server
	srv := httpServer(t, func(server *sdk.Server) {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, server)
	})
	sent := make(chan struct{}, 1)
	e := start(t, func(c *config) {
		c.editor.Trace = func(out bool, line []byte) {
			if out && containsAll(string(line), `"method":"session/load"`) {
				sent <- struct{}{}
			}
		}
	})
	id := e.session()
	for round := range 10 {
		users := []string{"ann", "bob", "ann"}
		if round%2 == 1 {
			users = []string{"bob", "ann", "bob"}
		}
		var loads sync.WaitGroup
		for _, user := range users {
			loads.Go(func() {
				call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, user)}})
			})
			<-sent
		}
		loads.Wait()
		before := len(e.Updates(id))
		e.say(id, "!mcp whoami {}", acp.StopReasonEndTurn)
		got := toolText(e.Updates(id)[before:])
		if !strings.Contains(got, "you are "+users[2]) || strings.Contains(got, "you are "+users[1]) {
			t.Fatalf("round %d: the tool said %s, want the word of the last list's server", round, got)
		}
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	srv.Close()
	// A connection that ends while it is being opened leaves a session at the server.
	for _, server := range made {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	}
}

// However long the servers' descriptions of their prompts are, the line is short enough for clients.
func TestMCP_ManyPrompts(t *testing.T) {
	var longest atomic.Int64
	srv := httpServer(t, func(server *sdk.Server) {
		for i := range 1500 {
			server.AddPrompt(&sdk.Prompt{Name: fmt.Sprintf("prompt%d", i), Description: strings.Repeat("very long ", 800)},
				func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) { return nil, nil })
		}
	})
	e := start(t, func(c *config) {
		c.editor.Trace = func(sent bool, line []byte) {
			if n := int64(len(line)); !sent && n > longest.Load() {
				longest.Store(n) // lines are sent one at a time
			}
		}
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("db", srv.URL, "ann")}}).SessionID
	e.await(id, acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
		return slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return strings.HasPrefix(c.Name, "mcp:") })
	}))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if n := longest.Load(); n > 64<<10 {
		t.Errorf("the longest line has %d bytes", n)
	}
}
