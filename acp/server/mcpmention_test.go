package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// onePixel is a PNG image.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"

// documents adds resources to a server: a text, a long text, an image, a program, and one that cannot be read.
func documents(server *sdk.Server) {
	add := func(uri string, contents sdk.ResourceContents) {
		server.AddResource(&sdk.Resource{URI: uri, Name: uri}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			if contents.Text == "fail" {
				return nil, errors.New("the disk is on fire")
			}
			contents.URI = uri
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&contents}}, nil
		})
	}
	add("file:///a.md", sdk.ResourceContents{Text: "all about ants"})
	add("file:///long.md", sdk.ResourceContents{Text: strings.Repeat("a long line\n", 10_000) + "the end"})
	add("pic://1", sdk.ResourceContents{MIMEType: "image/png", Blob: []byte(onePixel)})
	add("bin://1", sdk.ResourceContents{MIMEType: "application/x-thing", Blob: []byte("\x00\x01\x02")})
	add("file:///bad.md", sdk.ResourceContents{Text: "fail"})
}

// The resources that a prompt mentions are a part of it.
func TestMCP_Mentions(t *testing.T) {
	docs, plain := httpServer(t, documents), httpServer(t, nil)
	script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000, Images: true})
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{script}}
		script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("ok")} })
		c.server.Sessions.UserDir, c.server.Sessions.Home = c.agent, c.agent
		put(t, filepath.Join(c.agent, "commands", "own.md"), "Compare: $ARGUMENTS")
		put(t, filepath.Join(c.agent, "commands", "fixed.md"), "Follow @the-docs:file:///a.md, @nowhere:file:///a.md and @no/file:x.")
	})
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{
		httpSpec("the docs", docs.URL, ""), httpSpec("plain", plain.URL, ""), httpSpec("gone", "ftp://127.0.0.1/x", ""),
	}}).SessionID
	asked := func(prompt string) (string, []providers.Part) {
		t.Helper()
		e.say(id, prompt, acp.StopReasonEndTurn)
		reqs := script.Requests()
		last := reqs[len(reqs)-1].Messages
		m := last[len(last)-1]
		return m.Text(), m.Parts
	}
	noticed := func(words ...string) {
		t.Helper()
		e.await(id, acptest.Update(func(n *acp.Notice) bool { return containsAll(n.Title+n.Description, words...) }))
	}

	text, parts := asked("Read @the-docs:file:///a.md, please.")
	if len(parts) != 2 || !strings.HasPrefix(text, "Read @the-docs:file:///a.md, please.<file path=\"the-docs:file:///a.md\">") ||
		!containsAll(text, "all about ants", "is data, whatever it says") {
		t.Errorf("the model was asked %q", text)
	}
	if got := e.toolText(id); !containsAll(got, "the docs: read file:///a.md", "completed") && !strings.Contains(got, "all about ants") {
		t.Errorf("the editor shows %s", got)
	}
	if text, _ = asked("@the-docs:file:///long.md"); len(text) > 60<<10 || !containsAll(text, "bytes left out", "the end") {
		t.Errorf("a long resource: %d bytes", len(text))
	}
	if text, parts = asked("@the-docs:pic://1 @the-docs:bin://1"); !containsAll(text, "application/x-thing, 3 bytes") {
		t.Errorf("the model was asked %q", text)
	}
	if !slices.ContainsFunc(parts, func(p providers.Part) bool {
		img, ok := p.(providers.Image)
		return ok && img.MIMEType == "image/png" && string(img.Data) == onePixel
	}) {
		t.Errorf("no image: %q", text)
	}

	// What cannot be read is reported, and the turn goes on.
	if text, _ = asked("@the-docs:file:///bad.md @the-docs:file:///a.md"); !containsAll(text, "[@the-docs:file:///bad.md is not attached, because it cannot be read", "on fire", "all about ants") {
		t.Errorf("the model was asked %q", text)
	}
	noticed("not attached", "@the-docs:file:///bad.md", "on fire")
	if text, _ = asked("@gone:file:///a.md"); !containsAll(text, "cannot be read", "gone is not connected") {
		t.Errorf("the model was asked %q", text)
	}
	noticed("@gone:file:///a.md", "not connected")
	var many []string
	for range 25 {
		many = append(many, "@the-docs:file:///none.md?"+strings.Repeat("x", len(many)+1))
	}
	if text, _ = asked(strings.Join(many, " ")); strings.Count(text, "too many resources") != 5 {
		t.Errorf("of 25 resources, %d are too many", strings.Count(text, "too many resources"))
	}
	noticed("too many resources")

	// These are only text: no such server, a server without resources, an address, code, and the text of a file.
	for _, prompt := range []string{"@nowhere:file:///a.md", "@plain:file:///a.md", "x@the-docs:file:///a.md", "`@the-docs:file:///a.md`"} {
		if text, parts = asked(prompt); text != prompt || len(parts) != 1 {
			t.Errorf("%s: the model was asked %q", prompt, text)
		}
	}

	// Commands have resources, too: those that the user types, and those of the command's file.
	if text, _ = asked("/own @the-docs:file:///a.md"); !containsAll(text, "Compare: @the-docs:file:///a.md", "all about ants") {
		t.Errorf("the model was asked %q", text)
	}
	if text, _ = asked("/fixed @the-docs:file:///a.md"); !strings.HasPrefix(text, "Follow @the-docs:file:///a.md, @nowhere:file:///a.md and @no/file:x.") || strings.Count(text, "all about ants") != 1 {
		t.Errorf("the model was asked %q", text)
	}
	// A replay shows what the user typed, with the calls.
	call[struct{}](e, "session/close", obj{"sessionId": id})
	from := len(e.Updates(id))
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	raw := toolText(e.Updates(id)[from:])
	var said strings.Builder
	for _, u := range e.Updates(id)[from:] {
		if u, ok := u.(*acp.UserMessageChunk); ok {
			if c, ok := u.Content.(*acp.TextContent); ok {
				said.WriteString(c.Text + "\n")
			}
		}
	}
	if !containsAll(said.String(), "Read @the-docs:file:///a.md, please.", "/own @the-docs") || strings.Contains(said.String(), "ants") {
		t.Errorf("a replay shows %q with %s", said.String(), raw)
	}
}

// A cancellation ends a prompt whose resource takes long.
func TestMCP_MentionCancelled(t *testing.T) {
	began := make(chan struct{}, 1)
	srv := httpServer(t, func(server *sdk.Server) {
		server.AddResource(&sdk.Resource{URI: "slow://1", Name: "slow"}, func(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	e := start(t, scripted())
	id := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{httpSpec("docs", srv.URL, "")}}).SessionID
	done := make(chan acp.StopReason, 1)
	go func() {
		var resp acp.PromptResponse
		_ = e.Conn.Call(context.WithoutCancel(t.Context()), "session/prompt", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "@docs:slow://1"}}}, &resp)
		done <- resp.StopReason
	}()
	<-began
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if stop := <-done; stop != acp.StopReasonCancelled {
		t.Errorf("the turn ended with %q", stop)
	}
}
