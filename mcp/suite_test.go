package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// way is a transport with a protocol version.
type way struct {
	transport, version string
	// twoWay reports that the server can send messages on its own. The editor's channel carries only messages about an active
	// request of the client, and no request stays open with a handshake.
	twoWay bool
	// server returns the configuration of a kit server.
	server func(t *testing.T, opts *mcp.Options, version string) mcp.Server
}

var ways = []way{
	{"stdio", stateless, true, stdioKit},
	{"stdio", handshake, true, stdioKit},
	{"http", stateless, true, httpKit},
	{"http", handshake, true, httpKit},
	{"sse", handshake, true, sseKit},
	{"acp", stateless, true, channelKit},
	{"acp", handshake, false, channelKit},
}

func stdioKit(t *testing.T, _ *mcp.Options, version string) mcp.Server {
	name := "kit-handshake"
	if version == stateless {
		name = "kit-stateless"
	}
	s := fake(t, name)
	s.Name = "kit"
	return s
}

// kitOverHTTP serves a kit over Streamable HTTP.
func kitOverHTTP(t *testing.T, version string) *httptest.Server {
	k := newKit("kit", version)
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return k.server },
		&sdk.StreamableHTTPOptions{Stateless: version == stateless, PropagateRequestCancellation: true}))
	t.Cleanup(srv.Close)
	return srv
}

func httpKit(t *testing.T, _ *mcp.Options, version string) mcp.Server {
	return mcp.Server{Name: "kit", HTTP: &mcp.HTTP{URL: kitOverHTTP(t, version).URL}}
}

func sseKit(t *testing.T, _ *mcp.Options, version string) mcp.Server {
	k := newKit("kit", version)
	srv := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return k.server }, nil))
	t.Cleanup(srv.Close)
	return mcp.Server{Name: "kit", HTTP: &mcp.HTTP{URL: srv.URL, SSE: true}}
}

func channelKit(t *testing.T, opts *mcp.Options, version string) mcp.Server {
	ch := newEditorChannel(t, newKit("kit", version).server)
	opts.Channel = ch
	return mcp.Server{Name: "kit", Channel: &mcp.ChannelServer{ID: "srv-1"}}
}

func twoWay(w way) bool { return w.twoWay }

// each runs fn over every way.
func each(t *testing.T, fn func(t *testing.T, w way, opts *mcp.Options, open func() *watched)) {
	eachThat(t, func(way) bool { return true }, fn)
}

// eachThat runs fn for each way that supports the tested feature.
func eachThat(t *testing.T, can func(way) bool, fn func(t *testing.T, w way, opts *mcp.Options, open func() *watched)) {
	for _, w := range ways {
		if !can(w) {
			continue
		}
		t.Run(w.transport+"/"+w.version, func(t *testing.T) {
			opts := new(mcp.Options)
			fn(t, w, opts, func() *watched {
				server := w.server(t, opts, w.version)
				set := start(t, *opts, server)
				if ch, ok := opts.Channel.(*editorChannel); ok {
					ch.attach(set.Set)
				}
				return set.connected()
			})
		})
	}
}

