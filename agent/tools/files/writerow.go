package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/json5"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/sqlitefile"
)

// row is a row to write in a database.
type row struct {
	// path is the path of the database.
	path   string
	change *sqlitefile.Change
}

// rowOf returns the row that a path names in a database, or nil for a plain file. An existing file of that name wins, as does one
// that is not a database.
func rowOf(ctx context.Context, call *agent.Call, input, content string) (*row, error) {
	for at, r := range input {
		if r != ':' && r != '?' {
			continue
		}
		if c := containerOf(input[:at]); c == nil || !c.queries || strings.Contains(input, "://") {
			continue
		}
		if _, err := call.FS.Stat(ctx, call.Workspace.Resolve(input)); err == nil {
			return nil, nil
		}
		// Writes the file that was judged, with links resolved.
		path := call.FS.RealPath(call.Workspace.Resolve(input[:at]))
		name := toolkit.Display(&call.Workspace, path)
		info, err := call.FS.Stat(ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("no database %s; write does not create databases", name)
		case err != nil:
			return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
		case !info.Mode().IsRegular() || !isDatabase(ctx, call, path):
			return nil, nil
		}
		change, err := parseRow(input[at:], content)
		if err != nil {
			return nil, fmt.Errorf("%w for write: %w", agent.ErrBadInput, err)
		}
		return &row{path, change}, nil
	}
	return nil, nil
}

func isDatabase(ctx context.Context, call *agent.Call, path string) bool {
	opener, ok := call.FS.(agent.Opener)
	if !ok {
		return false
	}
	f, err := opener.Open(ctx, path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	return sqlitefile.Is(f)
}

// parseRow parses a change from the path after the database's name and from the content.
func parseRow(inner, content string) (*sqlitefile.Change, error) {
	if strings.Contains(inner, "?") {
		return nil, errors.New("a path with ? is only for reading; write to db:table for a new row, or to db:table:key")
	}
	c := new(sqlitefile.Change)
	var key string
	var keyed bool
	c.Table, key, keyed = strings.Cut(strings.TrimPrefix(inner, ":"), ":")
	if keyed {
		c.Key = &key
	}
	switch {
	case c.Table == "":
		return nil, errors.New("the path must name a table")
	case keyed && key == "":
		return nil, errors.New("the key of the row is empty")
	case strings.TrimSpace(content) == "" && keyed:
		c.Delete = true
		return c, nil
	}
	object, err := json5.ToJSON(content)
	if err == nil && object.Kind() != '{' {
		err = errors.New("not an object")
	}
	if err != nil {
		return nil, fmt.Errorf("the content of a row must be a JSON object with a member for each column: %w", err)
	}
	err = jsonx.ReadObject(object, func(name []byte, raw jsonx.Raw) error {
		for _, have := range c.Values {
			if strings.EqualFold(have.Column, string(name)) { // the database would silently pick one of them
				return fmt.Errorf("%s and %s are the same column; name it once", strconv.Quote(have.Column), strconv.Quote(string(name)))
			}
		}
		v, err := columnValue(raw)
		if err != nil {
			return fmt.Errorf("column %s: %w", strconv.Quote(string(name)), err)
		}
		c.Values = append(c.Values, sqlitefile.Value{Column: string(name), Value: v})
		return nil
	})
	return c, err
}

func columnValue(raw jsonx.Raw) (any, error) {
	if text, ok := jsonx.Text(raw); ok {
		return text, nil
	}
	switch word := string(raw); word {
	case "null":
		return nil, nil
	case "true":
		return int64(1), nil
	case "false":
		return int64(0), nil
	default:
		n, err := strconv.ParseInt(word, 10, 64)
		if err == nil {
			return n, nil
		}
		if errors.Is(err, strconv.ErrRange) { // as a float its value would change
			return nil, fmt.Errorf("%s has more digits than a database number can store; quote it to write it as text", toolkit.CutLine(word, 100))
		}
		if f, err := strconv.ParseFloat(word, 64); err == nil {
			return f, nil
		}
		return nil, errors.New("a value must be a string, a number, true, false or null")
	}
}

// what describes the change in a few words.
func (r *row) what(call *agent.Call) string {
	name := toolkit.Display(&call.Workspace, r.path) + ":" + r.change.Table
	switch {
	case r.change.Key == nil:
		return "Insert into " + name
	case r.change.Delete:
		return "Delete " + name + ":" + *r.change.Key
	default:
		return "Update " + name + ":" + *r.change.Key
	}
}

func (r *row) plan(ctx context.Context, call *agent.Call) *agent.CallPlan {
	plan := &agent.CallPlan{
		Title: r.what(call), Locations: []agent.Location{{Path: r.path}}, Effects: []approval.Effect{{Action: approval.ActionEdit, Path: r.path}},
	}
	// Shows the current row: making the change would lock the database, and may not be permitted.
	if old, err := r.now(ctx); err == nil {
		plan.Content = []agent.Content{r.wanted(old)}
	}
	return plan
}

// now returns the current row, or "" for a new one.
func (r *row) now(ctx context.Context) (string, error) {
	if r.change.Key == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, edits.PreviewTime)
	defer cancel()
	db, err := sqlitefile.Open(ctx, r.path)
	if err != nil {
		return "", err
	}
	text, _, err := (&dbPath{table: r.change.Table, key: *r.change.Key, hasKey: true}).answer(db, "")
	return text, errors.Join(err, db.Close())
}

// wanted returns the text of the question to the user: the row, and the new values.
func (r *row) wanted(old string) agent.Content {
	var b strings.Builder
	for _, v := range r.change.Values {
		value := "NULL"
		if v.Value != nil {
			value = fmt.Sprint(v.Value)
		}
		b.WriteString(v.Column + ": " + toolkit.CutLine(value, maxValueShown) + "\n")
	}
	d := agent.DiffContent{Path: r.path + ":" + r.change.Table, New: b.String()}
	if r.change.Key != nil {
		d.Path += ":" + *r.change.Key
		d.Old = &old
	}
	return d
}

func (r *row) write(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	name := toolkit.Display(&call.Workspace, r.path)
	done, err := sqlitefile.Apply(ctx, r.path, r.change)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w. Nothing was changed", name, err)
	}
	edits.ChangeSetsOf(call).Push(&edits.ChangeSet{What: r.what(call), Never: "previous database rows are not kept"})
	d := agent.DiffContent{Path: r.path + ":" + done.Table, Old: done.Old}
	verb := "Inserted a row into"
	if r.change.Delete {
		verb = "Deleted a row from"
	} else if r.change.Key != nil {
		verb = "Updated a row in"
	}
	text := verb + " " + name + ":" + done.Table
	if done.Key != "" {
		text += ":" + done.Key
		d.Path += ":" + done.Key
	}
	if done.New != nil {
		d.New = *done.New
		text += ".\n" + toolkit.CutBytes(*done.New, toolkit.MaxText/4)
	}
	return &agent.Result{Text: strings.TrimSuffix(text, "\n"), Content: []agent.Content{d}, Locations: []agent.Location{{Path: r.path}}}, nil
}
