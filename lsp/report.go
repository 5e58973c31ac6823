package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

// Place is a position for display: line and column (in code points) count from 1.
type Place struct{ Line, Column int }

// NewPlace returns the place of a position in a text.
func NewPlace(text *Text, p protocol.Position, e Encoding) Place {
	at := text.Position(text.Offset(p, e), UTF32)
	return Place{int(at.Line) + 1, int(at.Character) + 1}
}

func (p Place) compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Line, o.Line), cmp.Compare(p.Column, o.Column))
}

// Severity is the severity of a [Diagnostic], as in the protocol.
type Severity int

// The severities.
const (
	SeverityError Severity = iota + 1
	SeverityWarning
	SeverityInformation
	SeverityHint
)

// Diagnostic is a diagnostic of a server, for display.
type Diagnostic struct {
	Path       string
	Start, End Place
	// Severity is [SeverityError] if the server sent none.
	Severity Severity
	Message  string
	Source   string
	Code     string
	Server   string
	// New says that it did not exist before the reported change.
	New bool
}

// NewDiagnostics converts the diagnostics that a server sent for a text.
func NewDiagnostics(server, path string, text *Text, e Encoding, list []protocol.Diagnostic) []Diagnostic {
	out := make([]Diagnostic, 0, len(list))
	for i := range list {
		d := &list[i]
		code := ""
		switch c := d.Code.(type) {
		case nil:
		case string:
			code = c
		case float64:
			code = fmt.Sprintf("%g", c)
		default:
			code = fmt.Sprint(c)
		}
		severity := Severity(d.Severity)
		if severity < SeverityError || severity > SeverityHint {
			severity = SeverityError
		}
		out = append(out, Diagnostic{
			Path: path, Start: NewPlace(text, d.Range.Start, e), End: NewPlace(text, d.Range.End, e), Severity: severity,
			Message: d.Message, Source: d.Source, Code: code, Server: server,
		})
	}
	return out
}

// Report is the diagnostics of all servers for a file.
type Report struct {
	Path string
	// Diagnostics contains no duplicates. New ones come first; each group is sorted by severity and place.
	Diagnostics []Diagnostic
	// Servers are the names of all servers for the file.
	Servers []string
	// Silent lists the servers that did not report on the text in time.
	Silent []string
	// Failed are the servers that failed, with the error.
	Failed map[string]string
	// Unchecked are further files of a change that were not checked, because there are too many.
	Unchecked []string
}

// sort sorts the diagnostics and removes duplicates of different servers.
func (r *Report) sort() {
	slices.SortStableFunc(r.Diagnostics, func(a, b Diagnostic) int {
		switch {
		case a.New != b.New && a.New:
			return -1
		case a.New != b.New:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.Start.compare(b.Start), a.End.compare(b.End), strings.Compare(a.Message, b.Message))
	})
	type key struct {
		start, end Place
		message    string
	}
	seen := make(map[key]bool, len(r.Diagnostics))
	r.Diagnostics = slices.DeleteFunc(r.Diagnostics, func(d Diagnostic) bool {
		k := key{d.Start, d.End, d.Message}
		duplicate := seen[k]
		seen[k] = true
		return duplicate
	})
	slices.Sort(r.Silent)
}

// answer is the diagnostics of one server for one text.
type answer struct {
	server string
	list   []Diagnostic
	fresh  bool
	err    error
}

// openDocument opens a document with a text. If saved is set, it notifies the server that the text was saved. The caller must
// release the document.
func (w *Workspace) openDocument(ctx context.Context, s *Server, path, text string, saved bool) (*Document, error) {
	doc, err := w.hold(ctx, s, path, text)
	if err != nil {
		return nil, err
	}
	if saved {
		if err := doc.Save(ctx); err != nil {
			doc.Release()
			return nil, err
		}
	}
	return doc, nil
}

// awaitAnswer waits for the diagnostics of a document, until ctx ends. A non-nil err is the reason why the document was not opened.
func awaitAnswer(ctx context.Context, s *Server, path string, doc *Document, err error) answer {
	a := answer{server: s.Name(), err: err}
	if err != nil {
		return a
	}
	list, fresh, err := doc.Diagnostics(ctx)
	if err != nil {
		a.err = err
		return a
	}
	a.fresh, a.list = fresh, NewDiagnostics(a.server, path, doc.Text, s.Encoding(), list)
	return a
}

