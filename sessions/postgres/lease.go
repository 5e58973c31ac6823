package postgres

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// lease is the right to write a file, for as long as no other process has taken it over.
type lease struct {
	at     place
	holder string
	epoch  int64

	once sync.Once
	lost chan struct{} // closed when another process is known to have taken it over
}

// lose records that another process has taken the lease over. It may be called on nil.
func (l *lease) lose() {
	if l != nil {
		l.once.Do(func() { close(l.lost) })
	}
}

// leases are the leases that a process renews.
type leases struct {
	mu   sync.Mutex // guards the fields below
	held map[*lease]bool
	// ended are the leases that this process has ended, and that the database may still have, by their owners.
	ended   map[*lease]*fileSystem
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

// end has a lease renewed no more. If the database is not reachable, the lease expires there.
func (l *leases) end(held *lease, owner *fileSystem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, held)
	l.ended[held] = owner
}

// dropped records that the database does not have a lease any more.
func (l *leases) dropped(held *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ended, held)
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
UPDATE gjc_leases SET expires = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE server = $1 AND holder <> ALL (string_to_array($3, ' ')) RETURNING holder`

// renew renews the leases of this process, and drops those that it has ended. If the database is not reachable, the next tick tries again. A
// lease that was taken over is not renewed, and the next write of its holder fails.
func (db *DB) renew() {
	held, ended := db.leases.all()
	var tokens []string
	for l := range ended {
		tokens = append(tokens, l.holder)
	}
	var renewed map[string]bool
	err := db.do(db.opts.Renew, func(ctx context.Context, c *conn, _ bool) error {
		renewed = make(map[string]bool)
		_, err := c.each(ctx, func(r row) { renewed[r.text(0)] = true }, renewLeases, db.server, db.opts.Lease.Microseconds(), strings.Join(tokens, " "))
		return err
	})
	if err != nil {
		return
	}
	for _, l := range held {
		if !renewed[l.holder] {
			l.lose() // or it has ended meanwhile, and is not needed
		}
	}
	for l, owner := range ended {
		if owner.drop(l, db.opts.Renew) != nil {
			return
		}
	}
}

// all returns the leases that are held, and those that were ended.
func (l *leases) all() (held []*lease, ended map[*lease]*fileSystem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held)), maps.Clone(l.ended)
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
SELECT host, pid, since, (extract(epoch FROM expires - clock_timestamp()) * 1000000)::bigint FROM gjc_leases WHERE owner = $1 AND dir = $2 AND name = $3 AND expires > clock_timestamp()`

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
	held := &lease{at: at, holder: token(), lost: make(chan struct{})}
	err = f.do("lock", at, func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() error { return f.take(ctx, c, held) })
	})
	if err != nil {
		if down, ok := errors.AsType[*downError](err); ok && down.unknown {
			f.db.leases.end(held, f) // it may have been taken
		}
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
	locked, _, err := f.holder(ctx, c, at)
	if err != nil {
		return err
	}
	if locked == nil { // it has just ended
		locked = &sessions.LockedError{Path: at.path()}
	}
	return locked
}

// holder returns the present holder of a lease, and the time until the lease expires; nil for none.
func (f *fileSystem) holder(ctx context.Context, c *conn, at place) (locked *sessions.LockedError, left time.Duration, err error) {
	_, err = c.first(ctx, func(r row) {
		locked = &sessions.LockedError{Path: at.path(), PID: int(r.int(1)), Since: r.time(2)}
		if host := r.text(0); host != f.db.host {
			locked.Host = host
		}
		left = time.Duration(r.int(3)) * time.Microsecond
	}, liveLease, f.owner, at.dir, at.name)
	return locked, left, err
}

// Holder implements [sessions.FileSystem].
func (f *fileSystem) Holder(name string) (locked *sessions.LockedError, left time.Duration, err error) {
	at, err := f.place("lock", name)
	if err != nil {
		return nil, 0, err
	}
	err = f.do("lock", at, func(ctx context.Context, c *conn, _ bool) (err error) {
		locked, left, err = f.holder(ctx, c, at)
		return err
	})
	return locked, left, err
}

// Lost returns a channel that is closed when another process is known to have taken over the lease that this file system has on a file;
// nil for none.
func (f *fileSystem) Lost(name string) <-chan struct{} {
	at, err := f.place("lock", name)
	if err != nil {
		return nil
	}
	if held := f.lease(at); held != nil {
		return held.lost
	}
	return nil
}

// Renew returns the time between two renewals of a lease.
func (f *fileSystem) Renew() time.Duration { return f.db.opts.Renew }

// unlock ends a lease.
func (f *fileSystem) unlock(held *lease) {
	at := held.at
	f.mu.Lock()
	if f.leases[at.path()] == held {
		delete(f.leases, at.path())
	}
	f.mu.Unlock()
	f.db.leases.end(held, f)
	_ = f.drop(held, min(f.db.opts.Patience, f.db.opts.Lease)) // a renewal tries again
	f.db.ring(f.owner, at)
}

// drop deletes a lease that this process has ended.
func (f *fileSystem) drop(held *lease, patience time.Duration) error {
	at := held.at
	err := f.db.do(patience, func(ctx context.Context, c *conn, _ bool) error {
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
	if err == nil {
		f.db.leases.dropped(held)
	}
	return err
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
		held.lose()
		err = sessions.ErrTakenOver
	}
	return err
}
