package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// UserAddress returns an address at which a user has the files that belong to the user, and no others: the database is the one of db, the role
// is the user's own. It creates the role at the first call, which needs a role that owns the tables and has CREATEROLE. All servers get the
// same address, so that none of them takes it away from another. The address has a password: it is a secret.
func (db *DB) UserAddress(user string) (string, error) {
	u, err := url.Parse(db.address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", errors.New("users of their own need an address of the form postgres://user@host/database")
	}
	role, password := userRole(db.config.Database, user), ""
	err = db.do(db.opts.Patience, func(ctx context.Context, c *conn, _ bool) error {
		return c.tx(ctx, func() (err error) {
			password, err = c.createUser(ctx, role)
			return err
		})
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == noPrivilege {
		return "", fmt.Errorf("the role %q of the session store can make no role for %s; it must own the tables and have CREATEROLE: %w", db.config.User, user, err)
	}
	if err != nil {
		return "", fmt.Errorf("making a role of the session store for %s: %w", user, err)
	}
	query := u.Query()
	query.Del("user")
	query.Del("password")
	u.RawQuery, u.User = query.Encode(), url.UserPassword(role, password)
	return u.String(), nil
}

// noPrivilege is the code of insufficient_privilege.
const noPrivilege = "42501"

// maxRole is the maximum length of the name of a role, in bytes.
const maxRole = 63

// userRole is the role of a user. Roles belong to all databases of a server, so its name has that of the database.
func userRole(database, user string) string {
	role := database + "_" + user
	if len(role) <= maxRole {
		return role
	}
	sum := sha256.Sum256([]byte(role))
	return "gjc_" + hex.EncodeToString(sum[:16])
}

// createUser makes sure that a role exists and may use the tables, and returns its password. It runs in a transaction.
func (c *conn) createUser(ctx context.Context, role string) (password string, err error) {
	if _, err := c.exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return "", err
	}
	added, err := c.exec(ctx, "INSERT INTO gjc_users (role, password) VALUES ($1, $2) ON CONFLICT DO NOTHING", role, token()+token())
	if err != nil {
		return "", err
	}
	if _, err := c.first(ctx, func(r row) { password = r.text(0) }, "SELECT password FROM gjc_users WHERE role = $1", role); err != nil {
		return "", err
	}
	there, err := c.first(ctx, func(row) {}, "SELECT 1 FROM pg_roles WHERE rolname = $1", role)
	if err != nil {
		return "", err
	}
	name := `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	statements := "GRANT SELECT ON gjc_schema TO " + name +
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON gjc_files, gjc_data, gjc_leases TO " + name + "; GRANT USAGE ON SEQUENCE gjc_epochs TO " + name
	switch {
	case !there: // also after the database was moved to another server
		statements = "CREATE ROLE " + name + " LOGIN NOINHERIT PASSWORD '" + password + "'; " + statements
	case added > 0: // by a database of the same name that was dropped
		statements = "ALTER ROLE " + name + " PASSWORD '" + password + "'; " + statements
	}
	if _, err := c.pg.Exec(ctx, statements).ReadAll(); err != nil {
		return "", c.failed(err)
	}
	return password, nil
}
