package server

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// models selects the models of sessions.
type models struct {
	Models
	opts     *ModelOptions
	settings func(cwd string) (*Settings, error)
	tasks    *background
	log      zerolog.Logger
	// changed must be called when the available models or the keys have changed.
	changed   func(keys bool)
	discovery *discovery
}

// newModels returns the models of a server. The caller must set changed.
func newModels(opts *ModelOptions, settings func(cwd string) (*Settings, error), tasks *background, log zerolog.Logger) *models {
	m := &models{Models: opts.Models, opts: opts, settings: settings, tasks: tasks, log: log}
	m.discovery = &discovery{find: opts.Discover, tasks: tasks, log: log, found: func() { m.changed(false) }}
	return m
}

// refresh reads the configuration again if a login or the user has changed it, and notifies the client of the changes.
func (m *models) refresh(ctx context.Context) {
	changed, err := m.Refresh(ctx)
	if err != nil && changed {
		// The built-in models work without the file; the next session reports the error.
		m.log.Warn().Err(err).Msg("loading models")
	}
	if changed {
		m.changed(true)
		m.discovery.start(true)
	}
}

// first returns the initial model and level of a new session in a directory.
func (m *models) first(ctx context.Context, dir string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	m.refresh(ctx)
	info, level, err := m.pick(dir)
	if isNotFound(err) {
		// The model's server may not have been queried yet, or may not have been running.
		m.discovery.wait(ctx)
		info, level, err = m.pick(dir)
	}
	if info.ID == "" {
		return info, "", err
	}
	if err != nil {
		m.log.Warn().Err(err).Msg("finding the default model of the configuration")
	}
	return info, level, nil
}

// pick selects the model of a new session. An error returned together with a model is about a model that would have taken
// precedence.
func (m *models) pick(dir string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if m.opts.Default != "" {
		info, level, err := m.Find(m.opts.Default)
		return info, cmp.Or(level, info.DefaultThinking), err
	}
	set, _ := m.settings(dir) // its error is reported when a session begins
	missed := set.ModelErr
	if set.Model != "" {
		info, level, err := m.Find(set.Model)
		switch {
		case err != nil:
			missed = err
		case !m.DisabledIn(info.Provider, dir):
			return info, cmp.Or(level, info.DefaultThinking), missed
		}
	}
	info, ok := m.DefaultIn(dir)
	if !ok {
		return info, "", &acp.Error{Code: acp.ErrorCodeAuthenticationRequired, Message: "no usable model; add a key"}
	}
	return info, cmp.Or(info.DefaultThinking, providers.ThinkingOff), missed
}

func isNotFound(err error) bool {
	_, is := errors.AsType[*providers.NotFoundError](err)
	return is
}

// next returns the model with which a stored session in a directory continues: its former model, if it still exists and is not the
// stopgap.
func (m *models) next(ctx context.Context, former, dir string) (providers.ModelInfo, error) {
	m.refresh(ctx)
	if former != "" {
		info, known := m.Lookup(former)
		if !known {
			m.discovery.wait(ctx)
			info, known = m.Lookup(former)
		}
		if known && info.Provider != m.opts.Stopgap {
			return info, nil
		}
	}
	info, _, err := m.first(ctx, dir)
	return info, err
}

// leaveStopgap returns the change of a session in a directory from the stopgap to another model, if there is one now.
func (m *models) leaveStopgap(dir string) agent.Change {
	if m.opts.Stopgap == "" || m.opts.Default != "" {
		return agent.Change{}
	}
	info, level, _ := m.pick(dir)
	if info.ID == "" || info.Provider == m.opts.Stopgap {
		return agent.Change{}
	}
	return agent.FromProvider(m.opts.Stopgap, agent.ToModel(info, level))
}

// preconnect connects to a model's server in the background.
func (m *models) preconnect(info providers.ModelInfo) {
	if m.opts.Preconnect != nil {
		m.tasks.run(func() { m.opts.Preconnect(m.tasks.ctx, info) }) // ends with the server
	}
}

// discovery asks the servers of models for their models, in the background and one search at a time.
type discovery struct {
	find  func(ctx context.Context) (changed bool, err error) // nil for no discovery
	found func()                                              // called after a search that has changed the models
	tasks *background
	log   zerolog.Logger

	mu    sync.Mutex // guards the fields below
	begun bool       // whether a search was started
	again bool       // another search follows the running one
	// running is closed when all running searches have ended; nil for none.
	running chan struct{}
}

// start starts the first search. If again is set, it starts another search because the keys have changed; before the first search
// it does nothing, because that search begins with a session.
func (d *discovery) start(again bool) {
	if d.find == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun == again {
		d.begin(again)
	}
}

// begin starts a search. If a search is running and again is set, another one follows it. The caller must hold mu.
func (d *discovery) begin(again bool) {
	d.begun = true
	if d.running != nil {
		d.again = d.again || again
		return
	}
	over := make(chan struct{})
	started := d.tasks.run(func() { // ends with the last search, which ends with the server
		for more := true; more; {
			d.search()
			d.mu.Lock()
			if more = d.again && d.tasks.ctx.Err() == nil; !more {
				d.running = nil
				close(over)
			}
			d.again = false
			d.mu.Unlock()
		}
	})
	if started {
		d.running = over
	}
}

// wait starts a search, or joins the running one, and returns when the search has ended or ctx ends.
func (d *discovery) wait(ctx context.Context) {
	if d.find == nil {
		return
	}
	d.mu.Lock()
	d.begin(false)
	over := d.running
	d.mu.Unlock()
	if over == nil {
		return // the server is closing
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// search queries the servers for models once.
func (d *discovery) search() {
	changed, err := d.find(d.tasks.ctx)
	if d.tasks.ctx.Err() != nil {
		return
	}
	if err != nil {
		d.log.Warn().Err(err).Msg("looking for models")
	}
	if changed {
		d.found()
	}
}
