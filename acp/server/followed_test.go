package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// servers are servers with one database.
type servers struct {
	*testing.T
	cluster *postgrestest.Cluster
	address string
	dir     string // the workspace
}

func startServers(t *testing.T) *servers {
	t.Helper()
	cluster := new(postgrestest.Cluster)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &servers{t, cluster, cluster.Database(t), dir}
}

// aServer is one of the servers, with its editor.
type aServer struct {
	*env
	db *postgres.DB
}

// server starts a server. declared says that its editor knows the extension.
func (s *servers) server(declared bool, opts postgres.Options) *aServer {
	s.Helper()
	db, err := postgres.Open(s.Context(), s.address, opts)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(db.Close)
	e := start(s.T, func(c *config) {
		c.server.Sessions.Store = sessions.NewStore("/sessions", &sessions.StoreOptions{FS: db.FileSystem("")})
		c.editor.Capabilities = acptest.AllCapabilities()
		if err := c.editor.Capabilities.Meta.Set(followed.Meta, declared); err != nil {
			s.Fatal(err)
		}
	})
	e.dir = s.dir
	return &aServer{e, db}
}

// load loads a session and returns the part that the editor takes.
func (e *aServer) load(id acp.SessionID) (state followed.State) {
	e.t.Helper()
	resp, err := e.tryLoad(id, e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := resp.Meta.Get(followed.Meta, &state); err != nil {
		e.t.Fatal(err)
	}
	return state
}

func (e *aServer) tryLoad(id acp.SessionID, cwd string) (*acp.LoadSessionResponse, error) {
	return acp.MethodSessionLoad.Call(e.t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: cwd})
}

// becomes waits until the editor takes another part in a session.
func (e *aServer) becomes(id acp.SessionID, match func(followed.State) bool) {
	e.t.Helper()
	e.await(id, acptest.Update(func(u *acp.SessionInfoUpdate) bool {
		var state followed.State
		ok, err := u.Meta.Get(followed.Meta, &state)
		return ok && err == nil && match(state)
	}))
}

func isController(s followed.State) bool { return s.Role == followed.RoleController }

// says waits for a text of the agent.
func (e *aServer) says(id acp.SessionID, text string) {
	e.t.Helper()
	e.await(id, acptest.Update(func(u *acp.AgentMessageChunk) bool {
		block, ok := u.Content.(*acp.TextContent)
		return ok && strings.Contains(block.Text, text)
	}))
}

// conversation returns the updates of a conversation, without the state around it.
func (e *aServer) conversation(id acp.SessionID) []string {
	e.t.Helper()
	var all []string
	for _, u := range e.Updates(id) {
		raw, err := jsonx.Marshal(u)
		if err != nil {
			e.t.Fatal(err)
		}
		switch u.(type) {
		case *acp.SessionInfoUpdate, *acp.AvailableCommandsUpdate, *acp.CurrentModeUpdate, *acp.ConfigOptionUpdate, *acp.UsageUpdate:
		default:
			all = append(all, string(raw))
		}
	}
	return all
}

// kindOfError returns the kind in the data of an error.
func kindOfError(err error) string {
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return ""
	}
	kind, _ := jsonx.Text(jsonx.Lookup(e.Data, "kind"))
	return kind
}

