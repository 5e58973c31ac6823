package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Set is the MCP servers of one session. All methods are safe for concurrent use.
//
// Its goroutines: one owner for each server, which starts and ends everything that server has. All of them end before
// [Set.Close] returns nil.
type Set struct {
	opts    Options
	servers []*server
	names   *names

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc
	wg   sync.WaitGroup

	tellMu sync.Mutex // held while Changed or Notice runs

	mu      sync.Mutex // guards what follows
	started bool
	closed  bool
	bye     context.Context // bounds the ends of the connections once closed
	cuts    string          // what the user was told is left out
}

// ErrClosed is wrapped by the error of every call on a set that is closed.
var ErrClosed = errors.New("the session's MCP servers are closed")

// NewSet returns a set of the given servers. It starts nothing. An entry that can not be used becomes a server that
// has failed, with the reason in its status.
func NewSet(opts Options, servers []Server) *Set {
	s := &Set{opts: opts.withDefaults(), names: newNames()}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	seen := make(map[string]bool, len(servers))
	for _, spec := range servers {
		err := check(&spec, &s.opts)
		if err == nil && seen[spec.Name] {
			err = fmt.Errorf("there are two servers called %q; give each its own name", spec.Name)
		}
		seen[spec.Name] = true
		s.servers = append(s.servers, newServer(s, spec, err))
	}
	return s
}

// Start connects all servers in the background. It returns at once; a second call does nothing.
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
	for _, srv := range s.servers {
		select {
		case <-srv.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ctx.Done():
			return ErrClosed
		}
	}
	return nil
}

// Close ends all servers side by side: goodbye, closed stdin, TERM, KILL for a process, DELETE for an HTTP session.
// It returns when nothing is left, or with ctx's cause soon after ctx has ended; what is left is being killed then.
// It may be called twice.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.bye = true, ctx
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

// goodbye bounds the end of a connection: by Close's context once there is one.
func (s *Set) goodbye() (context.Context, context.CancelFunc) {
	s.mu.Lock()
	bye := s.bye
	s.mu.Unlock()
	if bye == nil {
		bye = context.WithoutCancel(s.ctx)
	}
	return context.WithTimeout(bye, maxGoodbye)
}

// Reconnect drops the server's connection, if it has one, and connects anew, also when it was given up. It returns when
// the server is connected or has failed again.
func (s *Set) Reconnect(ctx context.Context, name string) error {
	srv, err := s.server(name)
	if err != nil {
		return err
	}
	return srv.reconnect(ctx)
}

func (s *Set) server(name string) (*server, error) {
	for _, srv := range s.servers {
		if srv.spec.Name == name {
			return srv, nil
		}
	}
	return nil, fmt.Errorf("there is no MCP server called %q", name)
}

// Tools returns what the servers offer now, in the order of the servers and then by name. A server that has lost its
// connection still offers what it had, until it is given up: a call waits for it. The tools are shared: they must not be
// changed.
func (s *Set) Tools() []*Tool {
	return collect(s, func(l *lists) []*Tool { return l.tools })
}

// Prompts returns the prompts of the servers, under the rules of [Set.Tools], but at most [MaxPrompts], for which the
// servers take turns.
func (s *Set) Prompts() []Prompt {
	prompts, _ := s.offeredPrompts()
	return prompts
}

// Resources returns the resources of the servers, under the rules of [Set.Tools].
func (s *Set) Resources() []Resource {
	return collect(s, func(l *lists) []Resource { return l.resources })
}

// ResourceTemplates returns the resource templates of the servers, under the rules of [Set.Tools].
func (s *Set) ResourceTemplates() []ResourceTemplate {
	return collect(s, func(l *lists) []ResourceTemplate { return l.templates })
}

func collect[T any](s *Set, of func(*lists) []T) []T { return slices.Concat(each(s, of)...) }

// Status returns how each server is, in the order of the servers.
func (s *Set) Status() []ServerStatus {
	all := make([]ServerStatus, len(s.servers))
	for i, srv := range s.servers {
		all[i] = srv.status()
	}
	return all
}

// ChannelNotification hands in a notification that came over the channel for the given server and inner request. One
// for a request that is not active is dropped. It does not block.
func (s *Set) ChannelNotification(serverID, requestID, method string, params jsonx.Raw) {
	for _, srv := range s.servers {
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
	s.tellMu.Lock()
	defer s.tellMu.Unlock()
	s.opts.Changed()
}

func (s *Set) notice(n Notice) {
	s.opts.Log.Info().Str("server", n.Server).Str("detail", n.Detail).Msg("mcp: " + n.Text)
	if s.opts.Notice == nil || s.ctx.Err() != nil {
		return
	}
	s.tellMu.Lock()
	defer s.tellMu.Unlock()
	s.opts.Notice(n)
}

// offers reports that the server's lists count. It is called with mu held.
func (s *server) offers() bool {
	return s.state == StateConnected || s.state == StateConnecting || s.state == StateRetrying
}

// lists is what a server offers.
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
