package lsp

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxProgress bounds the work that a server can tell of at once, and maxToken the names of it, in bytes.
	maxProgress = 256
	maxToken    = 1 << 10
	// firstProgress is how long behind its start a server is waited for to tell of its work, and betweenProgress how long
	// after one piece of work for the next.
	firstProgress   = 300 * time.Millisecond
	betweenProgress = 100 * time.Millisecond
)

// progress is what a server says that it is busy with.
type progress struct {
	mu     sync.Mutex // guards what follows
	active map[string]*task
	moved  chan struct{} // closed and replaced when active changes between empty and not
	// quiet is since when there is nothing, loud whether there ever was something.
	quiet time.Time
	loud  bool
}

type task struct{ title, message string }

func newProgress() *progress {
	return &progress{active: make(map[string]*task), moved: make(chan struct{}), quiet: time.Now()}
}

// create takes note of a token; what it is for comes later.
func (p *progress) create(token string) { p.set(token, "") }

// set begins a piece of work, or gives it another title.
func (p *progress) set(token, title string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.active[token]
	if t == nil {
		if len(p.active) >= maxProgress || token == "" || len(token) > maxToken {
			return
		}
		t = &task{}
		p.active[token] = t
		p.loud = true
		if len(p.active) == 1 {
			p.moveLocked()
		}
	}
	t.title = text.TruncateBytes(title, 200)
}

func (p *progress) end(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active[token] == nil {
		return
	}
	delete(p.active, token)
	if len(p.active) == 0 {
		p.quiet = time.Now()
		p.moveLocked()
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.active)
	p.moveLocked()
}

func (p *progress) moveLocked() {
	close(p.moved)
	p.moved = make(chan struct{})
}

// update takes the value of a $/progress. Those of partial results have no kind and are left alone.
func (p *progress) update(token string, value jsonx.Raw) {
	message := text.TruncateBytes(stringOf(jsonx.Lookup(value, "message")), 200)
	switch stringOf(jsonx.Lookup(value, "kind")) {
	case "begin":
		p.set(token, stringOf(jsonx.Lookup(value, "title")))
		p.report(token, message)
	case "report":
		p.report(token, message)
	case "end":
		p.end(token)
	}
}

func (p *progress) report(token, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.active[token]; t != nil && message != "" {
		t.message = message
	}
}

// list tells of the work, in words.
func (p *progress) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, t := range sorted(p.active) {
		if line := strings.Trim(t.title+": "+t.message, ": "); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// rest reports whether the server is at rest; if not, what to wait for: the channel, and the time if it is not zero.
func (p *progress) rest() (ok bool, moved <-chan struct{}, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.active) > 0 {
		return false, p.moved, 0
	}
	pause := firstProgress
	if p.loud {
		pause = betweenProgress
	}
	left := time.Until(p.quiet.Add(pause))
	return left <= 0, p.moved, left
}

// Settled waits until the server has ended the work that it told of with progress tokens (loading the project, as a
// rule), for most at most, or until ctx ends. It reports whether the server is at rest. It starts nothing.
func (s *Server) Settled(ctx context.Context, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		l := s.running()
		if l == nil {
			return false
		}
		ok, moved, wait := l.progress.rest()
		if ok {
			return true
		}
		if wait == 0 {
			wait = most // until something moves
		}
		quiet := time.NewTimer(wait)
		select {
		case <-moved:
		case <-quiet.C:
		case <-l.conn.Closing():
		case <-ctx.Done():
			quiet.Stop()
			return false
		}
		quiet.Stop()
	}
}
