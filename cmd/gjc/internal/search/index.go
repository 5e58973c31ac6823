package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// index is the open index: a SQLite database in the directory of the sessions. Deleting a session deletes it.
type index struct{ conn *sqlite.Conn }

// version changes with the tables or with what is taken from a session.
const version = 1

// tables has a row in "read" for each session that has been read, and the texts of it in "texts". "letters" finds groups of three
// letters, which suits languages without blanks, and parts of identifiers.
const tables = `
CREATE TABLE read (session TEXT PRIMARY KEY, size INTEGER NOT NULL, updated INTEGER NOT NULL, title TEXT NOT NULL) STRICT;
CREATE TABLE texts (id INTEGER PRIMARY KEY, session TEXT NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX texts_of_session ON texts (session);
CREATE VIRTUAL TABLE letters USING fts5 (text, content = 'texts', content_rowid = 'id', tokenize = 'trigram');
CREATE TRIGGER texts_insert AFTER INSERT ON texts BEGIN
  INSERT INTO letters (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER texts_delete AFTER DELETE ON texts BEGIN
  INSERT INTO letters (letters, rowid, text) VALUES ('delete', old.id, old.text);
END;
`

// busyTime is the time to wait for another process that updates the index.
const busyTime = 30 * time.Second

// open opens the index of the sessions in a directory, or makes an empty one. If the directory cannot be written to, the index is in
// memory and is lost at the end. An empty directory stands for memory.
func open(ctx context.Context, dir string) (*index, error) {
	if dir == "" {
		return openFile(ctx, "")
	}
	path := filepath.Join(dir, sessions.SearchIndex)
	x, err := openFile(ctx, path)
	if damaged(err) {
		if err := remove(path); err != nil {
			return nil, err
		}
		x, err = openFile(ctx, path)
	}
	if err != nil && ctx.Err() == nil {
		if memory, merr := openFile(ctx, ""); merr == nil {
			return memory, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return x, nil
}

// damaged reports whether an error means that the index must be rebuilt.
func damaged(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return err != nil && (code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB || errors.Is(err, errVersion))
}

// remove removes the index at path.
func remove(path string) error {
	for _, name := range []string{path, path + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing the index of the sessions: %w", err)
		}
	}
	return nil
}

// errVersion is returned for the index of another version of gjc.
var errVersion = errors.New("the index is of another version")

// openFile opens the index in a file, or in memory.
func openFile(ctx context.Context, path string) (x *index, err error) {
	name := ":memory:"
	if path != "" {
		// SQLite gives files the mode 0644.
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		name = filepath.ToSlash(path)
		if runtime.GOOS == "windows" {
			name = "/" + name
		}
		name = (&url.URL{Scheme: "file", Path: name}).String()
	}
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close() // the first error is the reason
		}
	}()
	conn.SetInterrupt(ctx.Done())
	conn.SetBusyTimeout(busyTime)
	// A cache needs no durability, but deleted text must not stay in the file.
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = off", nil); err != nil {
		return nil, err
	}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA secure_delete = on", nil); err != nil {
		return nil, err
	}
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return nil, err
	}
	defer end(&err)
	have, err := sqlitex.ResultInt64(conn.Prep("PRAGMA user_version"))
	switch {
	case err != nil:
		return nil, err
	case have == version:
		return &index{conn}, nil
	case have != 0:
		return nil, errVersion
	}
	return &index{conn}, sqlitex.ExecuteScript(conn, fmt.Sprintf("%s; PRAGMA user_version = %d;", tables, version), nil)
}

func (x *index) close() { _ = x.conn.Close() } // it is a cache

// update reads the sessions that have changed, and forgets those that do not exist. It returns the IDs of those that cannot be read.
func (x *index) update(ctx context.Context, store *sessions.Store, all []sessions.Info) (unreadable []string, err error) {
	type state struct {
		size, updated int64
		title         string
	}
	have := make(map[string]state)
	err = sqlitex.Execute(x.conn, "SELECT session, size, updated, title FROM read", &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
		have[row.ColumnText(0)] = state{row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnText(3)}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	for i := range all {
		info := &all[i]
		now := state{info.Size, info.UpdatedAt.UnixMilli(), info.Title}
		was, known := have[info.ID]
		delete(have, info.ID)
		if known && was == now {
			continue
		}
		texts, err := textsOf(ctx, store, info)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, sessions.ErrNotFound): // deleted meanwhile
		case err != nil:
			unreadable = append(unreadable, info.ID)
		}
		if err := x.replace(info, texts); err != nil {
			return nil, fmt.Errorf("writing the index: %w", err)
		}
	}
	for id := range have {
		if err := x.replace(&sessions.Info{ID: id, Size: -1}, nil); err != nil {
			return nil, fmt.Errorf("writing the index: %w", err)
		}
	}
	return unreadable, nil
}

// replace sets the texts of a session; a size of -1 removes it.
func (x *index) replace(info *sessions.Info, texts []text) (err error) {
	end, err := sqlitex.ImmediateTransaction(x.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, table := range []string{"texts", "read"} {
		if err := sqlitex.Execute(x.conn, "DELETE FROM "+table+" WHERE session = ?", &sqlitex.ExecOptions{Args: []any{info.ID}}); err != nil {
			return err
		}
	}
	if info.Size < 0 {
		return nil
	}
	for _, t := range texts {
		err := sqlitex.Execute(x.conn, "INSERT INTO texts (session, role, at, text) VALUES (?, ?, ?, ?)", &sqlitex.ExecOptions{Args: []any{info.ID, t.role, t.at, t.text}})
		if err != nil {
			return err
		}
	}
	return sqlitex.Execute(x.conn, "INSERT INTO read (session, size, updated, title) VALUES (?, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{info.ID, info.Size, info.UpdatedAt.UnixMilli(), info.Title}})
}

// text is a text of a session.
type text struct {
	role string
	// at is the time in milliseconds since 1970, and 0 for a title.
	at   int64
	text string
}

// maxText bounds what is indexed of one message, in bytes.
const maxText = 1 << 20

// textsOf returns the title, the prompts, the answers and the summaries of a session, in all branches.
func textsOf(ctx context.Context, store *sessions.Store, info *sessions.Info) ([]text, error) {
	texts := []text{{role: "title", text: strings.ToValidUTF8(info.Title, "")}}
	log, err := store.View(ctx, info.ID)
	if err != nil {
		return texts, err
	}
	defer func() { _ = log.Close() }() // it was only read
	entries, err := log.Entries()
	if err != nil {
		return texts, err
	}
	for _, e := range entries {
		role, words := wordsOf(e)
		if words = strings.TrimSpace(words); words != "" {
			texts = append(texts, text{role, e.Ref().Time.UnixMilli(), strings.ToValidUTF8(words[:min(len(words), maxText)], "")})
		}
	}
	return texts, nil
}

// wordsOf returns the text of an entry and who wrote it. Outputs of tools have none.
func wordsOf(e sessions.Entry) (role, words string) {
	switch e := e.(type) {
	case sessions.Compaction:
		return "summary", e.Summary
	case sessions.BranchSummary:
		return "summary", e.Summary
	}
	m, ok := sessions.MessageOf(e)
	if !ok || m.Role != providers.RoleUser && m.Role != providers.RoleAssistant {
		return "", ""
	}
	return string(m.Role), m.Text()
}
