package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp"
)

// patience bounds every wait in a test. A successful test needs only a fraction of it.
const patience = time.Minute

// watched is a set that records its notices.
type watched struct {
	*mcp.Set
	t        testing.TB
	children *proc.Group

	mu      sync.Mutex
	notices []mcp.Notice
	moved   chan struct{}
}

// start creates and starts a set, and closes it at the end of the test, which must leave no goroutine and no child process.
func start(t testing.TB, opts mcp.Options, servers ...mcp.Server) *watched {
	t.Helper()
	testenv.NoLeaks(t)
	w := &watched{t: t, children: proc.NewGroup(nil), moved: make(chan struct{}, 1)}
	told := func() {
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
	opts.Children = w.children
	opts.Changed = told
	opts.Notice = func(n mcp.Notice) {
		w.mu.Lock()
		w.notices = append(w.notices, n)
		w.mu.Unlock()
		told()
	}
	if opts.Cwd == "" {
		opts.Cwd = t.TempDir()
	}
	if opts.Backoff == nil {
		opts.Backoff = []time.Duration{time.Millisecond, 2 * time.Millisecond}
	}
	w.Set = mcp.NewSet(opts, servers)
	t.Cleanup(w.close)
	w.Start()
	return w
}

func (w *watched) close() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		w.t.Error(err)
	}
	if n := w.children.Len(); n != 0 {
		w.t.Errorf("%d children are left", n)
	}
}

// ready waits for all servers to have connected or failed.
func (w *watched) ready() *watched {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.Ready(ctx); err != nil {
		w.t.Fatal(err)
	}
	return w
}

// connected waits for all servers to have connected, and fails the test when one is given up.
func (w *watched) connected() *watched {
	w.t.Helper()
	w.until("all servers are connected", func() bool {
		all := true
		for _, st := range w.Status() {
			if st.State == mcp.StateFailed {
				w.t.Fatalf("%s failed: %s\n%s", st.Name, st.LastError, st.Stderr)
			}
			all = all && st.State == mcp.StateConnected
		}
		return all
	})
	return w
}

// until waits until cond returns true. It checks cond after each change and notice.
func (w *watched) until(what string, cond func() bool) {
	w.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !cond() {
		select {
		case <-w.moved:
		case <-limit.C:
			w.t.Fatalf("waited too long until %s\nstatus: %+v\nnotices: %v", what, w.Status(), w.noticeTexts())
		}
	}
}

// failed waits for the notice that a server has failed.
func (w *watched) failed(server string) {
	w.t.Helper()
	w.until("the server has failed", func() bool { return w.countNotices("server "+server, "giving up") == 1 })
}

func (w *watched) noticeTexts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, n := range w.notices {
		all = append(all, n.Text+" | "+n.Detail)
	}
	return all
}

// countNotices returns the number of notices that contain all parts.
func (w *watched) countNotices(parts ...string) int {
	count := 0
notices:
	for _, n := range w.noticeTexts() {
		for _, part := range parts {
			if !strings.Contains(n, part) {
				continue notices
			}
		}
		count++
	}
	return count
}

func (w *watched) tool(server, remote string) *mcp.Tool {
	w.t.Helper()
	for _, tool := range w.Tools() {
		if tool.Server == server && tool.Remote == remote {
			return tool
		}
	}
	w.t.Fatalf("%s has no tool %s; status %+v", server, remote, w.Status())
	return nil
}

func (w *watched) call(server, remote, input string) (*mcp.Result, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), patience, fmt.Errorf("the call of %s took too long", remote))
	defer cancel()
	return w.Call(ctx, w.tool(server, remote), jsonx.Raw(input), nil)
}

// says calls a tool that must succeed and returns its text.
func (w *watched) says(server, remote, input string) string {
	w.t.Helper()
	res, err := w.call(server, remote, input)
	if err != nil {
		w.t.Fatalf("%s: %v", remote, err)
	}
	if res.IsError {
		w.t.Fatalf("%s failed: %s", remote, res.Text)
	}
	return res.Text
}
