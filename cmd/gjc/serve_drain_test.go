//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// drain sends SIGTERM to the first server.
func (w *between) drain() (since time.Time) {
	w.Helper()
	w.first.signal(syscall.SIGTERM)
	return time.Now()
}

// exits waits for the end of a server and of its engine.
func (s *served) exits(engine *os.Process) {
	s.t.Helper()
	err := s.wait()
	if err != nil && !s.killed {
		s.t.Errorf("gjc serve ends with %v", err)
	}
	limit := time.Now().Add(hang)
	for !errors.Is(engine.Signal(syscall.Signal(0)), os.ErrProcessDone) && !gone(engine.Pid) {
		if time.Now().After(limit) {
			s.t.Errorf("the engine %d goes on after its server", engine.Pid)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// gone reports whether a process that is no child of this one has ended.
func gone(pid int) bool {
	err := syscall.Kill(pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// once checks that each word was stored once, and that no line of an earlier writer follows one of a later.
func (w *between) once(words ...string) {
	w.Helper()
	for _, word := range words {
		rows := postgrestest.Rows(w.T, w.address, `SELECT seq::text FROM gjc_data JOIN gjc_files ON id = file WHERE name LIKE '%.jsonl'
 AND encode(data, 'escape') LIKE '%"role":"user"%!say `+word+`%'`)
		if len(rows) != 1 {
			w.Errorf("the prompt with %q is stored in %q", word, rows)
		}
	}
	if wrong := postgrestest.Rows(w.T, w.address, `
SELECT a.seq::text FROM gjc_data a JOIN gjc_data b ON a.file = b.file AND b.seq = a.seq + 1 WHERE a.epoch > b.epoch`); len(wrong) > 0 {
		w.Errorf("lines of an earlier writer follow %q", wrong)
	}
}

// TestServe_DrainIdle gives up an idle session at once: the client that watches it at the other server controls it, while another turn still
// runs at the first.
func TestServe_DrainIdle(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	other := startPeer(t, peerOptions{command: []string{"connect", w.first.url, "--token-file", w.token, "--retry", "1s"}})
	other.initialize(object{})
	busy := other.session("auto")
	turn := other.prompt(busy, "!bash until test -e go; do sleep 0.02; done; echo released")
	other.until("the command", func(m message) bool { return strings.Contains(m.line, `"in_progress"`) })
	engine := w.engine(w.session)

	since := w.drain()
	w.controls()
	t.Logf("an idle session has moved %d ms after SIGTERM", time.Since(since).Milliseconds())
	w.b.say(w.session, "goes-on")
	w.a.until("the reason", func(m message) bool {
		return strings.Contains(m.line, `"state":"detached"`) && strings.Contains(m.line, "shutting down")
	})
	<-w.a.ended // its address leads to no other server
	<-w.a.drained
	if text := w.a.stderrText.String(); !strings.Contains(text, "has answered everything that it had begun") {
		t.Errorf("gjc connect says %q", text)
	}
	if err := os.WriteFile(filepath.Join(other.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if answer, before := other.answer(turn); !strings.Contains(answer.line, "end_turn") || !strings.Contains(strings.Join(lines(before), ""), "released") {
		t.Errorf("the turn ends with %s", answer.line)
	}
	<-other.ended
	w.first.exits(engine)
	w.once("one", "goes-on")
	w.b.stop()
}

// TestServe_DrainTurn hands a session over when its turn has ended, and not before.
func TestServe_DrainTurn(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	prompt := w.a.prompt(w.session, "!say begun\n!bash until test -e go; do sleep 0.02; done; echo released")
	w.b.until("the turn", func(m message) bool { return strings.Contains(m.line, "begun") })
	engine := w.engine(w.session)
	epoch := w.row("SELECT epoch::text FROM gjc_leases")
	w.drain()
	for status := 0; status != 503; {
		status, _ = w.first.get("", "/readyz", nil)
	}
	if now := w.row("SELECT epoch::text FROM gjc_leases"); now[0] != epoch[0] {
		t.Errorf("the lease %v is now %v", epoch, now)
	}
	if err := os.WriteFile(filepath.Join(w.a.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answer, _ := w.a.answer(prompt)
	ended := time.Now()
	if !strings.Contains(answer.line, "end_turn") {
		t.Errorf("the turn ends with %s", answer.line)
	}
	before := w.controls()
	t.Logf("the session has moved %d ms after the end of the turn", time.Since(ended).Milliseconds())
	if !strings.Contains(before, "released") || strings.Contains(before, "interrupted") {
		t.Errorf("before it controls the session, the client receives %s", before)
	}
	w.b.say(w.session, "goes-on")
	<-w.a.ended
	w.first.exits(engine)
	w.once("begun", "goes-on")
	w.b.stop()
}

// TestServe_DrainBound cancels a turn that does not end in time, stores that, and hands the session over.
func TestServe_DrainBound(t *testing.T) {
	t.Parallel()
	w := startBetween(t, "--drain", "200ms")
	prompt := w.begin()
	engine := w.engine(w.session)
	since := w.drain()
	if answer, _ := w.a.answer(prompt); !strings.Contains(answer.line, `"cancelled"`) {
		t.Errorf("the turn ends with %s", answer.line)
	}
	before := w.controls()
	t.Logf("the session has moved %d ms after SIGTERM, with a bound of 200 ms", time.Since(since).Milliseconds())
	if !strings.Contains(before, `"status":"failed"`) && !strings.Contains(before, "cancelled") {
		t.Errorf("before it controls the session, the client receives %s", before)
	}
	w.b.say(w.session, "goes-on")
	<-w.a.ended
	w.first.exits(engine)
	w.once("begun", "goes-on")
	w.b.stop()
}

// TestServe_DrainAway hands over the session of a client that is away, after the turn that went on without it.
func TestServe_DrainAway(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	w.a.prompt(w.session, "!say begun\n!bash until test -e go; do sleep 0.02; done; echo released")
	w.b.until("the turn", func(m message) bool { return strings.Contains(m.line, "begun") })
	engine := w.engine(w.session)
	if err := w.a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.a.ended
	w.drain()
	if err := os.WriteFile(filepath.Join(w.a.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if before := w.controls(); !strings.Contains(before, "released") || strings.Contains(before, "interrupted") {
		t.Errorf("before it controls the session, the client receives %s", before)
	}
	w.b.say(w.session, "goes-on")
	w.first.exits(engine)
	w.once("begun", "goes-on")
	w.b.stop()
}

// TestServe_DrainTwice ends the server at once at the second signal, and its engine with it.
func TestServe_DrainTwice(t *testing.T) {
	t.Parallel()
	w := startBetween(t)
	w.begin()
	engine := w.engine(w.session)
	w.drain()
	for status := 0; status != 503; {
		status, _ = w.first.get("", "/readyz", nil)
	}
	w.first.killed = true
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.first.wait() // reported below
	}()
	for over := false; !over; { // it may not know yet that the first one is done with
		_ = w.first.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			over = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	if state := w.first.cmd.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() {
		t.Errorf("the second signal ends it with %v", state)
	}
	w.first.exits(engine)
	w.controls()
	w.b.say(w.session, "goes-on")
	<-w.a.ended
	w.once("begun", "goes-on")
	w.b.stop()
}

// TestServe_DrainHung ends a server whose engine hangs within its bounds, and the engine, too.
func TestServe_DrainHung(t *testing.T) {
	t.Parallel()
	w := startBetween(t, "--drain", "200ms")
	w.begin()
	engine := w.engine(w.session)
	if err := engine.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.first.killed = true // with an error: not all was in order
	since := w.drain()
	w.first.exits(engine)
	t.Logf("the server with a hung engine has ended %.1f s after SIGTERM, with a bound of 200 ms", time.Since(since).Seconds())
	w.controls() // after the lease
	w.b.say(w.session, "goes-on")
	<-w.a.ended
	w.once("begun", "goes-on")
	w.b.stop()
}
