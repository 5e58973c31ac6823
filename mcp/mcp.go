// Package mcp implements the client side of the Model Context Protocol. A [Set] has the servers of one session, over stdio,
// Streamable HTTP, SSE and the editor's own channel. The package supports the stateless protocol of 2026-07-28 and the older
// ones with a handshake. It does not depend on agents and editors, and stores nothing on the disk.
//
// Sets share nothing: no process, connection, header, environment, tool or name. One goroutine for each server connects,
// lists, watches, retries and ends it (server.go). The design is described in docs/design/mcp.md.
package mcp

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/mcp/oauth"
)

// Server is the configuration of one MCP server. Exactly one of Stdio, HTTP and Channel is set.
type Server struct {
	// Name is the name of the server for the user. It is unique in its set and not empty.
	Name    string
	Stdio   *Stdio
	HTTP    *HTTP
	Channel *ChannelServer
	// Timeout overrides InitTimeout and CallTimeout of [Options] unless it is zero. StartTimeout overrides InitTimeout alone.
	Timeout, StartTimeout time.Duration
	// Tools selects the tools that are offered and can be called.
	Tools ToolFilter
	// Secrets are further values that the package removes from all texts it returns or logs.
	Secrets []string
}

// Stdio is a server that runs as a child process.
type Stdio struct {
	// Command is an absolute path, or the name of a program on the PATH of the server's environment.
	Command string
	Args    []string
	// Dir is the working directory of the process, absolute. If empty, [Options.Cwd].
	Dir string
	// Env is added to the base environment, as "NAME=value". The package removes its values from all texts it returns or logs.
	Env []string
}

// HTTP is a server at a URL.
type HTTP struct {
	// URL is absolute, with the scheme http or https.
	URL string
	// Headers are sent with requests to the origin of the URL only. The package removes their values from all texts it returns or
	// logs.
	Headers []Header
	// OAuth configures the sign-in at the server; URL and Header are unset. It is not used if Headers has Authorization.
	OAuth oauth.Config
	// SSE selects the transport of 2024-11-05 with its two endpoints instead of Streamable HTTP.
	SSE bool
	// Helper returns further headers; nil for none.
	Helper *HeadersHelper
}

// HeadersHelper returns headers for each connection. They replace configured ones of the same name.
type HeadersHelper struct {
	// Name identifies the helper: two with the same name do the same.
	Name string
	// Run returns the headers. Its error says why there are none; then the connection fails.
	Run func(ctx context.Context) ([]Header, error)
}

// Header is one HTTP header.
type Header struct{ Name, Value string }

// ChannelServer is a server that is reached by [Options.Channel].
type ChannelServer struct {
	// ID is the ID of the server on the channel.
	ID string
}

// The defaults of [Options].
const (
	// defaultInitTimeout is long enough for a package runner that downloads the server first.
	defaultInitTimeout = 30 * time.Second
	// defaultCallTimeout is long, because a tool may run a build or tests. Progress reports restart it.
	defaultCallTimeout = 10 * time.Minute
	// DefaultMaxMessage bounds one message of a server, in bytes.
	DefaultMaxMessage = 16 << 20
)

// Options configures a [Set]. The zero value is valid for servers that need no environment and no channel.
type Options struct {
	// Cwd is the working directory of children and the first root, absolute.
	Cwd string
	// Roots are further roots, absolute. Servers can list them.
	Roots []string
	// Children owns the child processes. If nil, they belong to no group.
	Children *proc.Group
	// Env is the base environment of children, as "NAME=value"; provider keys are removed from it.
	Env []string
	// Version is the version of gjc, which servers receive.
	Version string
	// HTTPClient has the transport that is cloned for each server; its other fields are not used. If nil,
	// [http.DefaultTransport] is cloned.
	HTTPClient *http.Client
	// Accounts are the user's accounts at HTTP servers. If nil, there are none.
	Accounts *oauth.Accounts
	// Channel is for [ChannelServer] entries, which fail if it is nil.
	Channel Channel

	// Elicit asks the user a server's question. Its context ends with the calls to that server that were under way when the
	// question was asked. If nil, the capability is not announced and questions are refused.
	Elicit func(ctx context.Context, req ElicitRequest) (ElicitResult, error)
	// ElicitForms and ElicitURLs are the modes that Elicit supports. They are announced to servers; questions of the other mode are
	// refused. If neither is set, both are supported.
	ElicitForms, ElicitURLs bool
	// ElicitationComplete is called when the server reports the completion of a URL elicitation, with the ID that Elicit received.
	// Optional.
	ElicitationComplete func(server, elicitationID string)
	// Changed is called when tools, prompts, resources or a status have changed. Optional.
	Changed func()
	// Notice receives texts for the user: failures, recoveries, changed names. Optional.
	Notice func(Notice)
	// Cache keeps the tools of servers for later sets. Optional.
	Cache Cache
	// Log is for developers. The zero value logs nothing.
	Log zerolog.Logger

	// InitTimeout bounds the start of a server up to its first list of tools, and each later list. If zero,
	// [defaultInitTimeout].
	InitTimeout time.Duration
	// CallTimeout bounds the time without a message about a call. If zero, [defaultCallTimeout].
	CallTimeout time.Duration
	// MaxMessage bounds one message of a server in bytes; a call with a longer answer fails. If zero, [DefaultMaxMessage].
	MaxMessage int
	// Backoff has the pauses before new attempts to connect. After the last one, the server stays failed until [Set.Reconnect]. If
	// nil, 0.5, 1, 2 and 4 seconds.
	Backoff []time.Duration
}

// The functions in Options are called from several goroutines, but Changed and Notice are never called concurrently. Except for
// Elicit, they must not block for long. They must not call [Set.Close].

func (o Options) withDefaults() Options {
	if o.InitTimeout == 0 {
		o.InitTimeout = defaultInitTimeout
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
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

// Definition is a definition of a server in a file, and how it counts.
type Definition struct {
	Name string `json:"name"`
	// File is the path of the file.
	File string `json:"file"`
	// State is "used", or why the definition does not count: "disabled", "shadowed", "not trusted" or "invalid". Detail says more.
	State  string `json:"state"`
	Detail string `json:"detail,omitzero"`
}

// Notice is a text for the user.
type Notice struct {
	// Server is the name of the server; empty for all servers.
	Server string
	// Text is one sentence.
	Text string
	// Detail is the error, or empty. It may have several lines.
	Detail string
}

// ElicitRequest is a question of a server to the user.
type ElicitRequest struct {
	Server string
	// Mode is "form" or "url".
	Mode    string
	Message string
	// Schema describes the answer of a form: an object with flat properties.
	Schema jsonx.Raw
	// URL and ID are set in mode "url". The URL is absolute, with the scheme http or https. The ID is unique among all sets.
	URL string
	ID  string
}

// ElicitResult is the user's answer.
type ElicitResult struct {
	// Action is "accept", "decline" or "cancel".
	Action string
	// Content is the filled form, an object. It is set only for "accept".
	Content jsonx.Raw
}

// Progress is a progress report of a call.
type Progress struct {
	Message string
	Done    float64
	// Total is zero if unknown.
	Total float64
}
