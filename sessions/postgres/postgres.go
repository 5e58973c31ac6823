// Package postgres keeps sessions in a PostgreSQL database, for several servers at a time. It is a [sessions.FileSystem]: everything
// that a session means is in package sessions, for this file system and for that of the operating system.
//
// Files and directories are rows, by owner and path. The content of a session file is one row for each line that was written; other
// files are rows of 256 KiB. A write is one statement, which is committed when it returns.
//
// A lock is a lease: a row that its holder renews, and that another process takes over once it has expired by the clock of the
// database. Each lease has a greater epoch than all before. The file has the epoch of its last lease, and every write by a holder
// names its own, so a process that was paused while another took over cannot write.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gajae-code/gjc/sessions"
)

// Options adjusts a [DB]. Every field is optional.
type Options struct {
	// Lease is the time for which a lock outlives its last renewal. If zero, 10 seconds.
	Lease time.Duration
	// Renew is the time between renewals. If zero, three tenths of Lease.
	Renew time.Duration
	// Patience bounds the time for which an operation waits for a database that is down, full or busy. If zero, 20 seconds.
	Patience time.Duration
	// Conns is the maximum number of connections. If zero, 8.
	Conns int
	// Idle is the time after which a connection that is not used is closed: a database serves few, and there may be many processes. If zero, a
	// minute.
	Idle time.Duration
	// MaxSession and MaxFile are the maximum sizes of a session file and of any other file, in bytes. If zero, 1 GiB and 64 MiB.
	MaxSession, MaxFile int64
}

// DB is a database with sessions. It is safe for concurrent use. Close it.
type DB struct {
	life    context.Context //nolint:containedctx // ends with Close; the operations of a file system have no context
	end     context.CancelCauseFunc
	config  *pgconn.Config
	address string
	opts    Options
	pool    *pool
	server  string // identifies this DB among the renewers of leases
	host    string

	closing    sync.Once
	migrations fs.FS
	migrating  sync.Mutex // held while the schema is checked
	migrated   bool       // guarded by migrating

	leases   leases
	bell     bell
	listener listener
	down     atomic.Bool // an operation has waited for the whole patience, and none has succeeded since
}

// leaseParameter is the parameter of an address with the duration of a lease, which is from minLease to maxLease.
const (
	leaseParameter = "gjc_lease"
	minLease       = 500 * time.Millisecond
	maxLease       = 10 * time.Minute
)

// minPause is the shortest pause in a transaction after which the server ends it. A busy machine makes shorter ones.
const minPause = 300 * time.Millisecond

// Open returns the database at an address such as "postgres://user@host/name". It connects when the database is first used, and then
// creates or upgrades the tables. The usual PG* variables and the password file apply. The parameter gjc_lease of the address, such as
// "gjc_lease=2s", is [Options].Lease for an address without that option. Operations end with ctx.
func Open(ctx context.Context, address string, opts Options) (*DB, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the session store: %w", err) // pgconn leaves out the password
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "gjc"
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // not a standby
	}
	if text, ok := config.RuntimeParams[leaseParameter]; ok {
		delete(config.RuntimeParams, leaseParameter) // the server does not know it
		lease, err := time.ParseDuration(text)
		if err != nil || lease < minLease || lease > maxLease {
			return nil, fmt.Errorf("the address of the session store: %s=%.20q is no time between %v and %v, such as 10s", leaseParameter, text, minLease, maxLease)
		}
		opts.Lease = cmp.Or(opts.Lease, lease)
	}
	opts.Lease = cmp.Or(opts.Lease, 10*time.Second)
	opts.Renew = cmp.Or(opts.Renew, opts.Lease*3/10)
	opts.Patience = cmp.Or(opts.Patience, 20*time.Second)
	opts.Conns = cmp.Or(opts.Conns, 8)
	opts.MaxSession = cmp.Or(opts.MaxSession, 1<<30)
	opts.MaxFile = cmp.Or(opts.MaxFile, 64<<20)
	host, _ := os.Hostname() // only shown
	db := &DB{config: config, address: address, opts: opts, server: token(), host: host, migrations: migrations}
	db.life, db.end = context.WithCancelCause(ctx)
	db.pool = newPool(config, opts.Conns, cmp.Or(opts.Idle, time.Minute), max(opts.Lease/5, minPause))
	db.leases.held, db.leases.ended = make(map[*lease]bool), make(map[*lease]*fileSystem)
	db.bell.hurried = make(chan struct{})
	db.listener.watched = make(map[string]map[*watch]bool)
	return db, nil
}

// errClosed is the cause of operations that Close has ended.
var errClosed = errors.New("the session store is closed")

// Close ends the operations that are under way and closes the connections. Leases that are still held expire. It is idempotent.
func (db *DB) Close() {
	db.closing.Do(func() {
		db.bell.finish()
		db.end(errClosed)
		db.leases.wait()
		db.listener.wait()
		db.pool.close()
	})
}

// Ping reports whether the database can be used. It creates or upgrades the tables.
func (db *DB) Ping() error {
	return db.do(db.opts.Patience, func(ctx context.Context, c *conn, _ bool) error {
		_, err := c.exec(ctx, "SELECT")
		return err
	})
}

// FileSystem returns the files of one owner, such as a user; that of the address if owner is empty. An owner cannot see the files of
// another. Names are absolute.
func (db *DB) FileSystem(owner string) sessions.FileSystem {
	owner = cmp.Or(owner, db.config.User)
	return &fileSystem{db: db, owner: owner, leases: make(map[string]*lease)}
}

// Redact returns an address without its password, for messages.
func Redact(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "postgres://…"
	}
	query := u.Query()
	for name := range query {
		if name == "password" || name == "sslpassword" {
			query.Set(name, "xxxxx")
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// token returns a random name.
func token() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
