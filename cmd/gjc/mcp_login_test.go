package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// serveSignIn runs the example server of the TypeScript SDK with its authorization server, which lets everybody in, and returns its URL.
func serveSignIn(t *testing.T) string {
	t.Helper()
	script := filepath.Join(testenv.ModuleRoot(t), "testdata", "mcp", "node_modules", "@modelcontextprotocol", "sdk", "dist", "esm", "examples", "server", "simpleStreamableHttp.js")
	if _, err := os.Stat(script); err != nil {
		testenv.Skip(t, "no node_modules in testdata/mcp; run npm ci there")
	}
	port, authPort := testenv.FreePort(t), testenv.FreePort(t)
	cmd := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "node"), script, "--oauth", "--oauth-strict")
	cmd.Env = []string{fmt.Sprintf("MCP_PORT=%d", port), fmt.Sprintf("MCP_AUTH_PORT=%d", authPort), "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.WaitDelay = hang
	up := make(chan struct{})
	said := &signalBuffer{want: fmt.Sprintf("listening on port %d", port), seen: up}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	select {
	case <-up:
	case <-ctx.Done():
		t.Fatalf("the server does not come up: %s", &said.buffer)
	}
	return fmt.Sprintf("http://localhost:%d/mcp", port)
}

// browse opens an address as a browser does, and follows it back to gjc.
func browse(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.Contains(string(body), "Signed in") {
		err = fmt.Errorf("the browser ends at %s: HTTP %s: %s", resp.Request.URL, resp.Status, body)
	}
	return err
}

// gjcIn runs gjc with a home directory and returns its output.
func gjcIn(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self(t), args...)
	cmd.Dir, cmd.Env = home, environment(home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var anAddress = regexp.MustCompile(`http://localhost:\d+/authorize\?[^\s>]+`)

// TestMCP_Login signs in to a real server with the built binary: in a terminal, and in a session by the editor's question or by a message.
func TestMCP_Login(t *testing.T) {
	t.Parallel()
	address := serveSignIn(t)
	home := tempDir(t)
	if out, err := gjcIn(t, home, "mcp", "add", "example", address); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := gjcIn(t, home, "mcp", "test", "example"); err == nil || !strings.Contains(out, "wants you to sign in") {
		t.Errorf("before the sign-in: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), self(t), "mcp", "login", "example")
	cmd.Dir, cmd.Env = home, environment(home)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if at := anAddress.FindString(lines.Text()); at != "" {
			if err := browse(t.Context(), at); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(all.String(), "You are signed in to example.") {
		t.Fatalf("%v: %s", err, all.String())
	}
	if info, err := os.Stat(filepath.Join(home, ".gjc", "agent", "auth.json")); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("auth.json: %v, %v", info, err)
	}
	if out, err := gjcIn(t, home, "mcp", "test", "example"); err != nil || !strings.Contains(out, "example is connected: http") {
		t.Errorf("after the sign-in: %v: %s", err, out)
	}
	if out, err := gjcIn(t, home, "mcp", "logout", "example"); err != nil || !strings.Contains(out, "You are signed out of example.") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := gjcIn(t, home, "mcp", "logout", "example"); err == nil || !strings.Contains(out, "you are not signed in to example") {
		t.Errorf("again: %v: %s", err, out)
	}

	for _, urls := range []bool{true, false} {
		testSessionLogin(t, home, urls)
		if out, err := gjcIn(t, home, "mcp", "logout", "example"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// testSessionLogin signs in with /mcp login. urls says that the editor can open addresses.
func testSessionLogin(t *testing.T, home string, urls bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	capabilities := acptest.AllCapabilities()
	if !urls {
		capabilities.Elicitation.URL = nil
	}
	asked := 0
	var browsing sync.WaitGroup
	defer browsing.Wait()
	e, err := acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home)}, acptest.EditorOptions{
		Capabilities: capabilities,
		Elicit: func(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
			asked++
			if mode, ok := p.Mode.(*acp.ElicitationURLMode); ok {
				browsing.Go(func() { // after the answer, as a browser
					if err := browse(context.WithoutCancel(ctx), mode.URL); err != nil {
						t.Error(err)
					}
				})
			}
			return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		e.Process.Kill()
		_ = e.Close()
	}()
	if _, err := e.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	var session acp.NewSessionResponse
	if err := e.Conn.Call(ctx, "session/new", object{"cwd": tempDir(t), "mcpServers": []any{}}, &session); err != nil {
		t.Fatal(err)
	}
	signed := make(chan error, 1)
	go func() {
		_, err := e.Prompt(ctx, session.SessionID, "/mcp login example")
		signed <- err
	}()
	if !urls {
		if err := browseFrom(ctx, e.Editor, session.SessionID); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-signed; err != nil {
		t.Fatal(err)
	}
	if o := outcomeOf(e.Updates(session.SessionID)); !strings.Contains(o.words, "You are signed in to example.") {
		t.Fatalf("addresses %v: it says %q", urls, o.words)
	}
	if urls != (asked > 0) {
		t.Errorf("addresses %v: asked %d times", urls, asked)
	}
	from := len(e.Updates(session.SessionID))
	if _, err := e.Prompt(ctx, session.SessionID, `!mcp mcp__example_greet {"name":"Ada"}`); err != nil {
		t.Fatal(err)
	}
	if call := outcomeOf(e.Updates(session.SessionID)[from:]).only(t); call.Text != "Hello, Ada!" {
		t.Errorf("the tool says %+v", call)
	}
}

// browseFrom opens the address that a message of the session shows.
func browseFrom(ctx context.Context, e *acptest.Editor, id acp.SessionID) error {
	err := e.Await(ctx, id, acptest.Update(func(*acp.AgentMessageChunk) bool { return anAddress.MatchString(e.Text(id)) }))
	if err != nil {
		return err
	}
	return browse(ctx, anAddress.FindString(e.Text(id)))
}
