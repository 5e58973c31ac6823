package acp

import "fmt"

// Error lets an Error be returned as one.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("error %d", e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}
