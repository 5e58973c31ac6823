// Package sqlitefile queries SQLite databases and changes single rows. A query neither writes nor opens any other file.
package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// Limits of queries.
const (
	// maxTime is the maximum total time of the queries of an open database.
	maxTime = 5 * time.Second
	// busyTime is the maximum time to wait for another program's lock.
	busyTime = 3 * time.Second
	// maxValue is the maximum size of a value, in bytes, and maxSQL that of a statement.
	maxValue = 16 << 20
	maxSQL   = 64 << 10
	// maxCell is the number of bytes of a value that are kept.
	maxCell = 4 << 10
)

// Errors of this package.
var (
	// errNotDatabase reports a file that is not an SQLite database.
	errNotDatabase = errors.New("not a SQLite database")
	// errSlow reports a query that takes too long.
	errSlow = fmt.Errorf("it takes longer than %v; ask for less", maxTime)
	// errStatement reports a statement that is not read-only.
	errStatement = errors.New("only one SELECT statement can be run")
)

// magic is the start of every database file.
const magic = "SQLite format 3\x00"

// Is reports whether a file is an SQLite database.
func Is(file io.ReaderAt) bool {
	head := make([]byte, len(magic))
	_, err := file.ReadAt(head, 0)
	return err == nil && string(head) == magic
}

// DB is an open database. It is not safe for concurrent use.
type DB struct {
	conn   *sqlite.Conn
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // bounds the open database, which sqlite interrupts
	// Stale, if not empty, is the reason why the newest changes may be missing.
	Stale string
}

// Open opens the database at path, which is absolute. The caller closes it. Its queries end with ctx, and after five
// seconds.
func Open(ctx context.Context, path string) (*DB, error) {
	query := "mode=ro"
	stale := ""
	wal, err := usesWAL(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path + "-wal"); wal && (err != nil || info.Size() == 0) {
		query = "immutable=1" // otherwise SQLite would create files next to the database
	} else if _, err := os.Stat(path + "-shm"); wal && errors.Is(err, fs.ErrNotExist) {
		query, stale = "immutable=1", "Changes that are only in its -wal file are not shown."
	}
	d, err := connect(ctx, path, query, sqlite.OpenReadOnly, authorize)
	if err == nil {
		d.Stale = stale
	}
	return d, err
}

// connect opens the database at path with the parameters of a SQLite URI, and sets the limits of the connection.
func connect(ctx context.Context, path, query string, flags sqlite.OpenFlags, authorize func(sqlite.Action) sqlite.AuthResult) (*DB, error) {
	name := filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		name = "/" + name
	}
	uri := url.URL{Scheme: "file", Path: name, RawQuery: query}
	conn, err := sqlite.OpenConn(uri.String(), flags, sqlite.OpenURI)
	if err != nil {
		return nil, explain(err)
	}
	d := &DB{conn: conn}
	d.ctx, d.cancel = context.WithTimeoutCause(ctx, maxTime, errSlow)
	conn.SetInterrupt(d.ctx.Done())
	conn.SetBusyTimeout(busyTime)
	conn.Limit(sqlite.LimitAttached, 0)
	conn.Limit(sqlite.LimitLength, maxValue)
	conn.Limit(sqlite.LimitSQLLength, maxSQL)
	conn.Limit(sqlite.LimitWorkerThreads, 0)
	err = errors.Join(conn.SetDefensive(true), d.exec("PRAGMA trusted_schema=0"), d.exec("PRAGMA temp_store=2"), d.exec("PRAGMA cell_size_check=1"), d.exec("PRAGMA hard_heap_limit=268435456"))
	if err == nil {
		err = conn.SetAuthorizer(sqlite.AuthorizeFunc(authorize))
	}
	if err != nil {
		return nil, errors.Join(explain(err), d.Close())
	}
	return d, nil
}

// usesWAL reports whether a database has a write-ahead log, whose readers create files next to it.
func usesWAL(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // read only
	head := make([]byte, 20)
	if _, err := io.ReadFull(f, head); err != nil || string(head[:len(magic)]) != magic {
		return false, errNotDatabase
	}
	return head[18] == 2, nil
}

// Close closes the database.
func (d *DB) Close() error {
	d.cancel()
	return d.conn.Close()
}

// authorize permits statements to read and nothing else.
func authorize(a sqlite.Action) sqlite.AuthResult {
	switch a.Type() {
	case sqlite.OpSelect, sqlite.OpRead, sqlite.OpRecursive:
		return sqlite.AuthResultOK
	case sqlite.OpFunction: // no function of the library writes, and extensions are not loaded by default
		return sqlite.AuthResultOK
	case sqlite.OpPragma:
		if a.Pragma() == "table_info" || a.Pragma() == "table_xinfo" || a.Pragma() == "index_list" || a.Pragma() == "foreign_key_list" {
			return sqlite.AuthResultOK
		}
		return sqlite.AuthResultDeny
	default:
		return sqlite.AuthResultDeny
	}
}

// Rows is the result of a query.
type Rows struct {
	Columns []string
	// Cells are the values as text, row by row; long ones are truncated. NULL is "NULL", a blob is its size.
	Cells [][]string
	// More reports that there are more rows.
	More bool
}

