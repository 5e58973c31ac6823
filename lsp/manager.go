package lsp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/proc"
)

// ManagerOptions says where servers run.
type ManagerOptions struct {
	// Children owns the processes. Required.
	Children *proc.Group
	// Env returns the environment of servers, still with provider keys. Required.
	Env func(ctx context.Context) []string
	// Version is that of gjc.
	Version string
	Log     zerolog.Logger
}

// Manager has the language servers of the process: one for each command and root, however many workspaces use it.
type Manager struct {
	opts ManagerOptions
	// ctx ends with the manager, and with it what workspaces do in the background.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex // guards what follows
	closed  bool
	servers map[string]*shared
}

// shared is a server with those who use it.
type shared struct {
	key    string
	server *Server
	// The fields below are guarded by the manager's mu.
	users map[*Workspace]bool
	idle  time.Duration // the longest of what the users want; zero for never
	rest  *time.Timer
}

// NewManager returns a manager. It starts nothing. The caller must Close it.
func NewManager(opts ManagerOptions) *Manager {
	m := &Manager{opts: opts, servers: make(map[string]*shared)}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// Close ends all servers, within ctx and never longer than a second.
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
	go func() { // all of it ends with m.ctx, but for what a file system holds up
		defer close(rest)
		m.work.Wait()
	}()
	select {
	case <-rest:
	case <-ctx.Done():
	}
	return errors.Join(errs...)
}

// background runs work that ends with the manager. It reports false when that is over.
func (m *Manager) background(fn func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Go(fn)
	return true
}

// identity tells servers apart: another program, place or configuration is another server.
func (c *Candidate) identity() string {
	s := c.Spec
	return strings.Join(append([]string{s.Name, s.Path, c.Root, string(s.InitOptions), string(s.Settings)}, s.Args...), "\x00")
}

// use returns the server for a candidate, which it makes where there is none, and counts w among its users.
func (m *Manager) use(ctx context.Context, w *Workspace, c *Candidate, folders []string, idle time.Duration) (*Server, error) {
	env, err := w.environ(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || w.ctx.Err() != nil {
		return nil, ErrClosed
	}
	key := c.identity()
	sh := m.servers[key]
	if sh == nil {
		sh = &shared{key: key, users: make(map[*Workspace]bool)}
		sh.server = NewServer(ServerOptions{
			Spec: c.Spec, Root: c.Root, Folders: folders, Children: m.opts.Children, Env: env, Version: m.opts.Version,
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
	m.usedLocked(sh)
	return sh.server, nil
}

// usedLocked puts off the rest of a server that is idle. m.mu is held.
func (m *Manager) usedLocked(sh *shared) {
	switch {
	case sh.idle <= 0:
	case sh.rest == nil:
		sh.rest = time.AfterFunc(sh.idle, func() { m.rest(sh) })
	default:
		sh.rest.Reset(sh.idle)
	}
}

// rest ends the process of a server that was idle for long. One that somebody waits for is not.
func (m *Manager) rest(sh *shared) {
	m.mu.Lock()
	busy := sh.server.busy()
	if busy && !m.closed {
		sh.rest.Reset(sh.idle)
	}
	m.mu.Unlock()
	if !busy {
		sh.server.Rest(context.Background())
	}
}

func (sh *shared) stopTimer() {
	if sh.rest != nil {
		sh.rest.Stop()
	}
}

// notice tells all who use a server.
func (m *Manager) notice(sh *shared, text, detail string) {
	m.mu.Lock()
	users := make([]*Workspace, 0, len(sh.users))
	for w := range sh.users {
		users = append(users, w)
	}
	m.mu.Unlock()
	for _, w := range users {
		if w.opts.Notice != nil && w.ctx.Err() == nil {
			w.opts.Notice(text, detail)
		}
	}
}

// leave takes w off its servers, or off one of them if that is not nil. Those that nobody else uses end in the background;
// the others lose the directories that only w had.
func (m *Manager) leave(w *Workspace, one *Server) {
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
		sh.server.RemoveFolders(slices.DeleteFunc(slices.Clone(w.opts.Roots), func(dir string) bool {
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
				m.opts.Log.Warn().Str("server", s.Name()).Err(err).Msg("lsp: ending a server")
			}
		}
		if !m.background(end) {
			end()
		}
	}
}
