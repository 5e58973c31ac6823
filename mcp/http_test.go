package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// serve runs a handler and closes it with the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// overHTTP returns the configuration of an HTTP server with a secret header.
func overHTTP(url string) mcp.Server {
	return mcp.Server{Name: "web", HTTP: &mcp.HTTP{URL: url, Headers: []mcp.Header{{Name: "Authorization", Value: "Bearer t0k3n-value"}}}}
}

// kitHandler serves a kit over Streamable HTTP.
func kitHandler(version string) http.Handler {
	k := newKit("kit", version)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return k.server },
		&sdk.StreamableHTTPOptions{Stateless: version == stateless})
}

func TestHTTP_RefusedForWantOfAKey(t *testing.T) {
	for _, sse := range []bool{false, true} {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "bad key "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		})
		server := overHTTP(srv.URL + "/?key=q-secret-q")
		server.HTTP.SSE = sse
		set := start(t, mcp.Options{}, server)
		set.failed("")
		st := set.Status()[0]
		if !strings.Contains(st.LastError, "HTTP 401 Unauthorized") {
			t.Errorf("sse %v: last error %q", sse, st.LastError)
		}
		if all := fmt.Sprint(st, set.noticeTexts()); strings.Contains(all, "t0k3n") || strings.Contains(all, "q-secret") {
			t.Errorf("a secret got out: %s", all)
		}
	}
}

func TestHTTP_NoServer(t *testing.T) {
	// The client end of a connection occupies a port without a listener, which no other process can be given.
	conn, err := net.Dial("tcp", serve(t, http.NotFound).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	url := "http://" + conn.LocalAddr().String()
	for _, sse := range []bool{false, true} {
		server := overHTTP(url + "/?key=q-secret-q")
		server.HTTP.SSE = sse
		set := start(t, mcp.Options{}, server)
		set.failed("")
		if all := fmt.Sprint(set.Status(), set.noticeTexts()); strings.Contains(all, "q-secret") || !strings.Contains(all, "refused") {
			t.Errorf("sse %v: %s", sse, all)
		}
	}
}

// TestHTTP_OtherOrigin checks that no request reaches another host, however a server redirects the client there.
func TestHTTP_OtherOrigin(t *testing.T) {
	var visits atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { visits.Add(1) })
	tests := map[string]struct {
		sse     bool
		handler http.HandlerFunc
	}{
		"redirect": {false, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}},
		"redirect of the stream": {true, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }},
		"endpoint": {true, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := overHTTP(serve(t, tt.handler).URL)
			server.HTTP.SSE = tt.sse
			set := start(t, mcp.Options{}, server)
			set.failed("")
			if st := set.Status()[0]; !strings.Contains(st.LastError, "points to another host") {
				t.Errorf("last error %q", st.LastError)
			}
			if n := visits.Load(); n != 0 {
				t.Errorf("the other host had %d visits", n)
			}
		})
	}
}

func TestHTTP_RedirectOnTheSameHost(t *testing.T) {
	kit := kitHandler(stateless)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
			return
		}
		if r.Header.Get("Authorization") != "Bearer t0k3n-value" {
			http.Error(w, "no key", http.StatusForbidden)
			return
		}
		kit.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL+"/old")).connected()
	if got := set.says("web", "echo", `{"text":"moved"}`); got != "moved" {
		t.Errorf("echo says %q", got)
	}
}

// TestHTTP_HeadersOfTheProtocol checks that the user's headers cannot break the protocol.
func TestHTTP_HeadersOfTheProtocol(t *testing.T) {
	srv := kitOverHTTP(t, handshake)
	server := overHTTP(srv.URL)
	for _, name := range []string{"Accept", "content-type", "Mcp-Session-Id", "mcp-protocol-version", "Last-Event-ID"} {
		server.HTTP.Headers = append(server.HTTP.Headers, mcp.Header{Name: name, Value: "nonsense"})
	}
	set := start(t, mcp.Options{}, server).connected()
	if got := set.says("web", "echo", `{"text":"fine"}`); got != "fine" {
		t.Errorf("echo says %q", got)
	}
}

// TestHTTP_SessionIsDeleted checks that Close deletes the session.
func TestHTTP_SessionIsDeleted(t *testing.T) {
	kit := kitHandler(handshake)
	var deleted atomic.Bool
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted.Store(r.Header.Get("Mcp-Session-Id") != "" && r.Header.Get("Authorization") != "")
		}
		kit.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
	set.close()
	if !deleted.Load() {
		t.Error("the session was not deleted")
	}
}

