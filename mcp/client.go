package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// client returns the SDK client for the connection.
func (c *connection) client() *sdk.Client {
	o := &c.server.set.opts
	opts := &sdk.ClientOptions{
		// The roots of a set do not change, so there is no listChanged.
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.markStale(listTools)
		},
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) {
			c.markStale(listPrompts)
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
			c.markStale(listResources)
		},
		// multiRound handles questions in results, because it knows which call they belong to.
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	}
	if o.Elicit != nil {
		opts.Capabilities.Elicitation = new(sdk.ElicitationCapabilities)
		if o.ElicitForms {
			opts.Capabilities.Elicitation.Form = &sdk.FormElicitationCapabilities{}
		}
		if o.ElicitURLs {
			opts.Capabilities.Elicitation.URL = &sdk.URLElicitationCapabilities{}
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "gjc", Version: o.Version}, opts)
	client.AddRoots(roots(o)...)
	client.AddSendingMiddleware(boundDiscover(c.server.initTimeout() / 3))
	client.AddReceivingMiddleware(c.receive)
	return client
}

// boundDiscover bounds server/discover, so that enough time is left for the handshake with a server that does not answer unknown
// requests.
func boundDiscover(limit time.Duration) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "server/discover" {
				return next(ctx, method, req)
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return next(ctx, method, req)
		}
	}
}

func roots(o *Options) []*sdk.Root {
	var all []*sdk.Root
	for _, path := range append([]string{o.Cwd}, o.Roots...) {
		if path != "" {
			all = append(all, &sdk.Root{URI: fileURI(path), Name: filepath.Base(path)})
		}
	}
	return all
}

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/dir
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// within returns a context that ends when ctx or the connection's work context ends, and the function that cancels it.
func (c *connection) within(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.work, func() { cancel(context.Cause(c.work)) })
	return ctx, func(err error) {
		stop()
		cancel(err)
	}
}

// transport returns the transport for the server.
func (c *connection) transport() sdk.Transport {
	spec := &c.server.spec
	switch {
	case spec.Stdio != nil:
		return transportFunc(c.connectStdio)
	case spec.Channel != nil:
		return transportFunc(c.connectChannel)
	default:
		return transportFunc(c.connectHTTP)
	}
}

type transportFunc func(ctx context.Context) (sdk.Connection, error)

func (f transportFunc) Connect(ctx context.Context) (sdk.Connection, error) { return f(ctx) }
