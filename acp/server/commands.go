package server

import (
	"context"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
)

// advertised is the list of slash commands that a client has.
type advertised struct {
	sending sync.Mutex // held while a list is compared and sent
	mu      sync.Mutex // guards keys
	keys    []string   // the commands of the last list
}

// commandSources returns where the command files and skills of a session with these roots are.
func (s *Server) commandSources(roots []string) commands.Options {
	return commands.Options{UserDir: s.opts.UserDir, ProjectDirs: roots, Foreign: true, Home: s.opts.Home}
}

// newCommands returns the slash commands of a session.
func (s *Server) newCommands(e *entry, ws agent.Workspace) *slash.Commands {
	return slash.New(&slash.Options{
		Session: commandSession{s, e}, MCP: e.box, Workspace: ws, Files: e.files, Languages: e.languages, Debugger: e.debugger,
		Store: s.opts.Store, Models: s.opts.Models, Tools: s.opts.Tools, Sources: s.commandSources(append([]string{ws.Cwd}, ws.Additional...)),
		Enabled: s.enabled, SummarizesBranches: s.summarizesBranches,
	})
}

// commandSession is a session as its slash commands see it.
type commandSession struct {
	server *Server
	*entry
}

var _ slash.Session = commandSession{}

// Change implements [slash.Session].
func (c commandSession) Change(session *agent.Session, change agent.Change) (*agent.Snapshot, error) {
	before, err := session.Snapshot()
	if err != nil {
		return nil, err
	}
	var snap agent.Snapshot
	err = session.Change(change, func(now agent.Snapshot, changed bool) {
		snap = now
		if !changed {
			return
		}
		if now.Mode != before.Mode {
			c.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(now.Mode)})
		}
		if now.Model.Ref() != before.Model.Ref() {
			c.server.preconnect(now.Model)
		}
		c.out.send(&acp.ConfigOptionUpdate{ConfigOptions: c.server.configOptions(c.entry, &now)})
	})()
	return &snap, err
}

// TitleChanged implements [slash.Session].
func (c commandSession) TitleChanged(snap *agent.Snapshot) {
	c.out.send(infoUpdate(snap.Title, snap.UpdatedAt))
}

// ShowsCompaction implements [slash.Session].
func (c commandSession) ShowsCompaction() bool { return c.out.compaction }

// Warn implements [slash.Session].
func (c commandSession) Warn(title, detail string) {
	c.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: title, Detail: detail})
}

// commandsUpdate returns the update with all slash commands of a session.
func (s *Server) commandsUpdate(e *entry) *acp.AvailableCommandsUpdate {
	u := &acp.AvailableCommandsUpdate{AvailableCommands: e.commands.Available()}
	e.advertised.mu.Lock()
	defer e.advertised.mu.Unlock()
	e.advertised.keys = commandKeys(u.AvailableCommands)
	return u
}

// advertise sends the slash commands of a session again if they have changed.
func (s *Server) advertise(e *entry) {
	e.advertised.sending.Lock()
	defer e.advertised.sending.Unlock()
	e.advertised.mu.Lock()
	before := e.advertised.keys
	e.advertised.mu.Unlock()
	if u := s.commandsUpdate(e); !slices.Equal(before, commandKeys(u.AvailableCommands)) {
		e.out.send(u)
	}
}

func commandKeys(list []acp.AvailableCommand) []string {
	var keys []string
	for _, c := range list {
		keys = append(keys, c.Name+"\x00"+c.Description)
	}
	return keys
}

// refresh reads changed command files in the background and advertises what is new in them.
func (s *Server) refresh(e *entry) {
	s.background(func() { // ends when the files are read, or with the session
		s.flush(e) // a response that waits is more urgent
		e.commands.Files(e.out.ctx)
		s.advertise(e)
	})
}

// turnOf returns a function that queues the turn for a prompt: that of a slash command, or one of the model.
func turnOf(e *entry, p *acp.PromptRequest) (func(*agent.Session) *agent.Turn, error) {
	trace := traceOf(p.Meta)
	typed, err := slash.Parse(p.Prompt)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	if typed != nil {
		return func(session *agent.Session) *agent.Turn { return e.commands.Start(session, typed, trace) }, nil
	}
	parts, err := promptParts(p.Prompt, 0)
	if err != nil {
		return nil, err
	}
	return func(session *agent.Session) *agent.Turn { return session.PromptTraced(parts, trace) }, nil
}

// traceOf returns the W3C trace context in a request's _meta.
func traceOf(m acp.Meta) agent.Trace {
	var trace agent.Trace
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		var value string
		if ok, err := m.Get(key, &value); ok && err == nil {
			if trace == nil {
				trace = make(agent.Trace)
			}
			trace[key] = value
		}
	}
	return trace
}

// loadFiles reads the command files and skills of roots and of the user.
func (s *Server) loadFiles(ctx context.Context, roots []string) *commands.Set {
	set, _ := commands.Load(ctx, s.commandSources(roots)) // sessions report the problems
	return set
}
