package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// stored puts a file into a store and returns its path.
func stored(t *testing.T, dir, id, content string) string {
	t.Helper()
	path := filepath.Join(dir, "2026-01-02T03-04-05-678Z_"+id+".jsonl")
	writeFile(t, path, content)
	return path
}

// An invalid session file is named when it is requested, stays unchanged, and hides no other file.
func TestBadSessionFiles(t *testing.T) {
	t.Parallel()
	first := startLife(t, lifeOptions{})
	good := first.begin()
	first.turn("!say good words")
	first.stop()
	goodPath := sessionFiles(t, first.home)[0]
	dir := filepath.Dir(goodPath)
	whole, err := os.ReadFile(goodPath)
	if err != nil {
		t.Fatal(err)
	}
	header := func(id, version string) string {
		return `{"type":"session","version":` + version + `,"id":"` + id + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/somewhere"}` + "\n"
	}
	said := func(id, parent, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"` + text + `","timestamp":1}}` + "\n"
	}
	// An empty want is a file that can be loaded despite its faults.
	bad := []struct {
		name, content, want string
	}{
		{"empty", "", "is empty"},
		{"cutheader", `{"type":"session","version":3,"id":"cuthea`, "cut off"},
		{"binary", "\x00\x01\x02\xff\xfe\x7fELF" + strings.Repeat("\x00\xff", 4000), ""},
		{"zeros", strings.Repeat("\x00", 8192), ""},
		{"foreign", `{"name":"left-pad","version":"1.3.0"}` + "\n", ""},
		{"array", "[1,2,3]\n", ""},
		{"text", "Dear diary,\ntoday I wrote no JSON.\n", ""},
		{"future", header("future", "9") + said("00000001", "null", "from the future"), "newer program"},
		{"middle", header("middle", "3") + said("00000001", "null", "before") + "{\"type\":\"mess\n" + said("00000002", `"00000001"`, "after"), "line 3"},
		{"noentry", header("noentry", "3") + "{\"hello\":1}\n" + said("00000001", "null", "x"), "line 2"},
	}
	kept := make(map[string]string)
	for _, b := range bad {
		kept[stored(t, dir, b.name, b.content)] = b.content
	}
	// These have faults that a tree can have.
	mended := map[string][]string{
		"cyclic":    {header("cyclic", "3") + said("00000001", `"00000002"`, "round") + said("00000002", `"00000001"`, "about"), "about"},
		"duplicate": {header("duplicate", "3") + said("00000001", "null", "one") + said("00000001", `"00000001"`, "two"), "two"},
		"orphan":    {header("orphan", "3") + said("00000002", `"ffffffff"`, "lonely"), "lonely"},
		"itself":    {header("itself", "3") + said("00000001", `"00000001"`, "narcissus"), "narcissus"},
	}
	for id, m := range mended {
		kept[stored(t, dir, id, m[0])] = m[0]
	}
	if err := os.Mkdir(filepath.Join(dir, "2026-01-02T03-04-05-678Z_directory.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(tempDir(t), "secret.jsonl")
	writeFile(t, elsewhere, header("linked", "3")+said("00000001", "null", "linked"))
	hasLinks := os.Symlink(elsewhere, filepath.Join(dir, "2026-01-02T03-04-05-678Z_linked.jsonl")) == nil

	l := startLife(t, lifeOptions{home: first.home, work: first.work})
	request := func(id acp.SessionID) *acp.LoadSessionRequest {
		return &acp.LoadSessionRequest{SessionID: id, Cwd: first.work}
	}
	for range 2 { // asking twice does not help
		for _, b := range bad {
			e := wantFails(l, acp.MethodSessionLoad, request(acp.SessionID(b.name)))
			if !strings.Contains(e.Message, "_"+b.name+".jsonl") || !strings.Contains(e.Message, b.want) || !strings.Contains(e.Message, "was not changed") {
				t.Errorf("%s: %+v", b.name, e)
			}
			wantFails(l, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: acp.SessionID(b.name), Cwd: first.work})
			wantFails(l, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: acp.SessionID(b.name), Cwd: first.work})
			if out, errs, err := sessionsCommand(t, first.home, "show", b.name); err == nil || !strings.Contains(errs, b.name) {
				t.Errorf("gjc sessions show %s: %v %q %q", b.name, err, out, errs)
			}
		}
	}
	for id, m := range mended {
		if _, lines := l.load(acp.SessionID(id)); !strings.Contains(wordsIn(lines, "user_message_chunk"), m[1]) {
			t.Errorf("%s is loaded as\n%s", id, shown(lines))
		}
	}
	if hasLinks {
		if e := wantFails(l, acp.MethodSessionLoad, request("linked")); !strings.Contains(e.Message, "symbolic link") {
			t.Errorf("a link: %+v", e)
		}
	}
	project := filepath.Base(dir)
	for _, id := range []string{
		"directory", "nobody", "..", ".", "", "../" + project, project + "/" + string(good), "/etc/passwd", `..\x`, `C:\x`, "*", "a\x00b", "a\nb", string(good) + ".jsonl",
		strings.Repeat("x", 5000), " " + string(good), "../../../" + string(good),
	} {
		for _, e := range []*acp.Error{
			wantFails(l, acp.MethodSessionLoad, request(acp.SessionID(id))),
			wantFails(l, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: acp.SessionID(id), Cwd: first.work}),
			wantFails(l, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: acp.SessionID(id), Cwd: first.work}),
		} {
			if e.Code != acp.ErrorCodeResourceNotFound && e.Code != acp.ErrorCodeInvalidParams || len(e.Message) > 1000 {
				t.Errorf("%.40q: code %d, %.1000q", id, e.Code, e.Message)
			}
		}
		_, _ = acp.MethodSessionDelete.Call(l.ctx, l.Conn, &acp.DeleteSessionRequest{SessionID: acp.SessionID(id)}) // must affect nothing else
	}

	listed := slices.Sorted(maps.Keys(l.walk("")))
	for _, id := range append([]acp.SessionID{good}, "cyclic", "duplicate", "orphan", "itself") {
		if !slices.Contains(listed, id) {
			t.Errorf("%s is not listed", id)
		}
	}
	for _, b := range bad {
		if slices.Contains(listed, acp.SessionID(b.name)) && b.want != "line 3" && b.want != "line 2" && b.name != "future" {
			t.Errorf("%s is listed, and cannot be loaded", b.name)
		}
	}
	if _, lines := l.load(good); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "good words") {
		t.Errorf("the good one is\n%s", shown(lines))
	}
	l.stop()
	kept[goodPath] = string(whole)
	for path, content := range kept {
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("%s is changed: %v\n%.300q", path, err, data)
		}
	}
	if data, err := os.ReadFile(elsewhere); err != nil || !bytes.Contains(data, []byte("linked")) {
		t.Errorf("what a link leads to: %q, %v", data, err)
	}
}

