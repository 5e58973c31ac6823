package lsp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// ManagerOptions configures a [Manager].
type ManagerOptions struct {
	// Children owns the processes. Required.
	Children *proc.Group
	// Env returns the environment of servers; provider keys are removed from it later. Required.
	Env func(ctx context.Context) []string
	// Version is the version of gjc.
	Version string
	Log     zerolog.Logger
}

// Manager holds the language servers of this process: one for each command and root, shared by all workspaces unless it runs in a sandbox.
type Manager struct {
	opts   ManagerOptions
	ctx    context.Context //nolint:containedctx // ends with the manager and ends the background work of workspaces
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closed  bool
	servers map[string]*shared
}

// shared is a server and its users.
type shared struct {
	key    string
	server *Server
	// The manager's mu guards the fields below.
	users map[*Workspace]bool
	idle  time.Duration // the longest idle time among the users; zero for no limit
	timer *time.Timer   // ends an idle process
}

// NewManager returns a manager without servers. The caller must call Close.
func NewManager(opts ManagerOptions) *Manager {
	m := &Manager{opts: opts, servers: make(map[string]*shared)}
	m.ctx, m.cancel = context.WithCancelCause(permit.With(context.Background(), permit.Own()))
	return m
}

// Close ends all servers. It takes at most a second.
func (m *Manager) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m.cancel(ErrClosed)
	m.mu.Lock()
	m.closed = true
	var all []*Server
	for key, sh := range m.servers {
		sh.stopTimer()
		all = append(all, sh.server)
		delete(m.servers, key)
	}
	m.mu.Unlock()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, s := range all {
		ending.Go(func() { errs[i] = s.Close(ctx) })
	}
	ending.Wait()
	rest := make(chan struct{})
	go func() { // ends with m.ctx, unless a file system blocks
		defer close(rest)
		m.work.Wait()
	}()
	select {
	case <-rest:
	case <-ctx.Done():
	}
	return errors.Join(errs...)
}

// background runs fn in a goroutine that Close waits for. It returns false if the manager is closed.
func (m *Manager) background(fn func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Go(fn)
	return true
}

// identity returns a key for the server of a candidate: its program, root and configuration, and whether it needs a sandbox.
func (c *Candidate) identity() string {
	s := c.Spec
	return strings.Join(append([]string{s.Name, s.Path, c.Root, string(s.InitOptions), string(s.Settings), strconv.FormatBool(s.Outside)}, s.Args...), "\x00")
}

// use returns the server of a candidate, creates it if needed, and adds w to its users.
func (m *Manager) use(ctx context.Context, w *Workspace, c *Candidate, folders []string, idle time.Duration) (*Server, error) {
	env, err := w.environ(ctx)
	if err != nil {
		return nil, err
	}
	key, start := c.identity(), StartFunc(nil)
	if !c.Spec.Outside {
		start = w.startInside()
	}
	spec := c.Spec
	if start != nil {
		key += fmt.Sprintf("\x00%p", w)
		if spec.Direct != nil {
			spec = spec.Direct
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || w.ctx.Err() != nil {
		return nil, ErrClosed
	}
	sh := m.servers[key]
	if sh == nil {
		sh = &shared{key: key, users: make(map[*Workspace]bool)}
		sh.server = NewServer(ServerOptions{
			Spec: spec, Root: c.Root, Folders: folders, Children: m.opts.Children, Env: env, Version: m.opts.Version, Inside: start,
			Log:    m.opts.Log.With().Str("server", c.Spec.Name).Logger(),
			Notice: func(text, detail string) { m.notice(sh, text, detail) },
		})
		m.servers[key] = sh
	}
	if !sh.users[w] {
		if len(sh.users) == 0 || idle <= 0 {
			sh.idle = idle
		} else if sh.idle > 0 {
			sh.idle = max(sh.idle, idle)
		}
		sh.users[w] = true
	}
	m.resetIdleLocked(sh)
	return sh.server, nil
}

// resetIdleLocked restarts the idle timer of a server. m.mu is held.
func (m *Manager) resetIdleLocked(sh *shared) {
	switch {
	case sh.idle <= 0:
	case sh.timer == nil:
		sh.timer = time.AfterFunc(sh.idle, func() { m.stopIdle(sh) })
	default:
		sh.timer.Reset(sh.idle)
	}
}

// stopIdle ends the process of a server, unless it is busy.
func (m *Manager) stopIdle(sh *shared) {
	m.mu.Lock()
	busy := sh.server.busy()
	if busy && !m.closed {
		sh.timer.Reset(sh.idle)
	}
	m.mu.Unlock()
	if !busy {
		sh.server.Rest(context.Background())
	}
}

func (sh *shared) stopTimer() {
	if sh.timer != nil {
		sh.timer.Stop()
	}
}

// notice passes a notice to all users of a server.
func (m *Manager) notice(sh *shared, text, detail string) {
	m.mu.Lock()
	users := slices.Collect(maps.Keys(sh.users))
	m.mu.Unlock()
	for _, w := range users {
		if w.opts.Notice != nil && w.ctx.Err() == nil {
			w.opts.Notice(text, detail)
		}
	}
}

// release removes w from the users of one, or of all its servers if one is nil. Servers without users end in the background; the
// others lose the folders that only w has.
func (m *Manager) release(w *Workspace, one *Server) {
	m.mu.Lock()
	var ending []*Server
	for key, sh := range m.servers {
		if !sh.users[w] || one != nil && sh.server != one {
			continue
		}
		if delete(sh.users, w); len(sh.users) == 0 {
			sh.stopTimer()
			delete(m.servers, key)
			ending = append(ending, sh.server)
			continue
		}
		sh.server.removeFolders(slices.DeleteFunc(slices.Clone(w.opts.Roots), func(dir string) bool {
			for other := range sh.users {
				if slices.Contains(other.opts.Roots, dir) {
					return true
				}
			}
			return false
		}))
	}
	m.mu.Unlock()
	for _, s := range ending {
		end := func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := s.Close(ctx); err != nil {
				m.opts.Log.Warn().Str("server", s.Name()).Err(err).Msg("lsp: cannot end a server")
			}
		}
		if !m.background(end) {
			end()
		}
	}
}
