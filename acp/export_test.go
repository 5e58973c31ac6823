package acp

import (
	"context"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// SetPresent gives n a value and returns a pointer to it, for tests that fill types by reflection.
func (n *Nullable[T]) SetPresent() any {
	n.state = present
	return &n.value
}

// DispatchAgentRequest runs both halves of a request.
func DispatchAgentRequest(ctx context.Context, a Agent, method string, params jsonx.Raw) (any, error) {
	reply, err := agentRequests[method](ctx, a, params)
	if err != nil {
		return nil, err
	}
	return reply()
}

// DispatchAgentNotification runs a notification.
func DispatchAgentNotification(ctx context.Context, a Agent, method string, params jsonx.Raw) error {
	return agentNotifications[method](ctx, a, params)
}

// DispatchClientRequest runs a request.
func DispatchClientRequest(ctx context.Context, c Client, method string, params jsonx.Raw) (any, error) {
	return clientRequests[method](ctx, c, params)
}

// DispatchClientNotification runs a notification.
func DispatchClientNotification(ctx context.Context, c Client, method string, params jsonx.Raw) error {
	return clientNotifications[method](ctx, c, params)
}

// Dispatched lists the methods of each table.
func Dispatched() (agentRequest, agentNotification, clientRequest, clientNotification []string) {
	return keys(agentRequests), keys(agentNotifications), keys(clientRequests), keys(clientNotifications)
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

// EncodedSize returns the size of a text in JSON.
func EncodedSize(text string) int { return encodedSize(text) }
