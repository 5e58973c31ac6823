package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// codeAction is a CodeAction or a Command.
type codeAction struct {
	server *lsp.Server
	raw    jsonx.Raw
	// bare reports that it is a bare Command.
	bare bool

	Title     string    `json:"title"`
	Kind      string    `json:"kind"`
	Preferred bool      `json:"isPreferred"`
	Edit      jsonx.Raw `json:"edit"`
	Command   jsonx.Raw `json:"command"`
	Disabled  *struct {
		Reason string `json:"reason"`
	} `json:"disabled"`
}

func decodeCodeActions(raw jsonx.Raw, s *lsp.Server) ([]codeAction, error) {
	raws, err := decodeList[jsonx.Raw](raw)
	if err != nil {
		return nil, err
	}
	var list []codeAction
	for _, r := range raws {
		if jsonx.IsNull(r) {
			continue
		}
		a := codeAction{server: s, raw: r.Clone()}
		if err := jsonx.Unmarshal(r, &a); err != nil {
			return nil, answerError(err)
		}
		if a.Command.Kind() == '"' { // a Command: the member is its name
			a.Command, a.Edit, a.bare = a.raw, nil, true
		}
		list = append(list, a)
	}
	return list, nil
}

// command returns the command that an action runs after its edit, or nil.
func (a *codeAction) command() (*protocol.Command, error) {
	if len(a.Command) == 0 || jsonx.IsNull(a.Command) {
		return nil, nil
	}
	return decodeCommand(a.Command)
}

// decodeCommand decodes a command and keeps the arguments as the server sent them.
func decodeCommand(raw jsonx.Raw) (*protocol.Command, error) {
	var c struct {
		Title     string      `json:"title"`
		Command   string      `json:"command"`
		Arguments []jsonx.Raw `json:"arguments"`
	}
	if err := jsonx.Unmarshal(raw, &c); err != nil {
		return nil, answerError(err)
	}
	out := &protocol.Command{Title: c.Title, Command: c.Command}
	for _, arg := range c.Arguments {
		out.Arguments = append(out.Arguments, arg.Clone())
	}
	return out, nil
}

// isKind reports whether a query is a kind of code actions rather than a title.
func isKind(query string) bool {
	head, _, _ := strings.Cut(query, ".")
	return slices.Contains([]string{"quickfix", "refactor", "source", "notebook"}, head) && !strings.ContainsAny(query, " \t")
}

// diagnosed returns a server's diagnostics for a document, because actions may fix them. It waits up to half of the call's timeout;
// without an answer it adds a note.
func (c *lspCall) diagnosed(ctx context.Context, doc *lsp.Document) []protocol.Diagnostic {
	most := loadTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)/2)
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	list, fresh, err := doc.Diagnostics(limited)
	if !fresh || err != nil {
		c.note(fmt.Sprintf("%s has not reported the diagnostics of %s yet; there may be more actions for them.", doc.Server.Name(), c.name(doc.Path)))
	}
	return list
}

// codeActions requests the actions of all servers at the position of the call: the symbol, otherwise the line, otherwise the file.
func (c *lspCall) codeActions(ctx context.Context) ([]codeAction, error) {
	const method = "textDocument/codeAction"
	var all []codeAction
	err := c.ask(ctx, true, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		rng, err := c.actionRange(doc)
		if err != nil {
			return false, err
		}
		list := c.diagnosed(ctx, doc)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		problems := []map[string]any{}
		for i := range list {
			if overlaps(list[i].Range, rng) {
				problems = append(problems, diagnosticParams(&list[i]))
			}
		}
		about := map[string]any{"diagnostics": problems, "triggerKind": 1}
		if isKind(c.in.Query) {
			about["only"] = []string{c.in.Query}
		}
		params := documentParams(doc)
		params["range"], params["context"] = rng, about
		var raw jsonx.Raw
		if err := c.request(ctx, s, method, params, &raw); err != nil {
			return false, err
		}
		found, err := decodeCodeActions(raw, s)
		all = append(all, found...)
		return false, err
	})
	return all, err
}

// diagnosticParams is a diagnostic as the server sent it. Members that it omitted stay omitted: a severity of 0 is invalid.
func diagnosticParams(d *protocol.Diagnostic) map[string]any {
	p := map[string]any{"range": d.Range, "message": d.Message}
	if d.Severity != 0 {
		p["severity"] = d.Severity
	}
	if d.Code != nil {
		p["code"] = d.Code
	}
	if d.CodeDescription != nil && d.CodeDescription.Href != "" {
		p["codeDescription"] = d.CodeDescription
	}
	if d.Source != "" {
		p["source"] = d.Source
	}
	if len(d.Tags) > 0 {
		p["tags"] = d.Tags
	}
	if len(d.RelatedInformation) > 0 {
		p["relatedInformation"] = d.RelatedInformation
	}
	if d.Data != nil {
		p["data"] = d.Data
	}
	return p
}

