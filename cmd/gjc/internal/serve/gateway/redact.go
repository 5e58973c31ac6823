package gateway

import (
	"bytes"
	"io"
)

// redacting is a body in which stars replace a secret. It delays nothing but what may be the beginning of the secret.
type redacting struct {
	io.ReadCloser
	secret []byte
	buf    []byte // what was read
	ready  int    // how much of buf may be returned
	err    error
}

// newRedacting returns a body without a secret, which is not empty.
func newRedacting(body io.ReadCloser, secret string) *redacting {
	return &redacting{ReadCloser: body, secret: []byte(secret), buf: make([]byte, 0, 32<<10)}
}

// Read implements [io.Reader].
func (r *redacting) Read(p []byte) (int, error) {
	for r.ready == 0 && r.err == nil {
		if cap(r.buf)-len(r.buf) < len(r.secret) {
			r.buf = append(make([]byte, 0, 32<<10+len(r.secret)), r.buf...)
		}
		n, err := r.ReadCloser.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf, r.err = r.buf[:len(r.buf)+n], err
		for {
			i := bytes.Index(r.buf, r.secret)
			if i < 0 {
				break
			}
			copy(r.buf[i:], bytes.Repeat([]byte("*"), len(r.secret)))
		}
		r.ready = len(r.buf)
		if r.err == nil {
			r.ready -= r.partial()
		}
	}
	n := copy(p, r.buf[:r.ready])
	r.buf, r.ready = r.buf[n:], r.ready-n
	if n == 0 && len(p) > 0 {
		return 0, r.err
	}
	return n, nil
}

// partial returns the length of the longest end of buf that begins the secret.
func (r *redacting) partial() int {
	for n := min(len(r.secret)-1, len(r.buf)); n > 0; n-- {
		if bytes.HasSuffix(r.buf, r.secret[:n]) {
			return n
		}
	}
	return 0
}