func TestSet_Status(t *testing.T) {
	each(t, func(t *testing.T, w way, _ *mcp.Options, open func() *watched) {
		set := open()
		want := []mcp.ServerStatus{{
			Name: "kit", State: mcp.StateConnected, Transport: w.transport, Protocol: w.version,
			Stateless: w.version == stateless, Info: "kit 1.2", Tools: 16, Prompts: 1, Resources: 5, Templates: 1,
		}}
		if diff := cmp.Diff(want, set.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		var names []string
		for _, tool := range set.Tools() {
			names = append(names, tool.Name)
		}
		if !slices.IsSorted(names) || !slices.Contains(names, "mcp__kit_was_cancelled") {
			t.Errorf("tools: %v", names)
		}
		if n := set.noticeTexts(); len(n) != 0 {
			t.Errorf("a healthy server made notices: %v", n)
		}
	})
}

func TestSet_Call(t *testing.T) {
	each(t, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		if got := set.says("kit", "echo", `{"text":"héllo <&>"}`); got != "héllo <&>" {
			t.Errorf("echo says %q", got)
		}
		res, err := set.call("kit", "fail", "")
		if err != nil || !res.IsError || res.Text != "it broke" {
			t.Errorf("fail: %+v, %v", res, err)
		}
		if res, err := set.call("kit", "refuse", "{}"); err == nil {
			t.Errorf("refuse: %+v", res)
		} else if refusal, ok := errors.AsType[*mcp.ServerError](err); !ok || !strings.Contains(refusal.Message, "not today") {
			t.Errorf("refuse: %v", err)
		}
		res, err = set.call("kit", "mixed", "{}")
		if err != nil {
			t.Fatal(err)
		}
		want := []mcp.Part{
			mcp.Text{Text: "one"},
			mcp.Image{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")},
			mcp.Audio{MIMEType: "audio/wav", Data: []byte("RIFF")},
			mcp.Link{URI: "kit://a", Name: "a"},
			mcp.Embedded{URI: "kit://b", MIMEType: "text/plain", Text: "bee"},
		}
		if diff := cmp.Diff(want, res.Parts); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
		res, err = set.call("kit", "big", "{}")
		if err != nil || len(res.Text) > mcp.MaxText || len(res.Full) != 128<<10 || !strings.Contains(res.Text, "left out") {
			t.Errorf("big: %d bytes, full %d, %v", len(res.Text), len(res.Full), err)
		}
		res, err = set.Call(t.Context(), set.tool("kit", "meta"), nil, &mcp.CallOptions{Meta: map[string]any{"traceparent": "00-1-2-01"}})
		if err != nil || res.Text != "00-1-2-01" {
			t.Errorf("meta: %+v, %v", res, err)
		}
	})
}

func TestSet_Call_ProgressAndCancel(t *testing.T) {
	each(t, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		stop := errors.New("the user wants something else")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var got mcp.Progress
		_, err := set.Call(ctx, set.tool("kit", "wait"), nil, &mcp.CallOptions{Progress: func(p mcp.Progress) {
			got = p
			cancel(stop)
		}})
		if !errors.Is(err, stop) {
			t.Errorf("err = %v, want the cause", err)
		}
		if want := (mcp.Progress{Message: "half", Done: 1, Total: 2}); got != want {
			t.Errorf("progress %+v, want %+v", got, want)
		}
		if got := set.says("kit", "was_cancelled", "{}"); got != "yes" {
			t.Errorf("the server was not told: %q", got)
		}
	})
}

func TestSet_Questions(t *testing.T) {
	eachThat(t, twoWay, func(t *testing.T, _ way, opts *mcp.Options, open func() *watched) {
		var asked []mcp.ElicitRequest
		opts.Elicit = func(_ context.Context, r mcp.ElicitRequest) (mcp.ElicitResult, error) {
			if r.Mode == "url" {
				if r.ID == "" || r.ID == "e1" {
					t.Errorf("the id is the server's: %q", r.ID)
				}
				r.ID = ""
			}
			asked = append(asked, r)
			return mcp.ElicitResult{Action: "accept", Content: jsonx.Raw(`{"n":7}`)}, nil
		}
		opts.Cwd = t.TempDir()
		opts.Roots = []string{"/with space/ünd"}
		set := open()
		if got := set.says("kit", "ask", "{}"); got != "accept map[n:7]" {
			t.Errorf("ask: %q", got)
		}
		if got := set.says("kit", "visit", "{}"); got != "accept map[]" {
			t.Errorf("visit: %q", got)
		}
		want := []mcp.ElicitRequest{
			{Server: "kit", Mode: "form", Message: "Which?", Schema: jsonx.Raw(`{"properties":{"n":{"type":"integer"}},"type":"object"}`)},
			{Server: "kit", Mode: "url", Message: "Log in", URL: "https://login.invalid/"},
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if got, want := set.says("kit", "roots", "{}"), "file://"+opts.Cwd+" file:///with%20space/%C3%BCnd"; got != want {
			t.Errorf("roots: %q, want %q", got, want)
		}
		if res, err := set.call("kit", "sample", "{}"); err == nil {
			t.Errorf("sampling was not refused: %+v", res)
		}
	})
}

func TestSet_Questions_WrongAnswer(t *testing.T) {
	eachThat(t, twoWay, func(t *testing.T, _ way, opts *mcp.Options, open func() *watched) {
		opts.Elicit = func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
			return mcp.ElicitResult{Action: "accept", Content: jsonx.Raw(`{"n":"seven"}`)}, nil
		}
		set := open()
		if res, err := set.call("kit", "ask", "{}"); err == nil && !res.IsError {
			t.Errorf("an answer of the wrong type went through: %+v", res)
		}
		if got := set.says("kit", "echo", `{"text":"alive"}`); got != "alive" {
			t.Errorf("echo says %q", got)
		}
	})
}

