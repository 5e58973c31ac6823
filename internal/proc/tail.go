package proc

import (
	"sync"
	"unicode/utf8"
)

// Tail is an [io.Writer] that keeps the last bytes. It is safe for concurrent use and never returns an error.
type Tail struct {
	limit int

	mu    sync.Mutex // guards the fields below
	buf   []byte     // grows up to limit, then is a ring that starts at start
	start int
	total int64
}

// NewTail returns a tail of at most limit bytes. It allocates memory on the first write.
func NewTail(limit int) *Tail { return &Tail{limit: max(limit, 0)} }

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.total += int64(n)
	if n > t.limit {
		p = p[n-t.limit:]
	}
	if room := t.limit - len(t.buf); room > 0 {
		head := p[:min(room, len(p))]
		t.buf = append(t.buf, head...)
		p = p[len(head):]
	}
	for len(p) > 0 {
		k := copy(t.buf[t.start:], p)
		p = p[k:]
		t.start = (t.start + k) % t.limit
	}
	return n, nil
}

// String returns the kept bytes, without the rest of a truncated UTF-8 sequence at the start.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := make([]byte, 0, len(t.buf))
	b = append(b, t.buf[t.start:]...)
	b = append(b, t.buf[:t.start]...)
	if t.total > int64(len(b)) {
		for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	return string(b)
}

// Total returns the number of bytes written.
func (t *Tail) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Truncated reports whether the start of the output was dropped.
func (t *Tail) Truncated() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total > int64(len(t.buf))
}
