package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// Two editors use one session. The second one gets the ID of the process that has it, may read all of it, and gets it
// when the first one releases it: by closing it, by ending and by dying.
func TestOneSession_TwoProcesses(t *testing.T) {
	t.Parallel()
	first := startLife(t, lifeOptions{})
	id := first.begin()
	first.turn("!say mine alone")
	second := startLife(t, lifeOptions{home: first.home, work: first.work})
	load := &acp.LoadSessionRequest{SessionID: id, Cwd: first.work}
	refused := func(from, owner *life) {
		t.Helper()
		e := wantFails(from, acp.MethodSessionLoad, load)
		want := fmt.Sprintf("process %d", owner.Process.PID())
		if runtime.GOOS == "windows" {
			want = "in use" // other processes cannot read the lock there
		}
		if !strings.Contains(e.Message, want) || !strings.Contains(string(e.Data), "session_locked") {
			t.Errorf("the load got %+v, want %q in it", e, want)
		}
	}
	refused(second, first)
	if e := wantFails(second, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: first.work}); !strings.Contains(e.Message, "in use") {
		t.Errorf("the resume got %+v", e)
	}
	if e := wantFails(second, acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: id}); !strings.Contains(e.Message, "in use") {
		t.Errorf("the deletion got %+v", e)
	}
	list := must(second.scenario, acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: first.work})
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Errorf("the second one lists %+v", list.Sessions)
	}
	for _, args := range [][]string{{"list", "--all"}, {"show", string(id)}, {"export", string(id), "-o", "-", "--format", "md"}} {
		if out, errs, err := sessionsCommand(t, first.home, args...); err != nil || !strings.Contains(out, "mine alone") {
			t.Errorf("%v: %v %s\n%s", args, err, errs, out)
		}
	}
	// A copy of it needs no lock.
	fork := must(second.scenario, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: first.work})
	must(second.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: fork.SessionID})
	if got := first.turn("!say still mine"); !strings.Contains(got, "still mine") {
		t.Errorf("the owner says %q", got)
	}

	must(first.scenario, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
	if _, lines := second.load(id); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "still mine") {
		t.Errorf("the second one's load misses words:\n%s", shown(lines))
	}
	second.turn("!say mine now")
	refused(first, second)
	second.kill()
	if _, lines := first.load(id); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "mine now") {
		t.Errorf("after the second one's death words are missing:\n%s", shown(lines))
	}
	first.stop()
	third := startLife(t, lifeOptions{home: first.home, work: first.work})
	if _, lines := third.load(id); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "mine now") {
		t.Errorf("after the first one's end words are missing:\n%s", shown(lines))
	}
	third.stop()
}

// walk lists all sessions of a directory page by page, and expects none twice.
func (l *life) walk(cwd string) map[acp.SessionID]acp.SessionInfo {
	l.t.Helper()
	all := make(map[acp.SessionID]acp.SessionInfo)
	for request := new(acp.ListSessionsRequest{Cwd: cwd}); ; {
		page := must(l.scenario, acp.MethodSessionList, request)
		for _, info := range page.Sessions {
			if _, twice := all[info.SessionID]; twice {
				l.t.Errorf("%s is listed twice", info.SessionID)
			}
			all[info.SessionID] = info
		}
		if page.NextCursor == "" {
			return all
		}
		request.Cursor = page.NextCursor
	}
}

type listAll struct {
	Sessions []acp.SessionInfo `json:"sessions"`
	Total    int               `json:"total"`
}

