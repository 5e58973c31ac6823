package postgres_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

var histories = flag.Int("histories", 30, "number of random histories with a server that is killed")

// store returns the store of a new process.
func store(t testing.TB, address string, opts postgres.Options) *sessions.Store {
	t.Helper()
	return sessions.NewStore("/sessions", &sessions.StoreOptions{FS: open(t, address, opts).FileSystem("me")})
}

func message(text string) *providers.Message {
	return &providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}

func create(t testing.TB, s *sessions.Store) *sessions.Log {
	t.Helper()
	l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/demo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t testing.TB, l *sessions.Log, text string) {
	t.Helper()
	if _, err := l.AppendMessage(message(text)); err != nil {
		t.Fatal(err)
	}
}

// texts returns the messages that another process reads.
func texts(t testing.TB, s *sessions.Store, id string) []string {
	t.Helper()
	v, err := s.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.Messages()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range all {
		found = append(found, all[i].Text())
	}
	return found
}

// openLater opens a session as soon as the lease of its last owner has expired.
func openLater(t testing.TB, s *sessions.Store, id string) *sessions.Log {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		l, err := s.Open(t.Context(), id)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
		if !errors.Is(err, sessions.ErrLocked) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// paused are the options of a process that does not renew its leases, as if it was paused.
var paused = postgres.Options{Lease: 200 * time.Millisecond, Renew: time.Hour}

// A process that was paused for longer than its lease cannot write any more, whatever it tries.
func TestFence(t *testing.T) {
	address := cluster.Database(t)
	db := open(t, address, paused)
	fsys := db.FileSystem("me")
	slow := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys})
	l := create(t, slow)
	add(t, l, "before")
	f, err := fsys.OpenFile(l.Path(), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	other := store(t, address, postgres.Options{})
	if _, err := other.Open(t.Context(), l.ID()); !errors.Is(err, sessions.ErrLocked) {
		t.Fatalf("a session with a lease was opened: %v", err)
	}
	taken := openLater(t, other, l.ID())
	add(t, taken, "theirs")

	_, appended := l.AppendMessage(message("late"))
	if !errors.Is(appended, sessions.ErrReadOnly) || !errors.Is(appended, sessions.ErrTakenOver) {
		t.Errorf("Append: %v", appended)
	}
	_, opened := fsys.OpenFile(l.Path()+"x.jsonl", os.O_CREATE|os.O_WRONLY, 0)
	if opened != nil {
		t.Errorf("another file: %v", opened)
	}
	attempts := map[string]func() error{
		"write":    func() error { _, err := f.Write([]byte("late\n")); return err },
		"truncate": func() error { return f.Truncate(10) },
		"remove":   func() error { return fsys.Remove(l.Path()) },
		"rename":   func() error { return fsys.Rename(l.Path(), "/sessions/gone") },
		"replace":  func() error { return fsys.Rename(l.Path()+"x.jsonl", l.Path()) },
		"reopen": func() error {
			f, err := fsys.OpenFile(l.Path(), os.O_RDWR|os.O_APPEND, 0)
			if err == nil {
				_, err = f.Write([]byte("late\n"))
			}
			return err
		},
	}
	for _, when := range []string{"taken over", "after the other has closed it"} {
		for name, attempt := range attempts {
			if err := attempt(); !errors.Is(err, sessions.ErrTakenOver) {
				t.Errorf("%s, %s: %v", name, when, err)
			}
		}
		if err := taken.Close(); err != nil {
			t.Error(err)
		}
	}
	if advice := sessions.WriteAdvice(sessions.ErrTakenOver); !strings.Contains(advice, "another server has taken the session over") {
		t.Errorf("the advice is %q", advice)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	_ = l.Close() // its lease is gone
	if got := texts(t, other, l.ID()); !slices.Equal(got, []string{"before", "theirs"}) {
		t.Errorf("the session has %q", got)
	}
	again := openLater(t, slow, l.ID())
	add(t, again, "again")
	epochs := postgrestest.Rows(t, address, "SELECT epoch FROM gjc_data ORDER BY seq")
	if len(epochs) != 4 || epochs[0] != epochs[1] || epochs[1] == epochs[2] || epochs[2] == epochs[3] || !slices.IsSorted(epochs) {
		t.Errorf("the epochs of the lines are %q", epochs)
	}
}

// A process without a lease cannot change a session that another has open.
func TestFence_WithoutLease(t *testing.T) {
	address := cluster.Database(t)
	l := create(t, store(t, address, postgres.Options{}))
	fsys := open(t, address, postgres.Options{}).FileSystem("me")
	f, err := fsys.OpenFile(l.Path(), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, written := f.Write([]byte("x\n"))
	for what, err := range map[string]error{"write": written, "truncate": f.Truncate(0), "remove": fsys.Remove(l.Path()), "rename": fsys.Rename(l.Path(), "/x")} {
		if !errors.Is(err, sessions.ErrLocked) {
			t.Errorf("%s: %v", what, err)
		}
	}
	add(t, l, "fine")
}

// A lease is renewed while its holder lives, and is free when the holder has died.
func TestLease(t *testing.T) {
	address := cluster.Database(t)
	opts := postgres.Options{Lease: 400 * time.Millisecond, Renew: 50 * time.Millisecond}
	db := open(t, address, opts)
	l, err := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: db.FileSystem("me")}).Create(t.Context(), sessions.Header{Cwd: "/w/demo"})
	if err != nil {
		t.Fatal(err)
	}
	other := store(t, address, opts)
	for deadline := time.Now().Add(10 * time.Second); ; { // until it has been renewed twice its time
		if slices.Equal(postgrestest.Rows(t, address, "SELECT expires > since + interval '1.2 seconds' FROM gjc_leases"), []string{"t"}) {
			break
		}
		if _, err := other.Open(t.Context(), l.ID()); !errors.Is(err, sessions.ErrLocked) || time.Now().After(deadline) {
			t.Fatalf("a session whose owner lives was opened: %v", err)
		}
	}
	add(t, l, "one")
	db.Close()
	if _, err := l.AppendMessage(message("two")); !errors.Is(err, sessions.ErrUnavailable) {
		t.Errorf("a write after the end: %v", err)
	}
	add(t, openLater(t, other, l.ID()), "three")
	if got := texts(t, other, l.ID()); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("the session has %q", got)
	}
}

