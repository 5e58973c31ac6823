package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gajae-code/gjc/sessions"
)

// Codes of errors of the server.
const (
	diskFull        = "53100"
	readOnly        = "25006" // of a standby, after a fail-over
	serialization   = "40001"
	deadlock        = "40P01"
	lockUnavailable = "55P03"
	canceled        = "57014" // by statement_timeout
	stalePlan       = "0A000" // after another process has upgraded the schema
	noStatement     = "26000"
	paused          = "25P03" // for longer than idle_in_transaction_session_timeout
	uniqueViolation = "23505"
)

// queryError is an error of a statement or of a connection.
type queryError struct {
	err  error
	safe bool // nothing was sent
}

func (e *queryError) Error() string { return e.err.Error() }
func (e *queryError) Unwrap() error { return e.err }

// passing reports whether the same statement may succeed later.
func (e *queryError) passing() bool {
	pg, ok := errors.AsType[*pgconn.PgError](e.err)
	if !ok {
		_, isConfig := errors.AsType[*pgconn.ParseConfigError](e.err)
		return !isConfig
	}
	if slices.Contains([]string{readOnly, serialization, deadlock, lockUnavailable, canceled, stalePlan, noStatement, uniqueViolation, paused}, pg.Code) {
		return true
	}
	// Connections, resources, and the operator's intervention.
	return slices.ContainsFunc([]string{"08", "53", "57P"}, func(class string) bool { return strings.HasPrefix(pg.Code, class) })
}

// unknown reports whether the statement may have been executed.
func (e *queryError) unknown() bool {
	pg, ok := errors.AsType[*pgconn.PgError](e.err)
	return !e.safe && (!ok || pg.Severity == "FATAL" || pg.Severity == "PANIC")
}

// downError reports an operation that did not succeed within its patience. It matches [sessions.ErrUnavailable].
type downError struct {
	err     error
	waited  time.Duration
	unknown bool // the operation may have been executed
}

func (e *downError) Error() string {
	return fmt.Sprintf("%v (waited %v): %v", sessions.ErrUnavailable, e.waited.Round(time.Millisecond), e.err)
}

func (e *downError) Unwrap() error        { return e.err }
func (e *downError) Is(target error) bool { return target == sessions.ErrUnavailable }

const (
	firstWait = 10 * time.Millisecond
	maxWait   = time.Second
	// downPatience is the patience after an operation did not succeed within its own, so that one failure does not wait several times.
	downPatience = time.Second
)

// do runs op on a connection. It retries while the database is down, full or busy, for at most the given time. again reports whether an
// earlier attempt may have been executed.
func (db *DB) do(patience time.Duration, op func(ctx context.Context, c *conn, again bool) error) error {
	whole := patience == db.opts.Patience
	if db.down.Load() {
		patience = min(patience, downPatience)
	}
	ctx, cancel := context.WithTimeout(db.life, patience)
	defer cancel()
	start, again := time.Now(), false
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := db.attempt(ctx, patience/2, again, op)
		failed, ok := errors.AsType[*queryError](err)
		if !ok {
			db.down.Store(false) // the server has answered
			return err
		}
		if db.life.Err() != nil {
			return &downError{context.Cause(db.life), time.Since(start), again || failed.unknown()}
		}
		again = again || failed.unknown()
		if !failed.passing() {
			return &downError{failed.err, time.Since(start), again}
		}
		timer := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if cause := context.Cause(db.life); cause != nil {
				return &downError{cause, time.Since(start), again}
			}
			if whole {
				db.down.Store(true)
			}
			return &downError{failed.err, time.Since(start), again}
		}
	}
}

// attempt runs op once. Half of the patience is left for another server if this one does not answer.
func (db *DB) attempt(ctx context.Context, limit time.Duration, again bool, op func(context.Context, *conn, bool) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := db.pool.take(ctx)
	if err != nil {
		if _, ok := errors.AsType[*queryError](err); !ok {
			err = &queryError{err: fmt.Errorf("no connection is free: %w", err), safe: true}
		}
		return err
	}
	defer db.pool.put(c)
	if err := db.migrate(ctx, c); err != nil {
		if failed, ok := errors.AsType[*queryError](err); ok {
			failed.safe = true // op has not run
		}
		return err
	}
	return op(ctx, c, again)
}
