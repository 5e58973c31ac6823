// Package access decides who may use "gjc serve", and for what: by tokens that the server has made, by the one token of a file, and by the
// tokens of an OpenID Connect issuer.
package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is a right of a token.
type Scope string

// The scopes.
const (
	// Read is the right to see sessions: to list, load and follow them.
	Read Scope = "read"
	// Prompt is the right to create sessions and to send prompts.
	Prompt Scope = "prompt"
	// Control is the right to cancel turns, to answer questions, and to change settings of sessions.
	Control Scope = "control"
	// Admin is the right to read the server's metrics.
	Admin Scope = "admin"
)

func allScopes() []Scope { return []Scope{Read, Prompt, Control, Admin} }

// Working returns the scopes of someone who works with the agent: all but [Admin].
func Working() []Scope { return []Scope{Read, Prompt, Control} }

// ParseScopes parses a list such as "read,prompt". The result is in a fixed order.
func ParseScopes(list string) ([]Scope, error) {
	var found []Scope
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(allScopes(), Scope(name)) {
			return nil, fmt.Errorf("%q is not a scope; there are %s", name, join(allScopes()))
		}
		found = append(found, Scope(name))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("a token needs a scope; there are %s", join(allScopes()))
	}
	return slices.DeleteFunc(allScopes(), func(s Scope) bool { return !slices.Contains(found, s) }), nil
}

func join(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// Limits bound the use of one token. Zero is no limit.
type Limits struct {
	// Connections and Sessions are numbers at the same time.
	Connections int `json:"connections,omitzero"`
	Sessions    int `json:"sessions,omitzero"`
	// Requests and Bytes count what the client sends within a minute.
	Requests int   `json:"requestsPerMinute,omitzero"`
	Bytes    int64 `json:"bytesPerMinute,omitzero"`
	// Cost is the price of the model requests within a day (UTC), in dollars. It is checked before each prompt.
	Cost float64 `json:"costPerDay,omitzero"`
}

// Identity describes the sender of a request.
type Identity struct {
	// User is the name of the user, by which engines and files are kept apart.
	User string
	// Token names the token in logs; it is not secret.
	Token  string
	Scopes []Scope
	Limits Limits
	// Expires is the time from which the token is refused; zero for none.
	Expires time.Time
}

// Has reports whether the identity has a scope.
func (i *Identity) Has(s Scope) bool { return slices.Contains(i.Scopes, s) }

// The reasons to refuse a token. Errors for a client wrap them and say no more than it may know.
var (
	ErrUnknown = errors.New("the token is missing or wrong")
	ErrExpired = errors.New("the token has expired; ask for a new one")
	ErrRevoked = errors.New("the token is revoked; ask for a new one")
)

// maxUser is the maximum length of a user's name.
const maxUser = 64

// CheckUser returns an error for a name that is not one of a user: it names a directory, too.
func CheckUser(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '@' || r == '+'
	}
	switch {
	case name == "" || len(name) > maxUser:
		return fmt.Errorf("the name of a user has 1 to %d characters", maxUser)
	case strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("%q is not the name of a user; it has lower-case letters, digits and -_.@+", name)
	case name[0] == '.' || name[0] == '-' || strings.HasSuffix(name, "."):
		return fmt.Errorf("%q is not the name of a user; it begins with a letter or a digit and ends with no dot", name)
	}
	return nil
}