func overlaps(a, b protocol.Range) bool { return !before(a.End, b.Start) && !before(b.End, a.Start) }

func (c *lspCall) actionRange(doc *lsp.Document) (protocol.Range, error) {
	e := doc.Server.Encoding()
	if c.in.Line == 0 && c.in.Symbol == "" {
		return protocol.Range{End: doc.Text.Position(len(doc.Text.String()), e)}, nil
	}
	at, err := c.spot(doc.Text)
	if err != nil {
		return protocol.Range{}, err
	}
	from, to := at.offset, at.end
	if c.in.Symbol == "" {
		from = lineStart(doc.Text, at.line)
		to = from + len(doc.Text.Line(at.line))
	}
	return protocol.Range{Start: doc.Text.Position(from, e), End: doc.Text.Position(to, e)}, nil
}

func (c *lspCall) listActions(b *strings.Builder, list []codeAction) {
	for i := range list {
		a := &list[i]
		fmt.Fprintf(b, "%d. ", i+1)
		if a.Kind != "" {
			fmt.Fprintf(b, "[%s] ", a.Kind)
		}
		b.WriteString(a.Title)
		if a.Preferred {
			b.WriteString(" (preferred)")
		}
		fmt.Fprintf(b, " (%s)", a.server.Name())
		if a.Disabled != nil {
			fmt.Fprintf(b, " (disabled: %s)", a.Disabled.Reason)
		}
		b.WriteString("\n")
	}
}

