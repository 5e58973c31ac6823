//go:build unix

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// between are two servers with one database.
type between struct {
	*testing.T
	address string
	first   *served
	second  *served
	token   string
	a, b    *peer // a client of each
	session string
}

// startBetween starts the servers, the first one with more arguments, and a session at the first one that the client of the second one watches.
func startBetween(t *testing.T, args ...string) *between {
	t.Helper()
	cluster := new(postgrestest.Cluster)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &between{T: t, address: cluster.Database(t), token: ownToken(t)}
	w.first = startServe(t, nil, append([]string{"--token-file", w.token, "--store", w.store()}, args...)...)
	w.second = startServe(t, nil, "--token-file", w.token, "--store", w.store())
	connect := func(s *served) *peer {
		p := startPeer(t, peerOptions{command: []string{"connect", s.url, "--token-file", w.token, "--retry", "1s"}})
		p.initialize(object{"_meta": object{"gjc/attach": true}})
		return p
	}
	w.a, w.b = connect(w.first), connect(w.second)
	w.session = w.a.session("auto")
	w.a.say(w.session, "one")
	answer, before := w.load(w.b)
	if !strings.Contains(answer.line, `"role":"observer"`) || !strings.Contains(answer.line, `"elsewhere":true`) || !strings.Contains(strings.Join(lines(before), ""), "one") {
		t.Fatalf("the client of the second server loads it: %s", answer.line)
	}
	return w
}

// store returns the address for servers.
func (w *between) store() string { return w.address + "&gjc_lease=1s" }

// load loads the session for a client of any server.
func (w *between) load(p *peer) (answer message, before []message) {
	w.Helper()
	return p.answer(p.request("session/load", object{"sessionId": w.session, "cwd": w.a.work, "mcpServers": []any{}}))
}

// row returns the columns of one row.
func (w *between) row(statement string) []string {
	w.Helper()
	rows := postgrestest.Rows(w.T, w.address, statement)
	if len(rows) != 1 {
		w.Fatalf("%s: %q", statement, rows)
	}
	return strings.Fields(rows[0])
}

