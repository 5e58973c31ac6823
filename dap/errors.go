package dap

import (
	"errors"
	"fmt"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

var (
	// ErrNoSession is the error of a call when there is no session.
	ErrNoSession = errors.New("no active debug session; launch or attach first")
	// ErrStale is wrapped by the error for a handle of an earlier stop.
	ErrStale = errors.New("it belongs to an earlier stop")
	// ErrUnknownHandle is wrapped by the error for a handle that was never issued or is not of the required kind.
	ErrUnknownHandle = errors.New("invalid handle")
	// ErrRunning is wrapped by the error of a call that needs a stopped program.
	ErrRunning = errors.New("the program is running")
	// ErrUnsupported is wrapped by the error of a call that the adapter does not support.
	ErrUnsupported = errors.New("the debug adapter does not support")
	// ErrTerminated is wrapped by the error of a call on a session that has ended.
	ErrTerminated = errors.New("the debug session has ended")
	// ErrAdapterDied is wrapped by the error of a call that was under way when the adapter was lost.
	ErrAdapterDied = errors.New("the debug adapter died")
	// ErrTimeout is wrapped by the error of a request that was not answered within [Options.RequestTimeout].
	ErrTimeout = errors.New("the debug adapter did not answer in time")
	// ErrClosed is wrapped by the errors of a [Debugger] that was closed.
	ErrClosed = errors.New("the debugger is closed")
)

// A RequestError is an adapter's answer that a request failed.
type RequestError struct {
	Command string
	// ID is the adapter's ID of the error; zero for none.
	ID int
	// Text is the message, with its variables filled in.
	Text string
}

func (e *RequestError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("the debug adapter refused %s", e.Command)
	}
	return e.Text
}

// maxErrorText bounds the text of a [RequestError], in bytes.
const maxErrorText = 4 << 10

// requestError returns the error of a failed response. It prefers the structured message, which is meant for people; the
// short one is meant for programs.
func requestError(command string, m *envelope) *RequestError {
	e := &RequestError{Command: command, Text: m.Message}
	var body struct {
		Error *godap.ErrorMessage `json:"error"`
	}
	if jsonx.Unmarshal(m.Body, &body) == nil && body.Error != nil {
		e.ID = body.Error.Id
		if text := fill(body.Error.Format, body.Error.Variables); text != "" {
			e.Text = text
		}
	}
	e.Text = strings.TrimSpace(strings.ToValidUTF8(e.Text, "\uFFFD"))
	if len(e.Text) > maxErrorText {
		e.Text = strings.ToValidUTF8(e.Text[:maxErrorText], "") + "…"
	}
	return e
}

// fill replaces each {name} in a format with the value of the variable.
func fill(format string, variables map[string]string) string {
	if len(variables) == 0 || !strings.Contains(format, "{") {
		return format
	}
	var pairs []string
	for name, value := range variables {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(format)
}

// unsupported returns the error for a feature ("data breakpoints") that the adapter does not support.
func unsupported(what string) error {
	return fmt.Errorf("%w %s", ErrUnsupported, what)
}
