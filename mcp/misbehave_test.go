package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

func TestSet_ServerThatHangsUpOverTheNewProtocol(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "strict")).connected()
	if st := set.Status()[0]; st.Stateless || st.Protocol != handshake {
		t.Errorf("status %+v", st)
	}
	if n := set.noticeTexts(); len(n) != 0 {
		t.Errorf("notices: %v", n)
	}
}

func TestSet_ServerThatIgnoresTheNewProtocol(t *testing.T) {
	set := start(t, mcp.Options{InitTimeout: 9 * time.Second}, fake(t, "silent")).connected()
	if got := set.says("silent", "run", "{}"); got != "ran run" {
		t.Errorf("run says %q", got)
	}
}

func TestSet_ServerThatHangs(t *testing.T) {
	// The other server must start within this timeout too.
	set := start(t, mcp.Options{InitTimeout: 3 * time.Second, Backoff: []time.Duration{time.Millisecond}},
		fake(t, "hang"), fake(t, "junk")).ready()
	set.failed("")
	st := set.Status()[0]
	if !strings.Contains(st.LastError, "did not answer within 3s") {
		t.Errorf("last error %q", st.LastError)
	}
	if _, err := set.ReadResource(t.Context(), "hang", "x://y"); !errors.Is(err, mcp.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
	if n := set.countNotices("hang", "not available"); n != 1 {
		t.Errorf("told %d times that it is not available: %v", n, set.noticeTexts())
	}
	if n := set.countNotices("hang", "failed 2 times; giving up"); n != 1 {
		t.Errorf("told %d times that it was given up: %v", n, set.noticeTexts())
	}
	// A bad server must not affect the others.
	set.until("the other server is connected", func() bool { return set.Status()[1].State == mcp.StateConnected })
}

func TestSet_ServerThatCrashes(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "crash", "KIT_SECRET=s3cr3t-value"))
	set.failed("")
	st := set.Status()[0]
	if !strings.Contains(st.LastError, "exited with code 3") || !strings.Contains(st.LastError, "no licence for [hidden]") {
		t.Errorf("last error %q", st.LastError)
	}
	for _, text := range append(set.noticeTexts(), st.LastError, st.Stderr) {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("a value of the environment got out: %q", text)
		}
	}
	if set.countNotices("failed 3 times; giving up") != 1 {
		t.Errorf("notices: %v", set.noticeTexts())
	}
	if err := set.Reconnect(t.Context(), "crash"); !errors.Is(err, mcp.ErrUnavailable) {
		t.Errorf("reconnect: %v", err)
	}
}

func TestSet_ServerThatPrintsJunk(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "junk")).connected()
	for range 30 {
		if got := set.says("junk", "run", "{}"); got != "ran run" {
			t.Fatalf("run says %q", got)
		}
	}
	if n := set.countNotices("prints text that is not an MCP message"); n != 1 {
		t.Errorf("told %d times: %v", n, set.noticeTexts())
	}
}

func TestSet_ServerThatDiesInACall(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "die", "KIT_SECRET=s3cr3t-value")).connected()
	_, err := set.call("die", "run", "{}")
	if err == nil {
		t.Fatal("the call succeeded")
	}
	for _, want := range []string{"lost during the call", "exited with code 7", "panic: out of cheese; the key is [hidden]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	set.until("it is connected again", func() bool { return set.countNotices("connected again") == 1 })
	if set.countNotices("not available") != 1 {
		t.Errorf("notices: %v", set.noticeTexts())
	}
}

func TestSet_ServerWithInvalidTools(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "liar")).connected()
	const open = `{"properties":{},"type":"object"}`
	want := map[string]string{
		"list_schema": `{"type":"object"}`, "no_schema": `{"type":"object"}`, "string_type": `{"type":"object"}`,
		"bad_types":  `{"properties":{"a":{"description":"an a"},"b":{}},"type":"object"}`,
		"choice":     `{"properties":{"x":{"type":"string"},"y":{"type":"string"}},"type":"object"}`,
		"remote_ref": `{"properties":{"z":{}},"type":"object"}`,
		"long":       open, "promise": open,
	}
	got := make(map[string]string)
	for _, tool := range set.Tools() {
		got[tool.Remote] = string(tool.Schema)
		if len(tool.Description) > 9<<10 {
			t.Errorf("%s has a description of %d bytes", tool.Name, len(tool.Description))
		}
		if err := tool.Validate(jsonx.Raw(`{"x":"1"}`)); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
	for _, complaint := range []string{"tool 1 has no name", "list_schema: its input schema is not an object", "long: its description of 1000000 bytes"} {
		if set.countNotices("offers tools with faults", complaint) != 1 {
			t.Errorf("not told of %q: %v", complaint, set.noticeTexts())
		}
	}
	for range 2 {
		if got := set.says("liar", "promise", "{}"); got != `{"n":"many"}` {
			t.Errorf("promise says %q", got)
		}
	}
	if set.countNotices("mcp__liar_promise", "do not match its output schema") != 1 {
		t.Errorf("notices: %v", set.noticeTexts())
	}
}

