package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
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

// surroundings gives a child session what it works with. A client that knows child sessions has one of its own for it;
// to any other the child's calls are calls of the parent's session, under names that tell them apart.
func (s *Server) surroundings(e *entry, ws agent.Workspace, parent bridges.Set, about agent.Subagent) agent.Surroundings {
	around := agent.Surroundings{FS: parent.FS, Terminal: parent.Terminal, Programs: parent.Programs}
	if e.subagentLanguages {
		around.Languages = e.languages
	}
	if !e.out.subagents {
		names := callNames{about.CallID + "/"}
		around.Approver = namedApprover{parent.Approver, names}
		around.Elicitor = namedElicitor{parent.Elicitor, names}
		around.Emit = func(ev agent.Event) { e.out.emitNested(about, names, ev) }
		return around
	}
	id := acp.SessionID(about.ID)
	b := bridges.New(bridges.Options{
		Client: s.conn, Capabilities: s.capabilities(), SessionID: id, Workspace: ws, Children: s.children, Local: s.opts.Local,
	})
	around.FS, around.Terminal, around.Programs, around.Approver, around.Elicitor = b.FS, b.Terminal, b.Programs, b.Approver, b.Elicitor
	m := newMapper(e.out.features)
	around.Emit = func(ev agent.Event) {
		for _, u := range m.updates(ev) {
			e.out.writeAs(id, u)
		}
	}
	return around
}

// callNames makes the ids of a child's calls unique in its parent's session.
type callNames struct{ prefix string }

func (n callNames) of(id string) string { return n.prefix + id }

// parentCall is the member of a call's _meta that names the call that it belongs to.
const parentCall = "gjc/parentToolCallId"

// emitNested tells what a child does to a client that knows no child sessions. What the child says and plans is for its
// parent.
func (o *outlet) emitNested(about agent.Subagent, names callNames, ev agent.Event) {
	switch e := ev.(type) {
	case agent.ToolStarted:
		e.CallID = names.of(e.CallID)
		e.Title = about.Title + ": " + e.Title
		u := toolCall(e)
		setMeta(&u.Meta, parentCall, about.CallID)
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
	q.ToolCallID = a.names.of(q.ToolCallID)
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
