package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxPulls is how often the problems of one text are asked for when the server gives up or says that its answer is old.
	maxPulls = 10
	// pullAgain is the first pause before that; it doubles.
	pullAgain = 50 * time.Millisecond
	// maxIdentifiers bounds the sources of problems of one server.
	maxIdentifiers = 16
)

// identifiers returns the server's names for its sources of problems for a file: one request is made for each. The name is
// empty for a server with one source.
func (l *life) identifiers(method, path string) []string {
	var list []string
	for _, options := range l.providers(method, path) {
		id := stringOf(jsonx.Lookup(options, "identifier"))
		if !slices.Contains(list, id) && len(list) < maxIdentifiers {
			list = append(list, id)
		}
	}
	return list
}

// pull asks for the problems of the document, from each source. One that fails costs the others nothing, if there is one
// that does not.
func (d *Document) pull(ctx context.Context, l *life, identifiers []string) ([]protocol.Diagnostic, error) {
	var all []protocol.Diagnostic
	var errs []error
	for _, id := range identifiers {
		list, err := d.pullFrom(ctx, l, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = mergeDiagnostics(all, list)
	}
	if len(errs) == len(identifiers) || ctx.Err() != nil || l.isOver() {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		d.Server.logf("[gjc] %v", err)
	}
	return all, nil
}

// pullFrom asks one source until its answer holds.
func (d *Document) pullFrom(ctx context.Context, l *life, identifier string) ([]protocol.Diagnostic, error) {
	ds := d.Server.docs
	pause := pullAgain
	for n := 1; ; n++ {
		ds.mu.Lock()
		stale := ds.told.stale
		params := documentDiagnosticParams{TextDocument: documentID{string(d.URI)}, Identifier: identifier}
		params.PreviousResultID = ds.told.previousLocked(l, d.Path, identifier).resultID
		ds.mu.Unlock()
		var report diagnosticReport
		err := d.Server.call(ctx, l, "textDocument/diagnostic", params, &report)
		again := false
		switch {
		case err == nil:
			list, known := ds.pulled(l, d.Path, identifier, &report)
			ds.mu.Lock()
			again = !known || ds.told.stale != stale
			ds.mu.Unlock()
			if !again || n == maxPulls && known {
				return list, nil
			}
			err = fmt.Errorf("%s says that nothing changed since an answer that it did not give", d.Server.Name())
		case isCode(err, codeServerCancelled):
			again = retriggers(err)
		case isCode(err, codeContentModified):
			again = true
		}
		if !again || n >= maxPulls {
			return nil, err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, err
		}
		pause = min(2*pause, time.Second)
	}
}

// retriggers reports whether a server that has cancelled a request wants it again; it does where it does not say.
func retriggers(err error) bool {
	e, _ := errors.AsType[*ResponseError](err)
	return jsonx.Lookup(e.Data, "retriggerRequest").Kind() != 'f'
}

// previousLocked is the answer before, if it was one of this process. The documents' mu is held.
func (t *told) previousLocked(l *life, path, identifier string) pulled {
	if p := t.getLocked(pathKey(path)); p != nil && p.pulled[identifier].in == l {
		return p.pulled[identifier]
	}
	return pulled{}
}

// pulled keeps a report of a file and of those that it says are concerned too, and returns its list. ok is false where it
// refers to an answer that there is not.
func (ds *documents) pulled(l *life, path, identifier string, report *diagnosticReport) (list []protocol.Diagnostic, ok bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	list, ok = ds.told.keepLocked(l, path, identifier, report)
	for uri, related := range report.Related {
		if path := pathOf(uri); path != "" {
			ds.told.keepLocked(l, path, identifier, &related)
		}
	}
	ds.told.moveLocked()
	return list, ok
}

// resultID is the name of the answer, if it is of a length to be kept.
func (r *diagnosticReport) resultID() string {
	if len(r.ResultID) > maxText {
		return ""
	}
	return r.ResultID
}

// keepLocked keeps a report and returns its list. The documents' mu is held.
func (t *told) keepLocked(l *life, path, identifier string, report *diagnosticReport) ([]protocol.Diagnostic, bool) {
	before := t.previousLocked(l, path, identifier)
	if report.Kind == "unchanged" {
		if before.in == nil {
			return nil, false
		}
		before.resultID = report.resultID()
	} else {
		before = pulled{resultID: report.resultID(), list: decodeDiagnostics(report.Items), in: l}
	}
	p := t.getLocked(pathKey(path))
	size := len(report.Items)
	if p != nil {
		size += p.size / 2 // of what there was; it need not be exact
	}
	p = t.touchLocked(path, size)
	if p.pulled == nil {
		p.pulled = make(map[string]pulled)
	}
	p.pulled[identifier] = before
	return before.list, true
}

// PullWorkspace asks for the problems of the whole workspace (workspace/diagnostic), by file. ok is false where the server does
// not offer that. Where one of its sources fails, err tells so and byPath has what the others say.
func (s *Server) PullWorkspace(ctx context.Context) (byPath map[string][]protocol.Diagnostic, ok bool, err error) {
	l, err := s.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	identifiers := l.identifiers("workspace/diagnostic", "")
	if len(identifiers) == 0 {
		return nil, false, nil
	}
	byPath = make(map[string][]protocol.Diagnostic)
	var errs []error
	for _, id := range identifiers {
		var report struct {
			Items []diagnosticReport `json:"items"`
		}
		if err := s.call(ctx, l, "workspace/diagnostic", workspaceDiagnosticParams{Identifier: id}, &report); err != nil {
			errs = append(errs, err)
			continue
		}
		for i := range report.Items {
			item := &report.Items[i]
			path := pathOf(item.URI)
			if path == "" || item.Kind == "unchanged" {
				continue
			}
			byPath[path] = mergeDiagnostics(byPath[path], decodeDiagnostics(item.Items))
		}
	}
	return byPath, true, errors.Join(errs...)
}
