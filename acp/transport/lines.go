package transport

import (
	"bytes"
	"sync"
)

// lineWriter splits what is written into lines and passes each to send, without its end. It is safe for concurrent use.
type lineWriter struct {
	send func(line []byte) error

	mu   sync.Mutex // guards rest; held while send runs, so that lines stay in order
	rest []byte     // the beginning of a line
}

// Write implements [io.Writer].
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.rest = append(w.rest, p...)
			return n, nil
		}
		line := p[:i]
		if len(w.rest) > 0 {
			w.rest = append(w.rest, line...)
			line = w.rest
		}
		if p = p[i+1:]; len(bytes.TrimSpace(line)) > 0 {
			if err := w.send(line); err != nil {
				return n - len(p), err
			}
		}
		w.rest = nil
	}
	return n, nil
}

// oneLine returns a message as one line. In JSON, a line break can only be a space between two tokens.
func oneLine(message []byte) []byte {
	if !bytes.ContainsAny(message, "\r\n") {
		return append(message, '\n')
	}
	message = bytes.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, message)
	return append(message, '\n')
}
