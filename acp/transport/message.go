package transport

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// message has the parts of a JSON-RPC message that decide about its way.
type message struct {
	id     jsonx.Raw
	method string
	// session is the one that the parameters name, opened the one that the result does; empty for none.
	session, opened string
}

// parse reads the parts of a message. Parts of other types than expected are as if they were not there: the connection answers them.
func parse(data []byte) (m message, ok bool) {
	var parts struct {
		ID     jsonx.Raw `json:"id,omitzero"`
		Method any       `json:"method,omitzero"`
		Params jsonx.Raw `json:"params,omitzero"`
		Result jsonx.Raw `json:"result,omitzero"`
	}
	if jsonx.Unmarshal(data, &parts) != nil {
		return m, false
	}
	m.id = parts.ID
	m.method, _ = parts.Method.(string)
	m.session, _ = jsonx.Text(jsonx.Lookup(parts.Params, "sessionId"))
	m.opened, _ = jsonx.Text(jsonx.Lookup(parts.Result, "sessionId"))
	return m, true
}

// hasID reports whether a message is a request or an answer.
func (m *message) hasID() bool { return len(m.id) > 0 && string(m.id) != "null" }

// ofSession are the methods whose requests must name their session in the header, too.
func ofSession(method string) bool {
	return slices.Contains([]string{
		"session/cancel", "session/close", "session/delete", "session/fork", "session/load", "session/prompt", "session/resume",
		"session/set_config_option", "session/set_mode", "session/set_model",
	}, method)
}
