package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// invalidParams returns a -32602. The text says what the client's author should send instead.
func invalidParams(format string, args ...any) error {
	return &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func methodNotFound(method string) error {
	return &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "method not found: " + method}
}

// errorData is the data of an error that does not concern the protocol.
type errorData struct {
	Kind      string `json:"kind"`
	Retryable bool   `json:"retryable"`
	// ResetsAt is an RFC 3339 time.
	ResetsAt  string `json:"resetsAt,omitzero"`
	SessionID string `json:"sessionId,omitzero"`
}

func withData(code acp.ErrorCode, message string, data errorData) *acp.Error {
	raw, err := jsonx.Marshal(data)
	if err != nil {
		raw = nil
	}
	return &acp.Error{Code: code, Message: message, Data: raw}
}

func unknownSession(id acp.SessionID) error {
	return withData(acp.ErrorCodeResourceNotFound, fmt.Sprintf("no session %q; session/list lists the sessions", id),
		errorData{Kind: "session_not_found", SessionID: string(id)})
}

// elsewhere returns the error for a request that would change a session which the client only watches.
func elsewhere(id acp.SessionID, f *followed.Session) error {
	return withData(acp.ErrorCodeInvalidRequest, f.State().Reason+"; session/fork makes a copy of it in which this client can go on",
		errorData{Kind: "session_elsewhere", Retryable: true, SessionID: string(id)})
}

// wireError maps the errors of other packages to codes. No other function does.
func wireError(err error) *acp.Error {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		data := errorData{Kind: string(e.Kind), Retryable: e.Retryable()}
		if at := resetsAt(e, time.Now()); !at.IsZero() {
			data.ResetsAt = at.UTC().Format(time.RFC3339)
		}
		code := acp.ErrorCodeInternalError
		// Clients offer to sign in only for this code, so it is also used for a rejected key.
		if e.Kind == providers.KindAuth {
			code = acp.ErrorCodeAuthenticationRequired
		}
		return withData(code, modelMessage(err, e), data)
	}
	if e, ok := errors.AsType[*sessions.CorruptError](err); ok {
		return withData(acp.ErrorCodeInternalError, e.Error(), errorData{Kind: "session_corrupt"})
	}
	for _, m := range []struct {
		is   error
		code acp.ErrorCode
		kind string
	}{
		{sessions.ErrNotFound, acp.ErrorCodeResourceNotFound, "session_not_found"},
		{sessions.ErrLocked, acp.ErrorCodeInternalError, "session_locked"},
		{sessions.ErrTakenOver, acp.ErrorCodeInternalError, "session_taken_over"},
		{sessions.ErrReadOnly, acp.ErrorCodeInternalError, "storage"},
		{sessions.ErrBadCursor, acp.ErrorCodeInvalidParams, "cursor"},
		{approval.ErrUnknownMode, acp.ErrorCodeInvalidParams, "mode"},
		{agent.ErrThinkingLevel, acp.ErrorCodeInvalidParams, "thinking"},
		{agent.ErrServiceTier, acp.ErrorCodeInvalidParams, "service_tier"},
		{agent.ErrEmptyTitle, acp.ErrorCodeInvalidParams, "title"},
		{sessions.ErrNothingToFork, acp.ErrorCodeInvalidParams, "nothing_to_fork"},
		{sides.ErrNowhere, acp.ErrorCodeInvalidParams, "no_workspace"},
		{agent.ErrForkCancelled, acp.ErrorCodeInternalError, "fork_cancelled"},
		{agent.ErrSessionClosed, acp.ErrorCodeResourceNotFound, "session_closed"},
		{relay.ErrGone, acp.ErrorCodeInternalError, "session_elsewhere"},
	} {
		if errors.Is(err, m.is) {
			return withData(m.code, err.Error(), errorData{Kind: m.kind})
		}
	}
	return nil
}
