package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Waiting returns the number of callers that wait for a document.
func (s *Server) Waiting(path string) int {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if d := s.docs.byKey[pathKey(path)]; d != nil {
		return len(d.queue)
	}
	return 0
}

// Difference calls difference.
func Difference(old, now string, e Encoding) (*protocol.Range, string) {
	c := difference(NewText(old), NewText(now), e)
	return c.Range, c.Text
}

// Documents is the documents of a server without a process.
type Documents struct{ ds *documents }

func NewDocuments() *Documents { return &Documents{newDocuments(nil)} }

// Open adds a held document; held reports whether it is still held.
func (c *Documents) Open(key string) (held func() bool) {
	d := &document{key: key, path: key, holders: 1, text: NewText(""), in: &process{}}
	d.in.requestStop(errStopped)
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	c.ds.byKey[key] = d
	return func() bool { return d.holders == 1 }
}

// Release releases it.
func (c *Documents) Release(key string) {
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	c.ds.releaseLocked(c.ds.byKey[key])
}

// List returns the open documents.
func (c *Documents) List() []string {
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	var list []string
	for key := range c.ds.byKey {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// DecodePublication calls decodePublication.
func DecodePublication(raw []byte) (uri string, list []protocol.Diagnostic) {
	uri, _, _, list = decodePublication(raw)
	return uri, list
}

// PublishedSize stores publications of a size for a number of files and returns the number and total size of those that are kept.
func PublishedSize(size, files int) (kept, bytes int) {
	t := newPublications()
	for i := range files {
		t.touchLocked(fmt.Sprint("/", i), size)
	}
	return len(t.files), t.size
}

// NewPublisher returns a function that handles a publishDiagnostics message as the connection does: it validates and then decodes
// it.
func NewPublisher() func(message []byte) int {
	s := NewServer(ServerOptions{Spec: &Spec{}})
	return func(message []byte) int {
		_ = jsonx.ReadObject(message, func(name []byte, value jsonx.Raw) error {
			if string(name) == "params" {
				s.docs.publish(nil, value)
			}
			return nil
		})
		return len(s.Published("/w/a.go"))
	}
}

// Rescan calls rescan and waits for the scan.
func (w *Workspace) Rescan(ctx context.Context) { w.rescan(ctx, 0) }

// NotifyChanges calls notifyChanges.
func (w *Workspace) NotifyChanges(ctx context.Context, events []FileEvent) {
	w.notifyChanges(ctx, events)
}

// PendingReports returns the number of pending late reports.
func (w *Workspace) PendingReports() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.late.waiting)
}

// AwaitBackground waits for the background work that Close has not waited for.
func (m *Manager) AwaitBackground(context.Context) { m.work.Wait() }

// Status returns the status of all servers, sorted by name and root.
func (m *Manager) Status() []ServerStatus {
	m.mu.Lock()
	var all []*Server
	for _, sh := range m.servers {
		all = append(all, sh.server)
	}
	m.mu.Unlock()
	list := make([]ServerStatus, 0, len(all))
	for _, s := range all {
		list = append(list, s.Status())
	}
	slices.SortFunc(list, func(a, b ServerStatus) int {
		return strings.Compare(a.Name+"\x00"+a.Root, b.Name+"\x00"+b.Root)
	})
	return list
}

// The unexported errors.
var (
	ErrNotAFile = errNotAFile
	ErrBadEdit  = errInvalidEdit
)

// LanguageID calls languageID.
func LanguageID(path string) string { return languageID(path) }

// AddFolders calls addFolders.
func (s *Server) AddFolders(folders []string) bool { return s.addFolders(folders) }

// RemoveFolders calls removeFolders.
func (s *Server) RemoveFolders(folders []string) { s.removeFolders(folders) }
