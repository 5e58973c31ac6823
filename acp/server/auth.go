package server

import (
	"context"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
)

// The IDs of the authentication methods.
const (
	// authAgent needs nothing from the client: credentials come from the command line, the agent directory, the
	// environment or models.yml. Without credentials the offline model answers.
	authAgent acp.AuthMethodID = "agent"
	// authTerminal asks for a key in a terminal of the client, in another process.
	authTerminal acp.AuthMethodID = "terminal"
	// authTerminalMeta is authTerminal for clients that advertise it in _meta, as they did before the protocol had the method.
	authTerminalMeta acp.AuthMethodID = "terminal-login"
)

const metaTerminalAuth = "terminal-auth"

// TerminalAuthFlag is the flag that makes the program ask for a key and ignore its other arguments.
const TerminalAuthFlag = "--acp-terminal-auth"

// authMethods lists the methods that a client can use. The first one always works. login is [Options.Login].
func authMethods(c *acp.ClientCapabilities, login []string) []acp.AuthMethod {
	methods := []acp.AuthMethod{&acp.AuthMethodAgent{
		ID: authAgent, Name: "Keys on this machine",
		Description: "Uses the API keys in the agent directory, the environment or models.yml. Without a key, an offline model explains how to add one.",
	}}
	const name, description = "API key", "Asks for an API key in a terminal and stores it in the agent directory."
	var meta bool
	if _, err := c.Meta.Get(metaTerminalAuth, &meta); err != nil {
		meta = false
	}
	switch {
	case c.Auth.Terminal:
		methods = append(methods, &acp.AuthMethodTerminal{ID: authTerminal, Name: name, Description: description, Args: []string{TerminalAuthFlag}})
	case meta && len(login) > 0:
		m := &acp.AuthMethodAgent{ID: authTerminalMeta, Name: name, Description: description}
		setMeta(&m.Meta, metaTerminalAuth, struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Label   string   `json:"label"`
		}{login[0], login[1:], "gjc login"})
		methods = append(methods, m)
	}
	return methods
}

// authHandlers handles authentication.
type authHandlers struct {
	client *client
	models *models
	log    zerolog.Logger

	mu sync.Mutex // guards sent
	// sent is the status that the client received last; nil if it has never asked for it.
	sent *acp.AuthStatusResponse
}

// Authenticate accepts the agent's own method. It reads the keys again, because a login in a terminal may have stored one.
func (h *authHandlers) Authenticate(ctx context.Context, p *acp.AuthenticateRequest) (acp.Reply[acp.AuthenticateResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	switch p.MethodID {
	case authAgent, authTerminalMeta:
	case authTerminal:
		return nil, invalidParams("the client runs the method %q itself, as a process with %s; do not call authenticate for it", p.MethodID, TerminalAuthFlag)
	default:
		return nil, invalidParams("unknown authentication method %q; use %q", p.MethodID, authAgent)
	}
	return func() (*acp.AuthenticateResponse, error) {
		if err := h.models.Reload(ctx); err != nil {
			h.log.Warn().Err(err).Msg("loading models") // each session shows the error; the built-in models work without the file
		}
		acp.AfterResponse(ctx, func() {
			h.models.changed(true)
			h.models.discovery.start(true)
		})
		return &acp.AuthenticateResponse{}, nil
	}, nil
}

// Logout deletes the stored keys, but not those from the environment or models.yml. Open sessions stay open, and their next prompt
// fails without a key.
func (h *authHandlers) Logout(ctx context.Context, _ *acp.LogoutRequest) (acp.Reply[acp.LogoutResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.LogoutResponse, error) {
		if err := h.models.Logout(); err != nil {
			return nil, err
		}
		acp.AfterResponse(ctx, func() { h.models.changed(true) })
		return &acp.LogoutResponse{}, nil
	}, nil
}

// AuthStatus lists the known keys. Sessions can always be started: without a key they use the offline model.
func (h *authHandlers) AuthStatus(ctx context.Context, _ *acp.AuthStatusRequest) (acp.Reply[acp.AuthStatusResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.AuthStatusResponse, error) {
		h.models.refresh(ctx) // the user may have logged in from a terminal
		resp := h.status()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sent = resp
		return resp, nil
	}, nil
}

func (h *authHandlers) status() *acp.AuthStatusResponse {
	resp := &acp.AuthStatusResponse{State: acp.AuthStateNotRequired}
	for _, a := range h.models.Accounts() {
		resp.State = acp.AuthStateAuthenticated
		resp.Accounts = append(resp.Accounts, acp.AuthAccount{Label: a.Label, Active: new(a.Active)})
	}
	return resp
}

// sendStatus sends the status to a client that has asked for it before, if it has changed since.
func (h *authHandlers) sendStatus() {
	now := h.status()
	h.mu.Lock()
	before := h.sent
	if before != nil {
		h.sent = now
	}
	h.mu.Unlock()
	if before == nil || before.State == now.State && slices.EqualFunc(before.Accounts, now.Accounts, func(a, b acp.AuthAccount) bool {
		return a.Label == b.Label && *a.Active == *b.Active
	}) {
		return
	}
	// It fails only if the client is gone.
	_ = acp.MethodAuthStatusUpdate.Notify(context.Background(), h.client.conn, &acp.AuthStatusUpdateNotification{State: now.State, Accounts: now.Accounts})
}
