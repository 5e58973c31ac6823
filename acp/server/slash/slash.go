// Package slash runs the slash commands that users type at the start of a prompt: gjc's own, those of command files and
// skills, and the prompts of MCP servers.
package slash

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Session gives commands access to the server's side of the session that they run in. Its methods may be called from any
// goroutine.
type Session interface {
	// Change applies a change to the session, sends the new values to the client, and returns the state after the change.
	Change(session *agent.Session, change agent.Change) (*agent.Snapshot, error)
	// TitleChanged sends the title in snap to the client.
	TitleChanged(snap *agent.Snapshot)
	// ShowsCompaction reports whether the client shows the summary of a compaction itself.
	ShowsCompaction() bool
	// Warn shows a warning to the user.
	Warn(title, detail string)
}

// MCP provides the MCP servers of a session.
type MCP interface {
	// Current returns the servers, or nil if the session has none or their set is not built yet.
	Current() *mcp.Set
	// Built waits until the set is built or ctx ends, and returns Current.
	Built(ctx context.Context) *mcp.Set
	// Reload applies changes of the configuration. If always is set, it reads it in any case, and starts servers that have failed. It
	// does not wait for servers.
	Reload(ctx context.Context, always bool)
	// Definitions lists the definitions of servers in files, those that count and the others.
	Definitions(ctx context.Context) []mcp.Definition
	// Run runs a verb of "gjc mcp" and returns its output.
	Run(ctx context.Context, args []string) (string, error)
	// Select limits the tools that the model is offered to the named ones. [AllTools] stands for all.
	Select(names []string)
}

// Models provides the models that a session can use.
type Models interface {
	// ModelsIn lists the models for sessions in a directory; "" lists all.
	ModelsIn(dir string) []providers.ModelInfo
	// Find returns the model that "provider/id[:level]" or a shorter name refers to.
	Find(name string) (providers.ModelInfo, providers.ThinkingLevel, error)
}

// Options configures the commands of one session. All fields are required unless noted otherwise.
type Options struct {
	Session Session
	MCP     MCP
	// Extensions are those of the session; nil for none.
	Extensions *extensions.Manager
	Workspace  agent.Workspace
	Files      agent.FS
	Languages  *lsp.Workspace  // nil for none
	Debugger   *debug.Debugger // nil for none
	Store      *sessions.Store
	Models     Models
	// Tools returns gjc's own tools, whose calls a transcript shows.
	Tools func() []agent.Tool
	// Sources locates command files and skills.
	Sources commands.Options
	// Trust has the user's answers about command files of the workspace that run something. If nil, they do not.
	Trust *trust.Session
	// Enabled reports whether a command file or skill is switched on.
	Enabled func(name string) bool
	// Sharing returns how sessions in a directory are shared. Nil if they are not.
	Sharing func(cwd string) (*Sharing, error)
	// SummarizesBranches reports whether /tree go summarizes by default the branch that it leaves.
	SummarizesBranches func() bool
}

// Commands are the commands of one session. They are safe for concurrent use.
type Commands struct {
	opts Options

	mu       sync.Mutex // guards the fields below; held while files are read, so that they are read once
	files    *commands.Set
	reported map[string]bool // the problems in files that were reported to the user
}

// New returns the commands of a session. It does no I/O.
func New(opts *Options) *Commands { return &Commands{opts: *opts, reported: make(map[string]bool)} }

// Files returns the session's command files and skills. It reads them again if they have changed, and warns the user of
// mistakes in them, once each.
func (c *Commands) Files(ctx context.Context) *commands.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files != nil && !c.files.Stale(ctx) {
		return c.files
	}
	set, problems := commands.Load(ctx, c.opts.Sources)
	c.files = set
	for _, p := range problems {
		if text := p.String(); !c.reported[text] {
			c.reported[text] = true
			c.opts.Session.Warn("Something in a command file is not used.", text)
		}
	}
	return set
}

// knownFiles returns the files as they were read last, or nil.
func (c *Commands) knownFiles() *commands.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files
}
