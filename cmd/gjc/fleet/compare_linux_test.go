package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
)

// together is the number of sessions that are compared at a time.
const together = 5

// each calls do for all sessions, several at a time.
func (f *fleet) each(do func(*session) error) {
	var all sync.WaitGroup
	limit := make(chan struct{}, together)
	for _, s := range f.sessions {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if err := do(s); err != nil {
				f.violations(fmt.Sprintf("session %d at the end: %v", s.number, err))
			}
		})
	}
	all.Wait()
}

// gatherAll has all clients load their session again, at the same server.
func (f *fleet) gatherAll() {
	f.each(func(s *session) error {
		all := []*client{f.newClient(s)}
		for _, c := range f.clients {
			if c.session == s {
				all = append(all, c)
			}
		}
		s.all = all
		return f.gather(all)
	})
}

// newClient returns a client that knows nothing. It connects over WebSocket.
func (f *fleet) newClient(s *session) *client {
	return &client{number: clients + 1, fleet: f, session: s, random: rand.New(rand.NewPCG(*seed, 1<<32+uint64(s.number)))}
}

// gather has clients load their session. The first one prompts, and all follow until the answer.
func (f *fleet) gather(all []*client) error {
	var first *link
	for _, c := range all {
		l, err := f.open(c)
		if err != nil {
			return fmt.Errorf("loading it: %w", err)
		}
		defer c.leave(l)
		if first == nil {
			first = l
		}
	}
	// The answer to a prompt comes after the turns of others.
	if err := all[0].prompt(context.Background(), first); err != nil {
		return fmt.Errorf("prompting: %w", err)
	}
	last := all[0].seq()
	for begin := time.Now(); ; time.Sleep(retryTime) { // other processes pass the updates on
		behind := slices.IndexFunc(all, func(c *client) bool { return c.seq() < last })
		if behind < 0 {
			return nil
		}
		if time.Since(begin) > hang {
			return fmt.Errorf("client %d has the updates up to %d, and another one those up to %d", all[behind].number, all[behind].seq(), last)
		}
	}
}

// compareAll has a client that knows nothing load each session, which no server has open. What that one shows is stored, and all others show the
// same.
func (f *fleet) compareAll() {
	f.each(func(s *session) error {
		reader := f.newClient(s)
		l, err := f.open(reader)
		if err != nil {
			return err
		}
		stored := reader.view
		reader.leave(l)
		ran, err := os.ReadFile(filepath.Join(s.dir, callsFile))
		if err != nil {
			return err
		}
		f.violations(s.check(stored, ran)...)
		for _, c := range s.all {
			if c.view == nil {
				continue // it could not load the session, which was reported
			}
			if diff := cmp.Diff(stored.String(), c.view.String()); diff != "" {
				f.violations(fmt.Sprintf("client %d shows another conversation of session %d than the stored one (-stored +shown):\n%.3000s", c.number, s.number, diff))
			}
		}
		return nil
	})
}

var errElsewhere = errors.New("another server has the session")

// open connects a client to the server that has its session, or to any if none has, and loads the session.
func (f *fleet) open(c *client) (l *link, err error) {
	at := c.session.lastHome()
	for begin := time.Now(); ; time.Sleep(retryTime) { // another process releases it, or its lease ends
		if l, err = c.connect(context.Background(), at); err == nil {
			if err = c.load(context.Background(), l); err == nil {
				if _, watches, _ := c.part(); !watches {
					c.session.loadedAt(at)
					return l, nil
				}
				err = errElsewhere
			}
			c.leave(l)
		}
		if time.Since(begin) > hang {
			return nil, err
		}
		at = f.servers[(at.number+1)%servers]
	}
}
