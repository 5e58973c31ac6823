package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
)

// protocolVersion is the version of ACP that the server speaks.
const protocolVersion = 1

// authAgent is the authentication method that needs nothing from the client: credentials come from the command
// line, the agent directory, the environment or models.yml, and without any the offline model answers.
const authAgent = "agent"

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
			SessionCapabilities: acp.SessionCapabilities{
				List:                  &acp.SessionListCapabilities{},
				Resume:                &acp.SessionResumeCapabilities{},
				Close:                 &acp.SessionCloseCapabilities{},
				AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
			},
		},
		AuthMethods: []acp.AuthMethod{&acp.AuthMethodAgent{
			ID: authAgent, Name: "Keys of this machine",
			Description: "Uses the API keys in the agent directory, the environment or models.yml. Without one, an offline model explains how to add it.",
		}},
	}), nil
}

// Authenticate accepts the agent's own method. Nothing has to be done for it.
func (s *Server) Authenticate(_ context.Context, p *acp.AuthenticateRequest) (acp.Reply[acp.AuthenticateResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	if p.MethodID != authAgent {
		return nil, invalidParams("unknown authentication method %q; there is %q", p.MethodID, authAgent)
	}
	return acp.Done[acp.AuthenticateResponse](nil), nil
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
