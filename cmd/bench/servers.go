package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/proc"
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

// startOffline starts gjc with its offline model.
func startOffline(ctx context.Context, binary, dir string, opts acptest.EditorOptions, extra ...string) (*acptest.Agent, string, error) {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, "", err
	}
	env := proc.Environ(os.Environ(), append(extra, "GJC_CODING_AGENT_DIR="+filepath.Join(dir, "agent"))...)
	agent, err := acptest.Start(ctx, acptest.ProcessOptions{Path: binary, Args: []string{"acp", "--model", "offline/demo"}, Dir: work, Env: env}, opts)
	if err != nil {
		return nil, "", err
	}
	if _, err := agent.Initialize(ctx); err != nil {
		return nil, "", err
	}
	return agent, work, nil
}

func end(agent *acptest.Agent) {
	agent.Process.Kill()
	_ = agent.Close() // the measurement is over
}

// servers measures how MCP servers slow down a session's start, and sessions that run concurrently.
func servers(ctx context.Context, binary, dir string) ([]measure, error) {
	agent, work, err := startOffline(ctx, binary, filepath.Join(dir, "servers"), acptest.EditorOptions{})
	if err != nil {
		return nil, err
	}
	defer end(agent)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := agent.NewSession(ctx, work); err != nil { // loads the models
		return nil, err
	}
	var all []measure
	var last acp.SessionID
	for _, n := range []int{0, 1, 5} {
		req := &acp.NewSessionRequest{Cwd: work}
		for i := range n {
			req.MCPServers = append(req.MCPServers, &acp.MCPServerStdio{
				Name: fmt.Sprintf("server%d", i), Command: self, Env: []acp.EnvVariable{{Name: serverVariable, Value: "1"}},
			})
		}
		begin := time.Now()
		resp, err := acp.MethodSessionNew.Call(ctx, agent.Conn, req)
		if err != nil {
			return nil, err
		}
		step := fmt.Sprintf("session/new with %d MCP servers", n)
		switch n {
		case 0:
			step = "session/new without MCP servers"
		case 1:
			step = "session/new with 1 MCP server"
		}
		all = append(all, measure{step: step, took: time.Since(begin)})
		last = resp.SessionID
	}
	begin := time.Now()
	if _, err := agent.Prompt(ctx, last, "!mcp mcp__server4_nothing {}"); err != nil {
		return nil, err
	}
	all = append(all, measure{step: "first prompt with 5 MCP servers", took: time.Since(begin)})

	var ids []acp.SessionID
	for range manySessions {
		s, err := agent.NewSession(ctx, work)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.SessionID)
	}
	errs := make(chan error, manySessions)
	var prompts sync.WaitGroup
	begin = time.Now()
	for _, id := range ids {
		prompts.Go(func() {
			if _, err := agent.Prompt(ctx, id, "!say 500"); err != nil {
				errs <- err
			}
		})
	}
	prompts.Wait()
	all = append(all, measure{step: "ten sessions prompting at once", took: time.Since(begin)})
	select {
	case err := <-errs:
		return nil, err
	default:
		return all, nil
	}
}