// refuse makes statements about the lease of a session fail until the returned function is called. The database is full, as it says. change is
// what the statements do, such as "DELETE".
func refuse(t testing.TB, address, change, id string) (stop func()) {
	t.Helper()
	err := postgrestest.Exec(t.Context(), address, fmt.Sprintf(`
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' AND OLD.name LIKE '%%%[2]s%%' OR TG_OP = 'UPDATE' AND NEW.name LIKE '%%%[2]s%%' AND NEW.epoch <> OLD.epoch THEN
    RAISE EXCEPTION 'simulated' USING ERRCODE = '53100';
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER refuse BEFORE %[1]s ON gjc_leases FOR EACH ROW EXECUTE FUNCTION refuse()`, change, id))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := postgrestest.Exec(t.Context(), address, "DROP FUNCTION refuse CASCADE"); err != nil {
			t.Fatal(err)
		}
	}
}

// leasesOf returns how many leases a session has.
func leasesOf(t testing.TB, address, id string) string {
	t.Helper()
	return postgrestest.Rows(t, address, "SELECT count(*) FROM gjc_leases WHERE name LIKE '%"+id+"%'")[0]
}

// A session that was closed while the database refused to end its lease can be opened when the lease has expired, although the process renews
// the leases of its other sessions. The process ends the lease later if no other one has taken it over.
func TestLease_NotDropped(t *testing.T) {
	address := cluster.Database(t)
	s := store(t, address, postgres.Options{Lease: 600 * time.Millisecond, Renew: 100 * time.Millisecond, Patience: 200 * time.Millisecond})
	add(t, create(t, s), "another session")
	one, two := create(t, s), create(t, s)
	for _, l := range []*sessions.Log{one, two} {
		add(t, l, "prompt")
		stop := refuse(t, address, "DELETE", l.ID())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if n := leasesOf(t, address, l.ID()); n != "1" {
			t.Fatalf("the session that was closed has %s leases: the test tests nothing", n)
		}
		if l == one {
			add(t, openLater(t, store(t, address, postgres.Options{}), l.ID()), "again")
		}
		stop()
	}
	eventually(t, "the end of the lease", func() bool { return leasesOf(t, address, two.ID()) == "0" })
	if n := leasesOf(t, address, one.ID()); n != "1" {
		t.Errorf("the session that another process has open has %s leases", n)
	}
}