// Eight processes create sessions in one directory concurrently, while a ninth lists them and the index is damaged
// repeatedly. In the end each process lists each session once.
func TestManyProcesses_OneDirectory(t *testing.T) {
	t.Parallel()
	const processes, each = 8, 8 // more than a page
	home, work := tempDir(t), tempDir(t)
	index := filepath.Join(agentDir(home), "sessions", "index")
	reader := startLife(t, lifeOptions{home: home, work: work})
	made := make(chan acp.SessionID, processes*each)
	var makers []*life
	for range processes {
		makers = append(makers, startLife(t, lifeOptions{home: home, work: work}))
	}
	var all sync.WaitGroup
	for n, l := range makers {
		all.Go(func() {
			for i := range each {
				session, err := l.NewSession(l.ctx, work)
				if err == nil {
					_, err = l.Prompt(l.ctx, session.SessionID, fmt.Sprintf("!say maker %d, session %d", n, i))
				}
				if err != nil {
					t.Errorf("maker %d, session %d: %v", n, i, err)
					return
				}
				made <- session.SessionID
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		all.Wait()
		close(finished)
	}()
	damage := damages(t, index)
	known := make(map[acp.SessionID]bool)
	for round, going := 0, true; going; round++ {
		select {
		case <-finished:
			going = false
		case id := <-made:
			known[id] = true
		}
		damage[round%len(damage)].do()
		// Sessions created before the walk began are in it.
		walked := reader.walk(work)
		for id := range known {
			if _, ok := walked[id]; !ok {
				t.Errorf("round %d: %s is not listed after %q", round, id, damage[round%len(damage)].name)
			}
		}
		var few listAll
		reader.extension("_gjc/sessions/listAll", object{"limit": 3}, &few)
		if len(few.Sessions) != min(3, few.Total) || few.Total < len(known) {
			t.Errorf("round %d: %d of %d sessions, of which %d are known", round, len(few.Sessions), few.Total, len(known))
		}
	}
	close(made)
	for id := range made {
		known[id] = true
	}
	want := slices.Sorted(maps.Keys(known))
	if len(want) != processes*each {
		t.Fatalf("%d sessions were made", len(want))
	}
	for _, l := range makers {
		l.stop()
	}
	fresh := startLife(t, lifeOptions{home: home, work: work})
	for _, d := range append(damage, damaged{"nothing", func() {}}) {
		d.do()
		for who, l := range map[string]*life{"the reader": reader, "a new process": fresh} {
			if got := slices.Sorted(maps.Keys(l.walk(work))); !slices.Equal(got, want) {
				t.Errorf("after %q %s lists %d sessions", d.name, who, len(got))
			}
		}
		var total listAll
		fresh.extension("_gjc/sessions/listAll", object{}, &total)
		if total.Total != len(want) || len(total.Sessions) != len(want) {
			t.Errorf("after %q all are %d, %d of them listed", d.name, total.Total, len(total.Sessions))
		}
	}
	damage[0].do()
	out, errs, err := sessionsCommand(t, home, "list", "--all", "--json")
	var listed []listedSession
	if err == nil {
		err = json.Unmarshal([]byte(out), &listed)
	}
	if err != nil || errs != "" || len(listed) != len(want) {
		t.Errorf("gjc sessions list has %d sessions, %v, %s", len(listed), err, errs)
	}
	if _, lines := fresh.load(want[0]); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "maker") {
		t.Errorf("the load shows\n%s", shown(lines))
	}
	reader.stop()
	fresh.stop()
}

// damaged damages a file.
type damaged struct {
	name string
	do   func()
}

// damages are the damages to a file that may be missing or written concurrently.
func damages(t *testing.T, path string) []damaged {
	put := func(change func([]byte) []byte) func() {
		return func() {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, change(data), 0o600)
			}
			if err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
	}
	return []damaged{
		{"deleted", func() {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}},
		{"cut in half", put(func(b []byte) []byte { return b[:len(b)/2] })},
		{"flipped bits", put(func(b []byte) []byte {
			for i := len(b) / 3; i < len(b); i += 97 {
				b[i] ^= 0x55
			}
			return b
		})},
		{"emptied", put(func([]byte) []byte { return nil })},
		{"garbage after it", put(func(b []byte) []byte { return append(b, "\x00garbage\xff"...) })},
		{"something else", put(func([]byte) []byte { return []byte(`{"version":99,"sessions":"all of them"}`) })},
	}
}
