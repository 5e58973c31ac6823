// Package mcp is the client side of the Model Context Protocol: the servers of one session, over stdio, Streamable
// HTTP, SSE and the editor's own channel, behind one [Set]. It speaks the stateless protocol of 2026-07-28 and the
// ones with a handshake before it, knows nothing of agents and editors, and keeps nothing on disk.
//
// A [Set] shares nothing with another one: no process, connection, header, environment, tool or name. Each server
// has one goroutine that connects, lists, watches, retries and ends it (server.go); design and decisions are in
// docs/design/mcp.md.
package mcp

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
)

// Server says how to reach one MCP server. Exactly one of Stdio, HTTP and Channel is set.
type Server struct {
	// Name is what people call the server; unique in its set and not empty.
	Name    string
	Stdio   *Stdio
	HTTP    *HTTP
	Channel *ChannelServer
	// Timeout is in place of InitTimeout and CallTimeout of [Options]. If zero, those hold.
	Timeout time.Duration
	// Secrets are further values that are kept out of every text that leaves the package.
	Secrets []string
}

// Stdio is a server that runs as a child process.
type Stdio struct {
	// Command is an absolute path, or the bare name of a program on the PATH of the server's environment.
	Command string
	Args    []string
	// Dir is the working directory of the process, absolute. If empty, that of [Options].
	Dir string
	// Env is added to the base environment, as "NAME=value". Its values are kept out of every text that leaves the
	// package.
	Env []string
}

// HTTP is a server behind a URL.
type HTTP struct {
	// URL is absolute, with the scheme http or https.
	URL string
	// Headers go with every request to the URL's own origin, and to no other. Their values are kept out of every text
	// that leaves the package.
	Headers []Header
	// SSE asks for the transport of 2024-11-05 with its two endpoints, in place of Streamable HTTP.
	SSE bool
}

// Header is one HTTP header.
type Header struct{ Name, Value string }

// ChannelServer is a server that lives behind [Options.Channel].
type ChannelServer struct {
	// ID is the id that the owner of the channel gave the server.
	ID string
}

// The defaults of [Options].
const (
	// DefaultInitTimeout leaves room for a package runner that downloads the server first.
	DefaultInitTimeout = 30 * time.Second
	// DefaultCallTimeout is long, because a tool may build or test something; a report of progress starts it anew.
	DefaultCallTimeout = 10 * time.Minute
	// DefaultMaxMessage bounds one message from a server. It is far more than a model can be shown.
	DefaultMaxMessage = 16 << 20
)

// Options says what a [Set] works with. The zero value connects servers that need no environment and no channel.
type Options struct {
	// Cwd is the working directory of children and the first root; absolute.
	Cwd string
	// Roots are further roots that servers are told of; absolute paths.
	Roots []string
	// Children owns the child processes. If nil, they belong to the Set alone.
	Children *proc.Group
	// Env is the base environment of children, as "NAME=value"; provider keys are taken out of it.
	Env []string
	// Version is gjc's, for the server's logs.
	Version string
	// HTTPClient gives the base transport, which is cloned for each server; its other fields are not used. If nil,
	// [http.DefaultTransport] is cloned.
	HTTPClient *http.Client
	// Channel carries the messages of [ChannelServer] entries. If nil, these fail.
	Channel Channel

	// Elicit answers a server's question to the user. Its context ends with the calls of that server that were open when
	// it asked. If nil, servers are told that nobody can be asked.
	Elicit func(ctx context.Context, req ElicitRequest) (ElicitResult, error)
	// ElicitForms and ElicitURLs say what Elicit can ask: servers are told so, and a question of the other mode is
	// refused. If neither is set, both are.
	ElicitForms, ElicitURLs bool
	// ElicitationComplete is told that what the user was asked to do at a URL is done, with the ID that Elicit got.
	// Optional.
	ElicitationComplete func(server, elicitationID string)
	// Changed is told that tools, prompts, resources or a status have changed. Optional.
	Changed func()
	// Notice is told what a user should see: failures, recoveries, names that were changed. Optional.
	Notice func(Notice)
	// Log gets what only a developer needs. The zero value logs nothing.
	Log zerolog.Logger

	// InitTimeout bounds the start of a server up to its first list of tools, and each later list. If zero,
	// [DefaultInitTimeout].
	InitTimeout time.Duration
	// CallTimeout bounds a call without any sign of life. If zero, [DefaultCallTimeout].
	CallTimeout time.Duration
	// MaxMessage bounds one message from a server in bytes; a longer one fails its call. If zero,
	// [DefaultMaxMessage].
	MaxMessage int
	// Backoff is how long to wait before each new attempt; behind the last one the server is given up until
	// [Set.Reconnect]. If nil, 0.5, 1, 2 and 4 seconds.
	Backoff []time.Duration
}

// The functions in Options are called from several goroutines, but never two of Changed and Notice at once. They must
// not block for long (Elicit may) and must not call [Set.Close].

func (o Options) withDefaults() Options {
	if o.InitTimeout == 0 {
		o.InitTimeout = DefaultInitTimeout
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if !o.ElicitForms && !o.ElicitURLs {
		o.ElicitForms, o.ElicitURLs = true, true
	}
	if o.Backoff == nil {
		o.Backoff = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
	}
	return o
}

// Notice is something that a user should see.
type Notice struct {
	// Server is the name of the server it is about; empty for all of them.
	Server string
	// Text is one sentence.
	Text string
	// Detail is the error behind it, or empty. It may have several lines.
	Detail string
}

// ElicitRequest is a server's question to the user.
type ElicitRequest struct {
	Server string
	// Mode is "form" or "url".
	Mode    string
	Message string
	// Schema describes the answer of a form: an object with flat properties.
	Schema jsonx.Raw
	// URL and ID are set in mode "url". The URL is absolute, with the scheme http or https. The ID is the set's own and
	// no other question's, in no other set either.
	URL string
	ID  string
}

// ElicitResult is the user's answer.
type ElicitResult struct {
	// Action is "accept", "decline" or "cancel".
	Action string
	// Content is the filled form, an object; only with "accept".
	Content jsonx.Raw
}

// Progress is a report from a running call.
type Progress struct {
	Message string
	Done    float64
	// Total is zero if unknown.
	Total float64
}
