package bench

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
)

// serverVariable is the environment variable that makes this program an MCP server on stdin and stdout.
const serverVariable = "GJC_BENCH_MCP"

func serveMCP(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "nothing"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// BenchmarkServers measures how MCP servers slow down a session's start, and sessions that run concurrently.
func BenchmarkServers(b *testing.B) {
	m := newMetrics(b)
	self, err := os.Executable()
	check(b, err)
	for b.Loop() {
		servers(b, m, self)
	}
}

func servers(b *testing.B, m *metrics, self string) {
	a := start(b, b.TempDir(), options{})
	defer a.end()
	a.open() // loads the models
	var last acp.SessionID
	for _, n := range []int{0, 1, 5} {
		req := &acp.NewSessionRequest{Cwd: a.work}
		for i := range n {
			req.MCPServers = append(req.MCPServers, &acp.MCPServerStdio{
				Name: fmt.Sprintf("server%d", i), Command: self, Env: []acp.EnvVariable{{Name: serverVariable, Value: "1"}},
			})
		}
		begin := time.Now()
		resp, err := acp.MethodSessionNew.Call(b.Context(), a.Conn, req)
		a.check(err)
		m.took(fmt.Sprintf("session/new-with-%d-MCP-servers", n), time.Since(begin))
		last = resp.SessionID
	}
	m.took("first-prompt-with-5-MCP-servers", a.prompt(last, "!mcp mcp__server4_nothing {}"))
	var ids []acp.SessionID
	for range manySessions {
		ids = append(ids, a.open())
	}
	var prompts sync.WaitGroup
	errs := make([]error, len(ids))
	begin := time.Now()
	for i, id := range ids {
		prompts.Go(func() { _, errs[i] = a.Prompt(b.Context(), id, "!say 500") })
	}
	prompts.Wait()
	m.took("ten-sessions-prompting-at-once", time.Since(begin))
	for _, err := range errs {
		a.check(err)
	}
}
