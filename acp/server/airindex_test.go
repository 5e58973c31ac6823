package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

const indexOfAir = `{"version":1,"capabilities":["sessionIndex"]}`

// keep stores a session with one message.
func keep(t *testing.T, store *sessions.Store, h sessions.Header) string {
	t.Helper()
	log, err := store.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.AppendMessage(&providers.Message{ID: "m", Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "hello"}}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return log.ID()
}

func airList(e *env, cwd, cursor, options string) (*acp.ListSessionsResponse, error) {
	params := obj{"_meta": obj{"jetbrains": obj{"air": obj{"list": jsonx.Raw(options)}}}}
	if cwd != "" {
		params["cwd"] = cwd
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	resp, err := tryCall[acp.ListSessionsResponse](e, "session/list", params)
	return &resp, err
}

func airIDs(list *acp.ListSessionsResponse) []string {
	var ids []string
	for i := range list.Sessions {
		ids = append(ids, string(list.Sessions[i].SessionID))
	}
	slices.Sort(ids)
	return ids
}

// The pages of an index have each session once, and a cursor is for its own list only.
func TestAir_IndexPages(t *testing.T) {
	const n = 250
	var store *sessions.Store
	e := start(t, asAir(indexOfAir), func(c *config) {
		c.server.Sessions.Store = sessions.NewStore(filepath.Join(c.agent, "sessions"), &c.store)
		store = c.server.Sessions.Store
	})
	var want []string
	for range n {
		want = append(want, keep(t, store, sessions.Header{Cwd: e.dir}))
	}
	slices.Sort(want)
	var got []string
	var sizes []int
	for cursor := ""; ; {
		page, err := airList(e, e.dir, cursor, `{"limit":1000}`)
		if err != nil {
			t.Fatal(err)
		}
		got, sizes = append(got, airIDs(page)...), append(sizes, len(page.Sessions))
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(sizes, []int{100, 100, 50}) {
		t.Errorf("pages of %v (-want +got):\n%s", sizes, diff)
	}
	first, err := airList(e, e.dir, "", `{}`)
	if err != nil || len(first.Sessions) != 50 {
		t.Fatalf("%d sessions, %v", len(first.Sessions), err)
	}
	for name, again := range map[string]func() error{
		"another filter":    func() error { _, err := airList(e, e.dir, first.NextCursor, `{"archived":"all"}`); return err },
		"another directory": func() error { _, err := airList(e, "/elsewhere", first.NextCursor, `{}`); return err },
		"worktrees":         func() error { _, err := airList(e, e.dir, first.NextCursor, `{"includeWorktrees":true}`); return err },
		"junk":              func() error { _, err := airList(e, e.dir, "junk", `{}`); return err },
		"half":              func() error { _, err := airList(e, e.dir, first.NextCursor[:20], `{}`); return err },
	} {
		if err := again(); err == nil {
			t.Errorf("the cursor with %s is accepted", name)
		} else {
			wantCode(t, err, acp.ErrorCodeInvalidParams)
		}
	}
	if _, err := airList(e, e.dir+"/", first.NextCursor, `{"limit":3}`); err != nil {
		t.Errorf("the same list with another limit: %v", err)
	}
}

func TestAir_IndexOptions(t *testing.T) {
	e := start(t, asAir(indexOfAir))
	for _, options := range []string{
		`{"limit":0}`, `{"limit":-1}`, `{"limit":1.5}`, `{"limit":"3"}`, `{"limit":true}`, `{"limit":{}}`, `{"archived":"none"}`, `{"archived":true}`, `{"archived":1}`,
		`{"includeWorktrees":"yes"}`, `{"includeWorktrees":1}`, `[]`, `"x"`,
	} {
		_, err := airList(e, e.dir, "", options)
		wantCode(t, err, acp.ErrorCodeInvalidParams)
	}
	for _, options := range []string{`null`, `{}`, `{"limit":null,"archived":null,"includeWorktrees":null}`, `{"limit":1e30}`, `{"other":1}`} {
		if _, err := airList(e, e.dir, "", options); err != nil {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// indexRow is the extension's part of a listed session.
type indexRow struct {
	Version         int    `json:"version"`
	Archived        bool   `json:"archived"`
	ForkedFrom      string `json:"forkedFrom"`
	Model           string `json:"model"`
	State           string `json:"state"`
	LastTurnEndedAt string `json:"lastTurnEndedAt"`
}

func airRow(t *testing.T, list *acp.ListSessionsResponse, id string) indexRow {
	t.Helper()
	for i := range list.Sessions {
		if s := &list.Sessions[i]; string(s.SessionID) == id {
			var vendor struct {
				Air indexRow `json:"air"`
			}
			if ok, err := s.Meta.Get("jetbrains", &vendor); !ok || err != nil {
				t.Fatal(ok, err)
			}
			return vendor.Air
		}
	}
	t.Fatalf("%s is not in the list", id)
	return indexRow{}
}

// Sessions are renamed, archived and unarchived without being opened, and the rows say what is open.
func TestAir_IndexMethods(t *testing.T) {
	var store *sessions.Store
	e := start(t, asAir(indexOfAir), func(c *config) {
		c.server.Sessions.Store = sessions.NewStore(filepath.Join(c.agent, "sessions"), &c.store)
		store = c.server.Sessions.Store
	})
	kept := keep(t, store, sessions.Header{Cwd: e.dir})
	child := keep(t, store, sessions.Header{Cwd: e.dir, ParentSession: kept})
	open := string(e.session())
	e.say(acp.SessionID(open), "!say 1", acp.StopReasonEndTurn)
	do := func(method string, params obj) error {
		_, err := tryCall[obj](e, method, params)
		return err
	}
	for range 2 {
		if err := do("_session/archive", obj{"sessionId": kept}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(archived string) *acp.ListSessionsResponse {
		l, err := airList(e, e.dir, "", `{"archived":"`+archived+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	sorted := func(ids ...string) []string { slices.Sort(ids); return ids }
	for archived, want := range map[string][]string{"unarchived": sorted(child, open), "archived": {kept}, "all": sorted(kept, child, open)} {
		if got := airIDs(list(archived)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", archived, got, want)
		}
	}
	only := call[acp.ListSessionsResponse](e, "session/list", obj{"cwd": e.dir, "archived": "only"})
	if got := airIDs(&only); !slices.Equal(got, []string{kept}) {
		t.Errorf("ACP's own filter: %v", got)
	}
	all := list("all")
	if r := airRow(t, all, kept); r != (indexRow{Version: 1, Archived: true}) {
		t.Errorf("archived: %+v", r)
	}
	if r := airRow(t, all, child); r != (indexRow{Version: 1, ForkedFrom: kept}) {
		t.Errorf("fork: %+v", r)
	}
	r := airRow(t, all, open)
	if _, err := time.Parse(time.RFC3339Nano, r.LastTurnEndedAt); err != nil || r.State != "idle" || r.Model == "" || r.Archived {
		t.Errorf("open: %+v", r)
	}
	err := do("_session/archive", obj{"sessionId": open})
	wantCode(t, err, acp.ErrorCodeInvalidRequest, "session/close")
	for range 2 {
		if err := do("_session/unarchive", obj{"sessionId": kept}); err != nil {
			t.Fatal(err)
		}
	}
	if err := do("_session/rename", obj{"sessionId": kept, "title": "  A new\nname "}); err != nil {
		t.Fatal(err)
	}
	for i := range list("unarchived").Sessions {
		if s := list("unarchived").Sessions[i]; string(s.SessionID) == kept && s.Title != "A new name" {
			t.Errorf("title %q", s.Title)
		}
	}
	wantCode(t, do("_session/rename", obj{"sessionId": kept, "title": " "}), acp.ErrorCodeInvalidParams)
	for _, method := range []string{"_session/archive", "_session/unarchive", "_session/rename"} {
		wantCode(t, do(method, obj{"sessionId": "none", "title": "x"}), acp.ErrorCodeResourceNotFound)
	}
}

// The state of an open session follows its turns and its questions.
func TestAir_IndexStates(t *testing.T) {
	var e *env
	var id acp.SessionID
	state := func() string {
		l, err := airList(e, e.dir, "", `{}`)
		if err != nil {
			t.Error(err)
			return ""
		}
		return airRow(t, l, string(id)).State
	}
	asked := make(chan string, 1)
	e = start(t, asAir(indexOfAir), func(c *config) {
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			asked <- state()
			return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: p.Options[0].OptionID}}, nil
		}
	})
	id = e.session()
	e.say(id, "!bash touch x", acp.StopReasonEndTurn)
	if got := <-asked; got != "requires_action" {
		t.Errorf("with a question: %s", got)
	}
	if got := state(); got != "idle" {
		t.Errorf("after the turn: %s", got)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := e.Prompt(t.Context(), id, "!wait")
		ended <- err
	}()
	for deadline := time.Now().Add(time.Minute); state() != "running"; {
		if time.Now().After(deadline) {
			t.Fatal("the session is not running")
		}
	}
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Without the capability nothing of the index is served or advertised.
func TestAir_IndexNotDeclared(t *testing.T) {
	var sent recorded
	e := start(t, asAir(`{"version":1,"capabilities":["diffPatch"]}`), sent.received)
	if strings.Contains(sent.String(), "sessionIndex") {
		t.Errorf("advertised: %s", sent.String())
	}
	id := e.session()
	e.say(id, "!say 1", acp.StopReasonEndTurn)
	l, err := airList(e, e.dir, "", `{"limit":"bad"}`)
	if err != nil || len(l.Sessions) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if airIn(t, l.Sessions[0].Meta) != nil {
		t.Errorf("row: %v", l.Sessions[0].Meta)
	}
	for _, method := range []string{"_session/archive", "_session/unarchive", "_session/rename"} {
		_, err := tryCall[obj](e, method, obj{"sessionId": id, "title": "x"})
		wantCode(t, err, acp.ErrorCodeMethodNotFound)
	}
}

// The list of one worktree has the sessions of the same directory in the others. Files of git that are not as they should be are left out.
func TestAir_IndexWorktrees(t *testing.T) {
	testenv.NeedsTool(t, "git")
	var store *sessions.Store
	e := start(t, asAir(indexOfAir), func(c *config) {
		c.server.Sessions.Store = sessions.NewStore(filepath.Join(c.agent, "sessions"), &c.store)
		store = c.server.Sessions.Store
	})
	main, linked := filepath.Join(e.dir, "main"), filepath.Join(e.dir, "linked")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Dir = main
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(main, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	e.write("main/app/x", "x")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("worktree", "add", "-q", linked)
	git("worktree", "add", "-q", "-b", "gone", filepath.Join(e.dir, "gone"))
	if err := os.RemoveAll(filepath.Join(e.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"", "\x00", strings.Repeat("x", 100_000), "relative/.git", "/\n/x/.git\n"} {
		name := filepath.Join(main, ".git", "worktrees", fmt.Sprint("bad", i), "gitdir")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inMain := keep(t, store, sessions.Header{Cwd: filepath.Join(main, "app")})
	inLinked := keep(t, store, sessions.Header{Cwd: filepath.Join(linked, "app")})
	keep(t, store, sessions.Header{Cwd: linked})
	keep(t, store, sessions.Header{Cwd: filepath.Join(e.dir, "gone", "app")})
	both := []string{inMain, inLinked}
	slices.Sort(both)
	link := filepath.Join(e.dir, "link")
	if err := os.Symlink(main, link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{main, linked, link} {
		l, err := airList(e, filepath.Join(at, "app"), "", `{"includeWorktrees":true}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := airIDs(l); !slices.Equal(got, both) {
			t.Errorf("from %s: %v, want %v", at, got, both)
		}
	}
	if l, err := airList(e, filepath.Join(main, "app"), "", `{}`); err != nil || !slices.Equal(airIDs(l), []string{inMain}) {
		t.Errorf("without worktrees: %v, %v", airIDs(l), err)
	}
}

// A client that has read a list is notified when the list changes.
func TestAir_IndexChanges(t *testing.T) {
	var store *sessions.Store
	changes := make(chan string, 10)
	e := start(t, asAir(indexOfAir), func(c *config) {
		c.server.Sessions.Store = sessions.NewStore(filepath.Join(c.agent, "sessions"), &c.store)
		store = c.server.Sessions.Store
		c.editor.Trace = func(sent bool, line []byte) {
			if !sent && bytes.Contains(line, []byte(`"_session/list_changed"`)) {
				changes <- string(line)
			}
		}
	})
	keep(t, store, sessions.Header{Cwd: e.dir})
	if _, err := airList(e, e.dir, "", `{}`); err != nil {
		t.Fatal(err)
	}
	id := e.session()
	e.say(id, "!say 1", acp.StopReasonEndTurn)
	select {
	case line := <-changes:
		if want := fmt.Sprintf(`"params":{"cwd":%q}`, e.dir); !strings.Contains(line, want) {
			t.Errorf("got %s, want %s", line, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("no notification")
	}
}
