package air

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// The methods of [SessionIndex]. The last is a notification to the client.
const (
	RenameSession    = "_session/rename"
	ArchiveSession   = "_session/archive"
	UnarchiveSession = "_session/unarchive"
	ListChanged      = "_session/list_changed"
)

// Needs returns the capability that a client must have declared for a method; empty for a method that is not the extension's.
func Needs(method string) Capability {
	switch method {
	case StopTask:
		return AsyncTasks
	case RenameSession, ArchiveSession, UnarchiveSession:
		return SessionIndex
	case ControlGoal:
		return Declared
	default:
		return ""
	}
}

// The limits of a page.
const (
	usualRows = 50
	mostRows  = 100
)

// List says which sessions a client lists.
type List struct {
	// Cwd is absolute; empty for all directories.
	Cwd      string
	Limit    int
	Archived sessions.ArchivedFilter
	// Worktrees adds the same directory in the other worktrees of the repository.
	Worktrees bool
}

// ParseList reads the options of a list from the _meta of its request. archived is the request's own filter, which the options replace. The
// error says what is wrong with them.
func ParseList(cwd string, archived sessions.ArchivedFilter, m acp.Meta) (*List, error) {
	l := &List{Cwd: cwd, Limit: usualRows, Archived: archived}
	raw, err := lookup(m)
	if raw == nil || err != nil {
		return l, err
	}
	var air struct {
		List jsonx.Raw `json:"list"`
	}
	if err := jsonx.Unmarshal(raw, &air); err != nil {
		return nil, fmt.Errorf("_meta.jetbrains.air: %w", err)
	}
	if jsonx.IsNull(air.List) {
		return l, nil
	}
	var options map[string]jsonx.Raw
	if err := jsonx.Unmarshal(air.List, &options); err != nil {
		return nil, errors.New("_meta.jetbrains.air.list must be an object")
	}
	if raw := options["limit"]; !jsonx.IsNull(raw) {
		var limit float64
		if err := jsonx.Unmarshal(raw, &limit); err != nil || limit < 1 || limit != math.Trunc(limit) {
			return nil, fmt.Errorf("list.limit must be an integer of at least 1, not %.40s", raw)
		}
		l.Limit = int(min(limit, mostRows))
	}
	if raw := options["archived"]; !jsonx.IsNull(raw) {
		var name string
		filters := map[string]sessions.ArchivedFilter{"unarchived": sessions.ArchivedExclude, "archived": sessions.ArchivedOnly, "all": sessions.ArchivedInclude}
		err := jsonx.Unmarshal(raw, &name)
		filter, known := filters[name]
		if err != nil || !known {
			return nil, fmt.Errorf(`list.archived must be "unarchived", "archived" or "all", not %.40s`, raw)
		}
		l.Archived = filter
	}
	if raw := options["includeWorktrees"]; !jsonx.IsNull(raw) && jsonx.Unmarshal(raw, &l.Worktrees) != nil {
		return nil, fmt.Errorf("list.includeWorktrees must be true or false, not %.40s", raw)
	}
	return l, nil
}

// Directories returns the directories whose sessions are listed, as they are now; nil for all.
func (l *List) Directories() []string {
	if l.Cwd == "" {
		return nil
	}
	all := []string{filepath.Clean(l.Cwd)}
	add := func(dir string) {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	at := all[0]
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
		add(real)
	}
	if l.Worktrees {
		for _, dir := range worktrees(at) {
			add(dir)
		}
	}
	return all
}

// scope is a checksum of all that a cursor depends on.
func (l *List) scope() string {
	cwd := l.Cwd
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %t", cwd, l.Archived, l.Worktrees))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Cursor returns the cursor for the client from that of the store; empty after the last page.
func (l *List) Cursor(next string) string {
	if next == "" {
		return ""
	}
	return l.scope() + "." + next
}

// After returns the store's cursor. It returns [sessions.ErrBadCursor] for one of another list.
func (l *List) After(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	after, ok := strings.CutPrefix(cursor, l.scope()+".")
	if !ok || after == "" {
		return "", sessions.ErrBadCursor
	}
	return after, nil
}

// The states of an open session.
const (
	StateRunning        = "running"
	StateRequiresAction = "requires_action" // a question waits for the user
	StateIdle           = "idle"
)

// Row has the members of a listed session that ACP does not have. Those that gjc does not know are empty: it keeps no time of the last
// prompt, so lists have the order of the last activity.
type Row struct {
	Version    int    `json:"version"`
	Archived   bool   `json:"archived"`
	ForkedFrom string `json:"forkedFrom,omitzero"`
	// Model and State are those of a session that is open here.
	Model string `json:"model,omitzero"`
	State string `json:"state,omitzero"`
	// LastTurnEndedAt is an RFC 3339 time.
	LastTurnEndedAt string `json:"lastTurnEndedAt,omitzero"`
}

// Put stores a row in the _meta of a session.
func (r *Row) Put(m *acp.Meta) {
	r.Version = version
	_ = m.Set(namespace, map[string]any{member: r}) // a row can be encoded
}

// ForkedFrom returns the ID of the session that a session was forked from; empty if its parent is not known by an ID.
func ForkedFrom(i *sessions.Info) string {
	if strings.ContainsAny(i.ParentSession, `/\`) {
		return ""
	}
	return i.ParentSession
}
