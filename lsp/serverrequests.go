package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// handle handles the requests and notifications of the server. It is called for one message at a time and does not block.
func (ps *process) handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	if req.IsNotification() {
		ps.handleNotification(req)
		return nil, nil
	}
	ps.countAnswer()
	s := ps.server
	answer := func(v any) (jsonrpc.Reply, error) { return func() (any, error) { return v, nil }, nil }
	switch req.Method {
	case "workspace/configuration":
		ps.config.requested.Store(true)
		return answer(s.opts.Spec.configuration(req.Params))
	case "workspace/workspaceFolders":
		return answer(workspaceFolders(s.roots()))
	case "workspace/applyEdit":
		return func() (any, error) { return s.applyEdit(ctx, req.Params), nil }, nil
	case "client/registerCapability":
		if err := ps.register(req.Params); err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
		}
		return answer(nil)
	case "client/unregisterCapability":
		var params unregistrationParams
		if err := jsonx.Unmarshal(req.Params, &params); err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc.ErrInvalidParams, err)
		}
		for _, u := range append(params.Unregisterations, params.Unregistrations...) {
			ps.registry.remove(u.ID)
		}
		return answer(nil)
	case "window/workDoneProgress/create":
		ps.progress.create(token(req.Params))
		return answer(nil)
	case "window/showMessageRequest": // no user can choose an action
		ps.message(req.Params, true)
		return answer(nil)
	case "window/showDocument":
		return answer(map[string]bool{"success": false})
	case "workspace/diagnostic/refresh":
		s.docs.refresh()
		return answer(nil)
	case "workspace/semanticTokens/refresh", "workspace/codeLens/refresh", "workspace/inlayHint/refresh",
		"workspace/inlineValue/refresh", "workspace/foldingRange/refresh", "workspace/textDocumentContent/refresh":
		return answer(nil) // gjc caches none of the refreshed data
	default:
		return nil, fmt.Errorf("%w: %s", jsonrpc.ErrMethodNotFound, req.Method)
	}
}

// handleNotification handles a notification of the server. It ignores unknown ones.
func (ps *process) handleNotification(req *jsonrpc.Request) {
	switch req.Method {
	case "textDocument/publishDiagnostics":
		ps.server.docs.publish(ps, req.Params)
	case "$/progress":
		ps.progress.update(token(req.Params), jsonx.Lookup(req.Params, "value"))
	case "window/showMessage":
		ps.message(req.Params, true)
	case "window/logMessage":
		ps.message(req.Params, false)
	case "$/logTrace":
		ps.server.logf("[trace] %s", text.TruncateBytes(stringOf(jsonx.Lookup(req.Params, "message")), maxText))
	case "experimental/serverStatus":
		ps.status(req.Params)
	}
}

// message adds a message of the server to its log. If show is set, it passes warnings and errors to the user.
func (ps *process) message(params jsonx.Raw, show bool) {
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
	ps.server.logf("[%s] %s", level, message)
	if show && message != "" && (kind == "1" || kind == "2") {
		ps.server.notice(fmt.Sprintf("The language server %s reports a problem (%s).", ps.server.Name(), level), message)
	}
}

// status handles rust-analyzer's notification on whether it is busy.
func (ps *process) status(params jsonx.Raw) {
	const quiescent = "serverStatus"
	if jsonx.Lookup(params, "quiescent").Kind() == 'f' {
		ps.progress.set(quiescent, "loading the project")
	} else {
		ps.progress.end(quiescent)
	}
	if message := strings.TrimSpace(stringOf(jsonx.Lookup(params, "message"))); message != "" {
		ps.server.logf("[status] %s: %s", text.TruncateBytes(stringOf(jsonx.Lookup(params, "health")), 20), text.TruncateBytes(message, maxText))
	}
}

func (ps *process) register(raw jsonx.Raw) error {
	var params registrationParams
	if err := jsonx.Unmarshal(raw, &params); err != nil {
		return err
	}
	for _, r := range params.Registrations {
		if err := ps.registry.add(r.ID, r.Method, r.Options); err != nil {
			return fmt.Errorf("%s: %w", r.Method, err)
		}
	}
	ps.server.docs.notify() // waiting callers may request diagnostics now
	return nil
}

// configuration returns the response to workspace/configuration: the settings of each item's section, or null if not set.
func (s *Spec) configuration(params jsonx.Raw) []jsonx.Raw {
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

// section returns the part of settings with a dotted name, or null. The name of a member may contain dots itself.
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

// token returns a progress token, a number or a string, as JSON.
func token(params jsonx.Raw) string { return string(jsonx.Lookup(params, "token")) }
