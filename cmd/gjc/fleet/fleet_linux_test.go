package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// "task fleet" kills 200 times; among other tests it is less.
var (
	gjc   = flag.String("gjc", "", "test this gjc instead of building one")
	kills = flag.Int("kills", 20, "how often TestFleet kills clients and servers")
	seed  = flag.Uint64("seed", 0, "seed of TestFleet's random choices, as an earlier run has printed it; 0 for another one")
)

const (
	servers  = 3
	sessions = 20
	clients  = 40 // two for each session
	// leaseTime is the time of a lease. A test with the default of ten seconds would wait most of the time.
	leaseTime = 2 * time.Second
	// slow is the time for a hand-over from which the test describes it.
	slow = time.Second
	// hang is the time for which the test waits for what must happen. Only a hang takes that long.
	hang = time.Minute
)

// cluster is the database's server.
var cluster postgrestest.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	code := testenv.Run(m)
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// mark is the variable in the environments of all processes of this test.
func mark() string { return fmt.Sprintf("GJC_FLEET=%d", os.Getpid()) }

// fleet is the servers, the sessions and their clients.
type fleet struct {
	t                *testing.T
	program, dir     string
	token, tokenFile string
	servers          []*server
	sessions         []*session
	clients          []*client
	restarts         sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	counts map[string]int
	broken []string // rules that were violated
	killed map[int]bool
	// after pauses, the times after which clients learned that another server has their session, and after which they were shown an old one.
	learned, stale []time.Duration
}

// Servers and clients are killed at random moments of running turns. What each client shows is what is stored, what was answered or shown as done
// is there once, and one server at a time writes a session.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("repeat the choices of this run with -seed %d", *seed)
	f := newFleet(t)
	address := cluster.Database(t)
	f.start(address)
	begin := time.Now()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var running sync.WaitGroup
	for _, c := range f.clients {
		running.Go(func() { c.run(ctx) })
	}
	f.inject(ctx, rand.New(rand.NewPCG(*seed, 0)))
	f.settle(ctx)
	end()
	running.Wait()
	took := time.Since(begin)
	f.gatherAll()
	f.stop()
	for _, s := range f.servers { // no session is open
		f.check(s.start())
	}
	f.compareAll()
	f.stop()
	checkWriters(t, address)
	checkConnections(t, address)
	f.report(handOvers(t, address), took)
}

// newFleet builds the program.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), token: "0123456789abcdef0123", counts: make(map[string]int), killed: make(map[int]bool)}
	f.program, f.tokenFile = filepath.Join(f.dir, "gjc"), filepath.Join(f.dir, "token")
	if err := os.WriteFile(f.tokenFile, []byte(f.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if *gjc != "" {
		f.program = *gjc
		return f
	}
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-o", f.program, "github.com/gajae-code/gjc/cmd/gjc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return f
}

// start starts the servers, and creates the sessions.
func (f *fleet) start(address string) {
	f.t.Helper()
	store := address + "&gjc_lease=" + leaseTime.String()
	tables := exec.CommandContext(f.t.Context(), f.program, "sessions", "list", "--store", store)
	tables.Env = environment(f.dir)
	if out, err := tables.CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	if err := postgrestest.Exec(f.t.Context(), address, watchLeases); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if f.t.Failed() {
			testenv.KillProcesses(mark())
			for _, s := range f.servers {
				s.show(f.t)
			}
		}
	})
	for n := range servers {
		s := &server{
			number: n, program: f.program, home: filepath.Join(f.dir, fmt.Sprint("machine", n)), mark: mark(), listen: "127.0.0.1:0",
			args: []string{"--token-file", f.tokenFile, "--store", store},
		}
		f.servers = append(f.servers, s)
		for _, dir := range []string{s.home, s.home + ".tmp"} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				f.t.Fatal(err)
			}
		}
		if err := s.start(); err != nil {
			f.t.Fatal(err)
		}
	}
	for n := range sessions {
		f.newSession(n)
	}
	for n := range clients {
		f.clients = append(f.clients, &client{number: n, fleet: f, session: f.sessions[n/2], random: rand.New(rand.NewPCG(*seed, uint64(n)+1))})
	}
}