// A session whose last line was cut by a full disk or a crash continues after its last complete line.
func TestBadSessionFiles_CutTail(t *testing.T) {
	t.Parallel()
	first := startLife(t, lifeOptions{})
	id := first.begin()
	first.turn("!say whole words")
	first.stop()
	path := sessionFiles(t, first.home)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{`{"type":"message","id":"torn","mess`, strings.Repeat("\x00", 4096), "\xff\xfe"} {
		if err := os.WriteFile(path, append(bytes.Clone(whole), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		l := startLife(t, lifeOptions{home: first.home, work: first.work})
		if _, lines := l.load(id); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "whole words") {
			t.Errorf("after %.10q the load is\n%s", tail, shown(lines))
		}
		l.turn("!say more words")
		l.stop()
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, whole) || bytes.Contains(data, []byte("torn")) || bytes.IndexByte(data, 0) >= 0 || bytes.IndexByte(data, 0xff) >= 0 {
			t.Errorf("after %.10q the file is %v\n%q", tail, err, data)
		}
	}
}

// If a project's session directory is a link to another disk, each of its sessions is listed exactly once.
func TestSessions_LinkedDirectory(t *testing.T) {
	t.Parallel()
	first := startLife(t, lifeOptions{})
	id := first.begin()
	first.turn("!say far away")
	first.stop()
	dir := filepath.Dir(sessionFiles(t, first.home)[0])
	moved := filepath.Join(tempDir(t), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, dir); err != nil {
		t.Skip(err)
	}
	l := startLife(t, lifeOptions{home: first.home, work: first.work})
	if all := l.walk(first.work); len(all) != 1 {
		t.Errorf("the list is %v", all)
	}
	if _, lines := l.load(id); !strings.Contains(wordsIn(lines, "agent_message_chunk"), "far away") {
		t.Errorf("the load is\n%s", shown(lines))
	}
	l.turn("!say and on")
	l.begin()
	l.turn("!say a new one")
	if all := l.walk(first.work); len(all) != 2 {
		t.Errorf("the list is %v", all)
	}
	l.stop()
	if info, err := os.Lstat(dir); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if files, err := os.ReadDir(moved); err != nil || len(files) != 2 {
		t.Errorf("after the link are %v, %v", files, err)
	}
}

// If sessions cannot be stored, the editor gets an error that names the location, and no prompt is answered whose result would be
// lost.
func TestSessions_CannotBeStored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, home string) (place string)
	}{
		{"a file in its place", func(t *testing.T, home string) string {
			t.Helper()
			writeFile(t, filepath.Join(agentDir(home), "sessions"), "not a directory")
			return filepath.Join(agentDir(home), "sessions")
		}},
		{"a file in the agent's place", func(t *testing.T, home string) string {
			t.Helper()
			writeFile(t, agentDir(home), "not a directory")
			return agentDir(home)
		}},
		{"read-only", func(t *testing.T, home string) string {
			t.Helper()
			if os.Getuid() == 0 || runtime.GOOS == "windows" {
				t.Skip("permissions bind neither root nor Windows")
			}
			if err := os.MkdirAll(agentDir(home), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(agentDir(home), 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(agentDir(home), 0o700) })
			return agentDir(home)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			place := tt.make(t, home)
			l := startLife(t, lifeOptions{home: home})
			session, err := l.NewSession(l.ctx, l.work)
			if err == nil {
				_, err = l.Prompt(l.ctx, session.SessionID, "!say lost")
			}
			if e, ok := errors.AsType[*acp.Error](err); !ok || !strings.Contains(e.Message, place) {
				t.Errorf("the error is %v, want %s in it", err, place)
			}
			if data, err := os.ReadFile(place); err == nil && string(data) != "not a directory" {
				t.Errorf("the file is %q now", data)
			}
			l.stop()
		})
	}
}
