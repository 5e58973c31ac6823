package meter

import (
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// message has the parts of a JSON-RPC message that the meter reads.
type message struct {
	id      jsonx.Raw
	method  string
	session string // the one that the parameters name
	params  jsonx.Raw
	result  jsonx.Raw
	failure jsonx.Raw
}

// parse reads the parts of a message. Parts of other types than expected are as if they were not there.
func parse(line []byte) (message, bool) {
	var parts struct {
		ID     jsonx.Raw `json:"id,omitzero"`
		Method any       `json:"method,omitzero"`
		Params jsonx.Raw `json:"params,omitzero"`
		Result jsonx.Raw `json:"result,omitzero"`
		Error  jsonx.Raw `json:"error,omitzero"`
	}
	if jsonx.Unmarshal(line, &parts) != nil {
		return message{}, false
	}
	m := message{id: parts.ID, params: parts.Params, result: parts.Result, failure: parts.Error}
	m.method, _ = parts.Method.(string)
	m.session = sessionIn(parts.Params)
	return m, true
}

func sessionIn(v jsonx.Raw) string {
	var named struct {
		SessionID any `json:"sessionId,omitzero"`
	}
	if jsonx.Unmarshal(v, &named) != nil {
		return ""
	}
	id, _ := named.SessionID.(string)
	return id
}

func (m *message) hasID() bool { return len(m.id) > 0 && string(m.id) != "null" }

// newSession returns the session that an answer names.
func (m *message) newSession() string { return sessionIn(m.result) }

// outcome returns the outcome of an answer in a word: the kind of the error, whose own words may have content of the conversation, the reason
// why a turn ended, or the option that was selected. code is zero without an error.
func (m *message) outcome() (words string, code int64) {
	if len(m.failure) > 0 {
		var e struct {
			Code int64 `json:"code"`
			Data struct {
				Kind any `json:"kind,omitzero"`
			} `json:"data,omitzero"`
		}
		if jsonx.Unmarshal(m.failure, &e) != nil || e.Code == 0 {
			e.Code = codeInternal
		}
		if kind, _ := e.Data.Kind.(string); kind != "" {
			return kind, e.Code
		}
		return "error", e.Code
	}
	var result struct {
		StopReason any `json:"stopReason,omitzero"`
		Action     any `json:"action,omitzero"`
		Outcome    struct {
			Outcome  any `json:"outcome,omitzero"`
			OptionID any `json:"optionId,omitzero"`
		} `json:"outcome,omitzero"`
	}
	if jsonx.Unmarshal(m.result, &result) != nil {
		return "ok", 0
	}
	for _, word := range []any{result.StopReason, result.Outcome.OptionID, result.Outcome.Outcome, result.Action} {
		if s, _ := word.(string); s != "" {
			return s, 0
		}
	}
	return "ok", 0
}

// price returns the price of a session so far, in dollars, that an update has.
func (m *message) price() (float64, bool) {
	var params struct {
		Update struct {
			SessionUpdate string `json:"sessionUpdate"`
			Cost          struct {
				Amount   float64 `json:"amount"`
				Currency string  `json:"currency"`
			} `json:"cost"`
		} `json:"update"`
	}
	if jsonx.Unmarshal(m.params, &params) != nil || params.Update.SessionUpdate != "usage_update" || params.Update.Cost.Currency != "USD" {
		return 0, false
	}
	return params.Update.Cost.Amount, true
}

// known returns a method of the protocol, and "other" for any other text: clients choose it, and each value is a series of its own.
func known(method string) string {
	methods := []string{
		"initialize", "authenticate", "logout", methodNew, "session/load", "session/resume", methodFork, "session/list", methodPrompt, methodClose, methodDelete,
		"session/set_mode", "session/set_config_option", "session/set_title", "session/status", "session/archive", "session/unarchive",
	}
	if slices.Contains(methods, method) {
		return method
	}
	return "other"
}

// codeInternal is the JSON-RPC code of an internal error, which ACP uses for limits.
const codeInternal = -32603

type refusal struct {
	JSONRPC string       `json:"jsonrpc"`
	ID      jsonx.Raw    `json:"id"`
	Error   refusalError `json:"error"`
}

type refusalError struct {
	Code    int64       `json:"code"`
	Message string      `json:"message"`
	Data    refusalData `json:"data"`
}

type refusalData struct {
	Kind      string `json:"kind"`
	Retryable bool   `json:"retryable"`
}

func errTooFast(perMinute int) error {
	return fmt.Errorf("%w: %d requests a minute; wait a moment", ErrLimit, perMinute)
}
