package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// WorkspaceOptions says what one session has of the servers.
type WorkspaceOptions struct {
	// Roots are the session's directories, absolute, the working directory first.
	Roots []string
	// Catalog knows the servers. Required.
	Catalog Catalog
	// ReadFile gives a file's text as the session sees it: what the editor shows, saved or not. Required.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Notice gets what the user should know. It must not block.
	Notice func(text, detail string)
	// OnWrite is what is done when a tool writes a file.
	OnWrite OnWrite
}

// OnWrite is what is done when a tool changes a file.
type OnWrite struct {
	// Format has the server format what the write tool writes, before it does.
	Format bool
	// DiagnoseWrites and DiagnoseEdits report what the servers say of the new text.
	DiagnoseWrites, DiagnoseEdits bool
}

// Workspace is the language servers as one session sees them. All methods are safe for concurrent use.
type Workspace struct {
	opts    WorkspaceOptions
	manager *Manager
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	tree    tree

	mu   sync.Mutex // guards what follows
	used map[string]*usage
	late lateReports
	told map[string]string // failures of servers that a report has told of
}

// usage is a server that the workspace uses, under the name and root that it has in the catalog.
type usage struct {
	server     *Server
	name, root string
	// given are documents that the server has got for this workspace.
	given map[string]bool
}

// Open returns a workspace. It does no I/O. The caller must Close it.
func (m *Manager) Open(opts WorkspaceOptions) *Workspace {
	w := &Workspace{opts: opts, manager: m, used: make(map[string]*usage), told: make(map[string]string)}
	w.ctx, w.cancel = context.WithCancelCause(m.ctx)
	w.tree.roots = opts.Roots
	return w
}

// Close gives the servers back; those that nobody else uses end in the background.
func (w *Workspace) Close() {
	w.cancel(ErrClosed)
	w.manager.leave(w, nil)
}

// Catalog is the workspace's.
func (w *Workspace) Catalog() Catalog { return w.opts.Catalog }

// OnWrite is what is to be done when a tool changes a file.
func (w *Workspace) OnWrite() OnWrite { return w.opts.OnWrite }

// Servers returns the servers for a file, the ones that know types before the linters. It starts none: the first call of
// one does.
func (w *Workspace) Servers(ctx context.Context, path string) ([]*Server, error) {
	candidates, err := w.opts.Catalog.For(ctx, path)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	list, err := w.opts.Catalog.List(ctx)
	if err != nil {
		return nil, err
	}
	return w.use(ctx, candidates, list)
}

// All returns the servers of the whole workspace, and what the catalog says of them. It starts none.
func (w *Workspace) All(ctx context.Context) ([]*Server, *Listing, error) {
	list, err := w.opts.Catalog.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	servers, err := w.use(ctx, list.Servers, list)
	if err != nil {
		return nil, nil, err
	}
	w.mu.Lock()
	for _, u := range w.used { // those of directories below the roots
		if !slices.Contains(servers, u.server) {
			servers = append(servers, u.server)
		}
	}
	w.mu.Unlock()
	return servers, list, nil
}

// Active returns the servers that the workspace has used so far.
func (w *Workspace) Active() []*Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*Server
	for _, key := range slices.Sorted(maps.Keys(w.used)) {
		list = append(list, w.used[key].server)
	}
	return list
}

