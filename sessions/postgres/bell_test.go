package postgres_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// A notification wakes the reader of a file, also after the loss of its connection, which it has only while something is followed.
func TestWatch(t *testing.T) {
	address := cluster.Database(t)
	writer, reader := open(t, address, postgres.Options{}).FileSystem("me"), open(t, address, postgres.Options{}).FileSystem("me")
	f, err := writer.OpenFile("/s.jsonl", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	listening := "SELECT pid::text FROM pg_stat_activity WHERE query LIKE 'LISTEN gjc%'"
	if pids := postgrestest.Rows(t, address, listening); len(pids) > 0 {
		t.Errorf("%q listen though nothing is followed", pids)
	}
	woken := make(chan struct{}, 1)
	stop := reader.Watch("/s.jsonl", func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	defer stop()
	wait := func(what string) {
		t.Helper()
		select {
		case <-woken:
		case <-time.After(30 * time.Second):
			t.Fatal("it was not woken: " + what)
		}
	}
	wait("the connection is there")
	for range 2 {
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		wait("a line was written")
	}
	unlock, err := writer.Lock("/s.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	wait("the lock has ended")
	pids := postgrestest.Rows(t, address, listening)
	if len(pids) != 1 {
		t.Fatalf("%q listen", pids)
	}
	if err := postgrestest.Exec(t.Context(), address, "SELECT pg_terminate_backend("+pids[0]+")"); err != nil {
		t.Fatal(err)
	}
	wait("the connection is there again")
	if _, err := f.Write([]byte("line\n")); err != nil {
		t.Fatal(err)
	}
	wait("a line was written after the connection was lost")
	stop()
	eventually(t, "the connection has ended", func() bool { return len(postgrestest.Rows(t, address, listening)) == 0 })
}

// eventually waits until another process has done something.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not after 30 seconds: " + what)
		}
	}
}

// A process that continues after its lease has ended learns that another one has taken the session over, without a write.
func TestLost(t *testing.T) {
	address := cluster.Database(t)
	slow := open(t, address, postgres.Options{Lease: 200 * time.Millisecond, Renew: time.Second}).FileSystem("me")
	s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: slow})
	l := create(t, s)
	lost := sessions.Lost(l)
	if lost == nil {
		t.Fatal("there is no channel")
	}
	other := create(t, s)
	openLater(t, store(t, address, postgres.Options{}), l.ID())
	select {
	case <-lost:
	case <-time.After(30 * time.Second):
		t.Fatal("the process has not learned it")
	}
	select {
	case <-sessions.Lost(other):
		t.Error("another session counts as taken over")
	default:
	}
}

func TestOpen_Lease(t *testing.T) {
	address := cluster.Database(t)
	short := address + "&gjc_lease=1s"
	s := store(t, short, postgres.Options{})
	l := create(t, s)
	rows := postgrestest.Rows(t, address, "SELECT count(*)::text FROM gjc_leases WHERE expires - clock_timestamp() < interval '1 second'")
	if len(rows) != 1 || rows[0] != "1" {
		t.Errorf("the leases that end within a second: %q", rows)
	}
	// It is renewed.
	since := "SELECT (expires > since + interval '1100 milliseconds')::text FROM gjc_leases"
	eventually(t, "the lease is renewed", func() bool { return strings.Join(postgrestest.Rows(t, address, since), "") == "true" })
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"0s", "-3s", "3", "1h", "soon"} {
		if _, err := postgres.Open(t.Context(), address+"&gjc_lease="+wrong, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "gjc_lease") || errors.Is(err, sessions.ErrUnavailable) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
