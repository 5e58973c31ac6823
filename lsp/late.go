package lsp

import (
	"context"
	"slices"
	"time"
)

const (
	// maxLate bounds the late reports that are kept.
	maxLate = 20
	// lateWait is the time for which a report waits for a server that has not answered: loading a large project on a busy machine may
	// take that long.
	lateWait = 2 * time.Minute
	// secondCheck is the time that a server may take to check a text again after its first answer.
	secondCheck = 5 * time.Second
)

// lateReports are the reports that were not ready when [Edit.Report] returned. The workspace's mu guards them.
type lateReports struct {
	waiting map[string]*pendingReport // by server and path
	reports []*Report
}

// pendingReport is a background wait for the late answer of a server.
type pendingReport struct {
	cancel context.CancelFunc
	// reported is the snapshot whose diagnostics have all been reported. It is set only for a wait for untouched files.
	reported publishedSnapshot
}

// Late returns the reports that were not ready when [Edit.Report] returned. It returns each report once.
func (w *Workspace) Late() []*Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := w.late.reports
	w.late.reports = nil
	return late
}

// awaitLate waits in the background for a server's report on a changed file after [Edit.Report] has returned: its first answer if
// it has not answered, otherwise the result of a second check. The next change of the file ends the wait.
func (w *Workspace) awaitLate(f *edited, at int) {
	s, base, reported := f.servers[at], f.baseline[at], f.answers[at]
	if base.err != nil || !base.fresh {
		base.list = nil
	}
	w.waitLate(s.Name()+"\x00"+f.path, publishedSnapshot{}, func(ctx context.Context) {
		a, first := w.nextAnswer(ctx, s, f, reported.fresh)
		if a.err != nil || !a.fresh || ctx.Err() != nil {
			return
		}
		if now, err := w.read(ctx, f.path); err != nil || now != f.after {
			return // the text has changed
		}
		markNew(base.list, a.list, f.before, f.after)
		if !first {
			// Drop the diagnostics that were reported before, and hints that are not worth a second report.
			known := slices.Clone(a.list)
			markNew(reported.list, known, f.after, f.after)
			for i := range a.list {
				a.list[i].New = a.list[i].New && known[i].New
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
}

// waitLate runs a wait in the background, and ends the one with the same key that runs already.
func (w *Workspace) waitLate(key string, reported publishedSnapshot, run func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(w.ctx, lateWait)
	wait := &pendingReport{cancel, reported}
	w.mu.Lock()
	if w.late.waiting == nil {
		w.late.waiting = make(map[string]*pendingReport)
	}
	if former := w.late.waiting[key]; former != nil {
		former.cancel()
	}
	w.late.waiting[key] = wait
	w.mu.Unlock()
	done := func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.late.waiting[key] == wait {
			delete(w.late.waiting, key)
		}
	}
	if !w.manager.background(func() { defer done(); run(ctx) }) {
		done()
	}
}

// endElsewhere ends the wait for diagnostics of files that the last change did not touch, and returns the snapshot whose
// diagnostics have all been reported. Diagnostics published since then belong to the next report.
func (w *Workspace) endElsewhere(s *Server) publishedSnapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	former := w.late.waiting[elsewhereKey(s)]
	if former == nil {
		return s.docs.snapshot()
	}
	former.cancel()
	delete(w.late.waiting, elsewhereKey(s))
	return former.reported
}

// elsewhereKey is the key of the wait for files that a change did not touch.
func elsewhereKey(s *Server) string { return s.Name() + "\x00" }

// awaitElsewhere waits in the background for diagnostics of files that a change did not touch, published after the snapshot. A
// server that has not answered yet is expected to publish diagnostics of the touched files first. The next change ends the wait.
func (w *Workspace) awaitElsewhere(s *Server, reported publishedSnapshot, touched map[string]bool, silent bool) {
	w.waitLate(elsewhereKey(s), reported, func(ctx context.Context) {
		var last <-chan time.Time
		for ctx.Err() == nil {
			s.docs.awaitQuiet(ctx, elsewhereQuiet)
			changed := s.docs.nextChange()
			if last == nil && (!silent || s.docs.hasPublished(reported, touched)) {
				last = time.After(secondCheck)
			}
			if _, reports := w.newErrors(ctx, s, reported, touched); len(reports) > 0 {
				w.mu.Lock()
				defer w.mu.Unlock()
				if ctx.Err() == nil { // no other wait has replaced this one
					w.late.reports = append(w.late.reports, reports[:min(len(reports), maxLate-len(w.late.reports))]...)
					delete(w.late.waiting, elsewhereKey(s))
				}
				return
			}
			select {
			case <-changed:
			case <-last:
				return
			case <-ctx.Done():
			}
		}
	})
}

// nextAnswer waits for a server's report on a changed file: its first answer, or the next one if it has already answered. Other
// callers can use the document meanwhile.
func (w *Workspace) nextAnswer(ctx context.Context, s *Server, f *edited, answered bool) (a answer, first bool) {
	doc, err := w.openDocument(ctx, s, f.path, f.after, false)
	if err != nil {
		return answer{server: s.Name(), err: err}, true
	}
	doc.Release()
	if !answered {
		return awaitAnswer(ctx, s, f.path, doc, nil), true
	}
	short, cancel := context.WithTimeout(ctx, secondCheck)
	defer cancel()
	list, ok := doc.nextPublished(short)
	return answer{server: s.Name(), fresh: ok, list: NewDiagnostics(s.Name(), f.path, doc.Text, s.Encoding(), list)}, false
}