// newSession creates a session whose commands run without questions.
func (f *fleet) newSession(n int) {
	f.t.Helper()
	s := &session{fleet: f, number: n, dir: filepath.Join(f.dir, fmt.Sprint("session", n)), calls: make(map[string]string), home: f.servers[n%servers]}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	l, err := dialSocket(f.t.Context(), s.home.address(), f.token, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer l.wait()
	defer func() { _ = l.Close() }()
	_, err = l.Initialize(f.t.Context())
	if err == nil {
		var made *acp.NewSessionResponse
		if made, err = l.NewSession(f.t.Context(), s.dir); err == nil {
			s.id = string(made.SessionID)
			_, err = acp.MethodSessionSetMode.Call(f.t.Context(), l.Conn, &acp.SetSessionModeRequest{SessionID: made.SessionID, ModeID: "auto"})
		}
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.sessions = append(f.sessions, s)
}

// pick returns the server for the next visit of a client: mostly the one that the session was at.
func (f *fleet) pick(c *client) *server {
	if home := c.session.lastHome(); home.usable() && c.random.IntN(4) > 0 {
		return home
	}
	return f.servers[c.random.IntN(len(f.servers))]
}

func (f *fleet) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

func (f *fleet) noticed(since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.learned = append(f.learned, since)
}

func (f *fleet) wasStale(since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = append(f.stale, since)
}

func (f *fleet) violations(all ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = append(f.broken, all...)
}

// note counts the end of a visit by an error.
func (f *fleet) note(err error) {
	what := fmt.Sprintf("%.100v", err)
	switch e, ok := errors.AsType[*acp.Error](err); {
	case ok:
		what = fmt.Sprintf("%d %s", e.Code, kindOf(err))
		if kind := kindOf(err); kind == "storage" || kind == "" {
			what += " " + e.Message
		}
	case errors.Is(err, errDown):
		what = "down"
	case errors.Is(err, context.DeadlineExceeded):
		what = "deadline"
	}
	f.count("error: " + what)
}

// stop ends the servers, and checks that nothing is left of them.
func (f *fleet) stop() {
	f.t.Helper()
	for _, s := range f.servers {
		s.stop(f.t)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) { // guards end processes of others
		left, err := testenv.Processes(mark())
		if err != nil {
			f.t.Error(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Since(begin) > hang {
			f.t.Errorf("processes are left: %v", left)
			return
		}
	}
}

// report describes the run.
func (f *fleet) report(all []handOver, took time.Duration) {
	f.t.Helper()
	var taken, used []time.Duration
	late := 0
	for i, h := range all {
		if !f.killed[h.pid] {
			continue
		}
		s := f.sessions[slices.IndexFunc(f.sessions, func(s *session) bool { return s.id == h.session })]
		at := s.firstLoad(h.takenAt)
		if at.IsZero() {
			at = h.takenAt
		}
		// A hand-over takes the time in which a client wants the session at a server that works.
		took := s.wantedFor(h.expired, h.takenAt)
		taken, used = append(taken, took), append(used, s.wantedFor(h.expired, at))
		if took > slow {
			late++
			f.t.Logf("session %d: the lease ended at %s, and was taken over after %s, of which a client wanted it for %s:%s", s.number, h.expired.Format("15:04:05.000"),
				h.takenAt.Sub(h.expired), took, s.between(h.expired.Add(-leaseTime), at.Add(time.Second/10)))
		}
		next := slices.IndexFunc(all[i+1:], func(later handOver) bool { return later.session == h.session })
		if seen, ok := s.firstTakeover(h.takenAt); ok && seen.cut && seen.sent.After(h.since) && (next < 0 || seen.at.Before(all[i+1+next].takenAt)) {
			f.count("cut turns after a takeover")
			if !seen.interrupted {
				f.violations(fmt.Sprintf("session %d was taken over in a turn, and a client does not show that it was interrupted:\n%s%s",
					s.number, seen.shown, s.between(seen.sent.Add(-leaseTime), seen.at)))
			}
		}
	}
	f.t.Logf("%d takeovers; after kills, from the end of the lease until another server had it %s (%d after more than %s); until a client could prompt %s",
		len(all), distribution(taken), late, slow, distribution(used))
	f.t.Logf("after pauses, until clients were detached %s; clients that were shown an old conversation %s", distribution(f.learned), distribution(f.stale))
	load, _ := os.ReadFile("/proc/loadavg") // only shown
	f.t.Logf("%v, load %s", took.Round(time.Second), strings.TrimSpace(string(load)))
	for _, what := range slices.Sorted(maps.Keys(f.counts)) {
		f.t.Logf("%6d %s", f.counts[what], what)
	}
	for i, text := range f.broken {
		if i == 20 {
			f.t.Errorf("and %d more", len(f.broken)-i)
			break
		}
		f.t.Error(text)
	}
	if f.counts["answered"] == 0 || f.counts["continued"] == 0 || *kills >= 20 && len(all) == 0 {
		f.t.Error("no prompt was answered, no client went on, or no session was taken over: the test tests nothing")
	}
}
