package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// memoryCache is a cache in memory.
type memoryCache struct {
	mu   sync.Mutex
	data map[string][]byte
	n    int // how often something was stored
}

func (c *memoryCache) Load(key string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data[key]
}

func (c *memoryCache) Store(key string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data[key] = data
	c.n++
}

func remotes(set *watched) []string {
	var all []string
	for _, t := range set.Tools() {
		all = append(all, t.Remote)
	}
	return all
}

// The tools of an earlier connection are offered while the server starts, a call waits for it, and its real list replaces them.
func TestCache(t *testing.T) {
	gate := make(chan struct{})
	close(gate)
	var mu sync.Mutex
	kit := kitHandler(handshake)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := gate
		mu.Unlock()
		select {
		case <-now:
			kit.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	cache := &memoryCache{data: make(map[string][]byte)}
	server := overHTTP(srv.URL)
	server.HTTP.Headers = []mcp.Header{{Name: "Authorization", Value: "Bearer a-long-secret"}}
	first := start(t, mcp.Options{Cache: cache}, server).connected()
	want := remotes(first)
	first.close()
	if cache.n != 1 || len(want) == 0 {
		t.Fatalf("stored %d times, tools %v", cache.n, want)
	}
	for key, data := range cache.data {
		if strings.Contains(string(data)+key, "a-long-secret") {
			t.Errorf("a secret is in the cache: %s", data)
		}
	}

	mu.Lock()
	gate = make(chan struct{})
	closed := gate
	mu.Unlock()
	server.HTTP.Headers[0].Value = "Bearer another-secret" // the same server
	second := start(t, mcp.Options{Cache: cache}, server)
	if err := second.Offering(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := remotes(second); !slices.Equal(got, want) || second.Status()[0].State == mcp.StateConnected {
		t.Errorf("before the connection: %v, %+v", got, second.Status())
	}
	called := make(chan error, 1)
	tool := second.tool(server.Name, "echo")
	go func() {
		_, err := second.Call(t.Context(), tool, jsonx.Raw(`{"text":"x"}`), nil)
		called <- err
	}()
	close(closed)
	if err := <-called; err != nil {
		t.Error(err)
	}
	second.connected()
	if got := remotes(second); !slices.Equal(got, want) {
		t.Errorf("after the connection: %v", got)
	}
	if cache.n != 1 {
		t.Errorf("stored %d times", cache.n)
	}
}

// The tools in the cache are offered until the server has failed, not longer; a call returns the reason. They are offered again when the
// server is connected.
func TestCache_ServerThatFails(t *testing.T) {
	var broken atomic.Bool
	gate := make(chan struct{})
	kit := kitHandler(handshake)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			<-gate
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		kit.ServeHTTP(w, r)
	})
	cache := &memoryCache{data: make(map[string][]byte)}
	server := overHTTP(srv.URL)
	first := start(t, mcp.Options{Cache: cache}, server).connected()
	want := remotes(first)
	first.close()

	broken.Store(true)
	set := start(t, mcp.Options{Cache: cache}, server, fake(t, "junk"))
	if err := set.Offering(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := remotes(set)[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("while it starts: %v", got)
	}
	tool := set.tool(server.Name, "echo")
	call := func() error {
		_, err := set.Call(t.Context(), tool, jsonx.Raw(`{"text":"x"}`), nil)
		return err
	}
	called := make(chan error, 1)
	go func() { called <- call() }()
	close(gate)
	set.failed("")
	for _, err := range []error{<-called, call()} {
		if !errors.Is(err, mcp.ErrUnavailable) || !strings.Contains(err.Error(), "503") {
			t.Errorf("err = %v", err)
		}
	}
	if set.countNotices("giving up: its tools are not offered until you send /mcp reconnect web") != 1 {
		t.Errorf("notices: %q", set.noticeTexts())
	}
	if got := set.says("junk", "run", "{}"); got != "ran run" {
		t.Errorf("the other server says %q", got)
	}
	if got := remotes(set); slices.Contains(got, "echo") {
		t.Errorf("after it has failed: %v", got)
	}

	broken.Store(false)
	set.Retry()
	set.until("it is connected", func() bool { return set.Status()[0].State == mcp.StateConnected })
	if got := remotes(set)[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("after the retry: %v", got)
	}
	if err := call(); err != nil {
		t.Error(err)
	}
}

// A list that differs from the cached one replaces it; what is in the cache may be anything.
func TestCache_Replaced(t *testing.T) {
	keys := &memoryCache{data: make(map[string][]byte)}
	server := fake(t, "puppet")
	start(t, mcp.Options{Cache: keys}, server).connected().close()
	for key := range keys.data {
		for _, data := range []string{
			`{"version":1,"info":"x","tools":[{"name":"former","inputSchema":{"type":"object"}}]}`,
			`{"version":2,"tools":[{"name":"former"}]}`, `{"version":1,"tools":[{"name":"a","inputSchema":{"type":`, `null`, "\xff", `{"version":1,"tools":[{"name":""},{"name":"a","annotations":7}]}`,
		} {
			cache := &memoryCache{data: map[string][]byte{key: []byte(data)}}
			set := start(t, mcp.Options{Cache: cache}, server).connected()
			if got := remotes(set); !slices.Contains(got, "say") || slices.Contains(got, "former") {
				t.Errorf("%s: %v", data, got)
			}
			if string(cache.Load(key)) == data {
				t.Errorf("%s is still in the cache", data)
			}
			set.close()
		}
	}
	if len(keys.data) != 1 {
		t.Errorf("%d entries", len(keys.data))
	}
}

// Update keeps the connections of servers that stay the same, ends those that are gone, and starts new ones. The names of tools stay.
func TestSet_Update(t *testing.T) {
	one, two, three := fake(t, "kit-stateless", "WHO=1"), fake(t, "kit-stateless", "WHO=2"), fake(t, "kit-stateless", "WHO=3")
	one.Name, two.Name, three.Name = "one", "two", "three"
	set := start(t, mcp.Options{}, one, two).connected()
	pid := func(name string) string { return set.says(name, "who", "{}") }
	before, former := pid("one"), pid("two")
	name := set.tool("two", "who").Name
	old := set.tool("two", "who")
	changed := *two.Stdio
	changed.Env = append(slices.Clone(changed.Env), "X=1")
	two.Stdio = &changed
	if !set.Update([]mcp.Server{three, one, two}) {
		t.Error("no server was ended")
	}
	set.connected()
	if pid("one") != before || pid("two") == former {
		t.Errorf("one is %s and was %s, two is %s and was %s", pid("one"), before, pid("two"), former)
	}
	if got := set.tool("two", "who").Name; got != name {
		t.Errorf("the tool %s is now %s", name, got)
	}
	if _, err := set.Call(t.Context(), old, nil, nil); !errors.Is(err, mcp.ErrUnavailable) {
		t.Errorf("a tool of the former server: %v", err)
	}
	if set.Update([]mcp.Server{three, one, two}) {
		t.Error("the same servers were ended")
	}
	if !set.Update(nil) || len(set.Tools()) > 0 || len(set.Status()) > 0 {
		t.Errorf("after the last: %+v", set.Status())
	}
	if err := set.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// A tool that is not allowed is neither offered nor called.
func TestToolFilter(t *testing.T) {
	server := fake(t, "puppet")
	server.Tools.Deny = []string{"he*"}
	set := start(t, mcp.Options{}, server).connected()
	if got := remotes(set); slices.Contains(got, "heard") || !slices.Contains(got, "say") {
		t.Errorf("denied: %v", got)
	}
	server.Tools = mcp.ToolFilter{Allow: []string{"h?ard"}}
	set = start(t, mcp.Options{}, server).connected()
	if got := remotes(set); !slices.Equal(got, []string{"heard"}) {
		t.Errorf("allowed: %v", got)
	}
	free := start(t, mcp.Options{}, fake(t, "puppet")).connected()
	say := free.tool("puppet", "say")
	free.Update([]mcp.Server{server})
	if _, err := free.Call(t.Context(), say, nil, nil); err == nil {
		t.Error("a denied tool was called")
	}
}

// The helper's headers are sent, replace configured ones, and are secrets. Its error is the server's.
func TestHeadersHelper(t *testing.T) {
	var mu sync.Mutex
	var got []string
	kit := kitHandler(handshake)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("X-Fixed"))
		mu.Unlock()
		kit.ServeHTTP(w, r)
	})
	server := overHTTP(srv.URL)
	server.HTTP.Headers = []mcp.Header{{Name: "authorization", Value: "static"}, {Name: "X-Fixed", Value: "f"}}
	runs := 0
	server.HTTP.Helper = &mcp.HeadersHelper{Name: "h", Run: func(context.Context) ([]mcp.Header, error) {
		runs++
		return []mcp.Header{{Name: "Authorization", Value: fmt.Sprint("token-number-", runs)}}, nil
	}}
	set := start(t, mcp.Options{}, server).connected()
	if err := set.Reconnect(t.Context(), server.Name); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	if got[0] != "token-number-1 f" || !slices.Contains(got, "token-number-2 f") {
		t.Errorf("%q", got)
	}
	mu.Unlock()
	for _, run := range []func(context.Context) ([]mcp.Header, error){
		func(context.Context) ([]mcp.Header, error) { return nil, errors.New("headersHelper failed: exit 1") },
		func(context.Context) ([]mcp.Header, error) { return []mcp.Header{{Name: "a b", Value: "c"}}, nil },
	} {
		server.HTTP.Helper = &mcp.HeadersHelper{Name: "bad", Run: run}
		set := start(t, mcp.Options{Backoff: []time.Duration{}}, server).ready()
		if st := set.Status()[0]; st.State != mcp.StateFailed || !strings.Contains(st.LastError, "headersHelper") {
			t.Errorf("%+v", st)
		}
	}
}

