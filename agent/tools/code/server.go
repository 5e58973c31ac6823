package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

func runLSPStatus(ctx context.Context, c *lspCall) (*agent.Result, error) {
	servers, list, err := c.w.All(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	var names []string
	for _, s := range servers {
		names = append(names, s.Name())
	}
	if len(names) == 0 {
		b.WriteString("No language servers configured for this project\n")
	} else {
		fmt.Fprintf(&b, "Active language servers: %s\n", strings.Join(slices.Compact(names), ", "))
	}
	for _, s := range servers {
		c.writeStatus(&b, s.Status(), s.Spec().Linter)
	}
	missed := slices.DeleteFunc(slices.Clone(list.Unused), func(u lsp.Unused) bool { return u.Elsewhere })
	for i, u := range missed {
		if i == 0 {
			b.WriteString("\nNot used:\n")
		}
		fmt.Fprintf(&b, "- %s: %s\n", u.Name, u.Why)
	}
	if len(list.Problems) > 0 {
		fmt.Fprintf(&b, "\nConfiguration problems:\n- %s\n", strings.Join(list.Problems, "\n- "))
	}
	if m, ok := c.w.Catalog().(interface {
		LspmuxStatus(ctx context.Context) string
	}); ok {
		if line := m.LspmuxStatus(ctx); line != "" {
			b.WriteString("\n" + line + "\n")
		}
	}
	return c.result(ctx, b.String()), nil
}

func (c *lspCall) writeStatus(b *strings.Builder, st lsp.ServerStatus, linter bool) {
	fmt.Fprintf(b, "- %s: %s", st.Name, st.State)
	if linter {
		b.WriteString(", linter")
	}
	if st.PID != 0 {
		fmt.Fprintf(b, ", pid %d", st.PID)
	}
	if st.Info != "" {
		b.WriteString(", " + strings.Join(strings.Fields(st.Info), " "))
	}
	fmt.Fprintf(b, ", root %s", c.name(st.Root))
	if st.PID != 0 {
		fmt.Fprintf(b, ", %s, %s open", st.Encoding, text.Count(st.Documents, "document"))
	}
	if st.Restarts > 0 {
		fmt.Fprintf(b, ", restarted %s", text.Count(st.Restarts, "time"))
	}
	if len(st.Progress) > 0 {
		fmt.Fprintf(b, "; busy: %s", strings.Join(st.Progress, ", "))
	}
	if st.LastError != "" {
		fmt.Fprintf(b, "; last error: %s", strings.TrimSpace(st.LastError))
	}
	b.WriteString("\n")
}

// chosen returns the servers to which an action on servers applies: those of the file, or all.
func (c *lspCall) chosen(ctx context.Context) ([]*lsp.Server, error) {
	if c.path != "" {
		return c.servers(ctx, true)
	}
	servers, _, err := c.w.All(ctx)
	if err == nil && len(servers) == 0 {
		err = c.noServer(ctx, "No language server found for this action")
	}
	return servers, err
}

func runCapabilities(ctx context.Context, c *lspCall) (*agent.Result, error) {
	servers, err := c.chosen(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, s := range servers {
		c.asked = s.Name()
		if err := s.Start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%s: failed to start (%v)\n", s.Name(), err)
			continue
		}
		fmt.Fprintf(&b, "%s:\n%s\n", s.Name(), pretty(s.Capabilities()))
	}
	return c.result(ctx, b.String()), nil
}

// pretty returns JSON with indentation.
func pretty(raw jsonx.Raw) string {
	if len(raw) == 0 {
		return "null"
	}
	out := raw.Clone()
	if err := out.Indent(); err != nil {
		return string(raw)
	}
	return string(out)
}

func runReload(ctx context.Context, c *lspCall) (*agent.Result, error) {
	servers, err := c.chosen(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	failed := 0
	for _, s := range servers {
		c.asked = s.Name()
		if err := s.Reload(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			failed++
			fmt.Fprintf(&b, "Failed to reload %s: %v\n", s.Name(), err)
			continue
		}
		fmt.Fprintf(&b, "Reloaded %s\n", s.Name())
	}
	res := c.result(ctx, b.String())
	res.IsError = failed == len(servers)
	return res, nil
}

// readsOnly reports whether, according to the protocol, a method changes nothing.
func readsOnly(method string) bool {
	switch method {
	case "textDocument/definition", "textDocument/declaration", "textDocument/typeDefinition", "textDocument/implementation",
		"textDocument/references", "textDocument/hover", "textDocument/signatureHelp", "textDocument/documentHighlight",
		"textDocument/documentSymbol", "textDocument/codeAction", "textDocument/codeLens", "textDocument/documentLink",
		"textDocument/documentColor", "textDocument/colorPresentation", "textDocument/formatting", "textDocument/rangeFormatting",
		"textDocument/onTypeFormatting", "textDocument/rename", "textDocument/prepareRename", "textDocument/foldingRange",
		"textDocument/selectionRange", "textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls",
		"textDocument/prepareTypeHierarchy", "typeHierarchy/supertypes", "typeHierarchy/subtypes", "textDocument/semanticTokens/full",
		"textDocument/semanticTokens/full/delta", "textDocument/semanticTokens/range", "textDocument/linkedEditingRange",
		"textDocument/moniker", "textDocument/inlayHint", "textDocument/inlineValue", "textDocument/diagnostic", "textDocument/completion",
		"textDocument/inlineCompletion", "workspace/symbol", "workspace/diagnostic", "completionItem/resolve", "codeAction/resolve",
		"codeLens/resolve", "documentLink/resolve", "inlayHint/resolve", "workspaceSymbol/resolve":
		return true
	default:
		return false
	}
}

// planRequest declares the files that the parameters name, and asks the user about a method that may have effects.
func planRequest(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	method := strings.TrimSpace(c.in.Query)
	if method == "" {
		return errors.New("Error: query parameter required: the LSP method to request")
	}
	effects, err := payloadEffects(ctx, c, method)
	if err != nil {
		return err
	}
	plan.Effects = append(plan.Effects, effects...)
	if len(effects) > 0 || !readsOnly(method) {
		plan.Content = []agent.Content{agent.TextContent{Text: "LSP request " + method + "\n\n" + c.in.Payload}}
	}
	if !readsOnly(method) {
		plan.Effects = append(plan.Effects, toolkit.ServerEffect("LSP request "+method, c.in.File, method, c.in.Payload))
	}
	return nil
}

func payloadError(payload string) error {
	var v any
	err := jsonx.Unmarshal([]byte(payload), &v)
	return fmt.Errorf("Error: invalid JSON in payload: %w", err)
}

// runCommand sends workspace/executeCommand. The edits that the server requests meanwhile are made like all others.
func (c *lspCall) runCommand(ctx context.Context, s *lsp.Server, params jsonx.Raw) (*agent.Result, error) {
	command, err := decodeCommand(params)
	if err != nil {
		return nil, err
	}
	all := &edits.WorkspaceChange{Call: c.call, Before: make(map[string]string)}
	text, err := c.execute(ctx, s, command, all)
	if err != nil && len(all.Content) == 0 {
		return nil, err
	}
	if err != nil {
		c.notes = append(c.notes, "The command failed: "+err.Error())
	}
	return c.applied(ctx, s.Name()+" ← workspace/executeCommand:\n"+text, all, nil), nil
}

func runRequest(ctx context.Context, c *lspCall) (*agent.Result, error) {
	method := strings.TrimSpace(c.in.Query)
	if method == "" {
		return nil, errors.New("Error: query parameter required: the LSP method to request")
	}
	servers, err := c.chosen(ctx)
	if err != nil {
		return nil, err
	}
	s := servers[0]
	for _, other := range servers { // prefer one that declares the method
		if other.Supports(method, c.path) {
			s = other
			break
		}
	}
	c.asked = s.Name()
	if c.in.Payload != "" && !jsonx.Valid([]byte(c.in.Payload)) {
		return nil, payloadError(c.in.Payload)
	}
	if method == "workspace/executeCommand" {
		return c.runCommand(ctx, s, jsonx.Raw(c.in.Payload)) // it may change the file, which must not be open then
	}
	var params any
	var doc *lsp.Document
	if c.path != "" {
		if err := c.present(ctx); err != nil {
			return nil, err
		}
		if doc, err = c.w.Hold(ctx, s, c.path); err != nil {
			return nil, c.holdError(err)
		}
		defer doc.Release()
		c.awaitLoading(ctx, s)
	}
	switch {
	case c.in.Payload != "":
		params = jsonx.Raw(c.in.Payload)
	case doc != nil && (c.in.Line > 0 || c.in.Symbol != ""):
		at, err := c.spot(doc.Text)
		if err != nil {
			return nil, err
		}
		params = positionParams(doc, at.position(doc))
	case doc != nil:
		params = documentParams(doc)
	default:
		params = struct{}{}
	}
	var raw jsonx.Raw
	if err := c.request(ctx, s, method, params, &raw); err != nil {
		if re, ok := errors.AsType[*lsp.ResponseError](err); ok {
			return nil, fmt.Errorf("LSP error from %s on %s: %s", s.Name(), method, re.Message)
		}
		return nil, err
	}
	return c.result(ctx, fmt.Sprintf("%s ← %s:\n%s", s.Name(), method, pretty(raw))), nil
}
