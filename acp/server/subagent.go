package server

import (
	"context"
	"sync/atomic"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/lsp"
)

// subagent returns the update about a child session for a client that supports child sessions.
func (m *mapper) subagent(ev agent.SubagentChanged) []acp.SessionUpdate {
	if !m.subagents {
		return nil
	}
	u := &acp.SubagentUpdate{SessionID: acp.SessionID(ev.ID)}
	if ev.Running {
		u.Title = acp.Value(ev.Title)
		u.Capabilities = acp.Value(acp.SubagentSessionCapabilities{Cancel: &acp.SessionCancelCapabilities{}})
		u.State = acp.Value(stateUpdate(true, "", nil))
		return []acp.SessionUpdate{u}
	}
	u.State = acp.Value(stateUpdate(false, ev.Stop, ev.Err))
	u.Capabilities = acp.Null[acp.SubagentSessionCapabilities]() // it ended with its call, so it cannot be cancelled
	return []acp.SessionUpdate{u}
}

// stateUpdate returns the state of a session whose turn runs, or has ended with stop or failed with err.
func stateUpdate(running bool, stop agent.StopReason, err error) acp.StateUpdate {
	if running {
		return new(acp.RunningStateUpdate)
	}
	idle := &acp.IdleStateUpdate{StopReason: acp.StopReason(stop)}
	if err != nil {
		idle.StopReason = "error"
		idle.Error = &acp.Error{Code: acp.ErrorCodeInternalError, Message: err.Error()}
	}
	return idle
}

// instruction returns the message from the parent with which a child session begins.
func instruction(parent acp.SessionID, ev *agent.SubagentChanged) acp.SessionUpdate {
	return &acp.SessionMessage{
		MessageID: acp.MessageID(ev.CallID + "-task"), SenderSessionID: acp.Value(parent), RecipientSessionID: acp.Value(acp.SessionID(ev.ID)),
		Content: acp.Value([]acp.ContentBlock{&acp.TextContent{Text: ev.Prompt}}),
	}
}

// instructionOf returns the instruction of an event that begins a child session; nil for other events.
func (m *mapper) instructionOf(parent acp.SessionID, ev agent.Event) (child acp.SessionID, u acp.SessionUpdate) {
	begun, ok := ev.(agent.SubagentChanged)
	if !ok || !begun.Running || !m.subagents {
		return "", nil
	}
	return acp.SessionID(begun.ID), instruction(parent, &begun)
}

// parent is the session or child session that starts a child session.
type parent struct {
	id      acp.SessionID
	bridges Bridges
	names   callNames
}

// childBuilder connects the child sessions of one session.
type childBuilder struct {
	out *outlet
	// bridges returns the bridges of a child session that has a separate session ID in the client.
	bridges   func(id acp.SessionID) Bridges
	workspace agent.Workspace
	languages *lsp.Workspace // nil for none
	apart     *apart         // nil if there are no worktrees
}

// apart connects child sessions that work in worktrees.
type apart struct {
	worktrees func() (*worktree.Maker, error)
	// bridges returns the bridges of a session with other directories, in which files are read and written on the disk.
	bridges func(id acp.SessionID, ws agent.Workspace) Bridges
	// languages returns language servers for other directories; nil for none.
	languages func(roots []string, set *Bridges, session func() *agent.Session) *lsp.Workspace
}

// provide adds the values of a session that starts child sessions.
func (c *childBuilder) provide(values *agent.Values) {
	if c.apart != nil {
		agent.SetValue(values, isolation.NewTrees(func(title, detail string) { c.out.notice(agent.SeverityInfo, title, detail) }))
	}
}

// isolation returns the function that connects the isolated children of a session; nil if there are no worktrees.
func (c *childBuilder) isolation(above *parent) agent.IsolateFunc {
	if c.apart == nil {
		return nil
	}
	return func(ctx context.Context, about agent.Subagent, tree *isolation.Tree) (agent.Surroundings, error) {
		if tree == nil {
			maker, err := c.apart.worktrees()
			if err != nil {
				return agent.Surroundings{}, err
			}
			if tree, err = isolation.New(ctx, maker, c.workspace.Cwd, c.workspace.Additional); err != nil {
				return agent.Surroundings{}, err
			}
		}
		return c.isolated(*above, about, tree), nil
	}
}

