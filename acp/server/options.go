package server

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/commands"
	agentext "github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Options configures [Serve].
type Options struct {
	// Version is the program's version. Required.
	Version string
	// OS names the operating system. Required.
	OS string
	// NewID returns a unique ID. Required.
	NewID func() string
	// Login is the command line that asks for a key on a terminal: the program and its arguments. Optional.
	Login []string
	// Log receives log entries. The zero Logger discards them.
	Log zerolog.Logger
	// Trace, if set, receives every line of the protocol.
	Trace func(sent bool, line []byte)

	// Tracer records the turns of all sessions. Optional.
	Tracer *telemetry.Tracer

	Models   ModelOptions
	Sessions SessionOptions
	Machine  MachineOptions
}

// ModelOptions configures the models of sessions.
type ModelOptions struct {
	// Models provides the models. Required.
	Models Models
	// Discover queries the servers of models for their models, and reports whether the list of models has changed. It runs in the
	// background when the first session begins and after each sign-in. Its context ends with the server. Optional.
	Discover func(ctx context.Context) (changed bool, err error)
	// Preconnect connects to a model's server ahead of the first request. It runs in the background when a session begins or
	// is given another model. Optional.
	Preconnect func(ctx context.Context, info providers.ModelInfo)
	// Stopgap is the provider of the model that answers when no other model is available. A session leaves it as soon as another
	// model is available, unless Default names it. Optional.
	Stopgap string
	// Default is the model of new sessions as "provider/id[:level]". If empty, the settings decide, and then Models.
	Default string
}

// Models provides the models that can be used; [*registry.Registry] implements it.
type Models interface {
	agent.Models
	// Load reads the configuration. It is called once. It does not use the network.
	Load(ctx context.Context) error
	// Refresh reads the configuration again if it has changed, and reports whether it has.
	Refresh(ctx context.Context) (changed bool, err error)
	// ModelsIn lists the models for sessions in a directory; "" lists all.
	ModelsIn(dir string) []providers.ModelInfo
	// DefaultIn returns the model of a new session in a directory. It reports false if there is none.
	DefaultIn(dir string) (providers.ModelInfo, bool)
	// DisabledIn reports whether sessions in a directory get a provider's models only when they name one.
	DisabledIn(provider, dir string) bool
	// Reload reads the configuration again.
	Reload(ctx context.Context) error
	// Accounts lists the known keys, without their values.
	Accounts() []providers.Account
	// Logout deletes the keys that gjc has stored.
	Logout() error
	// Providers lists the providers and the addresses of their requests.
	Providers() []providers.ProviderState
	// SetProvider redirects a provider's requests until the process ends. It returns an error if the provider or the API is
	// unknown, or the address or a header is invalid.
	SetProvider(id, apiType, baseURL string, headers map[string]string) error
	// DisableProvider turns a provider off until SetProvider is called or the process ends. It returns an error for a required
	// provider, but not for an unknown one.
	DisableProvider(id string) error
}

// SessionOptions configures sessions. Its functions are called when a session begins, with its working directory.
type SessionOptions struct {
	// Store keeps the sessions. Required.
	Store *sessions.Store
	// Guests lets clients of other processes with the same store take part in the sessions, if the client is a hub. The caller runs it. Optional.
	Guests *relay.Host
	// Tools returns gjc's own tools, in order. Required.
	Tools func() []agent.Tool
	// Settings returns the user's settings. The error lists the mistakes in the configuration; the other settings are valid. A nil
	// result stands for the defaults. Optional.
	Settings func(cwd string) (*Settings, error)
	// Policy returns the user's permission rules. Optional.
	Policy func(cwd string) approval.Policy
	// Secrets returns the secrets to hide from models, or nil for none. After an error the session calls no model. Optional.
	Secrets func(cwd string) (agent.Secrets, error)
	// Sharing returns how /share shares sessions. Optional.
	Sharing func(cwd string) (*slash.Sharing, error)
	// CustomTools returns a function that reads the tools which files of the user and of the workspace describe, for a session with
	// these directories. reserved are the names of other tools. Optional.
	CustomTools func(roots, reserved []string, plugins userfiles.Plugins) func(ctx context.Context) *custom.Set
	// Plugins returns the plugins of a session with these directories. It does no I/O. Optional.
	Plugins func(roots []string) userfiles.Plugins
	// Hooks returns a function that reads the hooks of a session with these directories, the working directory first.
	// Optional.
	Hooks func(roots []string, plugins userfiles.Plugins) func() *hooks.Set
	// Extensions returns a function that reads the files of the extensions of a session with these directories. Optional.
	Extensions func(roots []string) func(ctx context.Context) *agentext.Set
	// Checkpoints say where and how the state of the files of sessions in a directory is recorded; nil if it is not. Optional.
	Checkpoints func(cwd string) *checkpoint.Options
	// Trust has the user's answers about what workspaces may run. If nil, their command files run nothing.
	Trust *trust.Store
	// MaxRequests bounds the model requests of one turn. If zero, 200.
	MaxRequests int
	// UserDir holds the user's own slash commands, skills, rules and helper agents. If empty, there are none.
	UserDir string
	// Home is the user's home directory, for commands, skills and helper agents of other programs. If empty, there are none. CodexHome is where
	// Codex keeps the user's files; if empty, .codex in Home.
	Home, CodexHome string
}

