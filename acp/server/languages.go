package server

import (
	"context"
	"io/fs"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// Languages is what a session's configuration says of language servers.
type Languages struct {
	// Catalog knows the servers; nil for none.
	Catalog lsp.Catalog
	OnWrite lsp.OnWrite
	// Subagents says that helper agents have them too.
	Subagents bool
}

// openLanguages gives a session its language servers. It starts none. It is nil where there shall be none.
func (s *Server) openLanguages(e *entry, ws agent.Workspace, files agent.FS) *lsp.Workspace {
	if s.opts.Languages == nil {
		return nil
	}
	lang, err := s.opts.Languages(append([]string{ws.Cwd}, ws.Additional...))
	if err != nil {
		e.languagesErr = err
	}
	if lang.Catalog == nil {
		return nil
	}
	e.subagentLanguages = lang.Subagents
	return s.languages.Open(lsp.WorkspaceOptions{
		Roots: append([]string{ws.Cwd}, ws.Additional...), Catalog: lang.Catalog, OnWrite: lang.OnWrite,
		ReadFile: func(ctx context.Context, path string) ([]byte, error) {
			if info, err := files.Stat(ctx, path); err == nil && !info.Mode().IsRegular() {
				return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
			}
			return files.ReadFile(ctx, path)
		},
		Notice: func(text, detail string) {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: text, Detail: detail})
		},
	})
}