// use turns candidates into servers.
func (w *Workspace) use(ctx context.Context, candidates []Candidate, list *Listing) ([]*Server, error) {
	var servers []*Server
	for _, c := range candidates {
		s, err := w.server(ctx, c, list)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	return servers, nil
}

// server returns the server of a candidate. One for another root of the session is the first root's server, if there is
// one that takes more than one root.
func (w *Workspace) server(ctx context.Context, c Candidate, list *Listing) (*Server, error) {
	folders := []string{}
	switch at := slices.Index(w.opts.Roots, c.Root); {
	case at == 0:
		folders = w.opts.Roots[1:]
	case at > 0:
		first := slices.IndexFunc(list.Servers, func(o Candidate) bool {
			return o.Spec.Name == c.Spec.Name && o.Root == w.opts.Roots[0]
		})
		if first >= 0 {
			s, err := w.server(ctx, list.Servers[first], list)
			if err != nil || s.AddFolders(ctx, []string{c.Root}) {
				return s, err
			}
		}
	}
	key := c.identity()
	w.mu.Lock()
	u := w.used[key]
	w.mu.Unlock()
	s, err := w.manager.use(ctx, w, &c, folders, list.Idle)
	if err != nil {
		return nil, err
	}
	if u != nil && u.server == s {
		return s, nil
	}
	if len(folders) > 0 {
		s.AddFolders(ctx, folders) // where it does not take them, files there get a server of their own
	}
	var former []*Server
	w.mu.Lock()
	for other, u := range w.used {
		if other != key && u.name == c.Spec.Name && u.root == c.Root { // it is configured otherwise now
			former = append(former, u.server)
			delete(w.used, other)
		}
	}
	w.used[key] = &usage{server: s, name: c.Spec.Name, root: c.Root, given: make(map[string]bool)}
	w.mu.Unlock()
	for _, s := range former {
		w.manager.leave(w, s)
	}
	return s, nil
}

// environ is the environment of the session's servers. A catalog that knows what the user trusts may leave something out.
func (w *Workspace) environ(ctx context.Context) ([]string, error) {
	if c, ok := w.opts.Catalog.(interface {
		Environ(ctx context.Context) ([]string, error)
	}); ok {
		return c.Environ(ctx)
	}
	return w.manager.opts.Env(ctx), nil // may ask a login shell
}

// usageOf returns what the workspace has given a server; nil for a server that it does not use.
func (w *Workspace) usageOf(s *Server) *usage {
	for _, u := range w.used {
		if u.server == s {
			return u
		}
	}
	return nil
}

// maxDocument bounds a document, in bytes.
const maxDocument = 16 << 20

// read returns a file's text as the session sees it.
func (w *Workspace) read(ctx context.Context, path string) (string, error) {
	data, err := w.opts.ReadFile(ctx, path)
	if err != nil {
		return "", err
	}
	if len(data) > maxDocument {
		return "", fmt.Errorf("%s has %d MB; language servers get files of up to %d MB", path, len(data)>>20, maxDocument>>20)
	}
	return decode(path, data)
}

// decode drops the byte order mark, which is no part of a document's text.
func decode(path string, data []byte) (string, error) {
	switch {
	case len(data) >= 3 && string(data[:3]) == "\xEF\xBB\xBF":
		data = data[3:]
	case len(data) >= 2 && len(data)%2 == 0 && (data[0] == 0xFF && data[1] == 0xFE || data[0] == 0xFE && data[1] == 0xFF):
		units := make([]uint16, 0, len(data)/2-1)
		for i := 2; i < len(data); i += 2 {
			lo, hi := data[i], data[i+1]
			if data[0] == 0xFE {
				lo, hi = hi, lo
			}
			units = append(units, uint16(hi)<<8|uint16(lo))
		}
		return string(utf16.Decode(units)), nil
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is no text that a language server can read", path)
	}
	return string(data), nil
}

// Hold gives a server the text of a file as the session sees it, and keeps it so until the document is released. The other
// documents that the server has from this session are brought up to date with it. An error may wrap [fs.ErrNotExist].
func (w *Workspace) Hold(ctx context.Context, s *Server, path string) (*Document, error) {
	text, err := w.read(ctx, path)
	if err != nil {
		return nil, err
	}
	w.Refresh(ctx)
	return w.hold(ctx, s, path, text)
}

func (w *Workspace) hold(ctx context.Context, s *Server, path, text string) (*Document, error) {
	doc, err := s.Hold(ctx, path, text)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.usageOf(s); u != nil {
		if len(u.given) >= maxGiven {
			clear(u.given)
		}
		u.given[path] = true
	}
	return doc, nil
}

// maxGiven bounds the documents outside of the roots that are looked at before each use.
const maxGiven = 1000

// Refresh brings what the servers have up to date: the documents that they have open, whoever has opened them, as this
// session's editor shows them now, and the files that changed on disk by other hands. It starts no server, and leaves alone
// what another session is working on.
func (w *Workspace) Refresh(ctx context.Context) {
	w.rescan(ctx, rescanAfter)
	type stale struct {
		server *Server
		text   string
	}
	opened := make(map[string][]stale)
	for _, s := range w.Active() {
		for _, d := range s.openTexts() {
			if w.sees(s, d.path) {
				opened[d.path] = append(opened[d.path], stale{s, d.text})
			}
		}
	}
	var reading sync.WaitGroup
	slots := make(chan struct{}, 8)
	for path, docs := range opened {
		slots <- struct{}{}
		reading.Go(func() {
			defer func() { <-slots }()
			now, err := w.read(ctx, path)
			for _, d := range docs {
				switch {
				case errors.Is(err, fs.ErrNotExist):
					d.server.FilesChanged(ctx, []FileEvent{{path, FileDeleted}})
				case err == nil && now != d.text:
					d.server.offer(path, now)
				}
			}
		})
	}
	reading.Wait()
}

// sees reports whether a document of a server is this session's to look at: in its roots, or given by it.
func (w *Workspace) sees(s *Server, path string) bool {
	if w.inside(path) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.usageOf(s)
	return u != nil && u.given[path]
}

// inside reports whether a path lies in the session's roots.
func (w *Workspace) inside(path string) bool {
	return slices.ContainsFunc(w.opts.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// Changed tells the servers that files were made, changed or removed. Without events, something may have changed: a
// command ran, for one; then the roots are looked through. It starts no server, and the work is done in the background.
func (w *Workspace) Changed(events ...FileEvent) {
	w.manager.background(func() {
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		if len(events) == 0 {
			w.rescan(ctx, 0)
		} else {
			w.tell(ctx, events)
		}
		w.Refresh(ctx)
	})
}

// tell passes changes on to the servers and the catalog.
func (w *Workspace) tell(ctx context.Context, events []FileEvent) {
	paths := make([]string, 0, len(events))
	for _, e := range events {
		paths = append(paths, e.Path)
	}
	w.opts.Catalog.Changed(paths)
	w.tree.note(events)
	for _, s := range w.Active() {
		s.FilesChanged(ctx, events)
	}
}