// A session whose opening has failed, after the database had given the process the lease, can be opened later.
func TestLease_Unknown(t *testing.T) {
	direct := cluster.Database(t)
	p, address := newProxy(t, direct)
	s := store(t, address, postgres.Options{Conns: 1, Lease: 600 * time.Millisecond, Renew: 100 * time.Millisecond, Patience: 200 * time.Millisecond})
	add(t, create(t, s), "another session")
	l := create(t, s)
	add(t, l, "prompt")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stop := refuse(t, direct, "UPDATE", l.ID())
	for skip := int32(0); leasesOf(t, direct, l.ID()) == "0"; skip++ { // until the answer to the commit is lost
		if skip == 100 {
			t.Fatal("no lost answer leaves a lease")
		}
		p.skip.Store(skip % 20)
		p.mode.Store(loseAnswer)
		if l, err := s.Open(t.Context(), l.ID()); err == nil {
			p.mode.Store(forward)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		p.mode.Store(forward)
	}
	stop()
	eventually(t, "the end of the lease", func() bool { return leasesOf(t, direct, l.ID()) == "0" })
	add(t, openLater(t, s, l.ID()), "again")
}

// A process that pauses in a transaction does not keep others from taking over a session whose lease has ended. It does the transaction again when
// it goes on.
func TestLease_PausedInTransaction(t *testing.T) {
	address := cluster.Database(t)
	opts := postgres.Options{Lease: time.Second}
	db := open(t, address, opts)
	l, err := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: db.FileSystem("me")}).Create(t.Context(), sessions.Header{Cwd: "/w/demo"})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	paused, resume, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	sleeper := open(t, address, opts)
	go func() { done <- sleeper.Pause("UPDATE gjc_leases SET host = 'sleeper' || host", paused, resume) }()
	<-paused
	add(t, openLater(t, store(t, address, opts), l.ID()), "one") // it would wait forever
	close(resume)
	if err := <-done; err != nil {
		t.Errorf("the transaction that was paused: %v", err)
	}
	if got := postgrestest.Rows(t, address, "SELECT count(*) FROM gjc_leases WHERE host LIKE 'sleepersleeper%'"); !slices.Equal(got, []string{"0"}) {
		t.Errorf("it was done twice: %q", got)
	}
}

func TestOwners(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	mine, theirs := db.FileSystem("me"), db.FileSystem("them")
	s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: mine})
	l := create(t, s)
	add(t, l, "secret")
	if _, err := theirs.ReadFile(l.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another owner's file: %v", err)
	}
	if err := theirs.Remove(l.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing another owner's file: %v", err)
	}
	if err := theirs.RemoveAll("/"); err != nil {
		t.Error(err)
	}
	if _, err := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: theirs}).View(t.Context(), l.ID()); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("another owner's session: %v", err)
	}
	add(t, l, "still there")
}

func TestTooLarge(t *testing.T) {
	opts := postgres.Options{MaxSession: 2000, MaxFile: 1000}
	db := open(t, cluster.Database(t), opts)
	fsys := db.FileSystem("me")
	l := create(t, sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys}))
	add(t, l, strings.Repeat("x", 1000))
	if _, err := l.AppendMessage(message(strings.Repeat("x", 1000))); !errors.Is(err, sessions.ErrTooLarge) || !strings.Contains(sessions.WriteAdvice(err), "too large") {
		t.Errorf("a session above the limit: %v", err)
	}
	if _, err := l.Artifacts().Put(t.Context(), "bash", make([]byte, 1001)); !errors.Is(err, sessions.ErrTooLarge) {
		t.Errorf("an artifact above the limit: %v", err)
	}
	add(t, l, "fits")
}

// fail makes the first n inserts of lines fail with a code of the server.
func fail(t testing.TB, address, code string, n int) {
	t.Helper()
	err := postgrestest.Exec(t.Context(), address, fmt.Sprintf(`
CREATE SEQUENCE failures;
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('failures') <= %d THEN RAISE EXCEPTION 'simulated' USING ERRCODE = '%s'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON gjc_data FOR EACH ROW EXECUTE FUNCTION fail()`, n, code))
	if err != nil {
		t.Fatal(err)
	}
}

