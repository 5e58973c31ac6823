package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The model is offered only the selected MCP tools, even after the session is loaded again.
func TestMCP_Selection(t *testing.T) {
	srv := httpServer(t, nil)
	var offered []string
	steps := []providertest.Step{}
	for range 6 {
		steps = append(steps, providertest.Step{providertest.Check(func(req *providers.Request) {
			offered = nil
			for _, tool := range req.Tools {
				if strings.HasPrefix(tool.Name, "mcp__") {
					offered = append(offered, tool.Name)
				}
			}
		}), providertest.Text("fine")})
	}
	e := start(t, scripted(steps...))
	servers := []any{httpSpec("db", srv.URL, "ann")}
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": servers}).SessionID
	check := func(when string, want ...string) {
		t.Helper()
		e.say(id, when, acp.StopReasonEndTurn)
		got := slices.DeleteFunc(slices.Sorted(slices.Values(offered)), func(name string) bool { return !strings.HasPrefix(name, "mcp__db_") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	load := func() {
		t.Helper()
		call[struct{}](e, "session/close", obj{"sessionId": id})
		call[acp.LoadSessionResponse](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": servers})
	}
	check("at first", "mcp__db_drop", "mcp__db_whoami")
	if got, _ := e.after(id, "/mcp select mcp__db_nope"); !strings.Contains(got, "unknown MCP tool mcp__db_nope") || !strings.Contains(got, "mcp__db_drop") {
		t.Errorf("an unknown tool: %q", got)
	}
	e.after(id, "/mcp select mcp__db_whoami")
	check("chosen", "mcp__db_whoami")
	load()
	check("loaded", "mcp__db_whoami")
	e.after(id, "/mcp select none")
	load()
	check("none")
	e.after(id, "/mcp select all")
	check("all", "mcp__db_drop", "mcp__db_whoami")
	load()
	check("all, loaded", "mcp__db_drop", "mcp__db_whoami")
}
