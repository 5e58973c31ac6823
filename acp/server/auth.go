package server

import (
	"context"
	"slices"

	"github.com/gajae-code/gjc/acp"
)

// The authentication methods.
const (
	// authAgent needs nothing from the client: credentials come from the command line, the agent directory, the
	// environment or models.yml, and without any the offline model answers.
	authAgent acp.AuthMethodID = "agent"
	// authTerminal asks for a key in a terminal of the client's, in a process of its own.
	authTerminal acp.AuthMethodID = "terminal"
	// authTerminalMeta is the same for clients from before the protocol had it: they say so, and are told how, in
	// _meta.
	authTerminalMeta acp.AuthMethodID = "terminal-login"
)

const metaTerminalAuth = "terminal-auth"

// TerminalAuthFlag turns any call of the program into the one that asks for a key.
const TerminalAuthFlag = "--acp-terminal-auth"

// authMethods lists the methods that this client can use. The first one always works.
func (s *Server) authMethods(c *acp.ClientCapabilities) []acp.AuthMethod {
	methods := []acp.AuthMethod{&acp.AuthMethodAgent{
		ID: authAgent, Name: "Keys of this machine",
		Description: "Uses the API keys in the agent directory, the environment or models.yml. Without one, an offline model explains how to add it.",
	}}
	const name, description = "API key", "Asks for an API key in a terminal and stores it in the agent directory."
	var meta bool
	if _, err := c.Meta.Get(metaTerminalAuth, &meta); err != nil {
		meta = false
	}
	switch {
	case c.Auth.Terminal:
		methods = append(methods, &acp.AuthMethodTerminal{ID: authTerminal, Name: name, Description: description, Args: []string{TerminalAuthFlag}})
	case meta && len(s.opts.Login) > 0:
		m := &acp.AuthMethodAgent{ID: authTerminalMeta, Name: name, Description: description}
		setMeta(&m.Meta, metaTerminalAuth, struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Label   string   `json:"label"`
		}{s.opts.Login[0], s.opts.Login[1:], "gjc login"})
		methods = append(methods, m)
	}
	return methods
}

// Authenticate accepts the agent's own method. The keys are read anew: a login in a terminal has stored one.
func (s *Server) Authenticate(ctx context.Context, p *acp.AuthenticateRequest) (acp.Reply[acp.AuthenticateResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	switch p.MethodID {
	case authAgent, authTerminalMeta:
	case authTerminal:
		return nil, invalidParams("the method %q is run by the client, as a process with %s; authenticate is not for it", p.MethodID, TerminalAuthFlag)
	default:
		return nil, invalidParams("unknown authentication method %q; there is %q", p.MethodID, authAgent)
	}
	return func() (*acp.AuthenticateResponse, error) {
		if err := s.opts.Models.Reload(ctx); err != nil {
			s.log.Warn().Err(err).Msg("loading models") // told in each session; the built-in models work
		}
		acp.AfterResponse(ctx, func() {
			s.keysChanged()
			s.discover(true)
		})
		return &acp.AuthenticateResponse{}, nil
	}, nil
}

// Logout forgets the stored keys. Keys of the environment and of models.yml are not gjc's to take away. Open sessions
// stay: their next prompt finds no key.
func (s *Server) Logout(ctx context.Context, _ *acp.LogoutRequest) (acp.Reply[acp.LogoutResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.LogoutResponse, error) {
		if err := s.opts.Models.Logout(); err != nil {
			return nil, err
		}
		acp.AfterResponse(ctx, s.keysChanged)
		return &acp.LogoutResponse{}, nil
	}, nil
}

// AuthStatus tells which keys there are. Sessions can always be started: without a key with the offline model.
func (s *Server) AuthStatus(ctx context.Context, _ *acp.AuthStatusRequest) (acp.Reply[acp.AuthStatusResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.AuthStatusResponse, error) {
		s.refreshModels(ctx) // a login in a terminal may have come first
		resp := s.authStatus()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.authTold = resp
		return resp, nil
	}, nil
}

func (s *Server) authStatus() *acp.AuthStatusResponse {
	resp := &acp.AuthStatusResponse{State: acp.AuthStateNotRequired}
	for _, a := range s.opts.Models.Accounts() {
		resp.State = acp.AuthStateAuthenticated
		resp.Accounts = append(resp.Accounts, acp.AuthAccount{Label: a.Label, Active: new(a.Active)})
	}
	return resp
}

// keysChanged tells what other keys mean: other models, another status.
func (s *Server) keysChanged() {
	s.tellOptions()
	s.tellAuth()
}

// tellAuth tells a client that has asked for the status before that it is another one now.
func (s *Server) tellAuth() {
	now := s.authStatus()
	s.mu.Lock()
	before := s.authTold
	if before != nil {
		s.authTold = now
	}
	s.mu.Unlock()
	if before == nil || before.State == now.State && slices.EqualFunc(before.Accounts, now.Accounts, func(a, b acp.AuthAccount) bool {
		return a.Label == b.Label && *a.Active == *b.Active
	}) {
		return
	}
	// The one error is that nobody is there to hear it.
	_ = acp.MethodAuthStatusUpdate.Notify(context.Background(), s.conn, &acp.AuthStatusUpdateNotification{State: now.State, Accounts: now.Accounts})
}
