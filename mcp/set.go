package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Set is the MCP servers of one session. All methods are safe for concurrent use.
//
// Its goroutines: one owner for each server, which starts and ends everything of the server. All have ended when [Set.Close]
// returns nil.
type Set struct {
	opts  Options
	names *names

	ctx  context.Context //nolint:containedctx // ends with Close
	stop context.CancelCauseFunc
	wg   sync.WaitGroup

	callbackMu sync.Mutex // held while Changed or Notice runs

	mu      sync.Mutex // guards the fields below
	servers []*server  // replaced, never modified
	indexes int        // counts the servers that there were
	started bool
	closed  bool
	closing context.Context //nolint:containedctx // bounds the ends of the connections; nil until Close
	cuts    string          // the last notice about what is left out
}

// ErrClosed is wrapped by the error of every call on a set that is closed.
var ErrClosed = errors.New("the session's MCP servers are closed")

// NewSet returns a set of servers. It starts nothing. An invalid entry becomes a failed server with the reason in its status.
func NewSet(opts Options, servers []Server) *Set {
	s := &Set{opts: opts.withDefaults(), names: newNames()}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.Update(servers)
	return s
}

// Update replaces the servers. A server whose entry is the same keeps its connection; the others are ended or started in the
// background, if the set has been started. It reports whether an earlier server was ended.
func (s *Set) Update(servers []Server) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	old := slices.Clone(s.servers)
	var now []*server
	seen := make(map[string]bool, len(servers))
	for _, spec := range servers {
		err := check(&spec, &s.opts)
		if err == nil && seen[spec.Name] {
			err = fmt.Errorf("duplicate server name %q; give each server its own name", spec.Name)
		}
		seen[spec.Name] = true
		i := slices.IndexFunc(old, func(o *server) bool { return o != nil && o.spec.Name == spec.Name })
		index := s.indexes
		if i >= 0 && sameServer(&old[i].entry, &spec) && (old[i].invalid == nil) == (err == nil) {
			now, old[i] = append(now, old[i]), nil
			continue
		} else if i >= 0 {
			index = old[i].index // its tools keep their names
		} else {
			s.indexes++
		}
		srv := newServer(s, index, spec, err)
		now = append(now, srv)
		if s.started {
			s.wg.Go(srv.run)
		}
	}
	for _, srv := range old {
		if srv != nil {
			srv.stop(errRemoved)
			ended = true
			if !slices.ContainsFunc(now, func(n *server) bool { return n.index == srv.index }) {
				s.names.forget(srv.index)
			}
		}
	}
	s.servers = now
	return ended
}

// errRemoved ends a server that the set no longer has.
var errRemoved = errors.New("the server is no longer configured")

// sameServer reports whether two entries are the same.
func sameServer(a, b *Server) bool {
	plain := func(s Server) (Server, string) {
		helper := ""
		if s.HTTP != nil && s.HTTP.Helper != nil {
			http := *s.HTTP
			helper, http.Helper = http.Helper.Name, nil
			s.HTTP = &http
		}
		return s, helper
	}
	x, one := plain(*a)
	y, two := plain(*b)
	return one == two && reflect.DeepEqual(x, y)
}

// list returns the current servers.
func (s *Set) list() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers
}

// Start connects all servers in the background. It returns at once. Further calls are no-ops.
func (s *Set) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.closed {
		return
	}
	s.started = true
	for _, srv := range s.servers {
		s.wg.Go(srv.run)
	}
}

// Ready waits until every server has either connected or failed once. If ctx ends first, it returns ctx's cause.
func (s *Set) Ready(ctx context.Context) error {
	return s.await(ctx, func(srv *server) <-chan struct{} { return srv.attempted })
}

func (s *Set) await(ctx context.Context, of func(*server) <-chan struct{}) error {
	for _, srv := range s.list() {
		select {
		case <-of(srv):
		case <-srv.ctx.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if s.ctx.Err() != nil {
			return ErrClosed
		}
	}
	return nil
}

// Offering waits like [Set.Ready], but not for a server whose tools are in the cache: they are offered while it starts, and a call
// waits for it.
func (s *Set) Offering(ctx context.Context) error {
	return s.await(ctx, func(srv *server) <-chan struct{} { return srv.offered })
}

// Close ends all servers concurrently. For a process it closes stdin and then sends SIGTERM and SIGKILL; for an HTTP session it
// sends DELETE. Close returns nil when nothing is left. If ctx ends first, it soon returns ctx's cause, and the remaining processes
// are killed. It may be called twice.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.closing = true, ctx
	}
	s.mu.Unlock()
	s.stop(ErrClosed)
	gone := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ending the MCP servers: %w", context.Cause(ctx))
	}
}

