package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// toolbox is the tools of one session: gjc's own, and those of the MCP servers that the client has passed for it.
type toolbox struct {
	own []agent.Tool

	mu      sync.Mutex // guards the fields below
	lists   int        // counts the lists of servers that there have been
	asked   int64      // the place on the wire of the request that brought the last one
	closed  bool
	servers []acp.MCPServer
	set     *mcp.Set // nil for no servers
	// picked are the names of the MCP tools that are offered; nil for all.
	picked map[string]bool
	// building is closed when the set for servers is there; nil if it is.
	building chan struct{}
}

var (
	_ agent.Toolbox = (*toolbox)(nil)
	_ slash.MCP     = (*toolbox)(nil)
)

// Built implements [slash.MCP].
func (b *toolbox) Built(ctx context.Context) *mcp.Set {
	b.mu.Lock()
	building := b.building
	b.mu.Unlock()
	if building != nil {
		select {
		case <-building:
		case <-ctx.Done():
		}
	}
	return b.Current()
}

// Settle implements [agent.Toolbox].
func (b *toolbox) Settle(ctx context.Context) {
	if set := b.Built(ctx); set != nil {
		_ = set.Ready(ctx) // what is not there in time comes later
	}
}

// Tools implements [agent.Toolbox].
func (b *toolbox) Tools() []agent.Tool {
	set := b.Current()
	if set == nil {
		return b.own
	}
	return append(b.own[:len(b.own):len(b.own)], b.chosen(mcptools.MCP(set))...)
}

// Current implements [slash.MCP].
func (b *toolbox) Current() *mcp.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// use makes servers the session's, unless a request behind the one that brings them has brought others already, and
// returns the set to end; nil for none. list is what put is to be called with, whatever happens; zero where there is
// nothing to be put.
func (b *toolbox) use(asked int64, servers []acp.MCPServer) (end *mcp.Set, list int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || asked < b.asked {
		return nil, 0
	}
	b.asked = asked
	if b.lists > 0 && sameServers(b.servers, servers) {
		return nil, 0
	}
	end = b.set
	b.lists++
	b.servers, b.set = servers, nil
	if b.building == nil {
		b.building = make(chan struct{})
	}
	return end, b.lists
}

// put makes set that of a list, unless the session has got another list meanwhile, or is closed. It reports whether it
// did.
func (b *toolbox) put(list int, set *mcp.Set) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lists != list {
		return false // the one of the newer list closes building
	}
	if b.building != nil {
		close(b.building)
		b.building = nil
	}
	if b.closed {
		return false
	}
	b.set = set
	return true
}

// close takes no more servers, and returns the set to end; nil for none.
func (b *toolbox) close() *mcp.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.set
}

// Select implements [slash.MCP].
func (b *toolbox) Select(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.picked = nil
	if names == nil || slices.Contains(names, slash.AllTools) {
		return
	}
	b.picked = make(map[string]bool)
	for _, name := range names {
		b.picked[name] = true
		// Other programs write "server.tool".
		b.picked["mcp__"+strings.ReplaceAll(name, ".", "_")] = true
	}
}

// chosen returns the tools of MCP servers that were selected.
func (b *toolbox) chosen(all []agent.Tool) []agent.Tool {
	b.mu.Lock()
	picked := b.picked
	b.mu.Unlock()
	if picked == nil {
		return all
	}
	var some []agent.Tool
	for _, t := range all {
		if picked[t.Spec().Name] {
			some = append(some, t)
		}
	}
	return some
}

func sameServers(a, b []acp.MCPServer) bool {
	return slices.EqualFunc(a, b, func(x, y acp.MCPServer) bool {
		one, err := jsonx.Marshal(x)
		two, err2 := jsonx.Marshal(y)
		return err == nil && err2 == nil && string(one) == string(two)
	})
}

