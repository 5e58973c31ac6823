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

// Place is a position for people: line and character (code point), both from 1.
type Place struct{ Line, Column int }

// NewPlace is what a position in a text is to people.
func NewPlace(text *Text, p protocol.Position, e Encoding) Place {
	at := text.Position(text.Offset(p, e), UTF32)
	return Place{int(at.Line) + 1, int(at.Character) + 1}
}

func (p Place) compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Line, o.Line), cmp.Compare(p.Column, o.Column))
}

// Severity is how bad a [Diagnostic] is, in the protocol's numbers.
type Severity int

// The severities.
const (
	SeverityError Severity = iota + 1
	SeverityWarning
	SeverityInformation
	SeverityHint
)

// Diagnostic is a problem that a server tells.
type Diagnostic struct {
	Path       string
	Start, End Place
	// Severity is an error where the server says nothing.
	Severity Severity
	Message  string
	Source   string
	Code     string
	Server   string
	// New says that it was not there before the change that the report is about.
	New bool
}

// NewDiagnostics puts what a server says of a text into words for people.
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

// Report is what the servers say of a file.
type Report struct {
	Path string
	// Diagnostics are without duplicates; new ones first, then by severity and place.
	Diagnostics []Diagnostic
	// Servers are the names of those that were asked.
	Servers []string
	// Silent are servers that have not spoken for the text in time.
	Silent []string
	// Failed are servers that could not be asked, with the reason.
	Failed map[string]string
	// Unlooked are further files of a change that nobody was asked about, because there are too many.
	Unlooked []string
}

// sort puts the diagnostics in order and drops what two servers say alike.
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
		twice := seen[k]
		seen[k] = true
		return twice
	})
	slices.Sort(r.Silent)
}

// answer is what one server says of one text.
type answer struct {
	server string
	list   []Diagnostic
	fresh  bool
	err    error
}

