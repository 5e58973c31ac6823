package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

func planRename(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	name := strings.TrimSpace(c.in.NewName)
	if name == "" {
		return fmt.Errorf("%w for lsp: rename needs new_name", agent.ErrBadInput)
	}
	if err := c.present(ctx); err != nil {
		return err
	}
	e := &preparedEdit{what: "rename", none: "Rename returned no edits"}
	err := c.askAt(ctx, "textDocument/rename", func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (bool, error) {
		position := positionParams(doc, at.position(doc))
		if s.Supports("textDocument/prepareRename", c.path) {
			if err := c.mayRename(ctx, s, position); err != nil {
				return false, err
			}
		}
		position["newName"] = name
		_, ops, err := c.workOut(ctx, s, []*lsp.Document{doc}, func(ctx context.Context) (*lsp.WorkspaceEdit, error) {
			return c.callEdit(ctx, s, "textDocument/rename", position)
		})
		if err == nil {
			e.ops = ops
		}
		return err == nil && len(ops) > 0, err
	})
	if err != nil {
		return err
	}
	c.prepare(ctx, plan, e)
	return nil
}

// callEdit makes a request whose answer is a WorkspaceEdit.
func (c *lspCall) callEdit(ctx context.Context, s *lsp.Server, method string, params any) (*lsp.WorkspaceEdit, error) {
	var raw jsonx.Raw
	if err := c.request(ctx, s, method, params, &raw); err != nil {
		return nil, err
	}
	return lsp.DecodeWorkspaceEdit(raw)
}

// mayRename asks the server whether the symbol can be renamed.
func (c *lspCall) mayRename(ctx context.Context, s *lsp.Server, position map[string]any) error {
	var raw jsonx.Raw
	err := c.request(ctx, s, "textDocument/prepareRename", position, &raw)
	if _, lacks := errors.AsType[*lackError](lacking(err)); lacks {
		return nil // the server renames without preparing
	}
	if re, ok := errors.AsType[*lsp.ResponseError](err); ok {
		return fmt.Errorf("%s refuses to rename %s: %s", s.Name(), c.in.Symbol, re.Message)
	}
	if err != nil {
		return err
	}
	if jsonx.IsNull(raw) {
		return fmt.Errorf("%s refuses to rename %s: nothing there can be renamed", s.Name(), c.in.Symbol)
	}
	return nil
}

// maxMoved bounds the number of files in a directory that is renamed.
const maxMoved = 1000

func planRenameFile(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	if c.path == "" || strings.TrimSpace(c.in.NewName) == "" {
		return fmt.Errorf("%w for lsp: rename_file needs file and new_name", agent.ErrBadInput)
	}
	from, to := c.path, c.call.Workspace.Resolve(strings.TrimSpace(c.in.NewName))
	switch kind, err := edits.FileKind(ctx, c.call, from); {
	case err != nil:
		return err
	case kind == lsp.NoFile:
		return &toolkit.MissingError{Text: "File not found: " + toolkit.Missing(ctx, c.call, from).Error()}
	case from == to:
		return fmt.Errorf("%w for lsp: file and new_name are the same", agent.ErrBadInput)
	case strings.HasPrefix(to, from+string(filepath.Separator)):
		return fmt.Errorf("%w for lsp: %s cannot be moved into itself", agent.ErrBadInput, c.name(from))
	}
	switch kind, err := edits.FileKind(ctx, c.call, to); {
	case err != nil:
		return err
	case kind != lsp.NoFile:
		return fmt.Errorf("%s exists already; rename_file does not replace files", c.name(to))
	}
	files, err := c.movedFiles(ctx, from, to)
	if err != nil {
		return err
	}
	r := &fileRename{call: c, from: from, to: to, files: files}
	edit, err := r.edits(ctx)
	if err != nil {
		return err
	}
	edit.Changes = append(edit.Changes, &lsp.RenameFile{OldURI: uriOf(from), NewURI: uriOf(to)})
	ops, err := edit.Plan(c.surroundings(ctx, lsp.UTF8, nil))
	if err != nil {
		return err
	}
	e := &preparedEdit{what: "rename_file", ops: ops, after: r.after}
	if len(files) != 1 || files[0][0] != from {
		e.files = files
	}
	if len(r.failed) > 0 {
		e.notes = append(e.notes, "Server notes:\n"+strings.Join(r.failed, "\n"))
	}
	if r.discarded > 0 {
		e.notes = append(e.notes, text.Count(r.discarded, "edit")+" of other servers were omitted because another server changes the same text.")
	}
	c.prepare(ctx, plan, e)
	return nil
}

