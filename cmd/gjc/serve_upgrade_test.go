//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// balancer is a load balancer for TCP: a connection goes to the first server that is ready.
type balancer struct {
	t        *testing.T
	listener net.Listener
	servers  []*served
	all      sync.WaitGroup

	mu   sync.Mutex // guards open
	open map[net.Conn]bool
}

// balance starts a load balancer, which ends with the test.
func balance(t *testing.T, servers ...*served) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{t: t, listener: listener, servers: servers, open: make(map[net.Conn]bool)}
	b.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.all.Go(func() { b.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		b.mu.Lock()
		for c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.all.Wait()
	})
	return b
}

func (b *balancer) url() string { return "http://" + b.listener.Addr().String() }

// carry carries a connection to the first server that is ready.
func (b *balancer) carry(c net.Conn) {
	defer b.keep(c)()
	for _, s := range b.servers {
		address, err := url.Parse(s.url)
		if err != nil || !takesClients(s) {
			continue
		}
		to, err := net.Dial("tcp", address.Host)
		if err != nil {
			continue
		}
		defer b.keep(to)()
		var both sync.WaitGroup
		for _, pair := range [][2]net.Conn{{c, to}, {to, c}} {
			both.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = pair[0].Close(), pair[1].Close()
			})
		}
		both.Wait()
		return
	}
}

func (b *balancer) keep(c net.Conn) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	return func() {
		_ = c.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}
}

// takesClients reports whether a server takes new clients.
func takesClients(s *served) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, "/acp")+"/readyz", nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// startBalanced starts two servers with a load balancer, and a session of an editor that knows no extension, at the first one.
func startBalanced(t *testing.T) (w *between, p *peer, session string) {
	t.Helper()
	w = startBetween(t)
	lb := balance(t, w.first, w.second)
	p = startPeer(t, peerOptions{command: []string{"connect", lb.url(), "--token-file", w.token}})
	p.initialize(object{})
	return w, p, p.session("auto")
}

// TestServe_DrainBalanced moves the client of an editor that knows no extension to the next server: it has the answer to its prompt first, and
// the next one runs there.
func TestServe_DrainBalanced(t *testing.T) {
	t.Parallel()
	w, p, id := startBalanced(t)
	turn := p.prompt(id, "!say begun\n!say ended")
	engine := w.engine(id)
	w.drain()
	if answer, _ := p.answer(turn); answer.Error == nil {
		if !strings.Contains(answer.line, "end_turn") {
			t.Errorf("the turn ends with %s", answer.line)
		}
	} else if !strings.Contains(answer.line, "connect again") { // the signal was faster than the prompt
		t.Errorf("the prompt is answered with %s", answer.line)
	}
	w.first.exits(engine)
	// Whatever the editor sends next is answered, by the next server, which has opened the session.
	next := func() message {
		answer, _ := p.answer(p.prompt(id, "!say goes-on"))
		return answer
	}
	answer := next()
	for answer.Error != nil && strings.Contains(answer.Error.Message, "has not begun this request") { // it was on its way
		answer = next()
	}
	if !strings.Contains(answer.line, "end_turn") {
		t.Errorf("the next prompt is answered with %s", answer.line)
	}
	p.stop()
	if text := p.stderrText.String(); !strings.Contains(text, "has answered everything that it had begun") || strings.Contains(text, "is lost") {
		t.Errorf("gjc connect says %q", text)
	}
	<-w.a.ended
	w.once("goes-on")
	w.b.stop()
}