func TestSet_ToolsChange(t *testing.T) {
	eachThat(t, twoWay, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		echo := set.tool("kit", "echo")
		set.says("kit", "grow", "{}")
		set.until("the new tool is listed and the old one is not", func() bool {
			var names []string
			for _, tool := range set.Tools() {
				names = append(names, tool.Remote)
			}
			return slices.Contains(names, "grown") && !slices.Contains(names, "echo")
		})
		if got := set.says("kit", "grown", "{}"); got != "tall" {
			t.Errorf("grown says %q", got)
		}
		// The server, not the client, refuses a call to a removed tool.
		if _, err := set.Call(t.Context(), echo, jsonx.Raw(`{"text":"x"}`), nil); err == nil {
			t.Error("the tool that is gone still runs")
		}
	})
}

func TestSet_PromptsAndResourcesChange(t *testing.T) {
	eachThat(t, twoWay, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		set.says("kit", "publish", "{}")
		set.until("the new prompt is listed and the old resource is not", func() bool {
			return len(set.Prompts()) == 2 && !slices.ContainsFunc(set.Resources(), func(r mcp.Resource) bool { return r.URI == "kit://a" })
		})
	})
}

func TestSet_PromptsAndResources(t *testing.T) {
	each(t, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		want := []mcp.Prompt{{Server: "kit", Name: "greet", Description: "Greets.", Arguments: []mcp.PromptArgument{{Name: "who", Hint: "who", Required: true}}}}
		if diff := cmp.Diff(want, set.Prompts()); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		p, err := set.GetPrompt(t.Context(), "kit", "greet", map[string]string{"who": "you"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]mcp.PromptMessage{{Role: "user", Parts: []mcp.Part{mcp.Text{Text: "Hello, you"}}}}, p.Messages); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		res, err := set.ReadResource(t.Context(), "kit", "kit://d")
		if err != nil || res.Text != "contents of d" {
			t.Errorf("resource: %+v, %v", res, err)
		}
		res, err = set.ReadResource(t.Context(), "kit", "kit://t/9")
		if err != nil || len(res.Parts) != 1 || !cmp.Equal(res.Parts[0].(mcp.Embedded).Data, []byte{1, 2, 3}) {
			t.Errorf("template: %+v, %v", res, err)
		}
		if _, err := set.ReadResource(t.Context(), "kit", "kit://none"); err == nil {
			t.Error("a resource that is not there was read")
		}
		if _, err := set.ReadResource(t.Context(), "nobody", "kit://a"); err == nil {
			t.Error("a server that is not there was read")
		}
	})
}

