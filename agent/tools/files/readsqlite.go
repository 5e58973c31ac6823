package files

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/sqlitefile"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits on what is shown of a database.
const (
	maxTables     = 500
	sampleRows    = 5
	usualRows     = 20
	maxRows       = 500
	maxQueryRows  = 1000
	cellColumns   = 40  // characters
	tableColumns  = 120 // characters
	maxValueShown = 2000
)

// readSQLite returns the result of read for a database: its tables, a table, a row, or the rows of a query.
func readSQLite(ctx context.Context, call *agent.Call, f agent.OpenFile, name string, t *target) (*agent.Result, error) {
	if !sqlitefile.Is(f) {
		return nil, errNotContainer
	}
	ask, err := parseDBPath(t.inner)
	if err != nil {
		return nil, fmt.Errorf("%w for read: %w", agent.ErrBadInput, err)
	}
	// Reads the file that was judged, with links resolved.
	path := call.FS.RealPath(t.path)
	opened, err := f.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Stat(path); err == nil && !os.SameFile(opened, now) {
			err = approval.ErrMoved
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	db, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	text, notes, err := ask.answer(db, name)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if db.Stale != "" {
		notes = append(notes, db.Stale)
	}
	if len(text) > toolkit.MaxText {
		text = toolkit.CutBytes(text, toolkit.MaxText)
		notes = append(notes, "The output was cut off here; request fewer rows or columns.")
	}
	return &agent.Result{Text: toolkit.JoinNotes(text, notes)}, nil
}

// dbPath is the parsed part of a path inside a database.
type dbPath struct {
	table, key    string
	hasKey, asked bool // asked reports that the path contains a question mark
	query         string
	where, order  string
	limit, offset int
}

func parseDBPath(inner string) (*dbPath, error) {
	p := &dbPath{limit: usualRows}
	names, options, asked := strings.Cut(inner, "?")
	p.table, p.key, p.hasKey = strings.Cut(strings.TrimPrefix(names, ":"), ":")
	p.asked = asked
	if strings.HasPrefix(options, "q=") { // the rest is SQL, with or without escapes
		p.query = options[2:]
		if text, err := url.QueryUnescape(p.query); err == nil && strings.Contains(p.query, "%") && !strings.Contains(p.query, " ") {
			p.query = text
		}
		if p.table != "" {
			return nil, fmt.Errorf("?q= must follow the file's name directly")
		}
		return p, nil
	}
	if asked && p.table == "" {
		return nil, fmt.Errorf("name a table before the question mark, or ask with ?q=SELECT")
	}
	for option := range strings.SplitSeq(options, "&") {
		name, value, _ := strings.Cut(option, "=")
		if text, err := url.QueryUnescape(value); err == nil {
			value = text
		}
		n, err := strconv.Atoi(value)
		switch {
		case option == "":
		case name == "limit" && err == nil && n > 0:
			p.limit = min(n, maxRows)
		case name == "offset" && err == nil && n >= 0:
			p.offset = n
		case name == "order" && value != "":
			p.order = value
		case name == "where" && value != "":
			p.where = value
		default:
			return nil, fmt.Errorf("%q is not one of limit=N, offset=N, order=COLUMN, where=CONDITION, q=SELECT", toolkit.CutLine(option, 100))
		}
	}
	if p.hasKey && p.asked {
		return nil, fmt.Errorf("a row given by its key takes no options")
	}
	return p, nil
}

func (p *dbPath) answer(db *sqlitefile.DB, name string) (string, []string, error) {
	switch {
	case p.query != "":
		rows, err := db.Query(p.query, maxQueryRows)
		if err != nil {
			return "", nil, err
		}
		return grid(rows), moreRows(rows, "add a LIMIT and an OFFSET to the query"), nil
	case p.table == "":
		return p.tables(db, name)
	}
	table, err := db.Find(p.table)
	if err != nil {
		return "", nil, err
	}
	if table == nil {
		return "", nil, fmt.Errorf("no table %s; read %s to list its tables", toolkit.ShownName(p.table), name)
	}
	columns, key, err := db.Columns(table.Name)
	if err != nil {
		return "", nil, err
	}
	switch {
	case p.hasKey:
		return p.row(db, table, key)
	case p.asked:
		return p.rows(db, table, columns, name)
	default:
		rows, err := db.Query("SELECT * FROM "+sqlitefile.Quote(table.Name), sampleRows)
		if err != nil {
			return "", nil, err
		}
		text := table.SQL + "\n" + grid(rows)
		return text, moreRows(rows, fmt.Sprintf("continue with %s:%s?limit=20&offset=%d", name, table.Name, sampleRows)), nil
	}
}

func (p *dbPath) tables(db *sqlitefile.DB, name string) (string, []string, error) {
	tables, more, err := db.Tables(maxTables)
	if err != nil {
		return "", nil, err
	}
	if len(tables) == 0 {
		return name + " has no tables", nil, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (SQLite, %s)\n", name, text.Count(len(tables), "table"))
	for _, t := range tables {
		b.WriteString("  " + toolkit.CutLine(toolkit.ShownName(t.Name), toolkit.MaxColumns))
		if t.Kind != "table" {
			b.WriteString("  (" + t.Kind + ")")
		}
		b.WriteByte('\n')
	}
	if more {
		return b.String(), []string{"There are more; use ?q=SELECT name FROM sqlite_schema to list them."}, nil
	}
	return b.String(), nil, nil
}

func (p *dbPath) row(db *sqlitefile.DB, table *sqlitefile.Table, key string) (string, []string, error) {
	if key == "" {
		return "", nil, fmt.Errorf("the key of %s has several columns; ask with %s?where=", table.Name, table.Name)
	}
	rows, _, err := db.ByKey(table.Name, key, p.key)
	if err != nil {
		return "", nil, err
	}
	if len(rows.Cells) == 0 {
		return "", nil, fmt.Errorf("%s has no row with %s %s", table.Name, key, toolkit.ShownName(p.key))
	}
	var b strings.Builder
	for i, column := range rows.Columns {
		b.WriteString(column + ": " + toolkit.CutLine(rows.Cells[0][i], maxValueShown) + "\n")
	}
	return b.String(), nil, nil
}

func (p *dbPath) rows(db *sqlitefile.DB, table *sqlitefile.Table, columns []string, name string) (string, []string, error) {
	query := "SELECT * FROM " + sqlitefile.Quote(table.Name)
	if p.where != "" {
		query += " WHERE (" + p.where + "\n)"
	}
	if p.order != "" {
		column, down := strings.CutPrefix(p.order, "-")
		if word, ok := strings.CutSuffix(strings.ToLower(column), " desc"); ok {
			column, down = column[:len(word)], true
		} else if word, ok := strings.CutSuffix(strings.ToLower(column), " asc"); ok {
			column = column[:len(word)]
		}
		at := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, strings.TrimSpace(column)) })
		if at < 0 && !strings.EqualFold(column, "rowid") {
			return "", nil, fmt.Errorf("%s has no column %s; it has %s", table.Name, toolkit.ShownName(column), strings.Join(columns, ", "))
		}
		if at >= 0 {
			column = sqlitefile.Quote(columns[at])
		}
		query += " ORDER BY " + column
		if down {
			query += " DESC"
		}
	}
	rows, err := db.Query(query+" LIMIT ? OFFSET ?", p.limit, int64(p.limit+1), int64(p.offset))
	if err != nil {
		return "", nil, err
	}
	return grid(rows), moreRows(rows, fmt.Sprintf("continue with %s:%s?limit=%d&offset=%d", name, table.Name, p.limit, p.offset+p.limit)), nil
}

