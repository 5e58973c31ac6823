package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// The migrations, one file for each version of the schema, in order of their names.
//
// Version n+1 must leave programs of version n working: it adds tables, indexes, and columns with a default, and removes only what
// version n does not use. So servers can be upgraded one by one.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the key of the advisory lock that a process holds while it upgrades the schema: "gjc", and a number.
const migrationLock = 0x676a63_01

// migrate creates or upgrades the tables, once.
func (db *DB) migrate(ctx context.Context, c *conn) error {
	db.migrating.Lock()
	defer db.migrating.Unlock()
	if db.migrated {
		return nil
	}
	files, err := fs.ReadDir(db.migrations, "migrations")
	if err != nil {
		return err
	}
	known := int64(len(files))
	version, err := schemaVersion(ctx, c)
	if err == nil && version < known {
		version, err = db.upgrade(ctx, c, files)
	}
	if err != nil {
		return err
	}
	if version > known+1 {
		return fmt.Errorf("the session store has version %d of its tables, and this gjc knows %d and works with %d; upgrade gjc", version, known, known+1)
	}
	db.migrated = true
	return nil
}

// schemaVersion returns the version of the tables, which is zero if there are none. It needs no right to create any.
func schemaVersion(ctx context.Context, c *conn) (version int64, err error) {
	there, err := c.first(ctx, func(row) {}, "SELECT 1 WHERE to_regclass('gjc_schema') IS NOT NULL")
	if err != nil || !there {
		return 0, err
	}
	_, err = c.first(ctx, func(r row) { version = r.int(0) }, "SELECT coalesce(max(version), 0) FROM gjc_schema")
	return version, err
}

// upgrade applies the migrations that the database lacks.
func (db *DB) upgrade(ctx context.Context, c *conn, files []fs.DirEntry) (version int64, err error) {
	err = c.tx(ctx, func() error {
		if _, err := c.exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if _, err := c.exec(ctx, "CREATE TABLE IF NOT EXISTS gjc_schema (version bigint PRIMARY KEY, applied timestamptz NOT NULL DEFAULT clock_timestamp())"); err != nil {
			return err
		}
		if version, err = schemaVersion(ctx, c); err != nil {
			return err
		}
		for ; version < int64(len(files)); version++ {
			text, err := fs.ReadFile(db.migrations, path.Join("migrations", files[version].Name()))
			if err != nil {
				return err
			}
			if _, err := c.pg.Exec(ctx, string(text)).ReadAll(); err != nil {
				return c.failed(err)
			}
			if _, err := c.exec(ctx, "INSERT INTO gjc_schema (version) VALUES ($1)", version+1); err != nil {
				return err
			}
		}
		return nil
	})
	return version, err
}