// take gives a server a text, and says that it is saved where it has just been written. The document must be released.
func (w *Workspace) take(ctx context.Context, s *Server, path, text string, saved bool) (*Document, error) {
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

// hear waits for what a server says of a document, until ctx ends. err is why the server has not got it, or nil.
func hear(ctx context.Context, s *Server, path string, doc *Document, err error) answer {
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

// ask has one server look at a text, and waits for what it says until ctx ends. A patient one waits, too, for what the server
// may still say because another file has changed.
func (w *Workspace) ask(ctx context.Context, s *Server, path, text string, patient bool) answer {
	doc, err := w.take(ctx, s, path, text, false)
	if err == nil {
		doc.patient = patient
		defer doc.Release()
	}
	return hear(ctx, s, path, doc, err)
}

// add takes an answer into the report.
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

// Diagnostics asks all servers for the problems of a file's text as it is now, and waits for each until ctx ends. A
// report without servers means that there are none for the file.
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
	for _, a := range each(servers, func(s *Server) answer { return w.ask(ctx, s, path, text, true) }) {
		r.add(&a)
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	r.sort()
	return r, nil
}

// each runs fn for all servers side by side and returns what it returns, in their order.
func each[T any](servers []*Server, fn func(*Server) T) []T {
	out := make([]T, len(servers))
	var running sync.WaitGroup
	for i, s := range servers {
		running.Go(func() { out[i] = fn(s) })
	}
	running.Wait()
	return out
}

// Edit is a change of files that is being made.
type Edit struct {
	w      *Workspace
	before map[string]string // texts, of the files that were there
}

// Before is about a change of files: texts are those of the files that there were before, by path, without byte order
// marks.
func (w *Workspace) Before(texts map[string]string) *Edit { return &Edit{w: w, before: texts} }

const (
	// baselineShare is which part of the time a report may take to learn what was wrong before the change.
	baselineShare = 4
	// maxEdited bounds the files of one change that are reported on.
	maxEdited = 20
)

// edited is one changed file on its way to a report.
type edited struct {
	path          string
	before, after string
	created       bool
	servers       []*Server
	baseline      []answer // by server
	answers       []answer // likewise
	report        *Report
}

// Report gives the servers the new texts of the changed files, says that they are saved, and returns what the servers
// say: a report for each file that has servers. It waits for most at most; what a silent server says behind that comes
// with [Workspace.Late]. events are changes of other kinds: files removed or renamed.
func (e *Edit) Report(ctx context.Context, most time.Duration, paths []string, events ...FileEvent) []*Report {
	w := e.w
	deadline, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var files []*edited
	var unlooked []string
	var failed []*Report
	for _, path := range paths {
		before, was := e.before[path]
		kind := FileCreated
		if was {
			kind = FileChanged
		}
		events = append(events, FileEvent{path, kind})
		servers, err := w.Servers(deadline, path)
		if err == nil && len(servers) == 0 {
			continue
		}
		if len(files) == maxEdited {
			unlooked = append(unlooked, path)
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
		files = append(files, &edited{path: path, before: before, after: after, created: !was, servers: servers})
	}
	all := func(step func(*edited)) {
		var running sync.WaitGroup
		for _, f := range files {
			running.Go(func() { step(f) })
		}
		running.Wait()
	}
	published, told := w.notePublished(files)
	// What was wrong before is asked first: then the servers have the old text still.
	share, done := context.WithTimeout(deadline, most/baselineShare)
	all(func(f *edited) {
		f.baseline = each(f.servers, func(s *Server) answer {
			if f.created {
				return answer{fresh: true}
			}
			return w.ask(share, s, f.path, f.before, false)
		})
	})
	done()
	for _, f := range files {
		for i, s := range f.servers {
			f.baseline[i].join(published[s], f, s)
		}
	}
	w.tell(deadline, events)
	w.diagnose(ctx, deadline, files)
	broken := w.elsewhere(ctx, deadline, told, files)
	var reports []*Report
	for _, f := range files {
		reports = append(reports, f.report)
	}
	reports = append(reports, failed...)
	if len(unlooked) > 0 {
		reports = append(reports, &Report{Path: unlooked[0], Unlooked: unlooked})
	}
	return append(reports, broken...)
}

const (
	// elsewhereQuiet is how long a server must have been silent for its news of other files to be complete, and
	// elsewhereWait how long that is waited for.
	elsewhereQuiet = 40 * time.Millisecond
	elsewhereWait  = 400 * time.Millisecond
	// maxElsewhere bounds the other files that a change is reported to have broken.
	maxElsewhere = 10
)

// notePublished notes what the servers of changed files have said of all files by now, and up to where that was told.
func (w *Workspace) notePublished(files []*edited) (now, told map[*Server]published) {
	now, told = make(map[*Server]published), make(map[*Server]published)
	for _, f := range files {
		for _, s := range f.servers {
			if _, twice := now[s]; !twice {
				now[s], told[s] = s.published(), w.untold(s)
			}
		}
	}
	return now, told
}

// elsewhere reports the problems that a change has made in files that it did not touch, as far as servers tell of
// themselves until deadline. What they tell later comes with [Workspace.Late].
func (w *Workspace) elsewhere(ctx, deadline context.Context, told map[*Server]published, changed []*edited) []*Report {
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
	for _, found := range each(slices.Collect(maps.Keys(told)), func(s *Server) []*Report {
		if _, files := s.publishedSince(told[s]); len(files) > 0 {
			s.quiet(short, elsewhereQuiet)
		}
		heard, found := w.broken(deadline, s, told[s], touched)
		if deadline.Err() != nil {
			heard, found = told[s], nil // there was no time to read the files
		}
		if ctx.Err() == nil {
			w.listenElsewhere(s, heard, touched, silent[s])
		}
		return found
	}) {
		reports = append(reports, found...)
	}
	slices.SortFunc(reports, func(a, b *Report) int { return strings.Compare(a.Path, b.Path) })
	return reports[:min(len(reports), maxElsewhere)]
}

// broken reports the new errors that one server has published of files that are not among those touched, and returns what
// it had published by then.
func (w *Workspace) broken(ctx context.Context, s *Server, before published, touched map[string]bool) (heard published, reports []*Report) {
	opened := make(map[string]*string)
	for _, d := range s.openTexts() {
		opened[d.path] = &d.text
	}
	heard, files := s.publishedSince(before)
	for path, now := range files {
		if touched[pathKey(path)] || len(now) == 0 || len(reports) == maxElsewhere || !w.inside(path) {
			continue
		}
		content, err := w.read(ctx, path)
		if err != nil || opened[path] != nil && *opened[path] != content {
			continue // it is about a text of another session's
		}
		text := NewText(content)
		list := NewDiagnostics(s.Name(), path, text, s.Encoding(), now)
		markNew(NewDiagnostics(s.Name(), path, text, s.Encoding(), before.files[path]), list, content, content)
		list = slices.DeleteFunc(list, func(d Diagnostic) bool { return !d.New || d.Severity > SeverityError })
		if len(list) == 0 {
			continue
		}
		r := &Report{Path: path, Servers: []string{s.Name()}, Diagnostics: list}
		r.sort()
		reports = append(reports, r)
	}
	return heard, reports
}

// settleChange is how long a server must have been silent behind the answer for several files that changed at once: what
// it said of one may be from before it had the others.
const settleChange = 150 * time.Millisecond

// diagnose asks the servers of the changed files for the problems of their new texts. Each server has all of the texts
// before it is listened to.
func (w *Workspace) diagnose(ctx, deadline context.Context, files []*edited) {
	// Always in one order, so that two changes of the same files do not wait for each other.
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
			if u.doc, u.err = w.take(deadline, s, u.file.path, u.file.after, true); u.err == nil {
				defer u.doc.Release()
			}
		}
		var hearing sync.WaitGroup
		hearAll := func() {
			for _, u := range uses {
				hearing.Go(func() { u.file.answers[u.at] = hear(deadline, s, u.file.path, u.doc, u.err) })
			}
			hearing.Wait()
		}
		hearAll()
		if len(uses) > 1 && deadline.Err() == nil && !s.Supports("textDocument/diagnostic", uses[0].file.path) {
			s.quiet(deadline, settleChange)
			hearAll()
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
				w.listen(f, i)
			}
		}
		w.once(f.report)
		f.report.sort()
	}
}