// TestHTTP_SessionHasExpired lets the server forget its session, as a restart does. The call is made again on a new one.
func TestHTTP_SessionHasExpired(t *testing.T) {
	var mu sync.Mutex
	old := newKit("kit", handshake)
	kit := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return old.server }, nil))
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := kit
		mu.Unlock()
		h.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
	mu.Lock()
	kit = kitHandler(handshake)
	mu.Unlock()
	for session := range old.server.Sessions() {
		_ = session.Close()
	}
	if got := set.says("web", "echo", `{"text":"back"}`); got != "back" {
		t.Errorf("echo says %q", got)
	}
}

// TestHTTP_CallIsNotRepeated checks that a request is not repeated if the connection breaks after the server has received it.
func TestHTTP_CallIsNotRepeated(t *testing.T) {
	kit := kitHandler(stateless)
	var calls atomic.Int32
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(peek(r), `"tools/call"`) {
			calls.Add(1)
			panic(http.ErrAbortHandler)
		}
		kit.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
	if _, err := set.call("web", "echo", `{"text":"x"}`); err == nil {
		t.Error("the call succeeded")
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the call was made %d times", n)
	}
}

// peek reads a request's body and puts it back.
func peek(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

// jsonServer answers each method with fixed results, as application/json.
func jsonServer(t *testing.T, get http.HandlerFunc, results map[string]string) *httptest.Server {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			get(w, r)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(peek(r)), &m)
		w.Header().Set("Content-Type", "application/json")
		switch result, ok := results[m.Method]; {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case ok:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	})
}

