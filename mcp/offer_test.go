package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/mcp"
)

// manyTools is a list of n tools, each with a description of size bytes.
func manyTools(n, size int) string {
	tools := make([]any, n)
	for i := range tools {
		tools[i] = map[string]any{
			"name": fmt.Sprintf("t%04d", i), "description": strings.Repeat("d", size), "inputSchema": map[string]any{"type": "object"},
		}
	}
	raw, _ := json.Marshal(tools)
	return string(raw)
}

func named(server mcp.Server, name string) mcp.Server {
	server.Name = name
	return server
}

// TestSet_ManyTools checks that no tool is left out.
func TestSet_ManyTools(t *testing.T) {
	big, small := named(webPuppet(t, manyTools(1000, 7000)), "big"), named(webPuppet(t, manyTools(5, 10)), "small")
	set := start(t, mcp.Options{}, big, small).connected()
	if n := len(set.Tools()); n != 1009 { // each puppet has two of its own
		t.Errorf("%d tools", n)
	}
	if notices := set.noticeTexts(); len(notices) > 0 {
		t.Errorf("notices %q", notices)
	}
	if cuts := set.Cuts(); len(cuts) > 0 {
		t.Errorf("cuts %+v", cuts)
	}
}

func TestFairly(t *testing.T) {
	taken, left := mcp.Fairly([][]int{{1, 2, 3, 4}, {}, {5, 6}}, 4)
	if want := []int{1, 2, 5, 6}; !slices.Equal(taken, want) {
		t.Errorf("taken %v", taken)
	}
	if want := []int{2, 0, 0}; !slices.Equal(left, want) {
		t.Errorf("left %v", left)
	}
}

// TestSet_RelistsAtAPace covers a server that changes its tools with each list.
func TestSet_RelistsAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set *mcp.Set
		p := newPuppet("")
		channel := &channelPuppet{p, func() *mcp.Set { return set }}
		p.lists = []string{`{"method":"notifications/tools/list_changed"}`}
		set = mcp.NewSet(mcp.Options{Channel: channel}, []mcp.Server{{Name: "puppet", Channel: &mcp.ChannelServer{ID: "p"}}})
		set.Start()
		if err := set.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		p.mu.Lock()
		busy := p.listed
		p.lists = nil
		p.mu.Unlock()
		if busy < 10 || busy > 25 {
			t.Errorf("%d lists within a minute", busy)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		p.mu.Lock()
		calm := p.listed - busy
		p.lists = []string{`{"method":"notifications/tools/list_changed"}`}
		p.mu.Unlock()
		if calm > 1 {
			t.Errorf("%d lists without a change", calm)
		}
		if err := set.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSet_Prompts_Bounded(t *testing.T) {
	long := strings.Repeat("long ", 200)
	p, ok := mcp.NewPrompt("s", fmt.Sprintf(`{"name":"p","title":"a\nb","description":"one\n\ntwo %s","arguments":[{"name":"%s"}]}`, long, strings.Repeat("é", 60)))
	if !ok || p.Title != "a b" || !strings.HasPrefix(p.Description, "one two long") || len([]rune(p.Description)) != 300 {
		t.Errorf("%v %+v", ok, p)
	}
	if a := p.Arguments[0]; len([]rune(a.Hint)) != 40 || len(a.Name) != 120 {
		t.Errorf("%+v", a)
	}
	for _, odd := range []string{`null`, `{"name":""}`, fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 1<<20)), fmt.Sprintf(`{"name":"p","arguments":[{"name":%q}]}`, long)} {
		if p, ok := mcp.NewPrompt("s", odd); ok {
			t.Errorf("%.50s is taken: %+v", odd, p)
		}
	}
}

// TestSet_LongNames covers a tool whose name is one megabyte long.
func TestSet_LongNames(t *testing.T) {
	raw := fmt.Sprintf(`[{"name":%q,"inputSchema":{"type":"object"}}]`, strings.Repeat("x", 1<<20))
	set := start(t, mcp.Options{}, webPuppet(t, raw)).connected()
	if n := len(set.Tools()); n != 2 {
		t.Errorf("%d tools", n)
	}
	if set.countNotices("has a name of 1048576 bytes and is ignored") != 1 {
		t.Errorf("told %q", set.noticeTexts())
	}
}

// TestSet_HeavyLists covers a list that exceeds the limit in bytes, in pages below the limit of a message.
func TestSet_HeavyLists(t *testing.T) {
	set := start(t, mcp.Options{MaxMessage: 64 << 20}, webPuppet(t, manyTools(1900, 12<<10))).connected()
	if n := len(set.Tools()); n < 1000 || n > 1500 {
		t.Errorf("%d tools", n)
	}
	if set.countNotices("the rest are ignored", "16 MB") != 1 {
		t.Errorf("told %d notices", len(set.noticeTexts()))
	}
}

// TestNoticeRate checks the limit for a server that keeps causing notices.
func TestNoticeRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rate mcp.NoticeRate
		given := func(n int) (ok, first int) {
			for range n {
				a, b := rate.Take()
				if a {
					ok++
				}
				if b {
					first++
				}
			}
			return ok, first
		}
		if ok, first := given(1000); ok != 20 || first != 1 {
			t.Errorf("%d, %d", ok, first)
		}
		time.Sleep(10 * time.Second)
		if ok, first := given(1000); ok != 1 || first != 1 {
			t.Errorf("%d, %d after a while", ok, first)
		}
		time.Sleep(time.Hour)
		if ok, _ := given(1000); ok != 20 {
			t.Errorf("%d after an hour", ok)
		}
	})
}
