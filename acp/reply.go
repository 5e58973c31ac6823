package acp

// A Reply is the second half of an agent's request method. The method itself is the ordered half: it runs on the
// dispatcher, in wire order, and must not block. The Reply that it returns runs concurrently with later messages,
// may block, and returns the response.
type Reply[R any] func() (*R, error)

// Done returns a Reply that returns r. A nil r stands for a zero R.
func Done[R any](r *R) Reply[R] {
	return func() (*R, error) { return r, nil }
}
