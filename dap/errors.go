package dap

import (
	"errors"
	"fmt"
)

var (
	// ErrNoSession is for a call without a session that it could be about.
	ErrNoSession = errors.New("No active debug session. Launch or attach first.")
	// ErrStale is wrapped by the error for a frame or variable of an earlier stop.
	ErrStale = errors.New("it belongs to an earlier stop")
	// ErrUnknownHandle is wrapped by the error for a frame or variable that never was.
	ErrUnknownHandle = errors.New("there is none of that number")
	// ErrRunning is wrapped by the error for what needs a program that stands still.
	ErrRunning = errors.New("the program is running")
	// ErrUnsupported is wrapped by the error for what the adapter can not do.
	ErrUnsupported = errors.New("Current adapter does not support")
	// ErrTerminated is wrapped by the error for what a session can not do any more.
	ErrTerminated = errors.New("the debug session has ended")
	// ErrAdapterDied is wrapped by the error of what was under way when the adapter was lost.
	ErrAdapterDied = errors.New("the debug adapter died")
	// ErrTimeout is wrapped by the error of a request that was not answered in time.
	ErrTimeout = errors.New("the debug adapter did not answer in time")
	// ErrClosed is wrapped by the errors of a [Debugger] that was closed.
	ErrClosed = errors.New("the debugger is closed")
)

// A RequestError is an adapter's answer that a request failed.
type RequestError struct {
	Command string
	// ID is the adapter's number of the error; zero for none.
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

// unsupported says what the adapter lacks, in a few words ("data breakpoints").
func unsupported(what string) error {
	return fmt.Errorf("%w %s.", ErrUnsupported, what)
}
