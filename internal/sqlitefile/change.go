package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Change is one change of one row.
type Change struct {
	Table string
	// Key is the key of the row to update or delete; nil for a new row.
	Key *string
	// Values are the values to set. Delete deletes the row instead.
	Values []Value
	Delete bool
}

// Value is the value of a column: nil for NULL, an int64, a float64 or a string.
type Value struct {
	Column string
	Value  any
}

// Changed is the result of a change.
type Changed struct {
	// Table is the name in the database's spelling. Key is the row's key; empty if it is unknown.
	Table, Key string
	// Old and New are the row before and after the change, one column per line; nil for none.
	Old, New *string
}

// Errors of [Apply].
var (
	// errChange reports a change that does not match the table.
	errChange = errors.New("the row cannot be changed")
	// errNoRow reports a key that no row has.
	errNoRow = errors.New("there is no such row")
)

// Apply applies a change to the database at path, which is absolute and must exist, in one transaction.
func Apply(ctx context.Context, path string, c *Change) (done *Changed, err error) {
	if _, err := usesWAL(path); err != nil {
		return nil, err
	}
	d, err := connect(ctx, path, "mode=rw", sqlite.OpenReadWrite, authorizeChange)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	done, err = d.apply(c)
	if err != nil {
		return nil, errors.Join(err, d.undo())
	}
	if err := d.exec("COMMIT"); err != nil { // COMMIT checks deferred constraints
		return nil, errors.Join(err, d.undo())
	}
	return done, nil
}

// undo rolls back a transaction. It is a no-op if an error has already ended the transaction.
func (d *DB) undo() error {
	d.conn.SetInterrupt(nil)
	if d.conn.AutocommitEnabled() {
		return nil
	}
	return d.exec("ROLLBACK")
}

// authorizeChange permits statements, and their triggers, to read and change rows, and nothing else.
func authorizeChange(a sqlite.Action) sqlite.AuthResult {
	switch a.Type() {
	case sqlite.OpInsert, sqlite.OpUpdate, sqlite.OpDelete, sqlite.OpTransaction:
		return sqlite.AuthResultOK
	default:
		return authorize(a)
	}
}

// exec runs a statement without results.
func (d *DB) exec(statement string, args ...any) error {
	stmt, _, err := d.conn.PrepareTransient(statement)
	if err != nil {
		return d.explain(err)
	}
	bind(stmt, args)
	_, err = stmt.Step()
	ferr := stmt.Finalize() // reports the same error
	if err == nil {
		err = ferr
	}
	return d.explain(err)
}

func (d *DB) apply(c *Change) (*Changed, error) {
	table, err := d.Find(c.Table)
	if err != nil {
		return nil, err
	}
	if table != nil && strings.HasPrefix(strings.ToLower(table.SQL), "create virtual") {
		return nil, fmt.Errorf("%w: %s is a virtual table", errChange, table.Name)
	}
	if table == nil || table.Kind != "table" || strings.HasPrefix(strings.ToLower(table.Name), "sqlite_") {
		return nil, fmt.Errorf("%w: there is no table %s", errChange, strconv.Quote(c.Table))
	}
	columns, key, err := d.Columns(table.Name)
	if err != nil {
		return nil, err
	}
	for _, v := range c.Values {
		if !slices.ContainsFunc(columns, func(name string) bool { return strings.EqualFold(name, v.Column) }) {
			return nil, fmt.Errorf("%w: %s has no column %s; it has %s", errChange, table.Name, strconv.Quote(v.Column), strings.Join(columns, ", "))
		}
	}
	if c.Key == nil {
		return d.insert(table.Name, c)
	}
	if key == "" {
		return nil, fmt.Errorf("%w: the key of %s has several columns", errChange, table.Name)
	}
	done := &Changed{Table: table.Name, Key: *c.Key}
	old, bound, err := d.ByKey(table.Name, key, *c.Key)
	if err != nil {
		return nil, err
	}
	done.Old = old.row()
	where := " WHERE " + quoteKey(key) + " = ?"
	if done.Old == nil {
		return nil, fmt.Errorf("%w: %s has no row with %s %s", errNoRow, table.Name, key, strconv.Quote(*c.Key))
	}
	if c.Delete {
		if err := d.exec("DELETE FROM "+Quote(table.Name)+where, bound); err != nil {
			return nil, err
		}
		return done, d.one()
	}
	if len(c.Values) == 0 {
		return nil, fmt.Errorf("%w: no value to set", errChange)
	}
	var sets []string
	var args []any
	for _, v := range c.Values {
		sets = append(sets, Quote(v.Column)+" = ?")
		args = append(args, v.Value)
		if strings.EqualFold(v.Column, key) {
			return nil, fmt.Errorf("%w: %s is the key; delete the row and insert another", errChange, key)
		}
	}
	if err := d.exec("UPDATE "+Quote(table.Name)+" SET "+strings.Join(sets, ", ")+where, append(args, bound)...); err != nil {
		return nil, err
	}
	if err := d.one(); err != nil {
		return nil, err
	}
	now, _, err := d.ByKey(table.Name, key, *c.Key)
	if err != nil {
		return nil, err
	}
	done.New = now.row()
	return done, nil
}

// one returns an error unless the last statement has changed exactly one row. A corrupt database may have several rows with the
// same key, and a trigger or a constraint can make a statement a no-op.
func (d *DB) one() error {
	switch n := d.conn.Changes(); n {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("%w: a trigger with RAISE(IGNORE) or a constraint with ON CONFLICT IGNORE suppressed it; read the table to see its definition", errChange)
	default:
		return fmt.Errorf("%w: it would change %d rows", errChange, n)
	}
}

func (d *DB) insert(table string, c *Change) (*Changed, error) {
	statement := "INSERT INTO " + Quote(table)
	var names, marks []string
	var args []any
	for _, v := range c.Values {
		names, marks, args = append(names, Quote(v.Column)), append(marks, "?"), append(args, v.Value)
	}
	if len(names) == 0 {
		statement += " DEFAULT VALUES"
	} else {
		statement += " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	}
	if err := d.exec(statement, args...); err != nil {
		return nil, err
	}
	if err := d.one(); err != nil {
		return nil, err
	}
	done := &Changed{Table: table}
	id := strconv.FormatInt(d.conn.LastInsertRowID(), 10)
	if rows, _, err := d.ByKey(table, "rowid", id); err == nil && len(rows.Cells) > 0 {
		done.Key, done.New = id, rows.row()
		return done, nil
	}
	// A table without rowids: return the inserted values.
	var b strings.Builder
	for _, v := range c.Values {
		fmt.Fprintf(&b, "%s: %v\n", v.Column, v.Value)
	}
	done.New = new(b.String())
	return done, nil
}

// row returns the first row as text; nil for none.
func (r *Rows) row() *string {
	if len(r.Cells) == 0 {
		return nil
	}
	var b strings.Builder
	for i, column := range r.Columns {
		b.WriteString(column + ": " + r.Cells[0][i] + "\n")
	}
	return new(b.String())
}
