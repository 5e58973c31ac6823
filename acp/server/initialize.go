package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
)

// protocolVersion is the version of ACP that the server speaks.
const protocolVersion = 1

// Initialize does no I/O: no models, no credentials, no session directory, no child.
func (s *Server) Initialize(_ context.Context, p *acp.InitializeRequest) (acp.Reply[acp.InitializeResponse], error) {
	s.mu.Lock()
	s.client = p
	s.mu.Unlock()
	if p.ClientInfo != nil {
		s.log.Info().Str("client", p.ClientInfo.Name).Str("version", p.ClientInfo.Version).Msg("initialize")
	}
	return acp.Done(&acp.InitializeResponse{
		// An agent answers a version that it does not speak with its own; the client decides.
		ProtocolVersion: protocolVersion,
		AgentInfo:       &acp.Implementation{Name: "gjc", Title: "gjc", Version: s.opts.Version},
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
			Meta:      extensionMeta(),
		},
		AuthMethods: s.authMethods(&p.ClientCapabilities),
		Meta:        steeringMeta(),
	}), nil
}

// extensionMeta names the methods beyond the protocol.
func extensionMeta() (m acp.Meta) {
	setMeta(&m, "gjc", struct {
		Methods []string `json:"methods"`
	}{extensionMethods()})
	return m
}

// steeringMeta says that "_session/steering" works, in the place where other agents say it.
func steeringMeta() (m acp.Meta) {
	setMeta(&m, "steering", struct {
		Supported bool `json:"supported"`
	}{true})
	return m
}

// initialized refuses what comes before initialize.
func (s *Server) initialized() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return &acp.Error{Code: acp.ErrorCodeInvalidRequest, Message: "initialize must come first"}
	}
	return nil
}

// capabilities returns what the client said that it can do.
func (s *Server) capabilities() acp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return acp.ClientCapabilities{}
	}
	return s.client.ClientCapabilities
}
