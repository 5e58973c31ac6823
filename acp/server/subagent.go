package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// subagent tells of a child session to a client that knows them.
func (m *mapper) subagent(ev agent.SubagentChanged) []acp.SessionUpdate {
	if !m.subagents {
		return nil
	}
	u := &acp.SubagentUpdate{SessionID: acp.SessionID(ev.ID)}
	if ev.Running {
		u.Title = acp.Value(ev.Title)
		u.Capabilities = acp.Value(acp.SubagentSessionCapabilities{Cancel: &acp.SessionCancelCapabilities{}})
		u.State = acp.Value[acp.StateUpdate](&acp.RunningStateUpdate{})
		return []acp.SessionUpdate{u}
	}
	idle := &acp.IdleStateUpdate{StopReason: acp.StopReason(ev.Stop)}
	if ev.Err != nil {
		idle.StopReason = "error"
		idle.Error = &acp.Error{Code: acp.ErrorCodeInternalError, Message: ev.Err.Error()}
	}
	u.State = acp.Value[acp.StateUpdate](idle)
	u.Capabilities = acp.Null[acp.SubagentSessionCapabilities]() // it ends with its call: nothing is left to cancel
	return []acp.SessionUpdate{u}
}

// instruction is what a child session begins with: its parent's message.
func instruction(parent acp.SessionID, ev *agent.SubagentChanged) acp.SessionUpdate {
	return &acp.SessionMessage{
		MessageID: acp.MessageID(ev.CallID + "-task"), SenderSessionID: acp.Value(parent), RecipientSessionID: acp.Value(acp.SessionID(ev.ID)),
		Content: acp.Value([]acp.ContentBlock{&acp.TextContent{Text: ev.Prompt}}),
	}
}

// instructionOf is the instruction of an event that begins a child session; nil for any other.
func (m *mapper) instructionOf(parent acp.SessionID, ev agent.Event) (child acp.SessionID, u acp.SessionUpdate) {
	begun, ok := ev.(agent.SubagentChanged)
	if !ok || !begun.Running || !m.subagents {
		return "", nil
	}
	return acp.SessionID(begun.ID), instruction(parent, &begun)
}

// above is what a child session has above it: what its parent works with, and how that is known to the client.
type above struct {
	id    acp.SessionID
	set   Bridges
	names callNames
}

// surroundings gives a child session what it works with. A client that knows child sessions has one of its own for it;
// to any other the child's calls are calls of the outermost session, under names that tell them apart.
func (s *Server) surroundings(e *entry, ws agent.Workspace, parent above, about agent.Subagent) agent.Surroundings {
	around := agent.Surroundings{FS: parent.set.FS, Terminal: parent.set.Terminal, Programs: parent.set.Programs}
	if e.subagentLanguages {
		around.Languages = e.languages
	}
	own := above{id: parent.id, set: parent.set, names: parent.names.child(&about)}
	around.Subagent = func(about agent.Subagent) agent.Surroundings { return s.surroundings(e, ws, own, about) }
	if !e.out.subagents {
		around.Approver = namedApprover{own.set.Approver, own.names}
		around.Elicitor = namedElicitor{own.set.Elicitor, own.names}
		around.Emit = func(ev agent.Event) { e.out.emitNested(own.names, ev) }
		return around
	}
	own.id = acp.SessionID(about.ID)
	b := s.bridges(own.id, ws, e.mark)
	b.Programs = sessionPrograms{b.Programs, ws, e.languages}
	own.set = b
	around.FS, around.Terminal, around.Programs, around.Approver, around.Elicitor = b.FS, b.Terminal, b.Programs, b.Approver, b.Elicitor
	m := newMapper(e.out.features)
	around.Emit = func(ev agent.Event) {
		for _, u := range m.updates(ev) {
			e.out.writeAs(own.id, u)
		}
		if child, u := m.instructionOf(own.id, ev); u != nil {
			e.out.writeAs(child, u)
		}
	}
	return around
}

// callNames makes the ids of a child's calls unique in the outermost session, and says whose calls they are.
type callNames struct {
	// call is the call that has started the child; prefix is before the ids of the child's own, title before their titles.
	call, prefix, title string
}

// child are the names of a child of the session with the names n.
func (n callNames) child(about *agent.Subagent) callNames {
	call := n.prefix + about.CallID
	prefix := call + "/"
	if about.Name != "" {
		prefix += about.Name + "/"
	}
	return callNames{call, prefix, n.title + about.Title + ": "}
}

func (n callNames) of(id string) string { return n.prefix + id }

// parentCall is the member of a call's _meta that names the call that it belongs to.
const parentCall = "gjc/parentToolCallId"

// emitNested tells what a child does to a client that knows no child sessions. What the child says and plans is for its
// parent.
func (o *outlet) emitNested(names callNames, ev agent.Event) {
	switch e := ev.(type) {
	case agent.ToolStarted:
		e.CallID = names.of(e.CallID)
		e.Title = names.title + e.Title
		u := toolCall(e)
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

// namedApprover asks about a child's calls under their names in the parent's session.
type namedApprover struct {
	agent.Approver
	names callNames
}

func (a namedApprover) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	q.ToolCallID, q.Title = a.names.of(q.ToolCallID), a.names.title+q.Title
	return a.Approver.Approve(ctx, q)
}

// namedElicitor does the same for other questions.
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