// once shortens failures that a report has told of before.
func (w *Workspace) once(r *Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for server, why := range r.Failed {
		if w.told[server] == why {
			r.Failed[server] = "as before"
		} else {
			w.told[server] = why
		}
	}
}

// markNew marks what was not there before a change. A problem that only moved is an old one: places behind the change
// are compared as the change has moved them, and what is left by what is said.
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
			line = 0 // in what was changed
		}
		exact[key{line, d.Message, d.Code, d.Severity}]++
		loose[key{0, d.Message, d.Code, d.Severity}]++
	}
	left := make([]*Diagnostic, 0, len(after))
	for i := range after {
		d := &after[i]
		d.New = false
		k, l := key{d.Start.Line, d.Message, d.Code, d.Severity}, key{0, d.Message, d.Code, d.Severity}
		if exact[k] > 0 {
			exact[k]--
			loose[l]--
			continue
		}
		left = append(left, d)
	}
	for _, d := range left {
		l := key{0, d.Message, d.Code, d.Severity}
		if loose[l] > 0 {
			loose[l]--
			continue
		}
		d.New = true
	}
}

// changedLines returns the lines of old that a change touched, from 1, and by how many lines those behind them moved.
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

// join takes what a server had published of a file before the change, where that is more: some look twice, and the second
// look is not over when the first is.
func (a *answer) join(before published, f *edited, s *Server) {
	if known := before.files[f.path]; a.err == nil && len(known) > len(a.list) && !f.created {
		a.list = NewDiagnostics(s.Name(), f.path, NewText(f.before), s.Encoding(), known)
	}
}
