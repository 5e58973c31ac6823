package mcp

import "time"

const (
	// relistWait is the delay between a change of a list and its reading; maxRelistWait is the longest delay for a server that
	// keeps changing its lists.
	relistWait    = 100 * time.Millisecond
	maxRelistWait = 5 * time.Second
)

// relistPacer delays the reading of lists: a server may change its lists each time they are read.
type relistPacer struct {
	wait time.Duration
	last time.Time // of the end of the last reading
	due  <-chan time.Time
}

// schedule schedules a reading after a change.
func (r *relistPacer) schedule() {
	switch {
	case r.due != nil:
		return // one reading for several changes
	case r.last.IsZero() || time.Since(r.last) > 2*maxRelistWait:
		r.wait = relistWait
	case time.Since(r.last) < 2*r.wait:
		r.wait = min(2*r.wait, maxRelistWait)
	default:
		r.wait = max(r.wait/2, relistWait)
	}
	r.due = time.After(r.wait)
}

// done records that the lists were read.
func (r *relistPacer) done() { r.due, r.last = nil, time.Now() }

const (
	// noticeBurst is the number of notices that a server can cause at once, and noticeInterval the time between later ones.
	noticeBurst    = 20
	noticeInterval = 10 * time.Second
)

// noticeRate limits the notices that a server can cause. It is not safe for concurrent use.
type noticeRate struct {
	used  int
	since time.Time
}

// allow reports whether another notice is within the limit, or whether it is the first over it.
func (r *noticeRate) allow() (ok, first bool) {
	now := time.Now()
	if back := int(now.Sub(r.since) / noticeInterval); back > 0 {
		r.used, r.since = max(0, min(r.used, noticeBurst)-back), now
	}
	r.used++
	return r.used <= noticeBurst, r.used == noticeBurst+1
}