// diagnoseText waits for a server's diagnostics of a text, until ctx ends. If waitDependencies is set, it also waits while a change
// of another file may still affect them.
func (w *Workspace) diagnoseText(ctx context.Context, s *Server, path, text string, waitDependencies bool) answer {
	doc, err := w.openDocument(ctx, s, path, text, false)
	if err == nil {
		doc.waitDependencies = waitDependencies
		defer doc.Release()
	}
	return awaitAnswer(ctx, s, path, doc, err)
}

// add adds an answer to the report.
func (r *Report) add(a *answer) {
	r.Servers = append(r.Servers, a.server)
	switch {
	case a.err != nil && (errors.Is(a.err, context.DeadlineExceeded) || errors.Is(a.err, ErrTimeout)):
		r.Silent = append(r.Silent, a.server)
	case a.err != nil:
		if r.Failed == nil {
			r.Failed = make(map[string]string)
		}
		r.Failed[a.server] = a.err.Error()
	case !a.fresh:
		r.Silent = append(r.Silent, a.server)
	default:
		r.Diagnostics = append(r.Diagnostics, a.list...)
	}
}

// Diagnostics returns the diagnostics of a file's current text from all its servers. It waits for each until ctx ends. If no server
// supports the file, the report is empty.
func (w *Workspace) Diagnostics(ctx context.Context, path string) (*Report, error) {
	servers, err := w.Servers(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &Report{Path: path}
	if len(servers) == 0 {
		return r, nil
	}
	text, err := w.read(ctx, path)
	if err != nil {
		return nil, err
	}
	w.Refresh(ctx)
	for _, a := range each(servers, func(s *Server) answer { return w.diagnoseText(ctx, s, path, text, true) }) {
		r.add(&a)
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	r.sort()
	return r, nil
}

// each runs fn for all servers concurrently and returns the results in the order of the servers.
func each[T any](servers []*Server, fn func(*Server) T) []T {
	out := make([]T, len(servers))
	var running sync.WaitGroup
	for i, s := range servers {
		running.Go(func() { out[i] = fn(s) })
	}
	running.Wait()
	return out
}

// Edit is a change of files, for [Edit.Report].
type Edit struct {
	w      *Workspace
	before map[string]string // the texts of the existing files
}

// Before starts a change of files. texts has the texts of the existing files before the change, by path, without byte order
// marks.
func (w *Workspace) Before(texts map[string]string) *Edit { return &Edit{w: w, before: texts} }

const (
	// baselineShare is the fraction (1/n) of a report's time that is spent on the diagnostics before the change.
	baselineShare = 4
	// maxEdited bounds the files of one change that are checked.
	maxEdited = 20
)

// edited is one changed file.
type edited struct {
	path          string
	before, after string
	created       bool
	servers       []*Server
	baseline      []answer // by server
	answers       []answer // by server
	report        *Report
}

// Report sends the new texts of the changed files to the servers, notifies them that the files were saved, and returns a report
// for each file that has servers. It waits at most for timeout; [Workspace.Late] returns the answers of slower servers. events
// are other changes: deleted or renamed files.
func (e *Edit) Report(ctx context.Context, timeout time.Duration, paths []string, events ...FileEvent) []*Report {
	w := e.w
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var files []*edited
	var unchecked []string
	var failed []*Report
	for _, path := range paths {
		before, existed := e.before[path]
		kind := FileCreated
		if existed {
			kind = FileChanged
		}
		events = append(events, FileEvent{path, kind})
		servers, err := w.Servers(deadline, path)
		if err == nil && len(servers) == 0 {
			continue
		}
		if len(files) == maxEdited {
			unchecked = append(unchecked, path)
			continue
		}
		after := ""
		if err == nil {
			after, err = w.read(deadline, path)
		}
		if err != nil {
			failed = append(failed, &Report{Path: path, Failed: map[string]string{"the file": err.Error()}})
			continue
		}
		files = append(files, &edited{path: path, before: before, after: after, created: !existed, servers: servers})
	}
	all := func(step func(*edited)) {
		var running sync.WaitGroup
		for _, f := range files {
			running.Go(func() { step(f) })
		}
		running.Wait()
	}
	published, reported := w.publishedBefore(files)
	// First the diagnostics before the change, while the servers have the old text.
	share, done := context.WithTimeout(deadline, timeout/baselineShare)
	all(func(f *edited) {
		f.baseline = each(f.servers, func(s *Server) answer {
			if f.created {
				return answer{fresh: true}
			}
			return w.diagnoseText(share, s, f.path, f.before, false)
		})
	})
	done()
	for _, f := range files {
		for i, s := range f.servers {
			f.baseline[i].mergePublished(published[s], f, s)
		}
	}
	w.notifyChanges(deadline, events)
	w.diagnose(ctx, deadline, files)
	elsewhere := w.elsewhere(ctx, deadline, reported, files)
	var reports []*Report
	for _, f := range files {
		reports = append(reports, f.report)
	}
	reports = append(reports, failed...)
	if len(unchecked) > 0 {
		reports = append(reports, &Report{Path: unchecked[0], Unchecked: unchecked})
	}
	return append(reports, elsewhere...)
}

const (
	// elsewhereQuiet is the time for which a server must publish nothing before its diagnostics of other files count as complete;
	// elsewhereWait bounds the wait for that.
	elsewhereQuiet = 40 * time.Millisecond
	elsewhereWait  = 400 * time.Millisecond
	// maxElsewhere bounds the reports on files that a change did not touch.
	maxElsewhere = 10
)

// publishedBefore returns two snapshots of each server of the changed files: the current one, and the one whose diagnostics have
// all been reported.
func (w *Workspace) publishedBefore(files []*edited) (now, reported map[*Server]publishedSnapshot) {
	now, reported = make(map[*Server]publishedSnapshot), make(map[*Server]publishedSnapshot)
	for _, f := range files {
		for _, s := range f.servers {
			if _, ok := now[s]; !ok {
				now[s], reported[s] = s.docs.snapshot(), w.endElsewhere(s)
			}
		}
	}
	return now, reported
}

// elsewhere returns reports on new errors in files that a change did not touch, if servers publish them before deadline.
// [Workspace.Late] returns later ones.
func (w *Workspace) elsewhere(ctx, deadline context.Context, reported map[*Server]publishedSnapshot, changed []*edited) []*Report {
	touched := make(map[string]bool, len(changed))
	silent := make(map[*Server]bool)
	for _, f := range changed {
		touched[pathKey(f.path)] = true
		for i, s := range f.servers {
			silent[s] = silent[s] || !f.answers[i].fresh
		}
	}
	short, cancel := context.WithTimeout(deadline, elsewhereWait)
	defer cancel()
	var reports []*Report
	for _, found := range each(slices.Collect(maps.Keys(reported)), func(s *Server) []*Report {
		if _, files := s.docs.publishedSince(reported[s]); len(files) > 0 {
			s.docs.awaitQuiet(short, elsewhereQuiet)
		}
		snapshot, found := w.newErrors(deadline, s, reported[s], touched)
		if deadline.Err() != nil {
			snapshot, found = reported[s], nil // the files were not read completely
		}
		if ctx.Err() == nil {
			w.awaitElsewhere(s, snapshot, touched, silent[s])
		}
		return found
	}) {
		reports = append(reports, found...)
	}
	slices.SortFunc(reports, func(a, b *Report) int { return strings.Compare(a.Path, b.Path) })
	return reports[:min(len(reports), maxElsewhere)]
}

// newErrors returns reports on the new errors in untouched files that a server has published since a snapshot, and the current
// snapshot.
func (w *Workspace) newErrors(ctx context.Context, s *Server, before publishedSnapshot, touched map[string]bool) (now publishedSnapshot, reports []*Report) {
	opened := make(map[string]*string)
	for _, d := range s.docs.openTexts() {
		opened[d.path] = &d.text
	}
	now, files := s.docs.publishedSince(before)
	for path, published := range files {
		if touched[pathKey(path)] || len(published) == 0 || len(reports) == maxElsewhere || !w.inside(path) {
			continue
		}
		content, err := w.read(ctx, path)
		if err != nil || opened[path] != nil && *opened[path] != content {
			continue // another session has changed the text
		}
		text := NewText(content)
		list := NewDiagnostics(s.Name(), path, text, s.Encoding(), published)
		markNew(NewDiagnostics(s.Name(), path, text, s.Encoding(), before.files[path]), list, content, content)
		list = slices.DeleteFunc(list, func(d Diagnostic) bool { return !d.New || d.Severity > SeverityError })
		if len(list) == 0 {
			continue
		}
		r := &Report{Path: path, Servers: []string{s.Name()}, Diagnostics: list}
		r.sort()
		reports = append(reports, r)
	}
	return now, reports
}

// changeQuiet is the time for which a server must publish nothing after answering for several files that changed at once: it may have
// answered for one before it received the others.
const changeQuiet = 150 * time.Millisecond

// diagnose fills in the answers and reports of the changed files. Each server receives all of the new texts before its answers
// count.
func (w *Workspace) diagnose(ctx, deadline context.Context, files []*edited) {
	// Use a fixed order, so that two changes of the same files do not deadlock.
	slices.SortFunc(files, func(a, b *edited) int { return strings.Compare(a.path, b.path) })
	type use struct {
		file *edited
		at   int // in the file's servers
		doc  *Document
		err  error
	}
	byServer := make(map[*Server][]*use)
	var servers []*Server
	for _, f := range files {
		f.report, f.answers = &Report{Path: f.path}, make([]answer, len(f.servers))
		for i, s := range f.servers {
			if byServer[s] == nil {
				servers = append(servers, s)
			}
			byServer[s] = append(byServer[s], &use{file: f, at: i})
		}
	}
	each(servers, func(s *Server) struct{} {
		uses := byServer[s]
		for _, u := range uses {
			if u.doc, u.err = w.openDocument(deadline, s, u.file.path, u.file.after, true); u.err == nil {
				defer u.doc.Release()
			}
		}
		var waiting sync.WaitGroup
		awaitAll := func() {
			for _, u := range uses {
				waiting.Go(func() { u.file.answers[u.at] = awaitAnswer(deadline, s, u.file.path, u.doc, u.err) })
			}
			waiting.Wait()
		}
		awaitAll()
		if len(uses) > 1 && deadline.Err() == nil && !s.Supports("textDocument/diagnostic", uses[0].file.path) {
			s.docs.awaitQuiet(deadline, changeQuiet)
			awaitAll()
		}
		return struct{}{}
	})
	for _, f := range files {
		for i := range f.answers {
			a, base := &f.answers[i], f.baseline[i]
			if base.err == nil && base.fresh {
				markNew(base.list, a.list, f.before, f.after)
			}
			f.report.add(a)
			if ctx.Err() == nil && (a.err == nil || errors.Is(a.err, context.DeadlineExceeded)) {
				w.awaitLate(f, i)
			}
		}
		w.shortenRepeated(f.report)
		f.report.sort()
	}
}

// shortenRepeated shortens the failures that an earlier report had.
func (w *Workspace) shortenRepeated(r *Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for server, why := range r.Failed {
		if w.reportedFailures[server] == why {
			r.Failed[server] = "as before"
		} else {
			w.reportedFailures[server] = why
		}
	}
}

// markNew marks the diagnostics that did not exist before a change. A diagnostic that only moved is not new: diagnostics after the
// change are compared by their shifted lines, the others by message.
func markNew(before, after []Diagnostic, old, now string) {
	type key struct {
		line     int
		message  string
		code     string
		severity Severity
	}
	first, last, shift := changedLines(old, now)
	exact, loose := make(map[key]int), make(map[key]int)
	for _, d := range before {
		line := d.Start.Line
		switch {
		case line > last:
			line += shift
		case line >= first:
			line = 0 // a changed line
		}
		exact[key{line, d.Message, d.Code, d.Severity}]++
		loose[key{0, d.Message, d.Code, d.Severity}]++
	}
	left := make([]*Diagnostic, 0, len(after))
	for i := range after {
		d := &after[i]
		d.New = false
		exactKey, looseKey := key{d.Start.Line, d.Message, d.Code, d.Severity}, key{0, d.Message, d.Code, d.Severity}
		if exact[exactKey] > 0 {
			exact[exactKey]--
			loose[looseKey]--
			continue
		}
		left = append(left, d)
	}
	for _, d := range left {
		looseKey := key{0, d.Message, d.Code, d.Severity}
		if loose[looseKey] > 0 {
			loose[looseKey]--
			continue
		}
		d.New = true
	}
}

// changedLines returns the first and the last changed line of old, counting from 1, and the number of lines by which the following
// lines moved.
func changedLines(old, now string) (first, last, shift int) {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + 1, len(a) - tail, len(b) - len(a)
}

// mergePublished replaces an answer by the diagnostics that the server had published before the change, if there are more: some
// servers check twice, and the answer may be the result of the first check only.
func (a *answer) mergePublished(before publishedSnapshot, f *edited, s *Server) {
	if known := before.files[f.path]; a.err == nil && len(known) > len(a.list) && !f.created {
		a.list = NewDiagnostics(s.Name(), f.path, NewText(f.before), s.Encoding(), known)
	}
}
