// Package followed lets a client watch a session that another process has open, or whose directory is missing here, and opens the session
// for it when that is possible.
package followed

import (
	"context"
	"fmt"
	"os"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// Meta is the member of _meta with which a client declares that it knows the extension, and that has a [State].
const Meta = "gjc/attach"

// The roles of a client in a session.
const (
	RoleController = "controller"
	RoleObserver   = "observer"
)

// Capability lists the roles of a client in a session that is open elsewhere.
type Capability struct {
	Roles []string `json:"roles"`
}

// Detached is the [State].State of a client that no longer takes part in a session.
const Detached = "detached"

// State is the part that a client takes in a session.
type State struct {
	// Role names what the client may do; empty with State.
	Role string `json:"role,omitzero"`
	// Elsewhere reports whether another process has the session open. A controller then prompts, cancels and answers there, and changes
	// nothing else.
	Elsewhere bool `json:"elsewhere,omitzero"`
	// State is [Detached] if the client takes no part any more.
	State string `json:"state,omitzero"`
	// Reason is why the client does not control the session here, in words; empty if it does.
	Reason string `json:"reason,omitzero"`
}

// Update returns the update about a change of the part that a client takes.
func (s State) Update() *acp.SessionInfoUpdate {
	u := new(acp.SessionInfoUpdate)
	_ = u.Meta.Set(Meta, s) // it can be encoded
	return u
}

// Declared reports whether a client knows the extension: it has declared so with its capabilities, or in the _meta of a request, which
// counts more.
func Declared(capabilities, request acp.Meta) bool {
	for _, m := range []acp.Meta{request, capabilities} {
		var raw jsonx.Raw
		if ok, err := m.Get(Meta, &raw); !ok || err != nil {
			continue
		}
		switch raw.Kind() {
		case '{', 't':
			return true
		case 'f':
			return false
		default:
		}
	}
	return false
}

// HolderOf returns who has a session of a store open, in words.
func HolderOf(ctx context.Context, store *sessions.Store, id string) string {
	fsys, path, err := sessions.Locate(ctx, store, id)
	if err != nil {
		return unknownHolder
	}
	owner, _, err := fsys.Holder(path)
	if err != nil {
		return unknownHolder
	}
	return words(owner)
}

const unknownHolder = "another process"

// words describes the holder of a session; nil if it is not known.
func words(owner *sessions.LockedError) string {
	if owner == nil || owner.PID == 0 {
		return unknownHolder
	}
	host := owner.Host
	if host == "" {
		host = "this machine"
	}
	return fmt.Sprintf("process %d on %s", owner.PID, host)
}

// Missing returns why a session with the directory cwd on this machine cannot be opened for a client that has named a directory; empty if it
// can.
func Missing(cwd, named string) string {
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return fmt.Sprintf("its directory %s is not on this machine", cwd)
	}
	return Renamed(cwd, named)
}

// Renamed is Missing for a directory on the client's machine.
func Renamed(cwd, named string) string {
	if named == cwd {
		return ""
	}
	return fmt.Sprintf("its directory is %s, and this client has named %s", cwd, named)
}