// movedFiles returns the files that move with a path: the file itself, or all files in the directory.
func (c *lspCall) movedFiles(ctx context.Context, from, to string) ([][2]string, error) {
	var files [][2]string
	var look func(path string) error
	look = func(path string) error {
		kind, err := edits.FileKind(ctx, c.call, path)
		if err != nil || kind != lsp.Directory {
			if err == nil && kind == lsp.PlainFile {
				files = append(files, [2]string{path, to + strings.TrimPrefix(path, from)})
			}
			if len(files) > maxMoved {
				return fmt.Errorf("%s has more than %d files, too many to rename with this tool; rename a directory in it, or use a command", c.name(from), maxMoved)
			}
			return err
		}
		entries, err := c.call.FS.ReadDir(ctx, path)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.Type()&fs.ModeSymlink != 0 {
				continue // the link moves, and its target stays
			}
			if err := look(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	err := look(from)
	return files, err
}

// fileRename is a rename of files as presented to the servers.
type fileRename struct {
	call     *lspCall
	from, to string
	files    [][2]string
	// failed lists the servers that could not find the references to the files.
	failed    []string
	discarded int
	// answers is the number of servers whose edits were joined.
	answers int
}

// renamed is a FileRename.
type renamed struct {
	OldURI string `json:"oldUri"`
	NewURI string `json:"newUri"`
}

// of returns the renames for which a server has registered with method: the directory, or the files in it.
func (r *fileRename) of(s *lsp.Server, method string) []renamed {
	if s.Supports(method, r.from) {
		return []renamed{{uriOf(r.from), uriOf(r.to)}}
	}
	var list []renamed
	for _, f := range r.files {
		if s.Supports(method, f[0]) {
			list = append(list, renamed{uriOf(f[0]), uriOf(f[1])})
		}
	}
	return list
}

// edits asks all servers what the rename changes elsewhere, and joins the answers with UTF-8 positions. If two servers change the
// same text, the first one's change wins.
func (r *fileRename) edits(ctx context.Context) (*lsp.WorkspaceEdit, error) {
	c := r.call
	servers, err := c.w.Servers(ctx, r.from)
	if err != nil {
		return nil, err
	}
	all, _, err := c.w.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	joined := new(lsp.WorkspaceEdit)
	for _, s := range servers {
		c.asked = s.Name()
		edit, err := r.ask(ctx, s)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			r.failed = append(r.failed, err.Error())
		default:
			r.join(ctx, joined, edit, s.Encoding())
		}
	}
	c.asked = ""
	if len(servers) == 0 {
		c.notes = append(c.notes, "No language server is available to find references to it, so only the name is changed.")
	}
	return joined, nil
}

func (r *fileRename) ask(ctx context.Context, s *lsp.Server) (*lsp.WorkspaceEdit, error) {
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	files := r.of(s, "workspace/willRenameFiles")
	if len(files) == 0 {
		return nil, nil
	}
	r.call.w.Refresh(ctx)
	r.call.awaitLoading(ctx, s)
	edit, _, err := r.call.workOut(ctx, s, nil, func(ctx context.Context) (*lsp.WorkspaceEdit, error) {
		return r.call.callEdit(ctx, s, "workspace/willRenameFiles", map[string]any{"files": files})
	})
	return edit, err
}

// join adds the edits of one server to those of the previous servers.
func (r *fileRename) join(ctx context.Context, joined, edit *lsp.WorkspaceEdit, e lsp.Encoding) {
	if edit.Empty() {
		return
	}
	for _, change := range edit.Changes {
		doc, ok := change.(*lsp.TextDocumentEdit)
		if !ok {
			if r.answers == 0 { // only one server creates and moves files
				joined.Changes = append(joined.Changes, change)
			} else {
				r.discarded++
			}
			continue
		}
		edits := r.utf8(ctx, doc, e)
		at := slices.IndexFunc(joined.Changes, func(o lsp.DocumentChange) bool {
			other, ok := o.(*lsp.TextDocumentEdit)
			return ok && other.URI == doc.URI
		})
		if at < 0 {
			joined.Changes = append(joined.Changes, &lsp.TextDocumentEdit{URI: doc.URI, Edits: edits})
			continue
		}
		into := joined.Changes[at].(*lsp.TextDocumentEdit)
		before := slices.Clone(into.Edits)
		for _, edit := range edits {
			if slices.ContainsFunc(before, func(o protocol.TextEdit) bool { return meet(o.Range, edit.Range) }) {
				r.discarded++
				continue
			}
			into.Edits = append(into.Edits, edit)
		}
	}
	r.answers++
}

// meet reports whether two ranges share text or begin at the same position.
func meet(a, b protocol.Range) bool {
	return a == b || before(a.Start, b.End) && before(b.Start, a.End)
}

func before(a, b protocol.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// utf8 returns the edits of a document with positions that count bytes. It returns them unchanged if the file cannot be read: planning
// the rename reports that error.
func (r *fileRename) utf8(ctx context.Context, doc *lsp.TextDocumentEdit, e lsp.Encoding) []protocol.TextEdit {
	list := slices.Clone(doc.Edits)
	path, err := pathOf(doc.URI)
	if err != nil {
		return list
	}
	file, err := edits.OpenText(ctx, r.call.call, filepath.Clean(path))
	if err != nil {
		return list
	}
	text := lsp.NewText(file.Text)
	for i := range list {
		rng := &list[i].Range
		rng.Start = text.Position(text.Offset(rng.Start, e), lsp.UTF8)
		rng.End = text.Position(text.Offset(rng.End, e), lsp.UTF8)
	}
	return list
}

// after notifies the servers of the new names. It closes the old documents first.
func (r *fileRename) after(ctx context.Context) {
	var gone []lsp.FileEvent
	for _, f := range r.files {
		gone = append(gone, lsp.FileEvent{Path: f[0], Type: lsp.FileDeleted})
	}
	for _, s := range r.call.w.Active() {
		s.FilesChanged(ctx, gone)
		if files := r.of(s, "workspace/didRenameFiles"); len(files) > 0 {
			// A server that cannot be notified detects the change itself.
			_ = s.Notify(ctx, "workspace/didRenameFiles", map[string]any{"files": files})
		}
	}
}
