package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	agentext "github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
)

// toolbox holds the tools of one session: gjc's own, those of files, and those of its MCP servers and extensions.
type toolbox struct {
	own    []agent.Tool
	custom *customTools // nil for none
	// extensions are programs that offer tools too; nil for none.
	extensions *agentext.Manager
	// config is the configuration of further servers; nil for none.
	config MCPConfig

	loading sync.Mutex // held while the configuration is applied again
	mu      sync.Mutex // guards the fields below
	// apply returns the current servers, and builds a set for them. It is nil until the session has been connected.
	apply   *mcpSession
	lists   int   // counts the server lists
	order   int64 // the wire order of the request that set the current list
	closed  bool
	servers []acp.MCPServer
	set     *mcp.Set // nil for no servers
	// noted has the settings without effect that the user was notified of.
	noted map[string]bool
	// selected holds the names of the MCP tools that are offered; nil for all.
	selected map[string]bool
	// building is closed when the set for servers is built; nil if it is.
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

// AwaitLoading implements [agent.Toolbox].
func (b *toolbox) AwaitLoading(ctx context.Context) {
	b.custom.refresh(ctx)
	b.Reload(ctx, false)
	if set := b.Built(ctx); set != nil {
		set.Resume(ctx)
		_ = set.Offering(ctx) // a server that is not ready in time joins later
	}
}

// Reload implements [slash.MCP].
func (b *toolbox) Reload(ctx context.Context, always bool) {
	set := b.Built(ctx)
	if set != nil && always {
		defer set.Retry() // of those that the configuration still has
	}
	b.mu.Lock()
	apply, list, servers, building := b.apply, b.lists, b.servers, b.building != nil
	b.mu.Unlock()
	if b.config == nil || apply == nil || building || ctx.Err() != nil {
		return
	}
	b.loading.Lock()
	defer b.loading.Unlock()
	if !always && !b.config.Stale(ctx) {
		return
	}
	if set != nil {
		if set.Update(apply.specs(servers)) {
			apply.opened.Grants().Forget(mcptools.IsMCP) // they were for the former servers
		}
		return
	}
	if set = apply.newSet(servers); set != nil && b.put(list, set) {
		set.Start()
	}
}

// Definitions implements [slash.MCP].
func (b *toolbox) Definitions(ctx context.Context) []mcp.Definition {
	if b.config == nil {
		return nil
	}
	return b.config.Definitions(ctx)
}

// Run implements [slash.MCP].
func (b *toolbox) Run(ctx context.Context, args []string) (string, error) {
	if b.config == nil {
		return "", errors.New("this session uses only the MCP servers of the editor")
	}
	return b.config.Run(ctx, args)
}

// Tools implements [agent.Toolbox].
func (b *toolbox) Tools() []agent.Tool {
	all := append(b.own[:len(b.own):len(b.own)], b.custom.tools()...)
	if set := b.Current(); set != nil {
		all = append(all, b.chosen(mcptools.MCP(set))...)
	}
	if b.extensions != nil {
		all = append(all, b.extensions.Tools(all)...)
	}
	return all
}

// Current implements [slash.MCP].
func (b *toolbox) Current() *mcp.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// use replaces the session's servers, unless a later request has already done so. It returns the set to end; nil for none. The
// caller must pass list to put; if it is zero, there is nothing to put.
func (b *toolbox) use(order int64, servers []acp.MCPServer) (end *mcp.Set, list int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || order < b.order {
		return nil, 0
	}
	b.order = order
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

// put stores the set of servers for a list, unless the session has a newer list or is closed. It reports whether it did.
func (b *toolbox) put(list int, set *mcp.Set) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lists != list {
		return false // the put of the newer list closes building
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

// close refuses further servers and returns the set to end; nil for none.
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
	b.selected = nil
	if names == nil || slices.Contains(names, slash.AllTools) {
		return
	}
	b.selected = make(map[string]bool)
	for _, name := range names {
		b.selected[name] = true
		// Other programs write names as "server.tool".
		b.selected["mcp__"+strings.ReplaceAll(name, ".", "_")] = true
	}
}

// chosen returns the selected tools of MCP servers.
func (b *toolbox) chosen(all []agent.Tool) []agent.Tool {
	b.mu.Lock()
	selected := b.selected
	b.mu.Unlock()
	if selected == nil {
		return all
	}
	var some []agent.Tool
	for _, t := range all {
		if selected[t.Spec().Name] {
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

// mcpConnector connects sessions to their MCP servers.
type mcpConnector struct {
	client   *client
	tasks    *background
	children *proc.Group
	environ  func(context.Context) []string
	accounts *oauth.Accounts
	cache    mcp.Cache
	version  string
	log      zerolog.Logger
}

// mcpSession makes the servers of one session.
type mcpSession struct {
	*mcpConnector
	session *session
	opened  *opened
}

// connect replaces the servers of a session, so that the next prompt waits for the new ones. The function that it returns starts
// them and ends the former ones. The caller must call it after the response. It does not block.
func (c *mcpConnector) connect(s *session, o *opened, params *sessionParams) func() {
	servers := params.servers
	end, list := o.tools.use(params.order, servers)
	made := &mcpSession{c, s, o}
	o.tools.mu.Lock()
	o.tools.apply = made
	o.tools.mu.Unlock()
	return func() {
		if end != nil && !c.tasks.run(func() { c.end(end) }) {
			c.end(end)
		}
		if list == 0 {
			return
		}
		o.Grants().Forget(mcptools.IsMCP) // they were for the former servers
		if len(servers) == 0 && o.tools.config == nil {
			o.tools.put(list, nil)
			return
		}
		if !c.tasks.run(func() { made.start(list, servers) }) {
			o.tools.put(list, nil)
		}
	}
}

// start starts a session's servers, after the response before them has been written, if the client reads.
func (m *mcpSession) start(list int, servers []acp.MCPServer) {
	m.session.out.flush()
	set := m.newSet(servers)
	if m.opened.tools.put(list, set) && set != nil {
		set.Start()
	}
}

// end ends servers, within the time that closing a session may take.
func (c *mcpConnector) end(set *mcp.Set) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), sessionCloseTimeout, agent.ErrSessionClosed)
	defer cancel()
	if err := set.Close(ctx); err != nil {
		c.log.Warn().Err(err).Msg("ending MCP servers")
	}
}

// specs returns a session's servers: those of the client, and those of the configuration whose names the client does not use.
func (m *mcpSession) specs(servers []acp.MCPServer) []mcp.Server {
	specs := mcpServers(servers)
	config := m.opened.tools.config
	if config == nil {
		return specs
	}
	own, err := config.Servers(m.session.out.ctx)
	if err != nil {
		m.session.out.notice(agent.SeverityWarning, "The MCP server configuration has errors; invalid servers are ignored.", err.Error())
	}
	m.note(config.Notes())
	for _, spec := range own {
		if !slices.ContainsFunc(specs, func(c mcp.Server) bool { return strings.EqualFold(c.Name, spec.Name) }) {
			specs = append(specs, spec)
		}
	}
	return specs
}

// note notifies the user of settings that have no effect, of each once.
func (m *mcpSession) note(notes []string) {
	b := m.opened.tools
	b.mu.Lock()
	var now []string
	for _, n := range notes {
		if !b.noted[n] {
			now = append(now, n)
			if b.noted == nil {
				b.noted = make(map[string]bool)
			}
			b.noted[n] = true
		}
	}
	b.mu.Unlock()
	if len(now) > 0 {
		m.session.out.notice(agent.SeverityWarning, "Some settings of MCP servers have no effect in gjc.", strings.Join(now, "\n"))
	}
}

// newSet returns the set of a session's servers, or nil if there are none.
func (m *mcpSession) newSet(servers []acp.MCPServer) *mcp.Set {
	specs := m.specs(servers)
	if len(specs) == 0 {
		return nil
	}
	c, s, o := m.mcpConnector, m.session, m.opened
	ws := o.Workspace()
	opts := mcp.Options{
		Cwd: ws.Cwd, Roots: ws.Additional, Children: c.children, Env: c.environ(s.out.ctx), Version: c.version,
		Accounts: c.accounts, Channel: mcpChannel{c.client.conn}, Cache: c.cache, Log: m.session.log(&c.log),
		Changed: func() { s.advertise(o) },
		Notice:  func(n mcp.Notice) { s.out.notice(agent.SeverityWarning, n.Text, n.Detail) },
	}
	if asker := o.Elicitor(); asker != nil && (asker.Forms() || asker.URLs()) {
		opts.ElicitForms, opts.ElicitURLs = asker.Forms(), asker.URLs()
		opts.Elicit = func(ctx context.Context, req mcp.ElicitRequest) (mcp.ElicitResult, error) {
			return elicit(ctx, asker, req)
		}
		opts.ElicitationComplete = func(_, id string) {
			_ = asker.Completed(context.WithoutCancel(s.out.ctx), id) // it fails only if the client is gone
		}
	}
	return mcp.NewSet(opts, specs)
}

// mcpServers converts the client's list to the types of package mcp. Invalid servers stay in the list, so that the user sees their
// error.
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
			// It has an unknown type, or both a command and a URL. The set reports that in the session.
			_ = jsonx.Unmarshal(jsonx.Lookup(m.Raw, "name"), &spec.Name)
			if jsonx.Lookup(m.Raw, "command") != nil {
				spec.Stdio, spec.HTTP = &mcp.Stdio{}, &mcp.HTTP{}
			}
		}
		specs = append(specs, spec)
	}
	return specs
}