func runCodeActions(ctx context.Context, c *lspCall) (*agent.Result, error) {
	list, err := c.codeActions(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return c.result(ctx, "No code actions available"), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", text.Count(len(list), "code action"))
	c.listActions(&b, list)
	b.WriteString("Apply one with apply: true and query: its number or a part of its title.")
	return c.result(ctx, b.String()), nil
}

// pickAction finds the action that the query names: by number, by kind, or by a part of the title.
func (c *lspCall) pickAction(list []codeAction) (*codeAction, error) {
	query := strings.TrimSpace(c.in.Query)
	if query == "" {
		return nil, fmt.Errorf("%w for lsp: code_actions with apply needs query: the number or a part of the title of the action", agent.ErrBadInput)
	}
	if n, err := strconv.Atoi(query); err == nil && n >= 1 && n <= len(list) {
		return &list[n-1], nil
	}
	var found []*codeAction
	exact := 0
	for i := range list {
		a := &list[i]
		switch {
		case strings.EqualFold(a.Title, query):
			found = slices.Insert(found, exact, a)
			exact++
		case isKind(query) && (a.Kind == query || strings.HasPrefix(a.Kind, query+".")), strings.Contains(strings.ToLower(a.Title), strings.ToLower(query)):
			found = append(found, a)
		}
	}
	switch {
	case exact == 1 || len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		return nil, errors.New("no code actions available")
	case len(found) == 0:
		var b strings.Builder
		fmt.Fprintf(&b, "no code action matches %q. Available actions:\n", query)
		c.listActions(&b, list)
		return nil, errors.New(strings.TrimSpace(b.String()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d code actions match %q; give the number of one:\n", len(found), query)
	c.listActions(&b, list)
	return nil, errors.New(strings.TrimSpace(b.String()))
}

// planCodeActions plans the action to apply, if there is one. The effect of its command is unknown, so it is judged like a shell command,
// in addition to the edit of the file.
func planCodeActions(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	if c.in.Apply == nil || !*c.in.Apply {
		return nil
	}
	if err := c.present(ctx); err != nil {
		return err
	}
	list, err := c.codeActions(ctx)
	if err != nil {
		return err
	}
	a, err := c.pickAction(list)
	if err != nil {
		return err
	}
	if a.Disabled != nil {
		return fmt.Errorf("the action %q is disabled: %s", a.Title, a.Disabled.Reason)
	}
	p := &preparedAction{server: a.server}
	p.edit = preparedEdit{what: strconv.Quote(a.Title), diffs: true}
	plan.Title = fmt.Sprintf("%s in %s", a.Title, c.name(c.path))
	if err := p.resolve(ctx, c, a); err != nil {
		return err
	}
	if len(p.edit.ops) == 0 && p.command == nil {
		return fmt.Errorf("the action %q has no workspace edit or command to apply", a.Title)
	}
	c.prepare(ctx, plan, &p.edit)
	c.call.Prepared = prepared(p)
	if p.command != nil {
		if !edited(plan, c.path) {
			addEffects(plan, c.path, approval.Effect{Action: approval.ActionEdit, Path: c.path, Title: plan.Title})
		}
		addEffects(plan, c.path, toolkit.ServerEffect(fmt.Sprintf("Run %q of %s, which may change files in the workspace", a.Title, a.server.Name()), a.server.Name(), a.Title, string(a.Command)))
	}
	return nil
}

// preparedAction is a code action to apply: its edit, then its command.
type preparedAction struct {
	server  *lsp.Server
	edit    preparedEdit
	command *protocol.Command
}

// resolve requests the edit of an action that was sent without one, and plans it.
func (p *preparedAction) resolve(ctx context.Context, c *lspCall, a *codeAction) error {
	s := a.server
	c.asked = s.Name()
	doc, err := c.w.Hold(ctx, s, c.path)
	if err != nil {
		return c.holdError(err)
	}
	defer doc.Release()
	if isNull(a.Edit) && !a.bare && s.Supports("codeAction/resolve", c.path) {
		var raw jsonx.Raw
		if err := c.request(ctx, s, "codeAction/resolve", a.raw, &raw); err != nil {
			if p.command, _ = a.command(); p.command == nil {
				return err
			}
		} else if resolved, err := decodeCodeActions(raw, s); err == nil && len(resolved) == 1 {
			a.Edit, a.Command = resolved[0].Edit, resolved[0].Command
		}
	}
	if p.command, err = a.command(); err != nil {
		return err
	}
	edit := new(lsp.WorkspaceEdit)
	if !isNull(a.Edit) {
		if edit, err = lsp.DecodeWorkspaceEdit(a.Edit); err != nil {
			return err
		}
	}
	if p.command != nil && !runsCommand(s, p.command.Command) {
		more, err := editOfCommand(p.command)
		switch {
		case err != nil:
			return err
		case more != nil:
			edit.Changes = append(edit.Changes, more.Changes...)
		case edit.Empty():
			return fmt.Errorf("%q needs %s, an editor command that %s does not run itself; make the change with edit", a.Title, p.command.Command, s.Name())
		default:
			p.edit.notes = append(p.edit.notes, fmt.Sprintf("The action also has %s, an editor command, which was not run.", p.command.Command))
		}
		p.command = nil
	}
	if edit.Empty() {
		return nil
	}
	p.edit.ops, err = edit.Plan(c.surroundings(ctx, s.Encoding(), map[string]*lsp.Document{c.path: doc}))
	return err
}

func isNull(raw jsonx.Raw) bool { return len(raw) == 0 || jsonx.IsNull(raw) }

func (p *preparedAction) run(ctx context.Context, c *lspCall) (*agent.Result, error) {
	if p.command == nil {
		return p.edit.run(ctx, c)
	}
	c.notes = append(c.notes, p.edit.notes...)
	all := &edits.WorkspaceChange{Call: c.call, Before: make(map[string]string)}
	text := "Applied " + p.edit.what + ":\n"
	if len(p.edit.ops) > 0 {
		done, err := edits.ApplyOperations(ctx, c.call, p.edit.ops, p.edit.seen)
		if err != nil {
			return nil, err
		}
		all.Join(done)
		changes := edits.Operations{Call: c.call, Ops: p.edit.ops}
		text += changes.List() + changes.DiffText()
	}
	said, err := c.execute(ctx, p.server, p.command, all)
	text += said
	if err != nil {
		c.notes = append(c.notes, "The action's command failed: "+err.Error())
		if len(all.Content) == 0 {
			return nil, err
		}
	}
	return c.applied(ctx, text, all, nil), nil
}

// execute runs a command of a server and returns a description for the model. It makes the edits that the server requests meanwhile and
// joins them, but only inside the roots: the user was not asked about other files.
func (c *lspCall) execute(ctx context.Context, s *lsp.Server, command *protocol.Command, all *edits.WorkspaceChange) (string, error) {
	var b strings.Builder
	err := c.within(ctx, func(ctx context.Context) error {
		c.asked = s.Name()
		if c.path != "" {
			doc, err := c.w.Hold(ctx, s, c.path)
			if err != nil {
				return c.holdError(err)
			}
			doc.Release() // the document stays open, and the command's edits change it
		}
		answer, err := s.Execute(ctx, command, func(ctx context.Context, label string, edit *lsp.WorkspaceEdit) error {
			ops, err := edit.Plan(c.surroundings(ctx, s.Encoding(), nil))
			if err != nil {
				return err
			}
			for i := range ops {
				for _, path := range ops[i].Paths() {
					if !toolkit.Inside(c.call, path) {
						return fmt.Errorf("%s is outside of the workspace", c.name(path))
					}
				}
			}
			done, err := edits.ApplyOperations(ctx, c.call, ops, nil)
			if err != nil {
				return err
			}
			all.Join(done)
			changes := edits.Operations{Call: c.call, Ops: ops}
			b.WriteString(changes.List() + changes.DiffText())
			c.w.Refresh(ctx) // the edits have changed documents that the server has open
			return nil
		})
		if err == nil && !isNull(answer) && answer.String() != "{}" {
			fmt.Fprintf(&b, "%s answered: %s\n", s.Name(), toolkit.CutBytes(answer.String(), toolkit.MaxDiff))
		}
		return err
	})
	if b.Len() == 0 && err == nil {
		fmt.Fprintf(&b, "%s ran %s; it changed no files through the editor.\n", s.Name(), command.Command)
	}
	return b.String(), err
}
