package mcpfiles

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// signInFields are the fields of the object oauth in gjc's own files. Other programs have these and more, some in snake case.
var signInFields = [...]string{"callbackPort", "clientId", "clientMetadataUrl", "clientSecret", "scopes"}

// signIn reads the client that signs in to a server. Without one, gjc registers itself.
func (r *reader) signIn(s *entry, fields map[meaning]*configfile.Node) {
	if n := fields[aScopes]; n != nil {
		s.HTTP.OAuth.Scopes = r.scopes(n, r.name(aScopes))
	}
	n := fields[aSignIn]
	switch {
	case n == nil || n.Kind == configfile.Boolean && r.Dialect.Name != own().Name:
		return
	case n.Kind != configfile.Object:
		r.mistake(n.Line, r.name(aSignIn), `must be an object like {"clientId": "…"}`)
		return
	}
	for _, m := range n.Members {
		at := r.name(aSignIn) + "." + m.Name
		text := func(to *string) {
			if *to = r.text(s, aSignIn, "."+m.Name, m.Value); *to == "" && m.Value.Kind == configfile.Text && m.Value.Text == "" {
				r.mistake(m.Line, at, "must not be empty")
			}
		}
		switch strings.ToLower(strings.ReplaceAll(m.Name, "_", "")) {
		case "clientid":
			text(&s.HTTP.OAuth.ClientID)
		case "clientsecret":
			text(&s.HTTP.OAuth.ClientSecret)
			s.references = append(s.references, "oauth."+m.Name)
		case "clientmetadataurl":
			if text(&s.HTTP.OAuth.ClientMetadataURL); m.Value.Kind == configfile.Text && r.values != nil && !strings.HasPrefix(s.HTTP.OAuth.ClientMetadataURL, "https://") {
				r.mistake(m.Line, at, "must be an address that begins with https://")
			}
		case "scopes", "scope":
			s.HTTP.OAuth.Scopes = r.scopes(m.Value, at)
		case "callbackport":
			port, err := strconv.Atoi(m.Value.Text)
			if m.Value.Kind != configfile.Number || err != nil || port < 1 || port > 65535 {
				r.mistake(m.Line, at, "must be a port, 1 to 65535")
			}
			s.HTTP.OAuth.CallbackPort = port
		default:
			if r.Dialect.Name == own().Name {
				r.mistake(m.Line, at, "unknown field%s; the fields are %s", configfile.Suggestion(m.Name, signInFields[:]), strings.Join(signInFields[:], ", "))
			}
		}
	}
}

// scopes reads a list of scopes, or one string with spaces.
func (r *reader) scopes(n *configfile.Node, at string) []string {
	all := n.Strings()
	if n.Kind == configfile.Text {
		all = strings.Fields(n.Text)
	} else if configfile.StringList.Check(n) != "" {
		all = nil
	}
	if len(all) == 0 || slices.Contains(all, "") {
		r.mistake(n.Line, at, "must be a list of scopes")
		return nil
	}
	return all
}