const (
	initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"j","version":"1"}}`
	toolsList  = `{"tools":[{"name":"run","inputSchema":{"type":"object"}}]}`
)

// TestHTTP_StandingStream checks that a slow or missing stream does not delay the client, and that a stream that breaks is resumed
// where it broke.
func TestHTTP_StandingStream(t *testing.T) {
	results := map[string]string{"initialize": initResult, "tools/list": toolsList, "tools/call": `{"content":[]}`}
	t.Run("never begins", func(t *testing.T) {
		srv := jsonServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, results)
		set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
		set.says("web", "run", "{}")
	})
	t.Run("is not offered", func(t *testing.T) {
		srv := jsonServer(t, http.NotFound, results)
		set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
		set.says("web", "run", "{}")
	})
	t.Run("breaks", func(t *testing.T) {
		var opened atomic.Int32
		last := make(chan string, 100)
		changed := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
		srv := jsonServer(t, func(w http.ResponseWriter, r *http.Request) {
			n := opened.Add(1)
			last <- r.Header.Get("Last-Event-ID")
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": hi\nretry: 1\n\nid: e%d\n%s", n, changed)
			if n < 10 {
				fmt.Fprint(w, "id: torn\ndata: {\"jsonrpc\":") // the stream breaks here
				return
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, results)
		set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
		set.until("it was opened ten times", func() bool { return opened.Load() == 10 })
		for n := range 10 {
			want := ""
			if n > 0 {
				want = fmt.Sprintf("e%d", n)
			}
			if got := <-last; got != want {
				t.Errorf("opening %d resumes after %q, want %q", n+1, got, want)
			}
		}
		set.says("web", "run", "{}")
		if n := set.noticeTexts(); len(n) != 0 {
			t.Errorf("notices: %v", n)
		}
	})
}

func TestHTTP_AnswerOverTheLimit(t *testing.T) {
	big := `{"content":[{"type":"text","text":"` + strings.Repeat("z", 1<<20) + `"}]}`
	srv := jsonServer(t, http.NotFound, map[string]string{"initialize": initResult, "tools/list": toolsList, "tools/call": big})
	set := start(t, mcp.Options{MaxMessage: 64 << 10}, overHTTP(srv.URL)).connected()
	_, err := set.call("web", "run", "{}")
	if err == nil || !strings.Contains(err.Error(), "over the limit of 65536 bytes") {
		t.Errorf("err = %v", err)
	}
	set.until("it is connected again", func() bool { return set.countNotices("connected again") == 1 })
}

func TestHTTP_CallIsBoundedBySilence(t *testing.T) {
	kit := kitHandler(stateless)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(peek(r), `"tools/call"`) {
			<-r.Context().Done()
			return
		}
		kit.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{CallTimeout: 50 * time.Millisecond}, overHTTP(srv.URL)).connected()
	_, err := set.Call(t.Context(), set.tool("web", "echo"), jsonx.Raw(`{"text":"x"}`), nil)
	if err == nil || !strings.Contains(err.Error(), "no message for 50ms") {
		t.Errorf("err = %v", err)
	}
}

// TestHTTP_SSEStreamBreaks checks that the client connects again after the stream of the older transport breaks.
func TestHTTP_SSEStreamBreaks(t *testing.T) {
	k := newKit("kit", handshake)
	sse := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return k.server }, nil)
	srv := serve(t, sse.ServeHTTP)
	server := overHTTP(srv.URL)
	server.HTTP.SSE = true
	set := start(t, mcp.Options{}, server).connected()
	srv.CloseClientConnections()
	set.until("it is connected again", func() bool { return set.countNotices("connected again") == 1 })
	if got := set.says("web", "echo", `{"text":"on"}`); got != "on" {
		t.Errorf("echo says %q", got)
	}
}

// TestHTTP_SubscriptionBreaks breaks the subscription stream of the stateless protocol and changes the tools before the stream is
// open again.
func TestHTTP_SubscriptionBreaks(t *testing.T) {
	k := newKit("kit", stateless)
	kit := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return k.server },
		&sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	var subscriptions atomic.Int32
	broke := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" && subscriptions.Add(1) == 1 {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			kit.ServeHTTP(&cutAfterWrite{w, cancel}, r.WithContext(ctx)) // breaks after the acknowledgement
			k.server.RemoveTools("echo")
			close(broke)
			return
		}
		kit.ServeHTTP(w, r)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
	<-broke
	set.until("the change is seen", func() bool {
		return !slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Remote == "echo" })
	})
	set.says("web", "grow", "{}")
	set.until("the next change is seen", func() bool {
		return slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Remote == "grown" })
	})
	if n := subscriptions.Load(); n != 2 {
		t.Errorf("%d subscriptions", n)
	}
	if n := set.noticeTexts(); len(n) != 0 {
		t.Errorf("notices: %v", n)
	}
}

// TestHTTP_SubscriptionEnds ends a subscription with a response, as a server does that restarts, and changes the tools before the
// client subscribes again.
func TestHTTP_SubscriptionEnds(t *testing.T) {
	k := newKit("kit", stateless)
	kit := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return k.server }, &sdk.StreamableHTTPOptions{Stateless: true})
	var subscriptions atomic.Int32
	ended := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "subscriptions/listen" || subscriptions.Add(1) > 1 {
			kit.ServeHTTP(w, r)
			return
		}
		var request struct{ ID json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, request.ID)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":true},%s}}\n\n", meta)
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",%s}}\n\n", request.ID, meta)
		k.server.RemoveTools("echo")
		close(ended)
	})
	set := start(t, mcp.Options{}, overHTTP(srv.URL)).connected()
	<-ended
	set.until("the change is seen", func() bool {
		return !slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Remote == "echo" })
	})
	set.says("web", "grow", "{}")
	set.until("the next change is seen", func() bool {
		return slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Remote == "grown" })
	})
	k.server.RemoveTools("grown")
	set.until("a change is seen in the second subscription", func() bool {
		return !slices.ContainsFunc(set.Tools(), func(tool *mcp.Tool) bool { return tool.Remote == "grown" })
	})
	if n := set.noticeTexts(); len(n) != 0 {
		t.Errorf("notices: %v", n)
	}
}

// cutAfterWrite is a response that is cut after its first write.
type cutAfterWrite struct {
	http.ResponseWriter
	cut func()
}

func (c *cutAfterWrite) Write(b []byte) (int, error) {
	defer c.cut()
	return c.ResponseWriter.Write(b)
}

func (c *cutAfterWrite) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// TestHTTP_VisitBeforeTheCall covers a server that requires the user to visit a URL before it runs a tool.
func TestHTTP_VisitBeforeTheCall(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "gate"}, &sdk.ServerOptions{SupportedProtocolVersions: []string{handshake}})
	visited := make(chan struct{})
	server.AddTool(&sdk.Tool{Name: "enter", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-visited:
			return text("come in"), nil
		default:
			go func() {
				<-visited
				// The notification goes to the stream that the client opens after initialize. The server refuses it until the
				// stream exists.
				for t.Context().Err() == nil && r.Session.NotifyElicitationComplete(t.Context(), &sdk.ElicitationCompleteParams{ElicitationID: "e7"}) != nil {
					runtime.Gosched()
				}
			}()
			return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "Pay", URL: "https://pay.invalid/", ElicitationID: "e7"}})
		}
	})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(srv.Close)
	asked, completed := make(chan string, 1), make(chan string, 1)
	set := start(t, mcp.Options{
		Elicit: func(_ context.Context, r mcp.ElicitRequest) (mcp.ElicitResult, error) {
			if r.Mode != "url" || r.URL != "https://pay.invalid/" || r.ID == "e7" || r.Server != "web" {
				t.Errorf("asked %+v", r)
			}
			asked <- "web " + r.ID
			close(visited)
			return mcp.ElicitResult{Action: "accept"}, nil
		},
		ElicitationComplete: func(server, id string) { completed <- server + " " + id },
	}, overHTTP(srv.URL)).connected()
	if got := set.says("web", "enter", "{}"); got != "come in" {
		t.Errorf("enter says %q", got)
	}
	if got, want := <-completed, <-asked; got != want {
		t.Errorf("completed %q, want %q", got, want)
	}
}
