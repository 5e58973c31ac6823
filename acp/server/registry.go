package server

import (
	"maps"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// registry holds the sessions by ID.
type registry struct {
	client *client
	models Models

	mu sync.Mutex // guards the fields below
	// open holds the sessions that are open or being opened; leaving holds those that are being closed.
	open, leaving map[acp.SessionID]*session
	closing       bool
}

func newRegistry(client *client, models Models) *registry {
	return &registry{
		client: client, models: models,
		open: make(map[acp.SessionID]*session), leaving: make(map[acp.SessionID]*session),
	}
}

// all returns the open sessions.
func (r *registry) all() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.open))
}

// lookup returns the open session with an ID. It returns an error for one that is followed.
func (r *registry) lookup(id acp.SessionID) (*session, error) {
	s, err := r.find(id)
	if err != nil {
		return nil, err
	}
	if f := s.followed.Load(); f != nil {
		return nil, elsewhere(id, f)
	}
	return s, nil
}

// find returns the session with an ID that is open or followed.
func (r *registry) find(id acp.SessionID) (*session, error) {
	if err := r.client.initialized(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open[id]
	if s == nil {
		return nil, unknownSession(id)
	}
	return s, nil
}

// enter returns the open session with an ID. If there is none, it adds one for the directory cwd. The caller must open it.
func (r *registry) enter(id acp.SessionID, cwd string) (s *session, added bool, err error) {
	capabilities := r.client.capabilities()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, false, agent.ErrSessionClosed
	}
	if s := r.open[id]; s != nil {
		return s, false, nil
	}
	s = newSession(id, cwd, newOutlet(r.client.conn, id, featuresOf(&capabilities)), r.models)
	if former := r.leaving[id]; former != nil {
		s.former = former.ending.done
	}
	r.open[id] = s
	return s, true, nil
}

// forget removes a session that could not be opened.
func (r *registry) forget(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[s.id] == s {
		delete(r.open, s.id)
	}
}

// remove removes a session that the caller closes. Another session with its ID opens only after it is closed.
func (r *registry) remove(s *session) {
	r.mu.Lock()
	if r.open[s.id] == s {
		delete(r.open, s.id)
	}
	r.leaving[s.id] = s
	r.mu.Unlock()
	go func() { // ends with the session
		<-s.ending.done
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.leaving[s.id] == s {
			delete(r.leaving, s.id)
		}
	}()
}

// retire removes the session with an ID. The caller must close it. If the session is already being closed, retire returns it too.
// If there is no such session, it returns nil.
func (r *registry) retire(id acp.SessionID) *session {
	r.mu.Lock()
	open, leaving := r.open[id], r.leaving[id]
	r.mu.Unlock()
	if open == nil {
		return leaving
	}
	r.remove(open)
	return open
}

// close refuses new sessions and returns the existing ones. The caller must close them.
func (r *registry) close() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	all := slices.Collect(maps.Values(r.open))
	all = slices.AppendSeq(all, maps.Values(r.leaving))
	clear(r.open)
	return all
}

// sendOptions sends each session its config options, because the available models have changed. A session that is being opened
// receives them afterwards.
func (r *registry) sendOptions(models *models) {
	for _, s := range r.all() {
		s.then(func(o *opened, err error) {
			if err != nil {
				return
			}
			o.Change(models.leaveStopgap(s.cwd), func(snap agent.Snapshot, changed bool) {
				if changed {
					s.out.notice(agent.SeverityInfo, "A model is now available; the session continues with "+snap.Model.Ref()+".", "")
				}
				s.config.send(&snap)
			})
		})
	}
}