// TestServe_KilledBalanced kills the server of an editor that knows no extension in a turn. The editor goes on at the next server without loading
// the session.
func TestServe_KilledBalanced(t *testing.T) {
	t.Parallel()
	w, p, id := startBalanced(t)
	p.say(id, "one-here")
	turn := p.prompt(id, "!say begun\n!bash sleep 600")
	p.until("the command", func(m message) bool { return strings.Contains(m.line, `"in_progress"`) })
	engine := w.engine(id)
	w.first.ending, w.first.killed = true, true
	for _, process := range []*os.Process{w.first.cmd.Process, engine} {
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if answer, _ := p.answer(turn); answer.Error == nil || !strings.Contains(answer.Error.Message, "Send the next prompt to go on") {
		t.Errorf("the prompt is answered with %s", answer.line)
	}
	answer, _ := p.answer(p.prompt(id, "!say goes-on"))
	if answer.Error != nil && strings.Contains(answer.line, "session_elsewhere") { // the lease has not ended yet
		_, before := p.until("the control", func(m message) bool { return strings.Contains(m.line, `{"gjc/attach":{"role":"controller"}}`) })
		if text := strings.Join(lines(before), "\n"); !strings.Contains(text, "The turn was interrupted.") || !strings.Contains(text, `"status":"failed"`) || strings.Contains(text, "user_message_chunk") {
			t.Errorf("before it controls the session, the editor receives %s", text)
		}
		answer, _ = p.answer(p.prompt(id, "!say goes-on"))
	}
	if !strings.Contains(answer.line, "end_turn") {
		t.Errorf("the next prompt is answered with %s", answer.line)
	}
	p.stop()
	<-w.a.ended
	w.once("one-here", "begun", "goes-on")
	w.b.stop()
}

// laterVersion changes the tables as a later version may, by the rule of the migrations: columns with a default, an index, and a table.
const laterVersion = `
ALTER TABLE gjc_files ADD COLUMN later text NOT NULL DEFAULT ''; ALTER TABLE gjc_data ADD COLUMN later bigint;
ALTER TABLE gjc_leases ADD COLUMN later text NOT NULL DEFAULT 'none'; CREATE INDEX gjc_files_later ON gjc_files (later); CREATE TABLE gjc_later (id bigint);
INSERT INTO gjc_schema (version) SELECT max(version) + 1 FROM gjc_schema`

// TestServe_Upgrade upgrades two servers one by one: the tables have a later version than the servers know, and the session moves from one to
// the other and back.
func TestServe_Upgrade(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	if err := postgrestest.Exec(t.Context(), w.address, laterVersion); err != nil {
		t.Fatal(err)
	}
	w.a.say(w.session, "still-written")
	w.b.until("what it writes", func(m message) bool { return strings.Contains(m.line, "still-written") })
	engine := w.engine(w.session)
	w.drain()
	w.controls()
	w.b.say(w.session, "at-the-second")
	<-w.a.ended
	w.first.exits(engine)

	// The first one starts again, and the second one follows.
	replaced := startServe(t, nil, "--token-file", w.token, "--store", w.store())
	back := startPeer(t, peerOptions{command: []string{"connect", replaced.url, "--token-file", w.token, "--retry", "1s"}})
	back.initialize(object{"_meta": object{"gjc/attach": true}})
	if answer, before := w.load(back); !strings.Contains(answer.line, `"elsewhere":true`) || !strings.Contains(strings.Join(lines(before), ""), "at-the-second") {
		t.Fatalf("a client of the server that has started again loads it: %s", answer.line)
	}
	engine = w.engine(w.session)
	w.second.signal(syscall.SIGTERM)
	back.until("the control", func(m message) bool { return strings.Contains(m.line, `{"gjc/attach":{"role":"controller"}}`) })
	back.say(w.session, "back-again")
	<-w.b.ended
	w.second.exits(engine)
	w.once("one", "still-written", "at-the-second", "back-again")

	// Two versions later, a server that starts refuses; the one that runs goes on.
	if err := postgrestest.Exec(t.Context(), w.address, "INSERT INTO gjc_schema (version) SELECT max(version) + 1 FROM gjc_schema"); err != nil {
		t.Fatal(err)
	}
	old := startServe(t, nil, "--token-file", w.token, "--store", w.store())
	p := startPeer(t, peerOptions{command: []string{"connect", old.url, "--token-file", w.token}})
	p.initialize(object{})
	if answer, _ := p.answer(p.request("session/new", object{"cwd": p.work, "mcpServers": []any{}})); answer.Error == nil || !strings.Contains(answer.line, "upgrade gjc") {
		t.Errorf("a server that is two versions older answers %s", answer.line)
	}
	back.say(w.session, "goes-on")
	p.stop()
	back.stop()
}

// TestServe_OtherVersions serves clients of the version before, which know neither how to come back nor how to attach, and of a later one,
// which send what this version does not know.
func TestServe_OtherVersions(t *testing.T) {
	t.Parallel()
	token := ownToken(t)
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	unknown := object{"example.com/later": object{"x": []any{1, "y"}}, "gjc/attach": object{"later": true}, "gjc/later": 17}
	for name, c := range map[string]struct {
		header       http.Header
		capabilities object
		meta         object
	}{
		"before": {http.Header{}, object{}, nil},
		"later": {
			http.Header{"Gjc-Later": {"1"}, "Acp-Later": {"x"}},
			object{"later": object{"deep": []any{object{}}}, "fs": object{"readTextFile": false, "watchFiles": true}, "_meta": unknown},
			unknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServe(t, nil, "--token-file", token)
			c.header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
			conn, err := transport.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http"), transport.DialOptions{Header: c.header})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			in := bufio.NewReader(conn)
			id := 0
			call := func(method string, params object) (answer string, before []string) {
				t.Helper()
				if c.meta != nil {
					params["_meta"], params["later"] = c.meta, "x"
				}
				id++
				line, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params, "later": true})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write(append(line, '\n')); err != nil {
					t.Fatal(err)
				}
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						t.Fatalf("%s: %v; before: %q", method, err, before)
					}
					var m struct {
						ID     int
						Method string
						Error  any
					}
					if err := json.Unmarshal([]byte(line), &m); err != nil {
						t.Fatal(err)
					}
					if m.ID == id && m.Method == "" {
						if m.Error != nil {
							t.Errorf("%s: %s", method, line)
						}
						return line, before
					}
					before = append(before, line)
				}
			}
			call("initialize", object{"protocolVersion": 1, "clientCapabilities": c.capabilities, "clientInfo": object{"name": "c", "version": "9", "later": 1}})
			var opened struct{ Result struct{ SessionID string } }
			answer, _ := call("session/new", object{"cwd": tempDir(t), "mcpServers": []any{}})
			if err := json.Unmarshal([]byte(answer), &opened); err != nil {
				t.Fatal(err)
			}
			prompt := object{"sessionId": opened.Result.SessionID, "prompt": []any{object{"type": "text", "text": "!say words"}}}
			if answer, before := call("session/prompt", prompt); !strings.Contains(answer, "end_turn") || !strings.Contains(strings.Join(before, ""), "words") {
				t.Errorf("the prompt is answered with %s after %q", answer, before)
			}
			s.signal(syscall.SIGTERM)
			rest, err := io.ReadAll(in)
			if !errors.Is(err, transport.ErrRestart) {
				t.Errorf("the connection ends with %v after %q", err, rest)
			}
		})
	}
}
