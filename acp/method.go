package acp

import (
	"context"
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Side is the end of a connection that handles a method.
type Side string

// The sides. Both ends handle methods of the protocol side. A proxy between agent and client handles methods of the proxy side.
const (
	SideAgent    Side = "agent"
	SideClient   Side = "client"
	SideProtocol Side = "protocol"
	SideProxy    Side = "proxy"
)

// Kind distinguishes requests from notifications.
type Kind string

// The kinds of a method.
const (
	KindRequest      Kind = "request"
	KindNotification Kind = "notification"
)

// A Caller sends requests and notifications to the other end of a connection.
type Caller interface {
	// Call sends a request, waits for the response and decodes its result into result unless that is nil. It returns
	// the errors of the connection, and the cause of ctx if ctx ends first.
	Call(ctx context.Context, method string, params, result any) error
	// Notify sends a notification. It does not wait until the peer has read it.
	Notify(ctx context.Context, method string, params any) error
}

// RequestMethod is a method with a response: params P, result R.
type RequestMethod[P, R any] struct {
	Name string
	Side Side
	// Unstable marks a method that the protocol may still change or drop.
	Unstable bool
}

// Call sends the request over c and waits for its result. A nil p stands for a zero P.
func (m RequestMethod[P, R]) Call(ctx context.Context, c Caller, p *P) (*R, error) {
	if p == nil {
		p = new(P)
	}
	r := new(R)
	if err := c.Call(ctx, m.Name, p, r); err != nil {
		return nil, err
	}
	return r, nil
}

func (m RequestMethod[P, R]) info() MethodInfo {
	return MethodInfo{
		Name: m.Name, Side: m.Side, Kind: KindRequest, Unstable: m.Unstable,
		NewParams: func() any { return new(P) }, NewResult: func() any { return new(R) },
	}
}

// NotificationMethod is a method without a response: params P.
type NotificationMethod[P any] struct {
	Name string
	Side Side
	// Unstable marks a method that the protocol may still change or drop.
	Unstable bool
}

// Notify sends the notification over c. A nil p stands for a zero P.
func (m NotificationMethod[P]) Notify(ctx context.Context, c Caller, p *P) error {
	if p == nil {
		p = new(P)
	}
	return c.Notify(ctx, m.Name, p)
}

func (m NotificationMethod[P]) info() MethodInfo {
	return MethodInfo{
		Name: m.Name, Side: m.Side, Kind: KindNotification, Unstable: m.Unstable,
		NewParams: func() any { return new(P) },
	}
}

// MethodInfo describes a request or notification method.
type MethodInfo struct {
	Name     string
	Side     Side
	Kind     Kind
	Unstable bool
	// NewParams returns a pointer to zero params.
	NewParams func() any
	// NewResult returns a pointer to a zero result. It is nil for a notification.
	NewResult func() any
}

// ParamsError reports that the params of a request or notification do not fit its method. Err is usually a *jsonx.DecodeError
// whose pointer begins with "/params".
type ParamsError struct {
	Method string
	Err    error
}

func (e *ParamsError) Error() string { return fmt.Sprintf("%s: %v", e.Method, e.Err) }

func (e *ParamsError) Unwrap() error { return e.Err }

// decodeParams decodes the params of a message. It reads absent and null params as an empty object.
func decodeParams[P any](method string, params jsonx.Raw) (*P, error) {
	if jsonx.IsNull(params) {
		params = jsonx.Raw("{}")
	}
	p := new(P)
	if err := jsonx.Unmarshal(params, p); err != nil {
		return nil, &ParamsError{Method: method, Err: jsonx.Within("/params", err)}
	}
	return p, nil
}

type (
	// An agentRequest decodes params and runs the ordered half of a request. It returns the other half, or an error.
	agentRequest      func(ctx context.Context, a Agent, params jsonx.Raw) (reply func() (any, error), err error)
	agentNotification func(ctx context.Context, a Agent, params jsonx.Raw) error
	clientRequest     func(ctx context.Context, c Client, params jsonx.Raw) (any, error)
	// A clientNotification decodes params and handles a notification from the agent.
	clientNotification func(ctx context.Context, c Client, params jsonx.Raw) error
)

func onAgentRequest[P, R any](
	m RequestMethod[P, R], handle func(Agent, context.Context, *P) (Reply[R], error),
) agentRequest {
	return func(ctx context.Context, a Agent, params jsonx.Raw) (func() (any, error), error) {
		p, err := decodeParams[P](m.Name, params)
		if err != nil {
			return nil, err
		}
		reply, err := handle(a, ctx, p)
		if err != nil {
			return nil, err
		}
		if reply == nil {
			reply = Done[R](nil)
		}
		return func() (any, error) { return orZero(reply()) }, nil
	}
}

func onAgentNotification[P any](
	m NotificationMethod[P], handle func(Agent, context.Context, *P) error,
) agentNotification {
	return func(ctx context.Context, a Agent, params jsonx.Raw) error {
		p, err := decodeParams[P](m.Name, params)
		if err != nil {
			return err
		}
		return handle(a, ctx, p)
	}
}

func onClientRequest[P, R any](
	m RequestMethod[P, R], handle func(Client, context.Context, *P) (*R, error),
) clientRequest {
	return func(ctx context.Context, c Client, params jsonx.Raw) (any, error) {
		p, err := decodeParams[P](m.Name, params)
		if err != nil {
			return nil, err
		}
		return orZero(handle(c, ctx, p))
	}
}

func onClientNotification[P any](
	m NotificationMethod[P], handle func(Client, context.Context, *P) error,
) clientNotification {
	return func(ctx context.Context, c Client, params jsonx.Raw) error {
		p, err := decodeParams[P](m.Name, params)
		if err != nil {
			return err
		}
		return handle(c, ctx, p)
	}
}

// orZero returns the zero result if a handler returned nil.
func orZero[R any](r *R, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = new(R)
	}
	return r, nil
}
