package lsp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

var (
	// ErrServerDied is wrapped by the error of a call that was under way when the process was lost.
	ErrServerDied = errors.New("the language server died")
	// ErrServerFailed is wrapped by the error for a server that stays down until Restart.
	ErrServerFailed = errors.New("the language server failed too often")
	// ErrTimeout is wrapped by the error of a request that was not answered within [ServerOptions.RequestTimeout].
	ErrTimeout = errors.New("the language server did not answer in time")
	// ErrClosed is wrapped by the errors of a server that was closed.
	ErrClosed = errors.New("the language server is closed")
	// errStopped is the error of a call that was under way when Rest or Restart ended the process.
	errStopped = errors.New("the language server was stopped")
)

// The error codes of the protocol that this package handles.
const (
	codeServerCancelled = -32802
	codeContentModified = -32801
	codeRequestFailed   = -32803
)

// ResponseError is an error that the server answered a request with.
type ResponseError struct {
	Server, Method string
	Code           int64
	Message        string
	Data           jsonx.Raw
}

func (e *ResponseError) Error() string {
	message := cmp.Or(e.Message, fmt.Sprintf("error %d", e.Code))
	return fmt.Sprintf("%s: %s: %s", e.Server, e.Method, message)
}

// isCode reports whether err is a [ResponseError] with one of the codes.
func isCode(err error, codes ...int64) bool {
	e, ok := errors.AsType[*ResponseError](err)
	if !ok {
		return false
	}
	return slices.Contains(codes, e.Code)
}

// callError returns the error of a request as documented at [Server.Call].
func (ps *process) callError(method string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &ResponseError{Server: ps.server.Name(), Method: method, Code: int64(e.Code), Message: text.TruncateBytes(e.Message, maxText), Data: e.Data}
	}
	if jsonrpc.IsGone(err) {
		return fmt.Errorf("%s: %s: %w", ps.server.Name(), method, ps.exitError())
	}
	return fmt.Errorf("%s: %w", ps.server.Name(), err)
}
