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

	"github.com/gajae-code/gjc/internal/proc"
)

// WorkspaceOptions configures a [Workspace].
type WorkspaceOptions struct {
	// Roots are the session's directories, absolute, the working directory first.
	Roots []string
	// Catalog has the servers. Required.
	Catalog Catalog
	// ReadFile returns a file's text as the editor shows it, saved or not. Required.
	ReadFile func(ctx context.Context, path string) ([]byte, error)
	// Notice receives texts for the user. It must not block.
	Notice func(text, detail string)
	// OnWrite selects what happens when a tool changes a file.
	OnWrite OnWrite
	// Inside returns how servers start in the session's sandbox; nil if the session has none. It is called when the first server is
	// needed that belongs there. Such a server is not shared with other sessions. Optional.
	Inside func() StartFunc
}

// StartFunc starts a process of a server, which belongs to children. apart reports that it sees no other processes of the machine.
type StartFunc func(ctx context.Context, children *proc.Group, o *proc.Options) (p *proc.Process, apart bool, err error)

// OnWrite selects what happens when a tool changes a file.
type OnWrite struct {
	// Format formats the text of the write tool before it is written.
	Format bool
	// DiagnoseWrites and DiagnoseEdits report the diagnostics of the new text.
	DiagnoseWrites, DiagnoseEdits bool
}

// Workspace is the language servers of one session. All methods are safe for concurrent use.
type Workspace struct {
	opts        WorkspaceOptions
	manager     *Manager
	ctx         context.Context //nolint:containedctx // ends with Close
	cancel      context.CancelCauseFunc
	tree        tree
	startInside func() StartFunc

	mu   sync.Mutex // guards the fields below
	used map[string]*usage
	late lateReports
	// reportedFailures has the last reported error of servers.
	reportedFailures map[string]string
}

// usage is a server that the workspace uses, with its name and root in the catalog.
type usage struct {
	server     *Server
	name, root string
	// opened has the paths of documents that this workspace has opened.
	opened map[string]bool
}

// Open returns a workspace. It does no I/O. The caller must call Close.
func (m *Manager) Open(opts WorkspaceOptions) *Workspace {
	w := &Workspace{opts: opts, manager: m, used: make(map[string]*usage), reportedFailures: make(map[string]string)}
	w.ctx, w.cancel = context.WithCancelCause(m.ctx)
	w.tree.roots = opts.Roots
	w.startInside = func() StartFunc { return nil }
	if opts.Inside != nil {
		w.startInside = sync.OnceValue(opts.Inside)
	}
	return w
}

// Close releases the servers. Those without other users end in the background.
func (w *Workspace) Close() {
	w.cancel(ErrClosed)
	w.manager.release(w, nil)
}

// Catalog returns the workspace's catalog.
func (w *Workspace) Catalog() Catalog { return w.opts.Catalog }

// OnWrite returns what happens when a tool changes a file.
func (w *Workspace) OnWrite() OnWrite { return w.opts.OnWrite }

// Servers returns the servers for a file, linters last. It does not start them.
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

// All returns the servers of the whole workspace, and the catalog's listing. It does not start them.
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
	for _, u := range w.used { // those for directories in the roots
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

// use returns the servers of candidates.
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

// server returns the server of a candidate. For another root of the session, it returns the first root's server if that supports
// several roots.
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
			if err != nil || s.addFolders([]string{c.Root}) {
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
		s.addFolders(folders) // if the server turns out not to support them, their files get another server
	}
	var former []*Server
	w.mu.Lock()
	for other, u := range w.used {
		if other != key && u.name == c.Spec.Name && u.root == c.Root { // its configuration has changed
			former = append(former, u.server)
			delete(w.used, other)
		}
	}
	w.used[key] = &usage{server: s, name: c.Spec.Name, root: c.Root, opened: make(map[string]bool)}
	w.mu.Unlock()
	for _, s := range former {
		w.manager.release(w, s)
	}
	return s, nil
}

// environ returns the environment of the session's servers. A catalog may remove directories that are not trusted.
func (w *Workspace) environ(ctx context.Context) ([]string, error) {
	if c, ok := w.opts.Catalog.(interface {
		Environ(ctx context.Context) ([]string, error)
	}); ok {
		return c.Environ(ctx)
	}
	return w.manager.opts.Env(ctx), nil // may run a login shell
}

// usageOf returns the usage of a server, or nil. w.mu is held.
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

// read returns a file's text as the editor shows it.
func (w *Workspace) read(ctx context.Context, path string) (string, error) {
	data, err := w.opts.ReadFile(ctx, path)
	if err != nil {
		return "", err
	}
	if len(data) > maxDocument {
		return "", fmt.Errorf("%s has %d MB; the limit for language servers is %d MB", path, len(data)>>20, maxDocument>>20)
	}
	return decode(path, data)
}

// decode removes the byte order mark and decodes UTF-16.
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
		return "", fmt.Errorf("%s is not a text file", path)
	}
	return string(data), nil
}

// Hold opens a file with the text that the editor shows, and keeps the text until the document is released (see [Server.Hold]). It
// refreshes the other documents of the session first. The error may wrap [fs.ErrNotExist].
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
		if len(u.opened) >= maxOpened {
			clear(u.opened)
		}
		u.opened[path] = true
	}
	return doc, nil
}

// maxOpened bounds the documents outside the roots that are refreshed.
const maxOpened = 1000

// Refresh updates the open documents to the texts that the editor shows, and notifies the servers of files that were changed on
// the disk. It starts no server, and does not change documents that another session holds.
func (w *Workspace) Refresh(ctx context.Context) {
	w.rescan(ctx, scanAge)
	type stale struct {
		server *Server
		text   string
	}
	opened := make(map[string][]stale)
	for _, s := range w.Active() {
		for _, d := range s.docs.openTexts() {
			if w.owns(s, d.path) {
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
					d.server.docs.updateIdle(path, now)
				}
			}
		})
	}
	reading.Wait()
}

// owns reports whether a document belongs to this session: it is in its roots, or the session has opened it.
func (w *Workspace) owns(s *Server, path string) bool {
	if w.inside(path) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.usageOf(s)
	return u != nil && u.opened[path]
}

// inside reports whether a path is in the session's roots.
func (w *Workspace) inside(path string) bool {
	return slices.ContainsFunc(w.opts.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// Changed notifies the servers of files that were created, modified or deleted. Without events, it scans the roots for changes,
// for example after a command ran. It works in the background and starts no server.
func (w *Workspace) Changed(events ...FileEvent) {
	w.manager.background(func() {
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		if len(events) == 0 {
			w.rescan(ctx, 0)
		} else {
			w.notifyChanges(ctx, events)
		}
		w.Refresh(ctx)
	})
}

// notifyChanges notifies the catalog and the servers of changes.
func (w *Workspace) notifyChanges(ctx context.Context, events []FileEvent) {
	paths := make([]string, 0, len(events))
	for _, e := range events {
		paths = append(paths, e.Path)
	}
	w.opts.Catalog.Changed(paths)
	w.tree.record(events)
	for _, s := range w.Active() {
		s.FilesChanged(ctx, events)
	}
}
