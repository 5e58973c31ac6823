package checkpoint

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"
)

// LimitPages makes the database as large as it can become: a disk that is full.
func (t *Tree) LimitPages(ctx context.Context, more int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(ctx); err != nil {
		return err
	}
	pages, err := sqlitex.ResultInt64(t.db.conn.Prep("PRAGMA page_count"))
	if err != nil {
		return err
	}
	return sqlitex.ExecuteTransient(t.db.conn, fmt.Sprintf("PRAGMA max_page_count = %d", pages+int64(more)), nil)
}
