package server

import (
	"context"
	"fmt"

	"github.com/gajae-code/gjc/acp"
)

// The methods here are answered -32601. A method that a new schema adds fails to compile until it stands here or has
// a file of its own.

func unimplemented[R any](method string) (acp.Reply[R], error) {
	return nil, &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: fmt.Sprintf("method not found: %s", method)}
}

// AuthStatus is not served.
func (s *Server) AuthStatus(context.Context, *acp.AuthStatusRequest) (acp.Reply[acp.AuthStatusResponse], error) {
	return unimplemented[acp.AuthStatusResponse](acp.MethodAuthStatus.Name)
}

// Logout is not served.
func (s *Server) Logout(context.Context, *acp.LogoutRequest) (acp.Reply[acp.LogoutResponse], error) {
	return unimplemented[acp.LogoutResponse](acp.MethodLogout.Name)
}

// MessageMCP is not served; as a notification it is ignored.
func (s *Server) MessageMCP(context.Context, *acp.MessageMCPNotification) error { return nil }

// DisableProvider is not served.
func (s *Server) DisableProvider(context.Context, *acp.DisableProviderRequest) (acp.Reply[acp.DisableProviderResponse], error) {
	return unimplemented[acp.DisableProviderResponse](acp.MethodProvidersDisable.Name)
}

// ListProviders is not served.
func (s *Server) ListProviders(context.Context, *acp.ListProvidersRequest) (acp.Reply[acp.ListProvidersResponse], error) {
	return unimplemented[acp.ListProvidersResponse](acp.MethodProvidersList.Name)
}

// SetProvider is not served.
func (s *Server) SetProvider(context.Context, *acp.SetProviderRequest) (acp.Reply[acp.SetProviderResponse], error) {
	return unimplemented[acp.SetProviderResponse](acp.MethodProvidersSet.Name)
}

// ArchiveSession is not served.
func (s *Server) ArchiveSession(context.Context, *acp.ArchiveSessionRequest) (acp.Reply[acp.ArchiveSessionResponse], error) {
	return unimplemented[acp.ArchiveSessionResponse](acp.MethodSessionArchive.Name)
}

// UnarchiveSession is not served.
func (s *Server) UnarchiveSession(context.Context, *acp.UnarchiveSessionRequest) (acp.Reply[acp.UnarchiveSessionResponse], error) {
	return unimplemented[acp.UnarchiveSessionResponse](acp.MethodSessionUnarchive.Name)
}

// DeleteSession is not served.
func (s *Server) DeleteSession(context.Context, *acp.DeleteSessionRequest) (acp.Reply[acp.DeleteSessionResponse], error) {
	return unimplemented[acp.DeleteSessionResponse](acp.MethodSessionDelete.Name)
}

// ForkSession is not served.
func (s *Server) ForkSession(context.Context, *acp.ForkSessionRequest) (acp.Reply[acp.ForkSessionResponse], error) {
	return unimplemented[acp.ForkSessionResponse](acp.MethodSessionFork.Name)
}

// SessionStatus is not served.
func (s *Server) SessionStatus(context.Context, *acp.SessionStatusRequest) (acp.Reply[acp.SessionStatusResponse], error) {
	return unimplemented[acp.SessionStatusResponse](acp.MethodSessionStatus.Name)
}

// SetSessionTitle is not served.
func (s *Server) SetSessionTitle(context.Context, *acp.SetSessionTitleRequest) (acp.Reply[acp.SetSessionTitleResponse], error) {
	return unimplemented[acp.SetSessionTitleResponse](acp.MethodSessionSetTitle.Name)
}
