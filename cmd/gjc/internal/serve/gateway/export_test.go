package gateway

import "io"

// NewRedacting is newRedacting, for tests.
func NewRedacting(body io.ReadCloser, secret string) io.ReadCloser { return newRedacting(body, secret) }