// connectMCP makes the wanted servers those of the session, so that a prompt that comes next waits for them, and returns what
// starts them and ends the former ones. That is for behind the response, and must be called: it starts nothing that its
// caller would have to wait for.
func (s *Server) connectMCP(e *entry, want *wanted) func(*agent.Session) {
	servers := want.servers
	end, list := e.box.use(want.asked, servers)
	return func(session *agent.Session) {
		if end != nil && !s.background(func() { s.endMCP(end) }) {
			s.endMCP(end)
		}
		if list == 0 {
			return
		}
		session.ForgetGrants(mcptools.IsMCP) // they were for the former servers
		if len(servers) == 0 && s.opts.MCPServers == nil {
			e.box.put(list, nil)
			return
		}
		if !s.background(func() { s.startMCP(e, session, list, servers) }) {
			e.box.put(list, nil)
		}
	}
}

// startMCP starts a session's servers. That must not keep the response before them from the client: it goes first, if
// the client reads.
func (s *Server) startMCP(e *entry, session *agent.Session, list int, servers []acp.MCPServer) {
	s.flush(e)
	set := s.newMCP(e, session, servers)
	if e.box.put(list, set) && set != nil {
		set.Start()
	}
}

// flush waits until what the client was sent before is on its way, if the client reads.
func (s *Server) flush(e *entry) {
	ctx, cancel := context.WithTimeout(e.out.ctx, flushTimeout)
	defer cancel()
	_ = s.conn.Flush(ctx)
}

// flushTimeout is how long the background gives way to a client that does not read.
const flushTimeout = 100 * time.Millisecond

// endMCP ends servers, within the time that closing a session may take.
func (s *Server) endMCP(set *mcp.Set) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), sessionCloseTimeout, agent.ErrSessionClosed)
	defer cancel()
	if err := set.Close(ctx); err != nil {
		s.log.Warn().Err(err).Msg("ending MCP servers")
	}
}

// newMCP makes the set of a session's servers: those of the client, then those of the user's own configuration whose
// names the client has not taken. It is nil for none.
func (s *Server) newMCP(e *entry, session *agent.Session, servers []acp.MCPServer) *mcp.Set {
	specs := mcpServers(servers)
	if s.opts.MCPServers != nil {
		own, err := s.opts.MCPServers(e.out.ctx)
		if err != nil {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The configuration of MCP servers has mistakes; the servers that they are in are not used.", Detail: err.Error()})
		}
		for _, spec := range own {
			if !slices.ContainsFunc(specs, func(c mcp.Server) bool { return strings.EqualFold(c.Name, spec.Name) }) {
				specs = append(specs, spec)
			}
		}
	}
	if len(specs) == 0 {
		return nil
	}
	ws := session.Workspace()
	opts := mcp.Options{
		Cwd: ws.Cwd, Roots: ws.Additional, Children: s.children, Env: s.opts.Environ(e.out.ctx), Version: s.opts.Version,
		Channel: mcpChannel{s.conn}, Log: s.log,
		Changed: func() { s.advertise(e) },
		Notice: func(n mcp.Notice) {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: n.Text, Detail: n.Detail})
		},
	}
	if asker := session.Elicitor(); asker != nil && (asker.Forms() || asker.URLs()) {
		opts.ElicitForms, opts.ElicitURLs = asker.Forms(), asker.URLs()
		opts.Elicit = func(ctx context.Context, req mcp.ElicitRequest) (mcp.ElicitResult, error) {
			return elicitMCP(ctx, asker, req)
		}
		opts.ElicitationComplete = func(_, id string) {
			_ = asker.Completed(context.WithoutCancel(e.out.ctx), id) // the client is gone otherwise
		}
	}
	return mcp.NewSet(opts, specs)
}