func moreRows(rows *sqlitefile.Rows, how string) []string {
	if !rows.More {
		return nil
	}
	return []string{fmt.Sprintf("There are more rows than these %d; %s.", len(rows.Cells), how)}
}

// grid formats rows as a table with aligned columns.
func grid(rows *sqlitefile.Rows) string {
	if len(rows.Cells) == 0 {
		return strings.Join(rows.Columns, " | ") + "\n(no rows)\n"
	}
	all := append([][]string{rows.Columns}, rows.Cells...)
	width := make([]int, len(rows.Columns))
	for i, row := range all {
		all[i] = make([]string, len(row))
		for j, text := range row {
			all[i][j] = cellText(text)
			width[j] = max(width[j], utf8.RuneCountInString(all[i][j]))
		}
	}
	var b strings.Builder
	for i, row := range all {
		var line strings.Builder
		for j, text := range row {
			if j > 0 {
				line.WriteString(" | ")
			}
			line.WriteString(text + strings.Repeat(" ", width[j]-utf8.RuneCountInString(text)))
		}
		text := strings.TrimRight(line.String(), " ")
		if r := []rune(text); len(r) > tableColumns {
			text = string(r[:tableColumns-1]) + "…"
		}
		b.WriteString(text + "\n")
		if i == 0 {
			total := 3 * (len(width) - 1)
			for _, w := range width {
				total += w
			}
			b.WriteString(strings.Repeat("-", min(total, tableColumns)) + "\n")
		}
	}
	return b.String()
}

// cellText formats a value on one line of at most cellColumns characters.
func cellText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if r := []rune(text); len(r) > cellColumns {
		return string(r[:cellColumns-1]) + "…"
	}
	return text
}
