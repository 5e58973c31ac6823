package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// client makes the protocol's client side for one connection.
func (c *connection) client() *sdk.Client {
	o := &c.server.set.opts
	opts := &sdk.ClientOptions{
		// Roots do not change within the life of a set, so there is no listChanged.
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.listAgain(listTools)
		},
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) {
			c.listAgain(listPrompts)
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
			c.listAgain(listResources)
		},
		ProgressNotificationHandler: c.progressed,
	}
	if o.Elicit != nil {
		opts.Capabilities.Elicitation = &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}
		opts.ElicitationHandler = c.elicited
		opts.ElicitationCompleteHandler = c.elicitationComplete
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "gjc", Version: o.Version}, opts)
	client.AddRoots(roots(o)...)
	client.AddSendingMiddleware(boundDiscover(o.InitTimeout / 3))
	client.AddReceivingMiddleware(refuseSampling)
	return client
}

// boundDiscover gives up the question for the stateless protocol early, so that a server that does not answer what it
// does not know still gets its handshake within the time for the start.
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

// refuseSampling answers as one who does not know the method: gjc's models work for its user only.
func refuseSampling(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "sampling/createMessage" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "sampling is not offered"}
		}
		return next(ctx, method, req)
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

// fileURI is an absolute path as a file URI, percent-encoded.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/dir
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// elicited passes a server's question on to the user.
func (c *connection) elicited(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	ctx, cancel := c.within(ctx)
	defer cancel(nil)
	p := req.Params
	question := ElicitRequest{Server: c.server.spec.Name, Mode: p.Mode, Message: p.Message, URL: p.URL, ID: p.ElicitationID}
	if question.Mode == "" {
		question.Mode = "form"
	}
	if p.RequestedSchema != nil {
		raw, err := jsonx.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestedSchema: " + err.Error()}
		}
		question.Schema = raw
	}
	answer, err := c.server.set.opts.Elicit(ctx, question)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the user can not be asked: " + err.Error()}
	}
	res := &sdk.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" && question.Mode == "form" {
		res.Content = map[string]any{}
		if !jsonx.IsNull(answer.Content) {
			if err := jsonx.Unmarshal(answer.Content, &res.Content); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the user's answer is no object: " + err.Error()}
			}
		}
	}
	return res, nil
}

func (c *connection) elicitationComplete(_ context.Context, req *sdk.ElicitationCompleteNotificationRequest) {
	if req.Params == nil {
		return
	}
	id := req.Params.ElicitationID
	c.mu.Lock()
	if done, ok := c.visited[id]; ok {
		delete(c.visited, id)
		close(done)
	}
	c.mu.Unlock()
	if told := c.server.set.opts.ElicitationComplete; told != nil {
		told(c.server.spec.Name, id)
	}
}

// within returns ctx, ended by the end of the connection's work too.
func (c *connection) within(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.work, func() { cancel(context.Cause(c.work)) })
	return ctx, func(err error) {
		stop()
		cancel(err)
	}
}

// transport makes the way to the server.
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