// Query runs one read-only statement and returns at most most rows. args are the values of its parameters: strings, int64 or
// float64.
func (d *DB) Query(statement string, most int, args ...any) (rows *Rows, err error) {
	if strings.ContainsRune(statement, 0) {
		return nil, errStatement
	}
	stmt, rest, err := d.conn.PrepareTransient(statement)
	if err != nil {
		return nil, d.explain(err)
	}
	if stmt == nil {
		return nil, errStatement
	}
	defer func() { err = errors.Join(err, d.explain(stmt.Finalize())) }()
	if left := strings.TrimSpace(statement[len(statement)-rest:]); left != "" {
		return nil, errStatement
	}
	bind(stmt, args)
	rows = new(Rows)
	for i := range stmt.ColumnCount() {
		rows.Columns = append(rows.Columns, strings.ToValidUTF8(stmt.ColumnName(i), "\uFFFD"))
	}
	if len(rows.Columns) == 0 {
		return nil, errStatement
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return nil, d.explain(err)
		}
		if !more {
			return rows, nil
		}
		if len(rows.Cells) == most {
			rows.More = true
			return rows, d.explain(stmt.Reset())
		}
		row := make([]string, len(rows.Columns))
		for i := range row {
			row[i] = cell(stmt, i)
		}
		rows.Cells = append(rows.Cells, row)
	}
}

// bind sets the parameters of a statement: nil, int64, float64 or string.
func bind(stmt *sqlite.Stmt, args []any) {
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case int64:
			stmt.BindInt64(i+1, v)
		case float64:
			stmt.BindFloat(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		}
	}
}

func cell(stmt *sqlite.Stmt, i int) string {
	switch stmt.ColumnType(i) {
	case sqlite.TypeNull:
		return "NULL"
	case sqlite.TypeBlob:
		return "(blob, " + strconv.Itoa(stmt.ColumnLen(i)) + " bytes)"
	default:
		text := stmt.ColumnText(i)
		if len(text) > maxCell {
			text = text[:maxCell]
		}
		return strings.ToValidUTF8(text, "\uFFFD")
	}
}

// explain returns the context's cause if the context has ended, and otherwise err with a helpful text.
func (d *DB) explain(err error) error {
	if err != nil && d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	return explain(err)
}

func explain(err error) error {
	if err == nil {
		return nil
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return fmt.Errorf("%w, or an encrypted one", errNotDatabase)
	case sqlite.ResultCorrupt:
		return fmt.Errorf("the database is broken: %w", err)
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return errors.New("another program has locked the database; try again")
	case sqlite.ResultAuth:
		return fmt.Errorf("%w: the statement is not read-only", errStatement)
	case sqlite.ResultCantOpen, sqlite.ResultReadOnly:
		return fmt.Errorf("the database cannot be opened without writing to it, as after a crash: %w", err)
	case sqlite.ResultNoMem, sqlite.ResultTooBig:
		return fmt.Errorf("it takes too much memory; ask for less")
	default:
		return err
	}
}

// Table is a table or a view.
type Table struct {
	Name string
	// Kind is "table", "view" or "virtual table".
	Kind string
	// SQL is the statement that created it, without those of its indexes.
	SQL string
}

// Tables returns tables and views by name.
func (d *DB) Tables(most int) (tables []Table, more bool, err error) {
	rows, err := d.Query(`SELECT name, CASE WHEN sql LIKE 'create virtual%' THEN 'virtual table' ELSE type END, coalesce(sql, '') FROM sqlite_schema
		WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, most)
	if err != nil {
		return nil, false, err
	}
	for _, r := range rows.Cells {
		tables = append(tables, Table{r[0], r[1], r[2]})
	}
	return tables, rows.More, nil
}

// Find returns a table or view by name, ignoring case, with the statements of its indexes appended to its own; nil for none.
func (d *DB) Find(name string) (*Table, error) {
	rows, err := d.Query(`SELECT name, type, coalesce(sql, '') FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'view', 'index') AND sql IS NOT NULL
		ORDER BY type = 'index'`, 100, name)
	if err != nil || len(rows.Cells) == 0 || rows.Cells[0][1] == "index" {
		return nil, err
	}
	t := &Table{Name: rows.Cells[0][0], Kind: rows.Cells[0][1]}
	for _, r := range rows.Cells {
		t.SQL += r[2] + ";\n"
	}
	return t, nil
}

// Columns returns a table's columns and its primary key: "rowid" if it has none, empty if it has several columns.
func (d *DB) Columns(table string) (columns []string, key string, err error) {
	rows, err := d.Query(`SELECT name, pk FROM pragma_table_info(?)`, 2000, table)
	if err != nil {
		return nil, "", err
	}
	key = "rowid"
	keys := 0
	for _, r := range rows.Cells {
		columns = append(columns, r[0])
		if r[1] != "0" {
			key = r[0]
			keys++
		}
	}
	if keys > 1 {
		key = ""
	}
	return columns, key, nil
}

// ByKey returns the row whose column key is value, and the value to bind for it. A column without a type can hold numbers, which do
// not compare equal to text: if no text matches, ByKey searches for the number.
func (d *DB) ByKey(table, key, value string) (rows *Rows, bound any, err error) {
	query := "SELECT * FROM " + Quote(table) + " WHERE " + quoteKey(key) + " = ?"
	rows, err = d.Query(query, 2, value)
	if err != nil || len(rows.Cells) > 0 {
		return rows, value, err
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		bound = n
	} else if f, err := strconv.ParseFloat(value, 64); err == nil {
		bound = f
	} else {
		return rows, value, nil
	}
	// Match only the canonical form of a number: 007 does not match 7.
	rows, err = d.Query(query+" AND typeof("+quoteKey(key)+") IN ('integer', 'real')", 2, bound)
	return rows, bound, err
}

func quoteKey(key string) string {
	if key == "rowid" {
		return key
	}
	return Quote(key)
}

// Quote returns a name as an SQL identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
