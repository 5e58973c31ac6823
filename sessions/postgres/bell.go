package postgres

import (
	"context"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// ringEvery is the least time between two notifications of a process: a notification takes a lock of the whole server.
	ringEvery = 50 * time.Millisecond
	// ringPatience bounds how long a notification may take. Without it, readers see the change when they next look.
	ringPatience = time.Second
	// maxPayload bounds the text of a notification, in bytes. The server's limit is 8000.
	maxPayload = 7000
)

// watchName identifies a file in notifications.
func watchName(owner string, at place) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(owner + "\x00" + at.path())) // never fails
	return hex.EncodeToString(sum.Sum(nil))
}

// channel is the channel of the notifications: processes with the same role share files.
func (db *DB) channel() string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(db.config.User)) // never fails
	return "gjc_" + hex.EncodeToString(sum.Sum(nil))
}

// bell notifies other processes of the files that this one has changed, outside of the transactions that change them.
type bell struct {
	mu      sync.Mutex // guards the fields below
	changed map[string]bool
	running bool
	closed  bool
	hurried chan struct{} // closed with closed
	ringer  sync.WaitGroup
}

// ring notifies the readers of a file, at once or with the next notification.
func (db *DB) ring(owner string, at place) {
	b := &db.bell
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(map[string]bool)
	}
	b.changed[watchName(owner, at)] = true
	if b.running || b.closed {
		return
	}
	b.running = true
	b.ringer.Go(db.ringAll)
}

// ringAll sends notifications until there is nothing to notify of.
func (db *DB) ringAll() {
	for {
		payload := db.bell.take()
		if payload == "" {
			return
		}
		// Readers lose time and nothing else if it fails.
		_ = db.do(ringPatience, func(ctx context.Context, c *conn, _ bool) error {
			// It needs no sync of the disk: it does not outlive the server.
			_, err := c.exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)", db.channel(), payload)
			return err
		})
		timer := time.NewTimer(ringEvery)
		select {
		case <-timer.C:
		case <-db.bell.hurried:
			timer.Stop()
		}
	}
}

// take removes names that fit into a notification and returns them; empty if the ringer ends.
func (b *bell) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	size := 0
	for name := range b.changed {
		if size += len(name) + 1; size > maxPayload {
			break
		}
		names = append(names, name)
		delete(b.changed, name)
	}
	b.running = len(names) > 0
	return strings.Join(names, ",")
}

// finish sends what is left.
func (b *bell) finish() {
	b.mu.Lock()
	b.closed = true
	close(b.hurried)
	b.mu.Unlock()
	b.ringer.Wait()
}

// listener receives the notifications of other processes, on a connection of its own, while anything is watched.
type listener struct {
	mu       sync.Mutex // guards the fields below
	watched  map[string]map[*watch]bool
	stop     context.CancelFunc // ends the present connection; nil for none
	listener sync.WaitGroup
}

// watch is a function that is called when a file was changed.
type watch struct{ wake func() }

// Watch implements [sessions.FileSystem].
func (f *fileSystem) Watch(name string, wake func()) (stop func()) {
	at, err := f.place("watch", name)
	if err != nil {
		return func() {} // there is no such file
	}
	key, w, l := watchName(f.owner, at), &watch{wake}, &f.db.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched[key] == nil {
		l.watched[key] = make(map[*watch]bool)
	}
	l.watched[key][w] = true
	if l.stop == nil && f.db.life.Err() == nil {
		ctx, cancel := context.WithCancel(f.db.life)
		l.stop = cancel
		l.listener.Go(func() { f.db.listen(ctx) })
	}
	return func() { l.remove(key, w) }
}

// wait waits for the end of the connection, after the end of the database.
func (l *listener) wait() {
	l.mu.Lock()
	l.mu.Unlock() //nolint:staticcheck // who has it may begin to listen
	l.listener.Wait()
}

func (l *listener) remove(key string, w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.watched[key], w); len(l.watched[key]) == 0 {
		delete(l.watched, key)
	}
	if len(l.watched) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// wake wakes those who watch files; all if there are no names.
func (l *listener) wake(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(names) == 0 {
		for name := range l.watched {
			names = append(names, name)
		}
	}
	for _, name := range names {
		for w := range l.watched[name] {
			w.wake()
		}
	}
}

// maxListenWait is the longest time between two attempts to connect.
const maxListenWait = 5 * time.Second

// listen receives notifications until ctx ends. It connects again when the connection is lost.
func (db *DB) listen(ctx context.Context) {
	for wait := 10 * firstWait; ; wait = min(2*wait, maxListenWait) {
		start := time.Now()
		db.receive(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(start) > maxListenWait {
			wait = 10 * firstWait // it has worked for a while
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// receive receives notifications on one connection, until that is lost or ctx ends. Those who watch look at their files meanwhile.
func (db *DB) receive(ctx context.Context) {
	config := db.config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if n.Payload != "" {
			db.listener.wake(strings.Split(n.Payload, ",")...)
		}
	}
	connecting, cancel := context.WithTimeout(ctx, db.opts.Patience)
	defer cancel()
	pg, err := pgconn.ConnectConfig(connecting, config)
	if err != nil {
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkAfter)
		defer cancel()
		_ = pg.Close(closing) // it is of no more use
		<-pg.CleanupDone()
	}()
	if _, err := pg.Exec(connecting, "LISTEN "+db.channel()).ReadAll(); err != nil {
		return
	}
	db.listener.wake() // what has changed before
	for pg.WaitForNotification(ctx) == nil {
	}
}
