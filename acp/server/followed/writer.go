package followed

import "github.com/gajae-code/gjc/sessions"

// writer holds the facts about the processes that write a session.
type writer struct {
	holder *sessions.LockedError // the last one that was found; nil for none
	// sure is the number of entries that are of holder, or of one before: they were read before it was found. spoke is the number of entries
	// up to the last message.
	sure, spoke int
	// ended has the IDs of the entries after which the end of their process was shown.
	ended map[string]bool
}

// newWriter returns what is known when the present holder was found before entries were read.
func newWriter(owner *sessions.LockedError, read int) writer {
	w := writer{spoke: read, ended: make(map[string]bool)}
	w.found(owner, 0)
	return w
}

// found records the present holder, or nil for none. read is the number of entries that were read before it was asked for. A lease says nothing
// about entries that are read later: it can be released at any time.
func (w *writer) found(owner *sessions.LockedError, read int) {
	w.sure = read
	if owner != nil && owner.PID != 0 {
		w.holder = owner
	}
}

// added records a new entry; read is their number.
func (w *writer) added(e sessions.Entry, read int) {
	switch e.(type) {
	case sessions.MessageEntry, sessions.CustomMessage:
		w.spoke = read
	}
}

// replacedBy reports whether another process has the session than the last one that was found.
func (w *writer) replacedBy(owner *sessions.LockedError) bool {
	h := w.holder
	return h != nil && owner.PID != 0 && (h.PID != owner.PID || h.Host != owner.Host || !h.Since.Equal(owner.Since))
}

// isOfFormer reports whether the last message was surely not written by a process after holder.
func (w *writer) isOfFormer() bool { return w.spoke <= w.sure }