// closeContext returns the context for the end of a connection: the one of Close, or one that ends after maxEnd.
func (s *Set) closeContext() (context.Context, context.CancelFunc) {
	s.mu.Lock()
	bye := s.closing
	s.mu.Unlock()
	if bye == nil {
		bye = context.WithoutCancel(s.ctx)
	}
	return context.WithTimeout(bye, maxEnd)
}

// Reconnect closes the server's connection, if it has one, and connects again, even if the server has failed. It returns when the
// server has connected or failed again.
func (s *Set) Reconnect(ctx context.Context, name string) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	return srv.reconnect(ctx)
}

// Retry connects again to the servers that have failed. It returns at once.
func (s *Set) Retry() {
	for _, srv := range s.list() {
		srv.mu.Lock()
		_, invalid := errors.AsType[*invalidError](srv.lastErr)
		failed := srv.state == StateFailed && !invalid
		srv.mu.Unlock()
		if failed {
			select {
			case srv.wake <- struct{}{}:
			default: // another request is pending
			}
		}
	}
}

func (s *Set) server(name string) (*server, error) {
	for _, srv := range s.list() {
		if srv.spec.Name == name {
			return srv, nil
		}
	}
	return nil, fmt.Errorf("unknown MCP server %q", name)
}

// Tools returns the tools of all servers, in the order of the servers and then by name. A server that has lost its connection, or that
// has tools in the cache, keeps its tools until it has failed, because a call waits for the connection. The caller must not modify the
// tools.
func (s *Set) Tools() []*Tool {
	return collect(s, func(l *lists) []*Tool { return l.tools })
}

// Prompts returns the prompts of the servers like [Set.Tools], but at most [maxPrompts], which are taken from the servers in turn.
func (s *Set) Prompts() []Prompt {
	prompts, _ := offeredPrompts(s.list())
	return prompts
}

// Resources returns the resources of the servers like [Set.Tools].
func (s *Set) Resources() []Resource {
	return collect(s, func(l *lists) []Resource { return l.resources })
}

// ResourceTemplates returns the resource templates of the servers like [Set.Tools].
func (s *Set) ResourceTemplates() []ResourceTemplate {
	return collect(s, func(l *lists) []ResourceTemplate { return l.templates })
}

func collect[T any](s *Set, of func(*lists) []T) []T { return slices.Concat(each(s.list(), of)...) }

// Status returns the status of each server, in the order of the servers.
func (s *Set) Status() []ServerStatus {
	servers := s.list()
	all := make([]ServerStatus, len(servers))
	for i, srv := range servers {
		all[i] = srv.status()
	}
	return all
}

// ChannelNotification handles a notification from the channel about a request to a server. It drops notifications about inactive
// requests. It does not block.
func (s *Set) ChannelNotification(serverID, requestID, method string, params jsonx.Raw) {
	for _, srv := range s.list() {
		if srv.spec.Channel != nil && srv.spec.Channel.ID == serverID {
			if c := srv.channel.Load(); c != nil {
				c.notification(requestID, method, params)
			}
		}
	}
}

func (s *Set) changed() {
	if s.opts.Changed == nil || s.ctx.Err() != nil {
		return
	}
	s.callbackMu.Lock()
	defer s.callbackMu.Unlock()
	s.opts.Changed()
}

func (s *Set) notice(n Notice) {
	s.opts.Log.Info().Str("server", n.Server).Str("detail", n.Detail).Msg("mcp: " + n.Text)
	if s.opts.Notice == nil || s.ctx.Err() != nil {
		return
	}
	s.callbackMu.Lock()
	defer s.callbackMu.Unlock()
	s.opts.Notice(n)
}

// offers reports whether the server's lists are valid. mu is held.
func (s *server) offers() bool {
	return s.state == StateConnected || s.state == StateConnecting || s.state == StateRetrying
}

// lists are the lists of a server.
type lists struct {
	tools     []*Tool
	prompts   []Prompt
	resources []Resource
	templates []ResourceTemplate
}

func sortBy[T any](list []T, key func(T) string) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return list
}