// A write waits for a server that is full or busy, and returns an error after its patience, without losing or doubling a line.
func TestServerErrors(t *testing.T) {
	for name, code := range map[string]string{
		"disk full": "53100", "too many connections": "53300", "serialization": "40001", "deadlock": "40P01",
		"shutdown": "57P01", "statement timeout": "57014", "standby": "25006",
	} {
		t.Run(name, func(t *testing.T) {
			address := cluster.Database(t)
			s := store(t, address, postgres.Options{Patience: time.Second})
			l := create(t, s)
			add(t, l, "one")
			fail(t, address, code, 2)
			add(t, l, "two")
			if err := postgrestest.Exec(t.Context(), address, "ALTER SEQUENCE failures RESTART; CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'simulated' USING ERRCODE = '"+code+"'; END $$"); err != nil {
				t.Fatal(err)
			}
			_, err := l.AppendMessage(message("three"))
			if !errors.Is(err, sessions.ErrReadOnly) || !errors.Is(err, sessions.ErrUnavailable) || !strings.Contains(err.Error(), "simulated") {
				t.Fatalf("err = %v", err)
			}
			if advice := sessions.WriteAdvice(err); !strings.Contains(advice, "wait until its database works") {
				t.Errorf("the advice is %q", advice)
			}
			if err := postgrestest.Exec(t.Context(), address, "DROP TRIGGER fail ON gjc_data"); err != nil {
				t.Fatal(err)
			}
			add(t, l, "four")
			if got := texts(t, s, l.ID()); !slices.Equal(got, []string{"one", "two", "four"}) {
				t.Errorf("the session has %q", got)
			}
		})
	}
}

