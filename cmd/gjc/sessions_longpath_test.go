package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A working directory whose path is longer than a file name may be has sessions like any other, and one that differs
// only at the end has its own.
func TestSessions_LongPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths have another limit")
	}
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	deep := filepath.Join(p.work, strings.Repeat(strings.Repeat("directory-ü-", 7)+string(filepath.Separator), 5))
	ids := make(map[string]string)
	for _, name := range []string{"one", "two"} {
		p.work = filepath.Join(deep, name)
		if err := os.MkdirAll(p.work, 0o755); err != nil {
			t.Fatal(err)
		}
		ids[name] = p.session("auto")
		p.say(ids[name], "word-of-"+name)
	}
	p.stop()

	p = startPeer(t, peerOptions{home: p.home})
	p.initialize(nil)
	for name, id := range ids {
		cwd := filepath.Join(deep, name)
		var list struct {
			Sessions []struct{ SessionID, Cwd string }
		}
		if err := json.Unmarshal(p.call("session/list", object{"cwd": cwd}), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].Cwd != cwd {
			t.Errorf("session/list of %s: %+v", cwd, list.Sessions)
		}
		m, replay := p.answer(p.request("session/load", object{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}))
		if m.Error != nil || !slices.ContainsFunc(replay, func(m message) bool { return strings.Contains(m.line, "word-of-"+name) }) {
			t.Errorf("session/load: %s\n%s", m.line, strings.Join(lines(replay), "\n"))
		}
		p.say(id, "again")
	}
	p.stop()
	dirs, err := filepath.Glob(filepath.Join(agentDir(p.home), "sessions", "*-*"))
	if err != nil || len(dirs) != 2 {
		t.Errorf("directories of sessions: %v, %v", dirs, err)
	}
}
