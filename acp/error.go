package acp

import "fmt"

// Error returns the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("error %d", e.Code)
	}
	return e.Message
}

// Is reports whether target is an [*Error] with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && e != nil && t.Code == e.Code
}
