package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/mcp"
)

// hugeAnswer is the size of an answer in bytes.
const hugeAnswer = 100 << 20

// hugeServer answers each call with 100 MB, which it writes in pieces: as JSON, or as one event of a stream.
func hugeServer(t *testing.T, stream bool) string {
	small := map[string]string{"initialize": initResult, "tools/list": toolsList}
	piece := strings.Repeat("z", 1<<20)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(peek(r)), &m)
		result, ok := small[m.Method]
		switch {
		case r.Method == http.MethodGet:
			http.NotFound(w, r)
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method != "tools/call" && !ok:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		case ok:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			return
		}
		before, after := "", ""
		w.Header().Set("Content-Type", "application/json")
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
			before, after = "event: message\ndata: ", "\n\n"
		}
		fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, before, m.ID)
		for range hugeAnswer / len(piece) {
			if _, err := fmt.Fprint(w, piece); err != nil {
				return // the client has had enough
			}
		}
		fmt.Fprint(w, `"}]}}`+after)
	}).URL
}

// An answer of 100 MB fails its call with a clear error, and is never held in memory. The server and the others can be called again.
func TestSet_HundredMegabytes(t *testing.T) {
	web := func(name string, stream bool) mcp.Server {
		return mcp.Server{Name: name, HTTP: &mcp.HTTP{URL: hugeServer(t, stream)}}
	}
	set := start(t, mcp.Options{}, fake(t, "huge"), web("json", false), web("stream", true), fake(t, "junk")).connected()
	for _, name := range []string{"huge", "json", "stream"} {
		for range 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := set.call(name, "run", "{}")
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("over the limit of %d", mcp.DefaultMaxMessage)) || !strings.Contains(err.Error(), "ask for less at once") {
				t.Errorf("%s: %v", name, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 2*hugeAnswer { // a reader that keeps it all allocates four times as much
				t.Errorf("%s: the client has allocated %d bytes", name, n)
			}
			if got := set.says("junk", "run", "{}"); got != "ran run" {
				t.Errorf("after %s, the other server says %q", name, got)
			}
		}
	}
	if got := set.says("huge", "again", "{}"); got != "still here" {
		t.Errorf("again says %q", got)
	}
	if set.countNotices("The MCP server huge") > 0 || set.countNotices("json", "not available", "ask for less") == 0 {
		t.Errorf("notices: %q", set.noticeTexts())
	}
}

// A server that reports changes of its tools without end is listed at a pace, and delays neither its calls nor the other server.
func TestSet_RestlessServer(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "restless"), fake(t, "junk")).connected()
	const calls = 5
	last := ""
	for range calls {
		last = set.says("restless", "run", "{}")
		if got := set.says("junk", "run", "{}"); got != "ran run" {
			t.Errorf("the other server says %q", got)
		}
	}
	// The pace allows for ten lists a second at most, and these calls report 15,000 changes.
	if lists, err := strconv.Atoi(last); err != nil || lists > 500 {
		t.Errorf("the tools were listed %s times", last)
	}
	if st := set.Status()[0]; st.State != mcp.StateConnected || st.Tools != 2 {
		t.Errorf("%+v", st)
	}
	if n := set.countNotices("restless"); n > 0 {
		t.Errorf("notices: %q", set.noticeTexts())
	}
}
