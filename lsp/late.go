package lsp

import (
	"context"
	"slices"
	"time"
)

// lateReports are what came too late for their edits.
type lateReports struct {
	waiting map[string]*listener // by server and path
	reports []*Report
}

// listener is one who waits for late words.
type listener struct {
	end context.CancelFunc
	// heard is what was published by the time up to which all was told, of who listens for other files.
	heard published
}

// maxLate bounds the late reports that are kept.
const maxLate = 20

// listen waits in the background for what a server has to say of a changed file behind the report: its first word, where it
// was silent, and what it finds when it looks a second time. The next change of the file ends that.
func (w *Workspace) listen(f *edited, at int) {
	s, base, heard := f.servers[at], f.baseline[at], f.answers[at]
	if base.err != nil || !base.fresh {
		base.list = nil
	}
	ctx, over := w.listens(s.Name()+"\x00"+f.path, published{})
	started := w.manager.background(func() {
		defer over()
		a, first := w.overhear(ctx, s, f, heard.fresh)
		if a.err != nil || !a.fresh || ctx.Err() != nil {
			return
		}
		if now, err := w.read(ctx, f.path); err != nil || now != f.after {
			return // it is about a text that is gone
		}
		markNew(base.list, a.list, f.before, f.after)
		if !first {
			// What was told is told, and what is only advice is not worth a second word.
			told := slices.Clone(a.list)
			markNew(heard.list, told, f.after, f.after)
			for i := range a.list {
				a.list[i].New = a.list[i].New && told[i].New
			}
			a.list = slices.DeleteFunc(a.list, func(d Diagnostic) bool { return !d.New || d.Severity > SeverityWarning })
			if len(a.list) == 0 {
				return
			}
		}
		r := &Report{Path: f.path}
		r.add(&a)
		r.sort()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.late.reports) < maxLate {
			w.late.reports = append(w.late.reports, r)
		}
	})
	if !started {
		over()
	}
}

// listens begins to wait for late words about something, in place of who did so before. over must be called.
func (w *Workspace) listens(about string, heard published) (ctx context.Context, over func()) {
	ctx, cancel := context.WithTimeout(w.ctx, lateWait)
	here := &listener{cancel, heard}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late.waiting == nil {
		w.late.waiting = make(map[string]*listener)
	}
	if former := w.late.waiting[about]; former != nil {
		former.end()
	}
	w.late.waiting[about] = here
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.late.waiting[about] == here {
			delete(w.late.waiting, about)
		}
	}
}

// untold ends who listens for what a server finds in files that a change did not touch, and returns what was published by
// the time up to which all was told. What came since is the next report's.
func (w *Workspace) untold(s *Server) published {
	w.mu.Lock()
	defer w.mu.Unlock()
	former := w.late.waiting[elsewhereOf(s)]
	if former == nil {
		return s.published()
	}
	former.end()
	delete(w.late.waiting, elsewhereOf(s))
	return former.heard
}

// elsewhereOf is what who listens for other files listens to.
func elsewhereOf(s *Server) string { return s.Name() + "\x00" }

// listenElsewhere waits in the background for what a server finds in files that a change did not touch, behind what is heard.
// A server that has been silent about the change first says something of the touched files. The next change ends that.
func (w *Workspace) listenElsewhere(s *Server, heard published, touched map[string]bool, silent bool) {
	ctx, over := w.listens(elsewhereOf(s), heard)
	started := w.manager.background(func() {
		defer over()
		var last <-chan time.Time
		for ctx.Err() == nil {
			s.quiet(ctx, elsewhereQuiet)
			moved := s.moved()
			if last == nil && (!silent || s.spoken(heard, touched)) {
				last = time.After(secondLook)
			}
			if _, reports := w.broken(ctx, s, heard, touched); len(reports) > 0 {
				w.mu.Lock()
				defer w.mu.Unlock()
				if ctx.Err() == nil { // nobody has taken over
					w.late.reports = append(w.late.reports, reports[:min(len(reports), maxLate-len(w.late.reports))]...)
					delete(w.late.waiting, elsewhereOf(s))
				}
				return
			}
			select {
			case <-moved:
			case <-last:
				return
			case <-ctx.Done():
			}
		}
	})
	if !started {
		over()
	}
}

// overhear waits for what a server says of a changed file, without keeping the document from others: for its first word, or
// for the next where it has spoken.
func (w *Workspace) overhear(ctx context.Context, s *Server, f *edited, spoken bool) (a answer, first bool) {
	doc, err := w.take(ctx, s, f.path, f.after, false)
	if err != nil {
		return answer{server: s.Name(), err: err}, true
	}
	doc.Release()
	if !spoken {
		return hear(ctx, s, f.path, doc, nil), true
	}
	short, cancel := context.WithTimeout(ctx, secondLook)
	defer cancel()
	list, ok := doc.next(short)
	return answer{server: s.Name(), fresh: ok, list: NewDiagnostics(s.Name(), f.path, doc.Text, s.Encoding(), list)}, false
}

const (
	// lateWait is how long a server that was silent is listened to: one that has a large project to look at, on a busy
	// machine, may take that long.
	lateWait = 2 * time.Minute
	// secondLook is how long a server may take to look at a text again behind its first word.
	secondLook = 5 * time.Second
)

// Late returns the reports that came too late for their edits, once each.
func (w *Workspace) Late() []*Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := w.late.reports
	w.late.reports = nil
	return late
}