// elicit passes a server's question to the user. It fails for a form that asks for a secret.
func elicit(ctx context.Context, asker agent.Elicitor, req mcp.ElicitRequest) (mcp.ElicitResult, error) {
	message := req.Server + ": " + req.Message
	if req.Mode == "url" {
		action, err := asker.URL(ctx, agent.URLRequest{ID: req.ID, Message: message, URL: req.URL})
		return mcp.ElicitResult{Action: elicitAction(action)}, err
	}
	answer, err := asker.Form(ctx, agent.Form{Message: message, Schema: req.Schema})
	if err != nil {
		return mcp.ElicitResult{}, err
	}
	return mcp.ElicitResult{Action: elicitAction(answer.Action), Content: answer.Content}, nil
}

func elicitAction(a agent.ElicitAction) string {
	switch a {
	case agent.ElicitAccept:
		return "accept"
	case agent.ElicitDecline:
		return "decline"
	default:
		return "cancel"
	}
}

// mcpChannel carries MCP over the connection to the client, with mcp/message.
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
		return nil, nil, errors.New("the editor does not support MCP messages (mcp/message)")
	case err != nil:
		return nil, nil, err
	case resp.Error != nil:
		return nil, &mcp.ChannelError{Code: int64(resp.Error.Code), Message: resp.Error.Message, Data: resp.Error.Data}, nil
	default:
		return resp.Result, nil, nil
	}
}

// mcpHandlers handles the messages of MCP servers that the client connects.
type mcpHandlers struct {
	client   *client
	sessions *registry
}

// MessageMCP passes a notification about an open inner request to the session that has the server.
func (h *mcpHandlers) MessageMCP(_ context.Context, p *acp.MessageMCPNotification) error {
	if err := h.client.initialized(); err != nil {
		return err
	}
	for _, s := range h.sessions.all() {
		o := s.ready()
		if o == nil {
			continue
		}
		if set := o.tools.Current(); set != nil {
			set.ChannelNotification(string(p.ServerID), string(p.RequestID), p.Method, p.Params)
		}
	}
	return nil
}
