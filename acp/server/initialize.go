package server

import (
	"context"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/followed"
)

// protocolVersion is the version of ACP that the server implements.
const protocolVersion = 1

// client is the editor at the other end of the connection.
type client struct {
	conn *acp.AgentConn

	mu      sync.Mutex             // guards request
	request *acp.InitializeRequest // nil before initialize
}

// initialized returns an error if initialize has not been called.
func (c *client) initialized() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return &acp.Error{Code: acp.ErrorCodeInvalidRequest, Message: "initialize must come first"}
	}
	return nil
}

// capabilities returns the capabilities that the client advertised.
func (c *client) capabilities() acp.ClientCapabilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return acp.ClientCapabilities{}
	}
	return c.request.ClientCapabilities
}

// showsTurns reports whether the client shows turns that begin without a prompt: it has declared so, or its name is in the user's list.
func (c *client) showsTurns(names []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return false
	}
	var on bool
	if ok, err := c.request.ClientCapabilities.Meta.Get(content.TurnsMeta, &on); ok && err == nil && on {
		return true
	}
	return c.request.ClientInfo != nil && slices.Contains(names, c.request.ClientInfo.Name)
}

// airClient returns what the client declared of the extension of JetBrains Air.
func (c *client) airClient() air.Client {
	declared := c.capabilities()
	a, _ := air.ParseClient(declared.Meta) // initialize has reported the error
	return a
}

// initializeHandlers handles initialize.
type initializeHandlers struct {
	client  *client
	version string
	login   []string
	methods []string // the extension methods
	log     zerolog.Logger
}

// Initialize does no I/O: it reads no models, credentials or sessions, and starts no process.
func (h *initializeHandlers) Initialize(_ context.Context, p *acp.InitializeRequest) (acp.Reply[acp.InitializeResponse], error) {
	h.client.mu.Lock()
	h.client.request = p
	h.client.mu.Unlock()
	if p.ClientInfo != nil {
		h.log.Info().Str("client", p.ClientInfo.Name).Str("version", p.ClientInfo.Version).Msg("initialize")
	}
	meta := steeringMeta()
	client, err := air.ParseClient(p.ClientCapabilities.Meta)
	if err != nil {
		h.log.Warn().Err(err).Msg("a part of the client's capabilities is malformed and ignored")
	}
	if client.Declared {
		client.Advertise(&meta)
	}
	extensions := extensionMeta(h.methods)
	if followed.Declared(p.ClientCapabilities.Meta, nil) {
		setMeta(&extensions, followed.Meta, followed.Capability{Roles: []string{followed.RoleObserver}})
	}
	return acp.Done(&acp.InitializeResponse{
		// If the client requested another version, it decides whether to continue with this one.
		ProtocolVersion: protocolVersion,
		AgentInfo:       &acp.Implementation{Name: "gjc", Title: "gjc", Version: h.version},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			MCPCapabilities:    acp.MCPCapabilities{HTTP: true, SSE: true, ACP: true},
			SessionCapabilities: acp.SessionCapabilities{
				List:                  &acp.SessionListCapabilities{},
				Delete:                &acp.SessionDeleteCapabilities{},
				Resume:                &acp.SessionResumeCapabilities{},
				Close:                 &acp.SessionCloseCapabilities{},
				AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
				Fork:                  &acp.SessionForkCapabilities{},
				Archive:               &acp.SessionArchiveCapabilities{},
				Status:                &acp.SessionStatusCapabilities{},
				Title:                 &acp.SessionTitleCapabilities{},
				SystemPrompt: &acp.SessionSystemPromptCapabilities{
					Mode: &acp.SessionSystemPromptModeCapabilities{Override: &acp.SessionSystemPromptOverrideCapabilities{}},
				},
			},
			Auth:      acp.AgentAuthCapabilities{Logout: &acp.LogoutCapabilities{}, Status: &acp.AuthStatusCapabilities{}},
			Providers: &acp.ProvidersCapabilities{},
			Meta:      extensions,
		},
		AuthMethods: authMethods(&p.ClientCapabilities, h.login),
		Meta:        meta,
	}), nil
}

// extensionMeta lists the extension methods.
func extensionMeta(methods []string) (m acp.Meta) {
	setMeta(&m, "gjc", struct {
		Methods []string `json:"methods"`
	}{methods})
	return m
}

// steeringMeta advertises "_session/steering" in the same member as other agents do.
func steeringMeta() (m acp.Meta) {
	setMeta(&m, "steering", struct {
		Supported bool `json:"supported"`
	}{true})
	return m
}

// setMeta sets a member of m. It ignores an encoding error, because every caller passes an encodable value.
func setMeta(m *acp.Meta, key string, v any) { _ = m.Set(key, v) }
