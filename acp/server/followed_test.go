package server_test

import (
	"context"
	"errors"
	"maps"
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
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
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
func (s *servers) server(declared bool, opts postgres.Options, change ...func(*config)) *aServer {
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
		for _, fn := range change {
			fn(c)
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

// conversation returns the updates of a conversation, without the state around it: for a call, what the client shows of it.
func (e *aServer) conversation(id acp.SessionID) []string {
	e.t.Helper()
	var all []map[string]any
	calls := make(map[any]map[string]any)
	for _, u := range e.Updates(id) {
		raw, err := jsonx.Marshal(u)
		if err != nil {
			e.t.Fatal(err)
		}
		var members map[string]any
		if err := jsonx.Unmarshal(raw, &members); err != nil {
			e.t.Fatal(err)
		}
		switch u.(type) {
		case *acp.SessionInfoUpdate, *acp.AvailableCommandsUpdate, *acp.CurrentModeUpdate, *acp.ConfigOptionUpdate, *acp.UsageUpdate:
			continue
		case *acp.ToolCall:
			calls[members["toolCallId"]] = members
		case *acp.ToolCallUpdate:
			if call := calls[members["toolCallId"]]; call != nil {
				delete(members, "sessionUpdate")
				maps.Copy(call, members)
				continue
			}
		}
		all = append(all, members)
	}
	lines := make([]string, len(all))
	for i, members := range all {
		raw, err := jsonx.Marshal(members)
		if err != nil {
			e.t.Fatal(err)
		}
		lines[i] = string(raw)
	}
	return lines
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

// short are the options of a server that is soon replaced, and not before: a busy machine delays its renewals.
var short = postgres.Options{Lease: 3 * time.Second, Renew: 100 * time.Millisecond}

// When the server with a session dies in a turn, one of those that follow goes on, and the others follow that one.
func TestFollowed_TakeOver(t *testing.T) {
	s := startServers(t)
	a, b, c := s.server(true, short), s.server(true, postgres.Options{}), s.server(true, postgres.Options{})
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
	for _, e := range []*aServer{b, c} { // what is read after another server has the session may be of that
		e.await(id, acptest.Update[*acp.ToolCall](nil))
	}
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
	loser.await(id, interrupted) // before anything else is stored
	for _, e := range []*aServer{winner, loser} {
		if shown := strings.Join(e.conversation(id), "\n"); !strings.Contains(shown, "The call was interrupted.") {
			t.Errorf("the call that was cut is shown as\n%s", shown)
		}
	}
	waits := make(chan error, 1)
	go func() {
		_, err := winner.Prompt(t.Context(), id, "!say continues\n!wait")
		waits <- err
	}()
	loser.await(id, acptest.Update(func(u *acp.UserMessageChunk) bool {
		text, ok := u.Content.(*acp.TextContent)
		return ok && strings.Contains(text.Text, "!wait")
	}))
	winner.says(id, "continues")
	if err := acp.MethodSessionCancel.Notify(t.Context(), winner.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	loser.says(id, "continues")
	if _, err := loser.Prompt(t.Context(), id, "!say no"); kindOfError(err) != "session_elsewhere" {
		t.Errorf("the other one prompts: %v", err)
	}
	a.stop()
	<-stuck
}

// A client that watches a session sees each call when it begins, and the title and the usage.
func TestFollowed_AtOnce(t *testing.T) {
	s := startServers(t)
	a, b := s.server(true, postgres.Options{}), s.server(true, postgres.Options{})
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	b.load(id)
	info := func(title string) acptest.Expectation {
		return acptest.Update(func(u *acp.SessionInfoUpdate) bool { got, ok := u.Title.Get(); return ok && got == title })
	}
	b.await(id, info("!say one"))
	b.await(id, acptest.Update(func(u *acp.UsageUpdate) bool { return u.Used > 0 && u.Size > 0 }))
	a.say(id, "/rename A better name", acp.StopReasonEndTurn)
	b.await(id, info("A better name"))
	done := make(chan error, 1)
	go func() {
		_, err := a.Prompt(t.Context(), id, "!bash until test -e go; do sleep 0.02; done")
		done <- err
	}()
	b.await(id, acptest.Update(func(u *acp.ToolCall) bool { return u.Kind == acp.ToolKindExecute }))
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.await(id, acptest.Update(func(u *acp.ToolCallUpdate) bool {
		status, ok := u.Status.Get()
		return ok && status == acp.ToolCallStatusCompleted
	}))
}

// When the conversation goes back to an earlier place, the clients that watch are detached, and see it when they load the session again.
func TestFollowed_Branch(t *testing.T) {
	s := startServers(t)
	a, b := s.server(true, postgres.Options{}), s.server(true, postgres.Options{})
	id := a.session()
	a.say(id, "!say one", acp.StopReasonEndTurn)
	a.say(id, "!say two", acp.StopReasonEndTurn)
	times := 0
	detached := func(back func()) {
		t.Helper()
		b.load(id)
		back()
		times++
		b.await(id, func(updates []acp.SessionUpdate, _ []string) bool {
			n := 0
			for _, u := range updates {
				if info, ok := u.(*acp.SessionInfoUpdate); ok {
					var state followed.State
					if ok, err := info.Meta.Get(followed.Meta, &state); ok && err == nil && state.State == followed.Detached && strings.Contains(state.Reason, "taken back to an earlier place") {
						n++
					}
				}
			}
			return n == times
		})
	}
	detached(func() {
		tree, _ := a.after(id, "/tree")
		call[jsonx.Raw](a.env, "_gjc/session/branch", obj{"sessionId": id, "entryId": idOf(t, tree, "user: !say two")})
	})
	a.say(id, "!say three", acp.StopReasonEndTurn)
	n := len(b.conversation(id))
	b.load(id)
	if shown := strings.Join(b.conversation(id)[n:], "\n"); !strings.Contains(shown, "one") || strings.Contains(shown, "two") || !strings.Contains(shown, "three") {
		t.Errorf("after the branch, a load shows\n%s", shown)
	}
	detached(func() { a.say(id, "/clear", acp.StopReasonEndTurn) })
}

// The helpers and the commands that worked in the background when the server died are lost, and the user and the model learn that.
func TestFollowed_Lost(t *testing.T) {
	s := startServers(t)
	gate := providertest.NewGate()
	a := s.server(true, short, scripted(), func(c *config) {
		c.server.Models.Models.(*models).list[0].(*providertest.Script).Else(func(req *providers.Request) providertest.Step {
			switch {
			case strings.HasPrefix(req.Messages[0].Text(), "look around"):
				return providertest.Step{gate.Hold(), providertest.Text("the report")}
			case req.Messages[len(req.Messages)-1].Text() == "delegate":
				return providertest.Step{
					providertest.Call("c1", "task", `{"async":true,"tasks":[{"id":"scout","description":"look","assignment":"look around"}]}`),
					providertest.Call("c2", "bash", `{"command":"sleep 600","async":true}`),
				}
			default:
				return providertest.Step{providertest.Text("they work")}
			}
		})
	})
	var received string
	b := s.server(true, postgres.Options{}, scripted(providertest.Step{providertest.Check(func(req *providers.Request) {
		received = req.Messages[len(req.Messages)-1].Text()
	}), providertest.Text("I see.")}))
	id := a.session()
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), a.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: "auto"}); err != nil {
		t.Fatal(err)
	}
	a.say(id, "delegate", acp.StopReasonEndTurn)
	b.load(id)
	b.says(id, "they work")
	a.db.Close()
	for _, lost := range []string{
		"The helper scout of this session was lost when gjc ended: look.", "A background command of this session was lost when gjc ended: sleep 600.",
	} {
		b.await(id, acptest.Update(func(u *acp.Notice) bool { return u.Title == lost }))
	}
	b.becomes(id, isController)
	b.say(id, "and now?", acp.StopReasonEndTurn)
	if !strings.HasPrefix(received, "and now?") || !strings.Contains(received, "job-1 was lost") || !strings.Contains(received, "job-2 was lost") {
		t.Errorf("the model receives %q", received)
	}
	gate.Open()
}

// A server without the directory of a session shows it and does not open it, whatever directory its client names.
func TestFollowed_WithoutDirectory(t *testing.T) {
	s := startServers(t)
	a, b := s.server(true, short), s.server(true, postgres.Options{})
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
