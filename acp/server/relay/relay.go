// Package relay lets the clients of a process that only follows a session take part in it where it is open: their prompts and cancellations
// go there, and the questions of the session come to them. The processes talk JSON-RPC, with the methods of ACP, through a [pipe.Pipe].
//
// The process that has the session open passes the prompts to its own client, the hub of a server, which gives every prompt its turn; an
// editor that started the process itself has no use for the prompts of others.
package relay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// capability is the member of a client's _meta with which it declares that it takes prompts of other processes.
const capability = "gjc/elsewhere"

// The methods with which the process asks such a client. Their parameters are those of session/prompt and session/cancel, and the result
// that of session/prompt.
const (
	MethodPrompt = "_gjc/elsewhere/prompt"
	MethodCancel = "_gjc/elsewhere/cancel"
)

// methodHello is the first request through a pipe, which is answered when the pipe is accepted.
const methodHello = "_gjc/elsewhere/hello"

// Declared reports whether a client takes prompts of other processes.
func Declared(capabilities acp.Meta) bool {
	var on bool
	ok, err := capabilities.Get(capability, &on)
	return ok && err == nil && on
}

// messageMeta is the member of a prompt's _meta with the ID that its message shall have: by it, the hub of the process that follows the
// session knows the message again.
const messageMeta = "gjc/message"

// MethodStored is the request with which such a client waits until it has received the updates about all that is stored of an open session:
// other processes may show that already. Its only parameter is sessionId, and its result has no members.
const MethodStored = "_gjc/elsewhere/stored"

// Stored returns the update with which such a client learns that a prompt is stored, and can be shown to others.
func Stored(messageID string) acp.SessionUpdate {
	u := new(acp.SessionInfoUpdate)
	_ = u.Meta.Set(messageMeta, messageID) // a string can be encoded
	return u
}

// maxMessageID bounds an ID, in bytes.
const maxMessageID = 64

// MessageID returns the ID that the message of a prompt shall have; empty for none.
func MessageID(m acp.Meta) (string, error) {
	var id string
	ok, err := m.Get(messageMeta, &id)
	switch {
	case !ok:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", messageMeta, err)
	case id == "" || len(id) > maxMessageID:
		return "", fmt.Errorf("%s: an ID has 1 to %d bytes, not %d", messageMeta, maxMessageID, len(id))
	}
	return id, nil
}

// peerGrace bounds how long the end of a connection waits for handlers, and for what is not written.
const peerGrace = 250 * time.Millisecond

// options returns those of a connection over a pipe.
func options(closer io.Closer, handler jsonrpc.Handler) jsonrpc.Options {
	return jsonrpc.Options{
		Framing: frame.Lines, Handler: handler, Closer: closer, CancelMethod: "$/cancel_request", CancelParam: "requestId", MapError: toPeer,
		CloseGrace: peerGrace,
	}
}

// answered returns the result of a call unchanged.
func answered(call func(*jsonx.Raw) error) (any, error) {
	var answer jsonx.Raw
	if err := call(&answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// toPeer keeps the code and the data of an error that this process's client has answered with.
func toPeer(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*acp.Error](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.Code(e.Code), Message: e.Message, Data: e.Data}
	}
	return jsonrpc.WireError(err)
}

// fromPeer is the reverse.
func fromPeer(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &acp.Error{Code: acp.ErrorCode(e.Code), Message: e.Message, Data: e.Data}
	}
	return err
}

// IsOver reports whether a prompt has failed because the process that had the session open does not run it any more.
func IsOver(err error) bool {
	if errors.Is(err, ErrGone) {
		return true
	}
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return false
	}
	switch kind, _ := jsonx.Text(jsonx.Lookup(e.Data, "kind")); kind {
	case "shutdown", "session_closed", "session_taken_over":
		return true
	default:
		return false
	}
}

// isQuestion reports whether any client of a session can answer a request.
func isQuestion(method string) bool {
	return method == acp.MethodSessionRequestPermission.Name || method == acp.MethodElicitationCreate.Name
}

// ofSession returns the parameters of a request with another session.
func ofSession(params any, id string) (jsonx.Raw, error) {
	raw, err := jsonx.Marshal(params)
	if err != nil {
		return nil, err
	}
	var members map[string]jsonx.Raw
	if err := jsonx.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("the parameters are missing")
	}
	if members["sessionId"], err = jsonx.Marshal(id); err != nil {
		return nil, err
	}
	return jsonx.Marshal(members)
}