// A client watches a session that another server has open, exactly as a load shows it, and controls it when that server closes it.
func TestFollowed(t *testing.T) {
	s := startServers(t)
	a, b, other := s.server(true, postgres.Options{}), s.server(true, postgres.Options{}), s.server(false, postgres.Options{})
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	state := b.load(id)
	if state.Role != followed.RoleObserver || !state.Elsewhere || !strings.Contains(state.Reason, "has the session open") {
		t.Errorf("the answer to the load: %+v", state)
	}
	if _, err := other.tryLoad(id, s.dir); kindOfError(err) != "session_locked" {
		t.Errorf("a client without the extension: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "notes"), []byte("text of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.say(id, "!say two\n!read notes\n!say three", acp.StopReasonEndTurn)
	b.says(id, "three")
	_, err := b.Prompt(t.Context(), id, "!say no")
	if wantCode(t, err, acp.ErrorCodeInvalidRequest, "has the session open", "session/fork"); kindOfError(err) != "session_elsewhere" {
		t.Errorf("a prompt: %v", err)
	}
	_, err = acp.MethodSessionSetMode.Call(t.Context(), b.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"})
	if kindOfError(err) != "session_elsewhere" {
		t.Errorf("a change of the mode: %v", err)
	}
	// What the client has had comes again before the answer, and the rest after it.
	before := b.conversation(id)
	b.load(id)
	if d := cmp.Diff(append(before, before...), b.conversation(id)); d != "" {
		t.Errorf("loading it again (-want +got):\n%s", d)
	}
	a.say(id, "!say four", acp.StopReasonEndTurn)
	b.says(id, "four")
	call[struct{}](a.env, "session/close", obj{"sessionId": id})
	b.becomes(id, isController)
	shown := b.conversation(id)[len(before):]
	b.say(id, "!say five", acp.StopReasonEndTurn)
	call[struct{}](b.env, "session/close", obj{"sessionId": id})
	other.load(id)
	if d := cmp.Diff(other.conversation(id)[:len(shown)], shown); d != "" {
		t.Errorf("what the client has seen (-a load +seen):\n%s", d)
	}
}

// short are the options of a server that is soon replaced.
var short = postgres.Options{Lease: 300 * time.Millisecond, Renew: 100 * time.Millisecond}

// When the server with a session dies in a turn, one of those that follow goes on, and the others follow that one.
func TestFollowed_TakeOver(t *testing.T) {
	s := startServers(t)
	a, b, c := s.server(true, short), s.server(true, short), s.server(true, short)
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	b.load(id)
	c.load(id)
	stuck := make(chan error, 1)
	go func() {
		_, err := a.Prompt(t.Context(), id, "!say begun\n!bash sleep 60")
		stuck <- err
	}()
	a.await(id, acptest.Update[*acp.ToolCall](nil))
	a.db.Close()
	interrupted := acptest.Update(func(u *acp.Notice) bool { return u.Title == "The turn was interrupted." })
	winner, loser := b, c
	if rows := postgrestest.Rows(t, s.address, "SELECT count(*)::text FROM gjc_leases"); len(rows) != 1 || rows[0] != "1" {
		t.Errorf("there are %q leases", rows)
	}
	both := make(chan *aServer, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, e := range []*aServer{b, c} {
		go func() {
			if e.Await(ctx, id, acptest.Update(func(u *acp.SessionInfoUpdate) bool {
				var state followed.State
				ok, err := u.Meta.Get(followed.Meta, &state)
				return ok && err == nil && isController(state)
			})) == nil {
				both <- e
			}
		}()
	}
	if <-both == c {
		winner, loser = c, b
	}
	winner.await(id, interrupted)
	winner.say(id, "!say goes on", acp.StopReasonEndTurn)
	loser.says(id, "goes on")
	if _, err := loser.Prompt(t.Context(), id, "!say no"); kindOfError(err) != "session_elsewhere" {
		t.Errorf("the other one prompts: %v", err)
	}
	a.stop()
	<-stuck
}

// A server without the directory of a session shows it and does not open it, whatever directory its client names.
func TestFollowed_WithoutDirectory(t *testing.T) {
	s := startServers(t)
	a, b := s.server(true, short), s.server(true, short)
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	liar, err := b.tryLoad(id, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var state followed.State
	if _, err := liar.Meta.Get(followed.Meta, &state); err != nil || !strings.Contains(state.Reason, "this client has named") {
		t.Errorf("a client with another directory: %+v, %v", state, err)
	}
	call[struct{}](a.env, "session/close", obj{"sessionId": id})
	reason := func(text string) func(followed.State) bool {
		return func(s followed.State) bool {
			return s.Role == followed.RoleObserver && !s.Elsewhere && strings.Contains(s.Reason, text)
		}
	}
	b.becomes(id, reason("this client has named"))
	_, err = b.Prompt(t.Context(), id, "!say no")
	if kindOfError(err) != "session_elsewhere" {
		t.Errorf("its prompt: %v", err)
	}
	call[struct{}](b.env, "session/close", obj{"sessionId": id})

	away := s.dir + "-away"
	if err := os.Rename(s.dir, away); err != nil {
		t.Fatal(err)
	}
	if state := b.load(id); !reason("is not on this machine")(state) {
		t.Errorf("a session whose directory is missing: %+v", state)
	}
	if got := strings.Join(b.conversation(id), ""); !strings.Contains(got, "one") {
		t.Errorf("it is shown as %s", got)
	}
	if rows := postgrestest.Rows(t, s.address, "SELECT host FROM gjc_leases"); len(rows) > 0 {
		t.Errorf("a session that is only shown is open at %q", rows)
	}
	if err := os.Rename(away, s.dir); err != nil {
		t.Fatal(err)
	}
	b.becomes(id, isController)
	b.say(id, "!say two", acp.StopReasonEndTurn)
}

// A server that has lost its lease closes the session, says why, and can watch it again.
func TestFollowed_Fenced(t *testing.T) {
	s := startServers(t)
	paused := postgres.Options{Lease: 300 * time.Millisecond, Renew: 2 * time.Second}
	a, old, b := s.server(true, paused), s.server(false, paused), s.server(true, postgres.Options{})
	for _, e := range []*aServer{a, old} {
		id := e.session()
		e.say(id, "!say one", acp.StopReasonEndTurn)
		stuck := make(chan error, 1)
		go func() {
			_, err := e.Prompt(t.Context(), id, "!wait")
			stuck <- err
		}()
		e.await(id, acptest.Update[*acp.AgentMessageChunk](nil))
		b.load(id)
		b.becomes(id, isController)
		if err := <-stuck; kindOfError(err) != "session_taken_over" || !strings.Contains(err.Error(), "another server has taken the session over") {
			t.Errorf("the turn ends with %v", err)
		}
		e.becomes(id, func(s followed.State) bool {
			return s.State == followed.Detached && strings.Contains(s.Reason, "has taken the session over")
		})
		if e == old {
			e.await(id, acptest.Update(func(u *acp.Notice) bool { return strings.Contains(u.Title, "has taken the session over") }))
			continue
		}
		if state := e.load(id); state.Role != followed.RoleObserver {
			t.Errorf("loading it again: %+v", state)
		}
	}
}

// When the database dies in a turn, the turn ends with a reason after the store's patience. Then nothing that was acknowledged is lost, and
// nothing is there twice.
func TestFollowed_DatabaseDies(t *testing.T) {
	s := startServers(t)
	a := s.server(true, postgres.Options{Patience: 500 * time.Millisecond})
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	begun := make(chan error, 1)
	go func() {
		_, err := a.Prompt(t.Context(), id, "!say begun\n!bash until test -e go; do sleep 0.02; done")
		begun <- err
	}()
	a.await(id, acptest.Update(func(u *acp.ToolCallUpdate) bool {
		status, ok := u.Status.Get()
		return ok && status == acp.ToolCallStatusInProgress
	}))
	s.cluster.Kill(t)
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; kindOfError(err) != "storage" || !strings.Contains(err.Error(), "the session store is not available") {
		t.Errorf("the turn ends with %v", err)
	}
	s.cluster.Restart(t)
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := a.Prompt(t.Context(), id, "!say two")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the session cannot be prompted again: %v", err)
		}
	}
	call[struct{}](a.env, "session/close", obj{"sessionId": id})
	b := s.server(false, postgres.Options{})
	b.load(id)
	shown := strings.Join(b.conversation(id), "\n")
	for _, text := range []string{`"text":"!say one"`, `"text":"!say begun`, `"text":"begun`, `"text":"!say two"`, `"text":"two\n\nDone."`} {
		if n := strings.Count(shown, text); n != 1 {
			t.Errorf("%s is there %d times in\n%s", text, n, shown)
		}
	}
}