// MachineOptions configures what sessions use on this machine and in the editor.
type MachineOptions struct {
	// Bridges connects a session to the editor and to this machine. It does no I/O. Required.
	Bridges func(BridgeOptions) Bridges
	// Environ returns the environment of language servers and MCP servers. It still includes provider keys. Required.
	Environ func(context.Context) []string
	// Children owns all child processes; the server closes it. If nil, the server creates one.
	Children *proc.Group
	// Languages returns the language servers of a session with these directories, the working directory first. It does
	// little I/O. Optional.
	Languages func(roots []string) (Languages, error)
	// Debugging returns the debug adapters of a session with these directories. It does little I/O. Optional.
	Debugging func(roots []string) (Debugging, error)
	// Worktrees returns how to make worktrees, in which work cannot touch the user's files. children owns the processes of git. It reads the
	// settings and does no other I/O. Optional.
	Worktrees func(children *proc.Group) (*worktree.Maker, error)
	// MCPServers returns the configuration of the MCP servers of a session with these directories, which is used in addition to the
	// client's list. It does no I/O. Optional.
	MCPServers func(roots []string, plugins userfiles.Plugins) MCPConfig
	// MCPAccounts are the user's accounts at MCP servers. If nil, there are none.
	MCPAccounts *oauth.Accounts
	// MCPCache keeps the tools of MCP servers between sessions. Optional.
	MCPCache mcp.Cache
	// Sides decides whose files a session uses. If nil, client and agent are on one machine.
	Sides *sides.Rules
}

// MCPConfig is the configuration of the MCP servers of one session. It is safe for concurrent use.
type MCPConfig interface {
	// Servers returns the servers that may start. It may run commands that compute values. The error lists the mistakes in the
	// configuration; the other servers are returned.
	Servers(ctx context.Context) ([]mcp.Server, error)
	// Notes describes the settings that have no effect for the servers of the last call of Servers.
	Notes() []string
	// Stale reports whether the configuration may have changed since the last call of Servers.
	Stale(ctx context.Context) bool
	// Questions returns the open questions about files of the workspace.
	Questions(ctx context.Context) []*trust.Question
	// Definitions lists all definitions, those that count and the others.
	Definitions(ctx context.Context) []mcp.Definition
	// Run runs a command that lists or changes definitions, and returns its output.
	Run(ctx context.Context, args []string) (string, error)
}

// Settings are the user's settings for sessions.
type Settings struct {
	// Agent configures how sessions manage their context.
	Agent agent.Settings
	// Retry configures when a failed model call is retried.
	Retry providers.RetryPolicy
	// Model is the model of new sessions as "provider/id[:level]", unless [ModelOptions.Default] names one. If empty, the
	// default of [Models].
	Model string
	// ModelErr is about a model in the configuration that cannot be used; nil for none. Sessions begin with another model and
	// show the error.
	ModelErr error
	// TitleModel selects the models that name sessions. If nil, sessions get no titles.
	TitleModel agent.TitleModel
	// HelperModel finds the models of helper agents; see [agent.Options]. Optional.
	HelperModel func(*agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error)
	// Skills selects the skills.
	Skills commands.SkillOptions
	// Turns bounds the turns that sessions begin by themselves.
	Turns wake.Settings
}

// trust returns a session's answers about what its workspace may run; nil for none.
func (o *SessionOptions) trust() *trust.Session {
	if o.Trust == nil {
		return nil
	}
	return trust.NewSession(o.Trust)
}

// defaultSettings returns the settings of sessions without a configuration.
func defaultSettings() *Settings {
	return &Settings{Agent: agent.DefaultSettings(), Turns: wake.DefaultSettings()}
}

// settings returns the settings of sessions in a directory. They are never nil.
func (o *SessionOptions) settings(cwd string) (*Settings, error) {
	if o.Settings == nil {
		return defaultSettings(), nil
	}
	set, err := o.Settings(cwd)
	if set == nil {
		set = defaultSettings()
	}
	return set, err
}

// summarizesBranches reports whether a branch that a session leaves is summarized by default.
func (o *SessionOptions) summarizesBranches() bool {
	set, _ := o.settings("") // its error is reported when a session begins
	return set.Agent.BranchSummary.Enabled
}

// Languages are the language servers of a session.
type Languages struct {
	// Catalog finds the servers; nil for none.
	Catalog lsp.Catalog
	OnWrite lsp.OnWrite
	// Subagents reports whether helper agents also use the servers.
	Subagents bool
}

// Debugging are the debug adapters of a session.
type Debugging struct {
	// Adapters finds the adapters; nil for none.
	Adapters dap.Catalog
	// Env returns the environment of the adapters. It still includes provider keys.
	Env func(context.Context) []string
}

// Bridges connect one session to files, terminals, programs and the user.
type Bridges struct {
	FS       agent.FS
	Terminal agent.Terminal
	Programs agent.Programs
	Approver agent.Approver
	Elicitor agent.Elicitor
	// Sandbox encloses debug adapters and their programs. Optional.
	Sandbox dap.Sandbox
	// Inside starts a program that belongs to no call inside the boundary. apart reports that it sees no other processes of the machine
	// than those inside. Optional.
	Inside func(ctx context.Context, access *boundary.Access, children *proc.Group, o *proc.Options) (p *proc.Process, apart bool, err error)
	// Child returns the bridges of a child session that has an ID of its own in the client.
	Child func(acp.SessionID) Bridges
	// Close ends what belongs to the bridges. It is called once, after the session's last call. Optional.
	Close func(context.Context)
}

// BridgeOptions describes the session for which bridges are created. All fields are set.
type BridgeOptions struct {
	// Client calls the editor.
	Client acp.Caller
	// Capabilities are the capabilities that the client advertised. Methods that they do not include must not be called.
	Capabilities acp.ClientCapabilities
	SessionID    acp.SessionID
	Workspace    agent.Workspace
	// Children owns the local processes.
	Children *proc.Group
	// Mark identifies the processes of the session and its subagents. See [proc.Sweep].
	Mark string
	// Apart says that the client is on another machine and has the session's files: nothing of this machine replaces what it lacks.
	Apart bool
}