// A server that asks without end is stopped.
func TestElicit_Endless(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	set := start(t, mcp.Options{Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return mcp.ElicitResult{Action: "decline"}, nil
	}}, fake(t, "nags")).connected()
	got := set.says("nags", "nag", "{}")
	if asked != 20 || !strings.Contains(got, "too many questions during one call (limit 20)") {
		t.Errorf("asked %d times; the server says %q", asked, got)
	}
	if set.countNotices("asked 20 questions during one call") != 1 {
		t.Errorf("%q", set.noticeTexts())
	}
}

// A server's errors reach the user, at a limited rate and without secrets; the rest is for the log.
func TestLogging(t *testing.T) {
	line := func(level, data string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":%s}}`, level, data)
	}
	server := fake(t, "puppet", "TOKEN=a-long-secret")
	set := start(t, mcp.Options{}, server).connected()
	if _, err := set.say(says{Lines: []string{line("info", `"quiet"`), line("error", `"disk full a-long-secret"`), line("critical", `{"code":7}`)}}); err != nil {
		t.Fatal(err)
	}
	set.until("the notices", func() bool { return set.countNotices("reports an error") == 2 })
	all := strings.Join(set.noticeTexts(), "\n")
	if !strings.Contains(all, "disk full [hidden]") || !strings.Contains(all, `{"code":7}`) || strings.Contains(all, "quiet") {
		t.Errorf("%s", all)
	}
}