func TestSet_ServerWhoseListsNeverEnd(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "pages"), fake(t, "endless")).connected()
	set.until("both are told of", func() bool {
		return set.countNotices("server pages", "the rest are ignored") == 1 && set.countNotices("endless", "the rest are ignored") == 1
	})
	if got := set.says("pages", "run", "{}"); got != "ran run" {
		t.Errorf("run says %q", got)
	}
}

func TestSet_ServerThatFloodsStderr(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "flood")).connected()
	if got := set.says("flood", "run", "{}"); got != "dry" {
		t.Errorf("run says %q", got)
	}
	if n := len(set.Status()[0].Stderr); n == 0 || n > 32<<10 {
		t.Errorf("%d bytes of stderr are kept", n)
	}
}

func TestSet_ServerThatAsks(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "asks")).connected()
	if got := set.says("asks", "run", "{}"); got != "ok -32601 -32601" {
		t.Errorf("ping, sampling and an unknown request were answered %q", got)
	}
}

func TestSet_ServerThatIsDeaf(t *testing.T) {
	set := start(t, mcp.Options{CallTimeout: 50 * time.Millisecond}, fake(t, "deaf")).connected()
	for range 3 { // more than the pipe holds
		_, err := set.Call(t.Context(), set.tool("deaf", "run"), jsonx.Raw(`{"x":"`+strings.Repeat("z", 100_000)+`"}`), nil)
		if err == nil || !strings.Contains(err.Error(), "no message for 50ms") {
			t.Fatalf("err = %v", err)
		}
	}
}

func TestSet_CloseWithCallsUnderWay(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "kit-stateless"), fake(t, "kit-handshake")).connected()
	failed := make(chan error, 2)
	for _, st := range set.Status() {
		begun := make(chan struct{})
		go func() {
			_, err := set.Call(context.Background(), set.tool(st.Name, "wait"), nil,
				&mcp.CallOptions{Progress: func(mcp.Progress) { close(begun) }})
			failed <- err
		}()
		<-begun
	}
	set.close()
	for range 2 {
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("err = %v", err)
		}
	}
	if _, err := set.ReadResource(t.Context(), "kit-stateless", "kit://a"); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("err = %v", err)
	}
	if err := set.Reconnect(t.Context(), "kit-stateless"); !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("reconnect: %v", err)
	}
}

func TestSet_CloseWhileConnecting(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "hang"), fake(t, "kit-stateless"), fake(t, "crash"))
	set.close()
	for _, st := range set.Status() {
		if st.State != mcp.StateClosed {
			t.Errorf("%s is %s", st.Name, st.State)
		}
	}
}

func TestSet_CloseEndsWhatDoesNotWantTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to ignore")
	}
	set := start(t, mcp.Options{}, fake(t, "stubborn"), fake(t, "forks")).connected()
	pids := strings.Fields(set.says("stubborn", "run", "{}") + " " + set.says("forks", "run", "{}"))
	if len(pids) != 3 {
		t.Fatalf("pids %v", pids)
	}
	set.close()
	for _, pid := range pids {
		if runtime.GOOS == "linux" {
			untilGone(t, pid)
		}
	}
}

func TestSet_CloseIsBounded(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "stubborn")).connected()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("no time")
	cancel(enough)
	if err := set.Close(ctx); err != nil && !errors.Is(err, enough) {
		t.Errorf("err = %v", err)
	}
}

// untilGone waits until a killed process has exited: that takes a moment, and the parent cannot wait for a grandchild.
func untilGone(t *testing.T, pid string) {
	t.Helper()
	limit, again := time.NewTimer(patience), time.NewTicker(time.Millisecond)
	defer limit.Stop()
	defer again.Stop()
	for processLives(pid) {
		select {
		case <-again.C:
		case <-limit.C:
			t.Errorf("process %s is left", pid)
			return
		}
	}
}

// processLives reports whether the process exists and is not a zombie.
func processLives(pid string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// A server's own timeout overrides those of the set.
func TestSet_TimeoutOfOneServer(t *testing.T) {
	hangs := fake(t, "hang")
	hangs.Timeout = 200 * time.Millisecond
	set := start(t, mcp.Options{InitTimeout: time.Hour, Backoff: []time.Duration{time.Millisecond}}, hangs).ready()
	set.failed("")
	if st := set.Status()[0]; !strings.Contains(st.LastError, "did not answer within 200ms") {
		t.Errorf("last error %q", st.LastError)
	}
}
