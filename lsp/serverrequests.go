package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// handle serves what the server sends. It is called for one message at a time and does not block.
func (l *life) handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	if req.IsNotification() {
		l.notified(req)
		return nil, nil
	}
	l.owe()
	s := l.server
	answer := func(v any) (jsonrpc.Reply, error) { return func() (any, error) { return v, nil }, nil }
	switch req.Method {
	case "workspace/configuration":
		l.asked.Store(true)
		return answer(s.configuration(req.Params))
	case "workspace/workspaceFolders":
		return answer(l.workspaceFolders(s.roots()))
	case "workspace/applyEdit":
		return func() (any, error) { return s.applyEdit(ctx, req.Params), nil }, nil
	case "client/registerCapability":
		if err := l.register(req.Params); err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
		}
		return answer(nil)
	case "client/unregisterCapability":
		var params unregistrationParams
		if err := jsonx.Unmarshal(req.Params, &params); err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
		}
		for _, u := range append(params.Unregisterations, params.Unregistrations...) {
			l.registry.remove(u.ID)
		}
		return answer(nil)
	case "window/workDoneProgress/create":
		l.progress.create(token(req.Params))
		return answer(nil)
	case "window/showMessageRequest": // nobody is there to choose
		l.message(req.Params, true)
		return answer(nil)
	case "window/showDocument":
		return answer(map[string]bool{"success": false})
	case "workspace/diagnostic/refresh":
		s.docs.refresh()
		return answer(nil)
	case "workspace/semanticTokens/refresh", "workspace/codeLens/refresh", "workspace/inlayHint/refresh",
		"workspace/inlineValue/refresh", "workspace/foldingRange/refresh", "workspace/textDocumentContent/refresh":
		return answer(nil) // nothing of that is kept
	default:
		return nil, fmt.Errorf("%w: %s", jsonrpc.ErrMethodNotFound, req.Method)
	}
}

// notified takes a notification of the server. Those that are not known are left alone.
func (l *life) notified(req *jsonrpc.Request) {
	switch req.Method {
	case "textDocument/publishDiagnostics":
		l.server.docs.publish(l, req.Params)
	case "$/progress":
		l.progress.update(token(req.Params), jsonx.Lookup(req.Params, "value"))
	case "window/showMessage":
		l.message(req.Params, true)
	case "window/logMessage":
		l.message(req.Params, false)
	case "$/logTrace":
		l.server.logf("[trace] %s", text.TruncateBytes(stringOf(jsonx.Lookup(req.Params, "message")), maxText))
	case "experimental/serverStatus":
		l.status(req.Params)
	}
}

// message is one that the server has for the log, or for the user.
func (l *life) message(params jsonx.Raw, show bool) {
	kind, level := string(jsonx.Lookup(params, "type")), "log"
	switch kind {
	case "1":
		level = "error"
	case "2":
		level = "warning"
	case "3":
		level = "info"
	}
	message := text.TruncateBytes(strings.TrimSpace(stringOf(jsonx.Lookup(params, "message"))), maxText)
	l.server.logf("[%s] %s", level, message)
	if show && message != "" && (kind == "1" || kind == "2") {
		l.server.notice(fmt.Sprintf("The language server %s tells of a problem (%s).", l.server.Name(), level), message)
	}
}

// status is rust-analyzer's way to say whether it is at work.
func (l *life) status(params jsonx.Raw) {
	const quiescent = "serverStatus"
	if jsonx.Lookup(params, "quiescent").Kind() == 'f' {
		l.progress.set(quiescent, "loading the project")
	} else {
		l.progress.end(quiescent)
	}
	if message := strings.TrimSpace(stringOf(jsonx.Lookup(params, "message"))); message != "" {
		l.server.logf("[status] %s: %s", text.TruncateBytes(stringOf(jsonx.Lookup(params, "health")), 20), text.TruncateBytes(message, maxText))
	}
}

func (l *life) register(raw jsonx.Raw) error {
	var params registrationParams
	if err := jsonx.Unmarshal(raw, &params); err != nil {
		return err
	}
	for _, r := range params.Registrations {
		if err := l.registry.add(r.ID, r.Method, r.Options); err != nil {
			return fmt.Errorf("%s: %w", r.Method, err)
		}
	}
	l.server.docs.wake() // who waits for problems may ask for them now
	return nil
}

// configuration answers workspace/configuration: for each item the settings of its section, null for what is not set.
func (s *Server) configuration(params jsonx.Raw) []jsonx.Raw {
	var items []struct {
		Section string `json:"section"`
	}
	if jsonx.Unmarshal(jsonx.Lookup(params, "items"), &items) != nil {
		return nil
	}
	answers := make([]jsonx.Raw, len(items))
	for i, item := range items {
		answers[i] = section(s.settings(), item.Section)
	}
	return answers
}

// section returns the part of settings with a name of words with dots between them. A member whose own name has dots is
// found too. It is null where there is none.
func section(settings jsonx.Raw, name string) jsonx.Raw {
	if name == "" {
		return settings
	}
	if found := jsonx.Lookup(settings, name); found != nil {
		return found
	}
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '.' {
			continue
		}
		if inner := jsonx.Lookup(settings, name[:i]); inner != nil {
			if found := section(inner, name[i+1:]); !jsonx.IsNull(found) {
				return found
			}
		}
	}
	return jsonx.Raw("null")
}

// token is a progress token, number or string, as it is written.
func token(params jsonx.Raw) string { return string(jsonx.Lookup(params, "token")) }
