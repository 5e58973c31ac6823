package mcp

import "time"

const (
	// relistWait is how long behind a change of a list it is read, and maxRelistWait the longest that a server can make
	// of it by changes without an end.
	relistWait    = 100 * time.Millisecond
	maxRelistWait = 5 * time.Second
)

// relists paces the reading of lists: a server that changes its lists each time they are read would be read for ever.
type relists struct {
	wait time.Duration
	last time.Time // of the end of the last reading
	due  <-chan time.Time
}

// want is told of a change.
func (r *relists) want() {
	switch {
	case r.due != nil:
		return // many changes become one reading
	case r.last.IsZero() || time.Since(r.last) > 2*maxRelistWait:
		r.wait = relistWait
	case time.Since(r.last) < 2*r.wait:
		r.wait = min(2*r.wait, maxRelistWait)
	default:
		r.wait = max(r.wait/2, relistWait)
	}
	r.due = time.After(r.wait)
}

// done is told that the lists were read.
func (r *relists) done() { r.due, r.last = nil, time.Now() }

const (
	// noticeBurst is how many notices a server can give at once, and noticeEvery how often then.
	noticeBurst = 20
	noticeEvery = 10 * time.Second
)

// noticeRate bounds the notices that a server can set off. It is guarded by its owner.
type noticeRate struct {
	used  int
	since time.Time
}

// take reports whether one more may be given, and whether it is the first that may not.
func (r *noticeRate) take() (ok, first bool) {
	now := time.Now()
	if back := int(now.Sub(r.since) / noticeEvery); back > 0 {
		r.used, r.since = max(0, min(r.used, noticeBurst)-back), now
	}
	r.used++
	return r.used <= noticeBurst, r.used == noticeBurst+1
}