// isolated connects a child session that works in a worktree.
func (c *childBuilder) isolated(above parent, about agent.Subagent, tree *isolation.Tree) agent.Surroundings {
	ws := agent.Workspace{Cwd: tree.Roots[0], Additional: tree.Roots[1:]}
	set := c.apart.bridges(above.id, ws)
	var begun atomic.Pointer[agent.Session]
	languages := c.apart.languages(tree.Roots, &set, begun.Load)
	programs := func(p agent.Programs) agent.Programs { return sessionPrograms{p, ws, languages} }
	own := &childBuilder{out: c.out, workspace: ws, languages: languages, apart: c.apart}
	own.bridges = func(id acp.SessionID) Bridges {
		child := set.Child(id)
		child.Programs = programs(child.Programs)
		return child
	}
	above.bridges.FS, above.bridges.Terminal, above.bridges.Programs = set.FS, set.Terminal, programs(set.Programs)
	around := own.surroundings(above, about)
	around.Tree = tree
	around.Begun = begun.Store
	around.Close = func(ctx context.Context) {
		if set.Close != nil {
			set.Close(ctx)
		}
		if languages != nil {
			languages.Close()
		}
	}
	return around
}

// surroundings connects a child session. If the client supports child sessions, the child has a session of its own there.
// Otherwise its calls appear as calls of the outermost session, under names that distinguish them.
func (c *childBuilder) surroundings(above parent, about agent.Subagent) agent.Surroundings {
	around := agent.Surroundings{
		FS: above.bridges.FS, Terminal: above.bridges.Terminal, Programs: above.bridges.Programs,
		Provide: func(values *agent.Values) {
			toolkit.SetLanguages(values, c.languages, c.workspace.Display)
			c.provide(values)
		},
	}
	own := parent{id: above.id, bridges: above.bridges, names: above.names.child(&about)}
	around.Subagent = func(about agent.Subagent) agent.Surroundings { return c.surroundings(own, about) }
	around.Isolate = c.isolation(&own)
	if !c.out.subagents {
		around.Approver = namedApprover{own.bridges.Approver, own.names}
		around.Elicitor = namedElicitor{own.bridges.Elicitor, own.names}
		around.Emit = func(ev agent.Event) { c.out.emitNested(own.names, ev) }
		return around
	}
	own.id = acp.SessionID(about.ID)
	b := c.bridges(own.id)
	own.bridges = b
	around.FS, around.Terminal, around.Programs, around.Approver, around.Elicitor = b.FS, b.Terminal, b.Programs, b.Approver, b.Elicitor
	m := newMapper(c.out.features)
	around.Emit = func(ev agent.Event) {
		for _, u := range m.updates(ev) {
			c.out.writeAs(own.id, u)
		}
		if child, u := m.instructionOf(own.id, ev); u != nil {
			c.out.writeAs(child, u)
		}
	}
	return around
}

// callNames makes the IDs of a child's calls unique in the outermost session, and adds a prefix to their titles.
type callNames struct {
	// call is the ID of the call that started the child. prefix and title are the prefixes of the IDs and titles of the child's
	// calls.
	call, prefix, title string
}

// child returns the names for a child of the session whose names are n.
func (n callNames) child(about *agent.Subagent) callNames {
	call := n.prefix + about.CallID
	prefix := call + "/"
	if about.Name != "" {
		prefix += about.Name + "/"
	}
	return callNames{call, prefix, n.title + about.Title + ": "}
}

func (n callNames) of(id string) string { return n.prefix + id }

// parentCall is the member of a call's _meta that names the call which started the child.
const parentCall = "gjc/parentToolCallId"

// emitNested sends a child's event to a client that does not support child sessions. The child's messages and plan are only for its
// parent.
func (o *outlet) emitNested(names callNames, ev agent.Event) {
	switch e := ev.(type) {
	case agent.ToolStarted:
		e.CallID = names.of(e.CallID)
		e.Title = names.title + e.Title
		u := o.toolCall(e)
		setMeta(&u.Meta, parentCall, names.call)
		o.send(u)
		return
	case agent.ToolProgress:
		e.CallID = names.of(e.CallID)
		ev = e
	case agent.ToolEnded:
		e.CallID = names.of(e.CallID)
		ev = e
	case agent.Noticed:
	default:
		return
	}
	o.emit(ev)
}

// namedApprover asks about a child's calls under their names in the outermost session.
type namedApprover struct {
	agent.Approver
	names callNames
}

func (a namedApprover) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	q.ToolCallID, q.Title = a.names.of(q.ToolCallID), a.names.title+q.Title
	return a.Approver.Approve(ctx, q)
}

// namedElicitor asks other questions about a child's calls under their names in the outermost session.
type namedElicitor struct {
	agent.Elicitor
	names callNames
}

func (e namedElicitor) Form(ctx context.Context, f agent.Form) (agent.FormAnswer, error) {
	f.ToolCallID = e.names.of(f.ToolCallID)
	return e.Elicitor.Form(ctx, f)
}

func (e namedElicitor) URL(ctx context.Context, u agent.URLRequest) (agent.ElicitAction, error) {
	u.ToolCallID = e.names.of(u.ToolCallID)
	return e.Elicitor.URL(ctx, u)
}

func (e namedElicitor) Choose(ctx context.Context, c agent.Choice) (int, agent.ElicitAction, error) {
	c.ToolCallID = e.names.of(c.ToolCallID)
	return e.Elicitor.Choose(ctx, c)
}
