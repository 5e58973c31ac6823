package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxPulls bounds the requests for one text while the server keeps cancelling them or invalidating its answers.
	maxPulls = 10
	// pullPause is the first pause between them; it doubles.
	pullPause = 50 * time.Millisecond
	// maxIdentifiers bounds the sources of diagnostics of one server.
	maxIdentifiers = 16
)

// identifiers returns the server's names for its sources of diagnostics for a file; each needs its own request. A server with
// one source may have an empty name.
func (ps *process) identifiers(method, path string) []string {
	var list []string
	for _, options := range ps.providers(method, path) {
		id := stringOf(jsonx.Lookup(options, "identifier"))
		if !slices.Contains(list, id) && len(list) < maxIdentifiers {
			list = append(list, id)
		}
	}
	return list
}

// pull requests the diagnostics of the document from each source. It fails only if all sources fail.
func (d *Document) pull(ctx context.Context, ps *process, identifiers []string) ([]protocol.Diagnostic, error) {
	var all []protocol.Diagnostic
	var errs []error
	for _, id := range identifiers {
		list, err := d.pullFrom(ctx, ps, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = mergeDiagnostics(all, list)
	}
	if len(errs) == len(identifiers) || ctx.Err() != nil || ps.isEnding() {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		d.Server.logf("[gjc] %v", err)
	}
	return all, nil
}

// pullFrom requests the diagnostics from one source. It retries while the answer is invalidated.
func (d *Document) pullFrom(ctx context.Context, ps *process, identifier string) ([]protocol.Diagnostic, error) {
	ds := d.Server.docs
	pause := pullPause
	for n := 1; ; n++ {
		ds.mu.Lock()
		refreshes := ds.published.refreshes
		params := documentDiagnosticParams{TextDocument: documentID{string(d.URI)}, Identifier: identifier}
		params.PreviousResultID = ds.published.previousLocked(ps, d.Path, identifier).resultID
		ds.mu.Unlock()
		var report diagnosticReport
		err := d.Server.call(ctx, ps, "textDocument/diagnostic", params, &report)
		again := false
		switch {
		case err == nil:
			list, known := ds.addPulled(ps, d.Path, identifier, &report)
			ds.mu.Lock()
			again = !known || ds.published.refreshes != refreshes
			ds.mu.Unlock()
			if !again || n == maxPulls && known {
				return list, nil
			}
			err = fmt.Errorf("%s refers to an earlier answer that does not exist", d.Server.Name())
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

// retriggers reports whether a server that cancelled a request wants the client to send it again, which is the default.
func retriggers(err error) bool {
	e, _ := errors.AsType[*ResponseError](err)
	return jsonx.Lookup(e.Data, "retriggerRequest").Kind() != 'f'
}

// previousLocked returns the previous answer of this process. The documents' mu is held.
func (pub *publications) previousLocked(ps *process, path, identifier string) pulled {
	if p := pub.getLocked(pathKey(path)); p != nil && p.pulled[identifier].in == ps {
		return p.pulled[identifier]
	}
	return pulled{}
}

// addPulled keeps a report of a file and of related files, and returns its diagnostics. It returns false if the report refers to
// an earlier answer that does not exist.
func (ds *documents) addPulled(ps *process, path, identifier string, report *diagnosticReport) (list []protocol.Diagnostic, ok bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	list, ok = ds.published.keepLocked(ps, path, identifier, report)
	for uri, related := range report.Related {
		if path := pathOf(uri); path != "" {
			ds.published.keepLocked(ps, path, identifier, &related)
		}
	}
	ds.published.notifyLocked()
	return list, ok
}

// resultID returns the ID of the answer; empty if it is too long.
func (r *diagnosticReport) resultID() string {
	if len(r.ResultID) > maxText {
		return ""
	}
	return r.ResultID
}

// keepLocked keeps a report and returns its diagnostics. The documents' mu is held.
func (pub *publications) keepLocked(ps *process, path, identifier string, report *diagnosticReport) ([]protocol.Diagnostic, bool) {
	before := pub.previousLocked(ps, path, identifier)
	if report.Kind == "unchanged" {
		if before.in == nil {
			return nil, false
		}
		before.resultID = report.resultID()
	} else {
		before = pulled{resultID: report.resultID(), list: decodeDiagnostics(report.Items), in: ps}
	}
	p := pub.getLocked(pathKey(path))
	size := len(report.Items)
	if p != nil {
		size += p.size / 2 // an estimate of what is kept
	}
	p = pub.touchLocked(path, size)
	if p.pulled == nil {
		p.pulled = make(map[string]pulled)
	}
	p.pulled[identifier] = before
	return before.list, true
}

// PullWorkspace requests the diagnostics of the whole workspace (workspace/diagnostic), by file. ok is false if the server does not
// support that. If a source fails, err is set and byPath holds the diagnostics of the others.
func (s *Server) PullWorkspace(ctx context.Context) (byPath map[string][]protocol.Diagnostic, ok bool, err error) {
	ps, err := s.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	identifiers := ps.identifiers("workspace/diagnostic", "")
	if len(identifiers) == 0 {
		return nil, false, nil
	}
	byPath = make(map[string][]protocol.Diagnostic)
	var errs []error
	for _, id := range identifiers {
		var report struct {
			Items []diagnosticReport `json:"items"`
		}
		if err := s.call(ctx, ps, "workspace/diagnostic", workspaceDiagnosticParams{Identifier: id}, &report); err != nil {
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

// tsserverRequest is a command of typescript-language-server that passes a request to tsserver.
const tsserverRequest = "typescript.tsserverRequest"

// tsserverPosition counts from 1; Offset counts UTF-16 units.
type tsserverPosition struct {
	Line   float64 `json:"line"`
	Offset float64 `json:"offset"`
}

func (p tsserverPosition) position() position {
	return position{max(uint32(p.Line), 1) - 1, max(uint32(p.Offset), 1) - 1}
}

type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

type tsserverAnswer struct {
	Success bool `json:"success"`
	Body    []struct {
		Start    tsserverPosition `json:"start"`
		End      tsserverPosition `json:"end"`
		Text     string           `json:"text"`
		Code     float64          `json:"code"`
		Category string           `json:"category"`
		Source   string           `json:"source"`
	} `json:"body"`
}

// diagnosticItem is a Diagnostic of the protocol.
type diagnosticItem struct {
	Range struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range"`
	Severity int     `json:"severity"`
	Code     float64 `json:"code"`
	Source   string  `json:"source"`
	Message  string  `json:"message"`
}

// hasTSServer reports whether the server passes requests to tsserver.
func (ps *process) hasTSServer() bool {
	return strings.Contains(string(ps.caps.at("executeCommandProvider.commands")), `"`+tsserverRequest+`"`)
}

// pullTSServer requests the diagnostics of the text from typescript-language-server. Its published diagnostics have no
// versions, and it publishes nothing if the lists before and after a change are empty.
func (d *Document) pullTSServer(ctx context.Context, ps *process) ([]protocol.Diagnostic, bool) {
	items := []diagnosticItem{}
	for _, request := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var answer tsserverAnswer
		params := map[string]any{"command": tsserverRequest, "arguments": []any{request, map[string]string{"file": string(d.URI)}}}
		if err := d.Server.call(ctx, ps, "workspace/executeCommand", params, &answer); err != nil || !answer.Success {
			return nil, false
		}
		for _, b := range answer.Body {
			item := diagnosticItem{Severity: 1, Code: b.Code, Source: "typescript", Message: b.Text}
			item.Range.Start, item.Range.End = b.Start.position(), b.End.position()
			switch b.Category {
			case "warning":
				item.Severity = 2
			case "suggestion":
				item.Severity = 4
			}
			if b.Source != "" {
				item.Source = b.Source
			}
			items = append(items, item)
		}
	}
	raw, err := jsonx.Marshal(items)
	if err != nil {
		return nil, false
	}
	return d.Server.docs.addPulled(ps, d.Path, tsserverRequest, &diagnosticReport{Kind: "full", Items: raw})
}
