package followed

import (
	"time"

	"github.com/gajae-code/gjc/sessions"
)

// writer is what is known of the processes that write a session.
type writer struct {
	holder *sessions.LockedError // the last one that was found; nil for none
	// keeps is until when no other process than holder can have written.
	keeps time.Time
	// sure is the number of entries that are of holder, or of one before. spoke is the number of entries up to the last message.
	sure, spoke int
	// ended has the IDs of the entries after which the end of their process was shown.
	ended map[string]bool
}

// newWriter returns what is known when the present holder was found before entries were read.
func newWriter(owner *sessions.LockedError, keeps time.Time, read int) writer {
	w := writer{spoke: read, ended: make(map[string]bool)}
	if w.found(owner, keeps, 0); time.Now().Before(keeps) {
		w.sure = read
	}
	return w
}

// found records the present holder, or nil for none. Its lease does not end before keeps. read is the number of entries that were read
// before it was asked for.
func (w *writer) found(owner *sessions.LockedError, keeps time.Time, read int) {
	w.sure = read
	if owner != nil && owner.PID != 0 {
		w.holder, w.keeps = owner, keeps
	}
}

// added records a new entry; read is their number.
func (w *writer) added(e sessions.Entry, read int) {
	switch e.(type) {
	case sessions.MessageEntry, sessions.CustomMessage:
		w.spoke = read
	}
	if time.Now().Before(w.keeps) {
		w.sure = read
	}
}

// replacedBy reports whether another process has the session than the last one that was found.
func (w *writer) replacedBy(owner *sessions.LockedError) bool {
	h := w.holder
	return h != nil && owner.PID != 0 && (h.PID != owner.PID || h.Host != owner.Host || !h.Since.Equal(owner.Since))
}

// isOfFormer reports whether the last message was surely not written by a process after holder.
func (w *writer) isOfFormer() bool { return w.spoke <= w.sure }
