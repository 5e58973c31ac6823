package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Waiting returns how many wait for a document.
func (s *Server) Waiting(path string) int {
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	if d := s.docs.byKey[pathKey(path)]; d != nil {
		return len(d.queue)
	}
	return 0
}

// Difference is what is sent for a change.
func Difference(old, now string, e Encoding) (*protocol.Range, string) {
	c := difference(NewText(old), NewText(now), e)
	return c.Range, c.Text
}

// Clock is the documents of a server without its process.
type Clock struct{ ds *documents }

func NewClock() *Clock { return &Clock{newDocuments(nil)} }

// Open makes a held document; held reports whether it still is one.
func (c *Clock) Open(key string) (held func() bool) {
	d := &document{key: key, path: key, holders: 1, text: NewText(""), in: &life{}}
	d.in.want(errStopped)
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	c.ds.byKey[key] = d
	return func() bool { return d.holders == 1 }
}

// Let releases it.
func (c *Clock) Let(key string) {
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	c.ds.letGoLocked(c.ds.byKey[key])
}

// List returns the open documents.
func (c *Clock) List() []string {
	c.ds.mu.Lock()
	defer c.ds.mu.Unlock()
	var list []string
	for key := range c.ds.byKey {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// DecodePublication reads textDocument/publishDiagnostics.
func DecodePublication(raw []byte) (uri string, list []protocol.Diagnostic) {
	uri, _, _, list = decodePublication(raw)
	return uri, list
}

// ToldSize returns what is kept of publications of one size for so many files.
func ToldSize(size, files int) (kept, bytes int) {
	t := newTold()
	for i := range files {
		t.touchLocked(fmt.Sprint("/", i), size)
	}
	return len(t.files), t.size
}

// NewPublisher returns what takes a message with publishDiagnostics as the connection does: checked first, then decoded.
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

// Rescan looks at the roots and tells the servers, in full.
func (w *Workspace) Rescan(ctx context.Context) { w.rescan(ctx, 0) }

// Tell passes changes on.
func (w *Workspace) Tell(ctx context.Context, events []FileEvent) { w.tell(ctx, events) }

// Listening is how many late words are waited for.
func (w *Workspace) Listening() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.late.waiting)
}

// Drained waits for what Close did not.
func (m *Manager) Drained(context.Context) { m.work.Wait() }

// Status tells of all servers, by name and root.
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