// mcpServers puts the client's list into the words of package mcp. What makes no sense stays in it, so that the user is
// told.
func mcpServers(servers []acp.MCPServer) []mcp.Server {
	var specs []mcp.Server
	headers := func(list []acp.HTTPHeader) (out []mcp.Header) {
		for _, h := range list {
			out = append(out, mcp.Header{Name: h.Name, Value: h.Value})
		}
		return out
	}
	for _, server := range servers {
		var spec mcp.Server
		switch m := server.(type) {
		case *acp.MCPServerStdio:
			spec.Name, spec.Stdio = m.Name, &mcp.Stdio{Command: m.Command, Args: m.Args}
			for _, v := range m.Env {
				spec.Stdio.Env = append(spec.Stdio.Env, v.Name+"="+v.Value)
			}
		case *acp.MCPServerHTTP:
			spec.Name, spec.HTTP = m.Name, &mcp.HTTP{URL: m.URL, Headers: headers(m.Headers)}
		case *acp.MCPServerSSE:
			spec.Name, spec.HTTP = m.Name, &mcp.HTTP{URL: m.URL, Headers: headers(m.Headers), SSE: true}
		case *acp.MCPServerACP:
			spec.Name, spec.Channel = m.Name, &mcp.ChannelServer{ID: string(m.ServerID)}
		case *acp.UnknownMCPServer:
			// Of an unknown type, or with a command and a URL: the set says so in the session.
			_ = jsonx.Unmarshal(jsonx.Lookup(m.Raw, "name"), &spec.Name)
			if jsonx.Lookup(m.Raw, "command") != nil {
				spec.Stdio, spec.HTTP = &mcp.Stdio{}, &mcp.HTTP{}
			}
		}
		specs = append(specs, spec)
	}
	return specs
}

// elicitMCP passes a server's question on to the user. The secrets that a form must not ask for are a refusal.
func elicitMCP(ctx context.Context, asker agent.Elicitor, req mcp.ElicitRequest) (mcp.ElicitResult, error) {
	message := req.Server + ": " + req.Message
	if req.Mode == "url" {
		action, err := asker.URL(ctx, agent.URLRequest{ID: req.ID, Message: message, URL: req.URL})
		return mcp.ElicitResult{Action: elicitWord(action)}, err
	}
	answer, err := asker.Form(ctx, agent.Form{Message: message, Schema: req.Schema})
	if err != nil {
		return mcp.ElicitResult{}, err
	}
	return mcp.ElicitResult{Action: elicitWord(answer.Action), Content: answer.Content}, nil
}

func elicitWord(a agent.ElicitAction) string {
	switch a {
	case agent.ElicitAccept:
		return "accept"
	case agent.ElicitDecline:
		return "decline"
	default:
		return "cancel"
	}
}

// mcpChannel carries MCP over the editor's connection, with mcp/message.
type mcpChannel struct{ conn *acp.AgentConn }

// Request implements [mcp.Channel].
func (c mcpChannel) Request(ctx context.Context, serverID, requestID, method string, params jsonx.Raw) (jsonx.Raw, *mcp.ChannelError, error) {
	resp, err := acp.MethodMCPMessage.Call(ctx, c.conn, &acp.MessageMCPRequest{
		ServerID: acp.MCPServerACPID(serverID), RequestID: acp.MCPRequestID(requestID), Method: method, Params: params,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}):
		return nil, nil, errors.New("the editor does not carry MCP messages (mcp/message)")
	case err != nil:
		return nil, nil, err
	case resp.Error != nil:
		return nil, &mcp.ChannelError{Code: int64(resp.Error.Code), Message: resp.Error.Message, Data: resp.Error.Data}, nil
	default:
		return resp.Result, nil, nil
	}
}

// MessageMCP takes a notification about an inner request that is open. It is for whichever session has that server.
func (s *Server) MessageMCP(_ context.Context, p *acp.MessageMCPNotification) error {
	if err := s.initialized(); err != nil {
		return err
	}
	for _, e := range s.entries() {
		if box := e.toolbox(); box != nil {
			if set := box.Current(); set != nil {
				set.ChannelNotification(string(p.ServerID), string(p.RequestID), p.Method, p.Params)
			}
		}
	}
	return nil
}
