package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a connection with its prepared statements. One goroutine uses it at a time.
type conn struct {
	pg         *pgconn.PgConn
	pause      time.Duration                           // of a transaction, after which the server ends it
	statements map[string]*pgconn.StatementDescription // by text
	used       time.Time
	stale      bool // its statements do not fit the schema any more
}

// row is a row of a result in the binary format. It is valid until the next one.
type row [][]byte

func (r row) int(i int) int64   { return int64(binary.BigEndian.Uint64(r[i])) }
func (r row) bool(i int) bool   { return r[i][0] != 0 }
func (r row) text(i int) string { return string(r[i]) }
func (r row) null(i int) bool   { return r[i] == nil }
func (r row) time(i int) time.Time {
	const epoch = 946_684_800 // 2000-01-01
	return time.UnixMicro(r.int(i) + epoch*1_000_000).UTC()
}

// exec runs a statement and returns the number of rows that it has affected.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	return c.each(ctx, nil, sql, args...)
}

// first returns whether the statement has a result, after passing its first row to scan.
func (c *conn) first(ctx context.Context, scan func(row), sql string, args ...any) (bool, error) {
	found := false
	_, err := c.each(ctx, func(r row) {
		if !found {
			found = true
			scan(r)
		}
	}, sql, args...)
	return found, err
}

// each runs a statement, passes the rows of its result to scan, and returns the number of rows that it has affected. Errors are of type
// [*queryError]. Arguments are int64, string, bool, []byte and [][]byte.
func (c *conn) each(ctx context.Context, scan func(row), sql string, args ...any) (int64, error) {
	statement := c.statements[sql]
	if statement == nil {
		var err error
		if statement, err = c.pg.Prepare(ctx, "gjc"+strconv.Itoa(len(c.statements)), sql, nil); err != nil {
			return 0, c.failed(err)
		}
		c.statements[sql] = statement
	}
	values, formats := make([][]byte, len(args)), make([]int16, len(args))
	for i, arg := range args {
		values[i], formats[i] = encode(arg)
	}
	result := c.pg.ExecStatement(ctx, statement, values, formats, []int16{1})
	for result.NextRow() {
		if scan != nil {
			scan(row(result.Values()))
		}
	}
	tag, err := result.Close()
	if err != nil {
		return 0, c.failed(err)
	}
	return tag.RowsAffected(), nil
}

// failed wraps an error of pgconn.
func (c *conn) failed(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.Code == stalePlan || pg.Code == noStatement) {
		c.stale = true
	}
	return &queryError{err: err, safe: pgconn.SafeToRetry(err)}
}

// tx runs steps in a transaction. It rolls back on an error. If this process pauses between two steps, for longer than a process does that
// works, the server ends the transaction: its locks would keep the others from taking over a session whose lease has ended.
func (c *conn) tx(ctx context.Context, steps func() error) error {
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = " + strconv.FormatInt(c.pause.Milliseconds(), 10)
	if _, err := c.pg.Exec(ctx, begin).ReadAll(); err != nil {
		return c.failed(err)
	}
	if err := steps(); err != nil {
		if !c.pg.IsClosed() {
			_, _ = c.exec(ctx, "ROLLBACK") // without it, the connection is not used again
		}
		return err
	}
	_, err := c.exec(ctx, "COMMIT")
	return err
}

const (
	textFormat   = 0
	binaryFormat = 1
	byteaOID     = 17
)

func encode(arg any) ([]byte, int16) {
	switch v := arg.(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10), textFormat
	case string:
		return []byte(v), textFormat
	case bool:
		return strconv.AppendBool(nil, v), textFormat
	case []byte:
		return v, binaryFormat
	case [][]byte:
		return encodeArray(v), binaryFormat
	default:
		panic(fmt.Sprintf("postgres: no encoding for %T", arg))
	}
}

// encodeArray encodes a value of type bytea[].
func encodeArray(items [][]byte) []byte {
	size := 20
	for _, item := range items {
		size += 4 + len(item)
	}
	b := make([]byte, 0, size)
	for _, n := range []int{1, 0, byteaOID, len(items), 1} { // dimensions, no nulls, type, length, first index
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, item := range items {
		b = binary.BigEndian.AppendUint32(b, uint32(len(item)))
		b = append(b, item...)
	}
	return b
}
