package postgres

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// lease is the right to write a file, for as long as no other process has taken it over.
type lease struct {
	at     place
	holder string
	epoch  int64
}

// leases are the leases that a process renews.
type leases struct {
	mu      sync.Mutex // guards the fields below
	held    map[*lease]bool
	renewer sync.WaitGroup
	running bool
}

// add has a lease renewed, with renew, until it is removed or life ends.
func (l *leases) add(life context.Context, held *lease, every time.Duration, renew func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[held] = true
	if l.running || life.Err() != nil {
		return
	}
	l.running = true
	l.renewer.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-life.Done():
				return
			case <-ticker.C:
			}
			if l.idle() {
				return
			}
			renew()
		}
	})
}

func (l *leases) remove(held *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, held)
}

// idle ends the renewer if there is nothing to renew.
func (l *leases) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.held) > 0
	return !l.running
}

func (l *leases) wait() { l.renewer.Wait() }

const renewLeases = `
UPDATE gjc_leases SET expires = clock_timestamp() + $2::bigint * interval '1 microsecond' WHERE server = $1`

// renew renews the leases of this process. If the database is not reachable, the next tick tries again. A lease that was taken over
// is not renewed, and the next write of its holder fails.
func (db *DB) renew() {
	_ = db.do(db.opts.Renew, func(ctx context.Context, c *conn, _ bool) error {
		_, err := c.exec(ctx, renewLeases, db.server, db.opts.Lease.Microseconds())
		return err
	})
}

const (
	// takeLease takes a lease that is free or has expired. Its result is empty if another process holds it.
	takeLease = `
INSERT INTO gjc_leases AS l (owner, dir, name, epoch, holder, server, host, pid, since, expires)
VALUES ($1, $2, $3, nextval('gjc_epochs'), $4, $5, $6, $7, clock_timestamp(), clock_timestamp() + $8::bigint * interval '1 microsecond')
ON CONFLICT (owner, dir, name) DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder, server = excluded.server,
  host = excluded.host, pid = excluded.pid, since = excluded.since, expires = excluded.expires
WHERE l.expires < clock_timestamp() OR l.holder = excluded.holder
RETURNING epoch`

	liveLease = `
SELECT host, pid, since FROM gjc_leases WHERE owner = $1 AND dir = $2 AND name = $3 AND expires > clock_timestamp()`

	// shareLease keeps a lease from being taken over until the transaction ends.
	shareLease = `SELECT 1 FROM gjc_leases WHERE owner = $1 AND dir = $2 AND name = $3 AND epoch = $4 FOR SHARE`

	fenceFile = `UPDATE gjc_files SET fence = $4 WHERE owner = $1 AND dir = $2 AND name = $3`

	createLock = `
INSERT INTO gjc_files (owner, dir, name, is_dir) VALUES ($1, $2, $3, false)
ON CONFLICT (owner, dir, name) DO UPDATE SET modified = clock_timestamp()`

	dropLease = `DELETE FROM gjc_leases WHERE owner = $1 AND dir = $2 AND name = $3 AND holder = $4`
)

// lockSuffix ends the name of the file that shows a lock in its directory, as on a disk.
const lockSuffix = ".lock"

// Lock implements [sessions.FileSystem]: it takes a lease.
func (f *fileSystem) Lock(name string) (unlock func(), err error) {
	at, err := f.place("lock", name)
	if err != nil {
		return nil, err
	}
	held := &lease{at: at, holder: token()}
	err = f.do("lock", at, func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() error { return f.take(ctx, c, held) })
	})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.leases[at.path()] = held
	f.mu.Unlock()
	f.db.leases.add(f.db.life, held, f.db.opts.Renew, f.db.renew)
	return func() { f.unlock(held) }, nil
}

// take takes the lease in a transaction.
func (f *fileSystem) take(ctx context.Context, c *conn, held *lease) error {
	at, db := held.at, f.db
	free, err := c.first(ctx, func(r row) { held.epoch = r.int(0) }, takeLease,
		f.owner, at.dir, at.name, held.holder, db.server, db.host, int64(os.Getpid()), db.opts.Lease.Microseconds())
	if err != nil {
		return err
	}
	if !free {
		return f.lockedBy(ctx, c, at)
	}
	if err := f.touch(ctx, c, at.dir); err != nil {
		return err
	}
	if _, err := c.exec(ctx, createLock, f.owner, at.dir, at.name+lockSuffix); err != nil {
		return err
	}
	_, err = c.exec(ctx, fenceFile, f.owner, at.dir, at.name, held.epoch)
	return err
}

// lockedBy returns the error about the present holder of a lease.
func (f *fileSystem) lockedBy(ctx context.Context, c *conn, at place) error {
	locked := &sessions.LockedError{Path: at.path()}
	_, err := c.first(ctx, func(r row) {
		locked.PID, locked.Since = int(r.int(1)), r.time(2)
		if host := r.text(0); host != f.db.host {
			locked.Host = host
		}
	}, liveLease, f.owner, at.dir, at.name)
	if err != nil {
		return err
	}
	return locked
}

// unlock ends a lease. If the database is not reachable for a moment, the lease expires.
func (f *fileSystem) unlock(held *lease) {
	at := held.at
	f.mu.Lock()
	if f.leases[at.path()] == held {
		delete(f.leases, at.path())
	}
	f.mu.Unlock()
	f.db.leases.remove(held)
	_ = f.db.do(min(f.db.opts.Patience, f.db.opts.Lease), func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() error {
			n, err := c.exec(ctx, dropLease, f.owner, at.dir, at.name, held.holder)
			if err != nil || n == 0 {
				return err
			}
			if n, err = c.exec(ctx, deleteName, f.owner, at.dir, at.name+lockSuffix); err != nil || n == 0 {
				return err
			}
			return ignoreMissing(f.touch(ctx, c, at.dir))
		})
	})
}

// lease returns the lease that this file system has on a file, or nil.
func (f *fileSystem) lease(at place) *lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leases[at.path()]
}

// guard checks in a transaction that this process may change a name: that it has the lease, or that no other has one.
func (f *fileSystem) guard(ctx context.Context, c *conn, at place, held *lease) error {
	if held == nil && !at.isSession() {
		return nil
	}
	if held == nil {
		locked, err := c.first(ctx, func(row) {}, liveLease, f.owner, at.dir, at.name)
		if err != nil || !locked {
			return err
		}
		return f.lockedBy(ctx, c, at)
	}
	mine, err := c.first(ctx, func(row) {}, shareLease, f.owner, at.dir, at.name, held.epoch)
	if err == nil && !mine {
		err = sessions.ErrTakenOver
	}
	return err
}