func TestSet_Complete(t *testing.T) {
	each(t, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		var many []string
		for i := range 99 {
			many = append(many, fmt.Sprint(i))
		}
		for name, tt := range map[string]struct {
			req  mcp.CompleteRequest
			want mcp.Completion
		}{
			"prompt":   {mcp.CompleteRequest{Prompt: "greet", Argument: "who", Value: "wo"}, mcp.Completion{Values: []string{"world", "wolf"}}},
			"context":  {mcp.CompleteRequest{Prompt: "greet", Argument: "who", Value: "y", Given: map[string]string{"greeting": "!"}}, mcp.Completion{Values: []string{"you!"}}},
			"nothing":  {mcp.CompleteRequest{Prompt: "greet", Argument: "who", Value: "z"}, mcp.Completion{}},
			"template": {mcp.CompleteRequest{Template: "kit://t/{x}", Argument: "x"}, mcp.Completion{Values: []string{"kit://t/{x}"}}},
			"odd":      {mcp.CompleteRequest{Prompt: "greet", Argument: "odd"}, mcp.Completion{Values: append([]string{"fine"}, many...), More: true}},
		} {
			tt.req.Server = "kit"
			got, err := set.Complete(t.Context(), &tt.req)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		_, err := set.Complete(t.Context(), &mcp.CompleteRequest{Server: "kit", Prompt: "greet", Argument: "broken"})
		if _, ok := errors.AsType[*mcp.ServerError](err); !ok {
			t.Errorf("err = %v", err)
		}
	})
	// A server that does not announce completions is not asked.
	set := start(t, mcp.Options{}, fake(t, "junk")).connected()
	if got, err := set.Complete(t.Context(), &mcp.CompleteRequest{Server: "junk", Prompt: "p", Argument: "a"}); err != nil || len(got.Values) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSet_Reconnect(t *testing.T) {
	eachThat(t, twoWay, func(t *testing.T, _ way, _ *mcp.Options, open func() *watched) {
		set := open()
		if err := set.Reconnect(t.Context(), "kit"); err != nil {
			t.Fatal(err)
		}
		if got := set.says("kit", "echo", `{"text":"again"}`); got != "again" {
			t.Errorf("echo says %q", got)
		}
	})
}

// editorChannel is an editor with a built-in MCP server: it forwards requests to an SDK server and returns the responses.
type editorChannel struct {
	t    *testing.T
	conn sdk.Connection

	mu      sync.Mutex
	set     *mcp.Set
	next    int64
	waiting map[jsonrpc.ID]chan *jsonrpc.Response
	tokens  map[string]string // progress token → inner request
	listen  string            // the inner request of subscriptions/listen
}

func newEditorChannel(t *testing.T, server *sdk.Server) *editorChannel {
	near, far := sdk.NewInMemoryTransports()
	session, err := server.Connect(context.Background(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := near.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ch := &editorChannel{t: t, conn: conn, waiting: make(map[jsonrpc.ID]chan *jsonrpc.Response), tokens: make(map[string]string)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ch.read()
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
		_ = session.Wait()
	})
	return ch
}

func (e *editorChannel) attach(set *mcp.Set) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set = set
}

func (e *editorChannel) read() {
	for {
		msg, err := e.conn.Read(context.Background())
		if err != nil {
			return
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			e.mu.Lock()
			done := e.waiting[msg.ID]
			delete(e.waiting, msg.ID)
			e.mu.Unlock()
			if done != nil {
				done <- msg
			}
		case *jsonrpc.Request:
			var p struct{ ProgressToken string }
			_ = json.Unmarshal(msg.Params, &p)
			e.mu.Lock()
			set, about := e.set, e.tokens[p.ProgressToken]
			if about == "" {
				about = e.listen
			}
			e.mu.Unlock()
			if set != nil {
				set.ChannelNotification("srv-1", about, msg.Method, jsonx.Raw(msg.Params))
			}
		}
	}
}

func (e *editorChannel) Request(ctx context.Context, server, request, method string, params jsonx.Raw) (jsonx.Raw, *mcp.ChannelError, error) {
	if server != "srv-1" {
		return nil, nil, fmt.Errorf("there is no server %q", server)
	}
	done := make(chan *jsonrpc.Response, 1)
	e.mu.Lock()
	e.next++
	id, _ := jsonrpc.MakeID(float64(e.next))
	e.waiting[id] = done
	var p struct {
		Meta struct{ ProgressToken string } `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p)
	e.tokens[p.Meta.ProgressToken] = request
	if method == "subscriptions/listen" {
		e.listen = request
	}
	delete(e.tokens, "")
	e.mu.Unlock()
	if err := e.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: []byte(params)}); err != nil {
		return nil, nil, err
	}
	select {
	case resp := <-done:
		if wire, ok := errors.AsType[*jsonrpc.Error](resp.Error); ok {
			return nil, &mcp.ChannelError{Code: wire.Code, Message: wire.Message, Data: jsonx.Raw(wire.Data)}, nil
		}
		if method == "initialize" { // the owner of the server sends the notification: the channel cannot
			_ = e.conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"})
		}
		return jsonx.Raw(resp.Result), nil, nil
	case <-ctx.Done():
		cancelled, _ := json.Marshal(map[string]any{"requestId": id.Raw()})
		_ = e.conn.Write(context.Background(), &jsonrpc.Request{Method: "notifications/cancelled", Params: cancelled})
		return nil, nil, context.Cause(ctx)
	}
}
