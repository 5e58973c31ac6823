package fleet

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// The faults, with their weights. All but pauses are kills.
const (
	killClient  = "kill client"
	killServer  = "kill server"  // its process; the engine ends by itself
	killEngine  = "kill engine"  // the server goes on
	killMachine = "kill machine" // all its processes at once
	pauseServer = "pause server" // for longer than a lease
)

var weights = [...]struct {
	fault  string
	weight int
}{{killClient, 9}, {killMachine, 5}, {killServer, 2}, {killEngine, 2}, {pauseServer, 2}}

// inject kills clients and servers at random moments, each while a turn runs.
func (f *fleet) inject(ctx context.Context, r *rand.Rand) {
	f.t.Helper()
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	for done := 0; done < *kills; {
		f.awaitTurn(ctx)
		sleep(ctx, time.Duration(r.IntN(400))*time.Millisecond)
		n, fault := r.IntN(total), ""
		for _, w := range weights {
			if n -= w.weight; n < 0 {
				fault = w.fault
				break
			}
		}
		if f.harm(ctx, r, fault) {
			f.count(fault)
			if fault != pauseServer {
				done++
			}
		}
	}
}

// awaitTurn waits until a turn runs.
func (f *fleet) awaitTurn(ctx context.Context) {
	f.t.Helper()
	for begin := time.Now(); !slices.ContainsFunc(f.clients, (*client).busy); sleep(ctx, 5*time.Millisecond) {
		if time.Since(begin) > hang {
			f.t.Fatal("no client can prompt any more")
		}
	}
}

// settle waits until all servers run and clients have loaded each session again.
func (f *fleet) settle(ctx context.Context) {
	f.t.Helper()
	f.restarts.Wait()
	last := time.Now()
	for _, s := range f.sessions {
		for s.firstLoad(last).IsZero() {
			if time.Since(last) > hang {
				f.t.Fatalf("no client can load session %d any more:\n%s%s", s.number, s.lastErrors(), s.between(last.Add(-leaseTime), time.Now()))
			}
			sleep(ctx, retryTime)
		}
	}
}

// harm does one fault. It returns false if that was not possible.
func (f *fleet) harm(ctx context.Context, r *rand.Rand, fault string) bool {
	f.t.Helper()
	if fault == killClient {
		// Mostly one whose turn runs.
		all := f.clients
		if busy := slices.DeleteFunc(slices.Clone(all), func(c *client) bool { return !c.busy() }); len(busy) > 0 && r.IntN(4) > 0 {
			all = busy
		}
		return all[r.IntN(len(all))].kill(r.IntN(2) == 0)
	}
	s := f.servers[r.IntN(len(f.servers))]
	up := len(slices.DeleteFunc(slices.Clone(f.servers), func(s *server) bool { return !s.usable() }))
	if !s.usable() || up < 2 || up < servers && r.IntN(4) > 0 { // mostly one at a time
		return false
	}
	pause := time.Duration(r.IntN(1000)) * time.Millisecond
	switch fault {
	case killEngine:
		ok, err := s.killEngine()
		f.check(err)
		if ok {
			f.happened(s, fault)
		}
		return ok
	case pauseServer:
		f.check(s.pause(true))
		f.happened(s, fault)
		f.restarts.Go(func() {
			sleep(context.WithoutCancel(ctx), leaseTime+500*time.Millisecond+pause)
			f.check(s.pause(false))
			f.happened(s, "goes on")
		})
	default:
		ids, err := s.kill(fault == killMachine)
		f.check(err)
		f.happened(s, fault)
		if fault == killMachine {
			f.mu.Lock()
			for _, id := range ids {
				f.killed[id] = true
			}
			f.mu.Unlock()
		}
		f.restarts.Go(func() {
			sleep(context.WithoutCancel(ctx), pause)
			f.check(s.start())
			f.happened(s, "runs")
		})
	}
	return true
}

// happened records what a server has suffered, for all sessions.
func (f *fleet) happened(at *server, what string) {
	for _, s := range f.sessions {
		s.happened("server %d: %s", at.number, what)
	}
}

func (f *fleet) check(err error) {
	if err != nil {
		f.t.Error(err)
	}
}