// An error that waiting does not change is returned at once, and without the password.
func TestOpen_Errors(t *testing.T) {
	address := cluster.Database(t)
	for _, bad := range []string{
		strings.Replace(address, "/test", "/missing", 1) + "&password=hunter2",
		strings.Replace(address, "user=gjc", "user=stranger", 1) + "&password=hunter2",
	} {
		db := open(t, bad, postgres.Options{Patience: time.Minute})
		start := time.Now()
		err := db.Ping()
		if !errors.Is(err, sessions.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v", err)
		}
		if time.Since(start) > 30*time.Second {
			t.Errorf("it has waited for %v", bad)
		}
	}
	if _, err := postgres.Open(t.Context(), "postgres://u:hunter2@host:port/x", postgres.Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong address: %v", err)
	}
	for address, want := range map[string]string{
		"postgres://u:hunter2@host/x":                       "postgres://u:xxxxx@host/x",
		"postgres:///x?host=/run&password=hunter2":          "postgres:///x?host=%2Frun&password=xxxxx",
		"host=h password=hunter2":                           "postgres://…",
		"postgres://u:hunter2@host:port/x":                  "postgres://…",
		"postgresql://host:1,other:2/x?sslpassword=hunter2": "postgresql://…",
	} {
		if got := postgres.Redact(address); strings.Contains(got, "hunter2") || got != want && !strings.HasSuffix(want, "…") {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
	}
}

// Several processes create the tables at once, and a process works with a schema that is one version newer, and no more.
func TestMigrate(t *testing.T) {
	address := cluster.Database(t)
	var wg sync.WaitGroup
	for range 6 {
		db := open(t, address, postgres.Options{})
		wg.Go(func() {
			if err := db.Ping(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := postgrestest.Rows(t, address, "SELECT version FROM gjc_schema"); !slices.Equal(got, []string{"1"}) {
		t.Fatalf("the versions are %q", got)
	}
	l := create(t, store(t, address, postgres.Options{}))
	// What a later version may do, by the rule of the migrations.
	if err := postgrestest.Exec(t.Context(), address, `
ALTER TABLE gjc_files ADD COLUMN later text NOT NULL DEFAULT ''; ALTER TABLE gjc_data ADD COLUMN later bigint; CREATE TABLE gjc_later (id bigint);
INSERT INTO gjc_schema (version) VALUES (2)`); err != nil {
		t.Fatal(err)
	}
	add(t, l, "by a server that was running")
	add(t, create(t, store(t, address, postgres.Options{})), "by a server that was started")
	if err := postgrestest.Exec(t.Context(), address, "INSERT INTO gjc_schema (version) VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	if err := open(t, address, postgres.Options{}).Ping(); err == nil || !strings.Contains(err.Error(), "upgrade gjc") {
		t.Errorf("with tables of a much later version: %v", err)
	}
}

// Nothing that was acknowledged is lost, and nothing is doubled, when connections break and the server is killed.
func TestHistories(t *testing.T) {
	own := new(postgrestest.Cluster)
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	address := own.Database(t)
	for seed := range *histories {
		h := &history{T: t, cluster: own, address: address, r: rand.New(rand.NewPCG(uint64(seed), 1)), kill: seed%3 == 0}
		if h.run(); t.Failed() {
			t.Fatalf("history %d", seed)
		}
	}
}

// history is the work of a few processes on a server that is disturbed.
type history struct {
	*testing.T
	cluster *postgrestest.Cluster
	address string
	r       *rand.Rand
	kill    bool
}

func (h *history) run() {
	const writers = 3
	var workers sync.WaitGroup
	logs, want := make([]*sessions.Log, writers), make([][]string, writers)
	stores := make([]*sessions.Store, writers)
	ended := make(chan struct{})
	for i := range writers {
		stores[i] = store(h, h.address, postgres.Options{Conns: 2})
		logs[i] = create(h, stores[i])
		r := rand.New(rand.NewPCG(h.r.Uint64(), uint64(i)))
		workers.Go(func() { logs[i], want[i] = h.work(stores[i], logs[i], r) })
	}
	go func() {
		workers.Wait()
		close(ended)
	}()
	h.disturb(ended)
	<-ended
	for i := range writers {
		if got := texts(h, stores[i], logs[i].ID()); !slices.Equal(got, want[i]) {
			h.Errorf("writer %d: the session has %q, acknowledged were %q", i, got, want[i])
		}
		if err := logs[i].Close(); err != nil {
			h.Error(err)
		}
	}
	for _, bad := range postgrestest.Rows(h, h.address, `
SELECT f.name FROM gjc_files f LEFT JOIN gjc_data d ON d.file = f.id WHERE NOT f.is_dir GROUP BY f.id
HAVING f.size <> coalesce(sum(length(d.data)), 0) OR f.pieces <> count(d.seq) OR f.pieces <> coalesce(max(d.seq) + 1, 0)`) {
		h.Errorf("the rows of %s do not fit together", bad)
	}
}

// work does random things with a session, and returns what was acknowledged.
func (h *history) work(s *sessions.Store, l *sessions.Log, r *rand.Rand) (*sessions.Log, []string) {
	var acknowledged []string
	failed := func(err error) bool {
		if err != nil {
			h.Error(err)
		}
		return err != nil
	}
	for n := range 40 {
		switch r.IntN(12) {
		case 0:
			id := l.ID()
			if failed(l.Close()) {
				return l, acknowledged
			}
			again, err := s.Open(h.Context(), id)
			if failed(err) {
				return l, acknowledged
			}
			l = again
		case 1:
			failed(l.SetTitle(fmt.Sprint("title ", n), "user"))
		case 2:
			_, err := l.Artifacts().Put(h.Context(), "bash", []byte("output"))
			failed(err)
		case 3:
			failed(l.Local().Write(h.Context(), "local://plan.md", []byte("a plan")))
		case 4:
			fork, err := s.Fork(h.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/fork"})
			if !errors.Is(err, sessions.ErrNothingToFork) && !failed(err) {
				failed(fork.Close())
				failed(s.Delete(h.Context(), fork.ID()))
			}
		default:
			text := fmt.Sprint("message ", n, strings.Repeat(" and more", r.IntN(200)))
			if _, err := l.AppendMessage(message(text)); !failed(err) {
				acknowledged = append(acknowledged, text)
			}
		}
	}
	return l, acknowledged
}

// disturb ends connections at random moments, or kills the server, until the work has ended.
func (h *history) disturb(ended <-chan struct{}) {
	killed := false
	for {
		select {
		case <-ended:
			return
		case <-time.After(time.Duration(h.r.IntN(30)) * time.Millisecond): // a random moment
		}
		if h.kill && !killed {
			killed = true
			h.cluster.Kill(h)
			h.cluster.Restart(h)
			continue
		}
		// One connection of any writer.
		_ = postgrestest.Exec(h.Context(), h.address, `
SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE application_name = 'gjc' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) p`)
	}
}