// engine returns the process that has a session open.
func (w *between) engine(session string) *os.Process {
	w.Helper()
	pid, err := strconv.Atoi(w.row("SELECT pid::text FROM gjc_leases WHERE name LIKE '%" + session + "%'")[0])
	if err != nil {
		w.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// begin begins a turn that does not end, and waits until the client of the second server knows it.
func (w *between) begin() (prompt string) {
	w.Helper()
	prompt = w.a.prompt(w.session, "!say begun\n!bash sleep 600")
	w.b.until("the turn", func(m message) bool {
		return strings.Contains(m.line, "agent_message_chunk") && strings.Contains(m.line, "begun")
	})
	return prompt
}

// controls waits until the client of the second server controls the session, and returns what it has received before.
func (w *between) controls() string {
	w.Helper()
	_, before := w.b.until("the control", func(m message) bool { return strings.Contains(m.line, `{"gjc/attach":{"role":"controller"}}`) })
	return strings.Join(lines(before), "\n")
}

// TestServe_Killed kills a server in a turn. Another one opens the session when the lease has ended, and not before.
func TestServe_Killed(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	w.begin()
	w.first.ending, w.first.killed = true, true
	engine := w.engine(w.session)
	for _, p := range []*os.Process{w.first.cmd.Process, engine} {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	lease := w.row("SELECT epoch::text || ' ' || extract(epoch FROM expires)::text FROM gjc_leases")
	before := w.controls()
	if !strings.Contains(before, "The turn was interrupted.") || !strings.Contains(before, `"status":"failed"`) {
		t.Errorf("before it controls the session, the client receives %s", before)
	}
	w.b.say(w.session, "goes-on")
	now := w.row("SELECT epoch::text || ' ' || (extract(epoch FROM since) - " + lease[1] + ")::text FROM gjc_leases")
	after, err := strconv.ParseFloat(now[1], 64)
	if err != nil || now[0] == lease[0] || after < 0 || after > 10 {
		t.Errorf("the lease %v was followed by %v: %v", lease, now, err)
	}
	t.Logf("the session was opened %.0f ms after the end of the lease", 1000*after)
	// Each writer's lines are in the order of the epochs, and none is there twice.
	if wrong := postgrestest.Rows(t, w.address, `
SELECT a.seq::text FROM gjc_data a JOIN gjc_data b ON a.file = b.file AND b.seq = a.seq + 1 WHERE a.epoch > b.epoch`); len(wrong) > 0 {
		t.Errorf("lines of an earlier writer follow %q", wrong)
	}
	<-w.a.ended // with an error: its server is gone
	w.b.stop()
}

// reaches waits until the client of the second server can prompt in the session that the first one has open.
func (w *between) reaches() {
	w.Helper()
	w.b.until("the part", func(m message) bool { return strings.Contains(m.line, `"role":"controller","elsewhere":true`) })
}

// shownOnce checks that the client of the second server was shown a text of an agent once.
func (w *between) shownOnce(messages []message, text string) {
	w.Helper()
	n := 0
	for _, m := range messages {
		if strings.Contains(m.line, "agent_message_chunk") && strings.Contains(m.line, text) {
			n++
		}
	}
	if n != 1 {
		w.Errorf("%q was shown %d times", text, n)
	}
}

// TestServe_Elsewhere lets the client of one server prompt and cancel in a session that another one has open. A prompt that waits there when that
// server is killed is run by the other one.
func TestServe_Elsewhere(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	w.reaches()
	answer, before := w.b.answer(w.b.prompt(w.session, "!say from-there"))
	if !strings.Contains(answer.line, `"end_turn"`) || !strings.Contains(answer.line, `"gjc/seq"`) {
		t.Errorf("the prompt is answered with %s", answer.line)
	}
	w.shownOnce(before, "from-there")
	if strings.Contains(strings.Join(lines(before), ""), "user_message_chunk") {
		t.Errorf("the client is shown its own prompt: %q", lines(before))
	}
	_, before = w.a.until("the answer", func(m message) bool {
		return strings.Contains(m.line, "agent_message_chunk") && strings.Contains(m.line, "from-there")
	})
	if text := strings.Join(lines(before), ""); !strings.Contains(text, "user_message_chunk") || !strings.Contains(text, "!say from-there") {
		t.Errorf("before the answer, the other client is shown %s", text)
	}
	for _, refused := range []string{
		w.b.request("session/set_mode", object{"sessionId": w.session, "modeId": "ask"}),
		w.b.prompt(w.session, "/usage"),
	} {
		if answer, _ := w.b.answer(refused); answer.Error == nil || !strings.Contains(answer.line, "session_elsewhere") {
			t.Errorf("what cannot be done there is answered with %s", answer.line)
		}
	}
	first := w.begin()
	w.b.notify("session/cancel", object{"sessionId": w.session})
	if answer, _ := w.a.answer(first); !strings.Contains(answer.line, `"cancelled"`) {
		t.Errorf("the turn that was cancelled there ends with %s", answer.line)
	}
	w.begin()
	waits := w.b.prompt(w.session, "!say waited")
	w.passed("waited")
	w.first.ending, w.first.killed = true, true
	engine := w.engine(w.session)
	for _, p := range []*os.Process{w.first.cmd.Process, engine} {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if answer, before = w.b.answer(waits); !strings.Contains(answer.line, `"end_turn"`) {
		t.Errorf("the prompt that waited is answered with %s", answer.line)
	}
	w.shownOnce(before, "waited")
	if text := strings.Join(lines(before), ""); !strings.Contains(text, "The turn was interrupted.") {
		t.Errorf("before, the client receives %s", text)
	}
	if left := postgrestest.Rows(t, w.address, "SELECT name FROM gjc_files WHERE dir LIKE '%/pipes' AND name NOT LIKE '%.lock'"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	<-w.a.ended // with an error: its server is gone
	w.b.stop()
}

// passed waits until a text was sent to the server that has the session open.
func (w *between) passed(text string) {
	w.Helper()
	sent := `SELECT 1::text FROM gjc_data d JOIN gjc_files f ON f.id = d.file
WHERE f.dir LIKE '%/pipes' AND position(convert_to('` + text + `', 'UTF8') IN d.data) > 0`
	for begin := time.Now(); len(postgrestest.Rows(w.T, w.address, sent)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			w.Fatalf("%q was not sent to the other server", text)
		}
	}
}

// TestServe_Paused pauses a server in a turn for longer than its lease. Its turn ends with a reason, and its client can watch.
func TestServe_Paused(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	prompt := w.begin()
	engine := w.engine(w.session)
	if err := engine.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := w.controls()
	begin := time.Now()
	if err := engine.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(before, "The turn was interrupted.") {
		t.Errorf("before it controls the session, the client receives %s", before)
	}
	var answer, detached bool
	w.a.until("the end of the turn and the reason", func(m message) bool {
		if m.isResponse() && string(m.ID) == prompt {
			answer = true
			if m.Error == nil || !strings.Contains(m.line, "session_taken_over") || !strings.Contains(m.Error.Message, "another server has taken the session over") {
				t.Errorf("the turn ends with %s", m.line)
			}
		}
		if strings.Contains(m.line, `"state":"detached"`) {
			detached = true
			t.Logf("the client was detached %v after the pause", time.Since(begin).Round(time.Millisecond))
			if !strings.Contains(m.line, "has taken the session over") {
				t.Errorf("the client is detached: %s", m.line)
			}
		}
		return answer && detached
	})
	w.b.say(w.session, "theirs")
	if loaded, before := w.load(w.a); !strings.Contains(loaded.line, `"role":"observer"`) || !strings.Contains(strings.Join(lines(before), ""), "theirs") {
		t.Errorf("the client of the server that was paused loads it: %s", loaded.line)
	}
	w.b.say(w.session, "later")
	w.a.until("what follows", func(m message) bool { return strings.Contains(m.line, "later") })
	w.a.stop()
	w.b.stop()
}

// TestServe_PausedIdle pauses a server whose session is idle for longer than its lease. Its client is detached without a write, and no prompt is
// accepted.
func TestServe_PausedIdle(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	engine := w.engine(w.session)
	if err := engine.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.controls()
	w.b.say(w.session, "theirs")
	prompt := w.a.prompt(w.session, "!say mine")
	begin := time.Now()
	if err := engine.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.a.until("the end of the prompt and the reason", func(m message) bool {
		if m.isResponse() && string(m.ID) == prompt {
			prompt = ""
			if m.Error == nil {
				t.Errorf("the prompt is answered: %s", m.line)
			}
		}
		if strings.Contains(m.line, "agent_message_chunk") && strings.Contains(m.line, "mine") {
			t.Errorf("the client receives %s", m.line)
		}
		if strings.Contains(m.line, `"state":"detached"`) {
			t.Logf("the client was detached %v after the pause", time.Since(begin).Round(time.Millisecond))
			begin = time.Time{}
		}
		return prompt == "" && begin.IsZero()
	})
	if loaded, before := w.load(w.a); !strings.Contains(loaded.line, `"role":"observer"`) || !strings.Contains(strings.Join(lines(before), ""), "theirs") {
		t.Errorf("the client loads it: %s", loaded.line)
	}
	w.a.stop()
	w.b.stop()
}
