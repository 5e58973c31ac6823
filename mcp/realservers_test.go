package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp"
)

// realServer returns the command line of a server that was installed in testdata/mcp.
func realServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	script = filepath.Join(testenv.ModuleRoot(t), "testdata", "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		testenv.Skip(t, "no node_modules in testdata/mcp; run npm ci there")
	}
	return testenv.NeedsTool(t, "node"), script
}

// realOptions returns options that give a server enough time to start node on a busy machine.
func realOptions() mcp.Options {
	return mcp.Options{Backoff: []time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second}, Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
		return mcp.ElicitResult{Action: "decline"}, nil
	}}
}

func TestRealServer_Everything(t *testing.T) {
	node, script := realServer(t, "server-everything")
	for _, transport := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(transport, func(t *testing.T) {
			server := mcp.Server{Name: "everything"}
			switch transport {
			case "stdio":
				server.Stdio = &mcp.Stdio{Command: node, Args: []string{script, "stdio"}, Env: []string{"KIT_MARK=from-gjc"}}
			case "streamableHttp":
				server.HTTP = &mcp.HTTP{URL: serveReal(t, node, script, transport) + "/mcp"}
			default:
				server.HTTP = &mcp.HTTP{URL: serveReal(t, node, script, transport) + "/sse", SSE: true}
			}
			set := start(t, realOptions(), server).connected()
			checkEverything(t, set, transport)
		})
	}
}

func checkEverything(t *testing.T, set *watched, transport string) {
	t.Helper()
	if got := set.says("everything", "echo", `{"message":"hello"}`); got != "Echo: hello" {
		t.Errorf("echo says %q", got)
	}
	if got := set.says("everything", "get-sum", `{"a":2,"b":3}`); !strings.Contains(got, "5") {
		t.Errorf("get-sum says %q", got)
	}
	if !slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Name == "mcp__everything_get_sum" }) {
		t.Error("no tool called mcp__everything_get_sum")
	}
	if transport == "stdio" {
		if got := set.says("everything", "get-env", "{}"); !strings.Contains(got, "from-gjc") {
			t.Errorf("get-env says %q", got)
		}
	}
	res, err := set.call("everything", "get-tiny-image", "{}")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(res.Parts, func(p mcp.Part) bool {
		img, ok := p.(mcp.Image)
		return ok && img.MIMEType == "image/png" && strings.HasPrefix(string(img.Data), "\x89PNG")
	}) {
		t.Errorf("no picture in %+v", res.Parts)
	}
	res, err = set.call("everything", "get-structured-content", `{"location":"Chicago"}`)
	if err != nil || !strings.Contains(string(res.Structured), "temperature") {
		t.Errorf("structured content: %+v, %v", res, err)
	}
	var reports int
	_, err = set.Call(t.Context(), set.tool("everything", "trigger-long-running-operation"), jsonx.Raw(`{"duration":0.2,"steps":3}`),
		&mcp.CallOptions{Progress: func(mcp.Progress) { reports++ }})
	if err != nil {
		t.Error(err)
	}
	// A cancelled call returns at once and leaves the connection usable.
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err = set.Call(ctx, set.tool("everything", "trigger-long-running-operation"), jsonx.Raw(`{"duration":600,"steps":6000}`),
		&mcp.CallOptions{Progress: func(mcp.Progress) { cancel() }})
	cancel()
	if err == nil || time.Since(began) > patience {
		t.Errorf("the cancelled call: %v after %s", err, time.Since(began))
	}
	prompts := set.Prompts()
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Name == "args-prompt" })
	if i < 0 {
		t.Fatalf("prompts: %+v", prompts)
	}
	args := make(map[string]string)
	for _, a := range prompts[i].Arguments {
		args[a.Name] = "Paris"
	}
	p, err := set.GetPrompt(t.Context(), "everything", "args-prompt", args)
	if err != nil || len(p.Messages) == 0 {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	resources := set.Resources()
	if len(resources) == 0 {
		t.Fatal("no resources")
	}
	res, err = set.ReadResource(t.Context(), "everything", resources[0].URI)
	if err != nil || res.Text == "" {
		t.Errorf("resource %s: %+v, %v", resources[0].URI, res, err)
	}
	if _, err := set.ReadResource(t.Context(), "everything", "demo://no/such/thing"); err == nil {
		t.Error("a resource that is not there was read")
	}
}

func TestRealServer_Filesystem(t *testing.T) {
	node, script := realServer(t, "server-filesystem")
	open := func(text string) *watched {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := realOptions()
		opts.Cwd = dir
		return start(t, opts, mcp.Server{Name: "fs", Stdio: &mcp.Stdio{Command: node, Args: []string{script, dir}}}).connected()
	}
	// Two sessions with the same server name, each with its own process.
	one, two := open("first"), open("second")
	read := func(set *watched, path string) (*mcp.Result, error) {
		return set.call("fs", "read_text_file", fmt.Sprintf(`{"path":%q}`, path))
	}
	for set, want := range map[*watched]string{one: "first", two: "second"} {
		res, err := read(set, "a.txt")
		if err != nil || res.Text != want {
			t.Errorf("read: %+v, %v; want %q", res, err, want)
		}
		if res, err := read(set, "/etc/hostname"); err == nil && !res.IsError {
			t.Errorf("a file outside was read: %+v", res)
		}
		if tool := set.tool("fs", "read_text_file"); !tool.ReadOnly {
			t.Error("read_text_file is not known to be read-only")
		}
		if tool := set.tool("fs", "write_file"); tool.ReadOnly || !tool.Destructive {
			t.Error("write_file is not known to be destructive")
		}
		if err := set.tool("fs", "read_text_file").Validate(jsonx.Raw(`{"path":5}`)); err == nil {
			t.Error("a path that is a number passes")
		}
	}
}

// serveReal runs a real server on a free port of the loopback and returns its URL.
func serveReal(t *testing.T, node, script, transport string) string {
	t.Helper()
	port := testenv.FreePort(t)
	said := make(lineWaiter, 1)
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: node, Args: []string{script, transport}, Stderr: said, Stdout: said,
		Env: []string{fmt.Sprintf("PORT=%d", port), "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background(), nil) })
	select {
	case <-said:
	case <-p.Done():
		t.Fatalf("the server ended: %v", p.Err())
	case <-time.After(patience):
		t.Fatalf("the server does not come up: %s", p.Stderr())
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// lineWaiter receives a token when a server reports that it is listening.
type lineWaiter chan struct{}

func (w lineWaiter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "port") {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}
