package server

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/rewind"
	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/sessions"
)

// builder builds agent sessions and connects them to the client.
type builder struct {
	opts      *Options
	client    *client
	models    *models
	tasks     *background
	children  *proc.Group
	languages *lsp.Manager // the language servers of all sessions
	enabled   func(command string) bool
	panicked  func(where string, value any, stack []byte)
	swept     sync.Once // what killed processes have left is looked for once
}

// build starts the actor of a session. The caller has set the fields of opts that depend on the stored conversation. The returned
// notices are about the user's configuration. After an error the caller must close the log.
func (b *builder) build(s *session, log *sessions.Log, params *sessionParams, opts agent.Options) (*opened, []agent.Noticed, error) {
	if params.prompt != nil {
		if err := log.SetSystemPrompt(string(params.prompt.Mode), params.promptText()); err != nil {
			return nil, nil, err
		}
	}
	if err := log.SetDirectories(params.named.Additional); err != nil {
		return nil, nil, err
	}
	state := log.State()
	if p := state.SystemPrompt; p.Text != "" {
		opts.SystemPrompt = agent.SystemPrompt{Text: p.Text, Override: p.Mode == string(acp.SystemPromptModeOverride)}
	}
	c := &configuration{opts: &b.opts.Sessions, cwd: params.configured(), worktree: params.worktree, apart: params.side.Side == sides.Client}
	c.apply(&opts)
	own, plugins := params.side.Tools(b.opts.Sessions.Tools(), &params.can), b.opts.Sessions.plugins(params.roots())
	o := &opened{named: params.named, tools: &toolbox{own: own, custom: newCustomTools(&b.opts.Sessions, params.roots(), own, plugins, s.out)}}
	opts.TrustQuestions = o.tools.custom.questions
	o.tools.Select(state.MCPTools)
	bridges := b.bridges(s, params)
	o.bridges = bridges
	languages, err := b.openLanguages(s, params, &bridges, &opts.Policy, func() *agent.Session { return o.Session })
	c.languagesErr = err
	o.languages = languages.workspace
	bridges.Programs = sessionPrograms{bridges.Programs, params.Workspace, o.languages}
	o.debugger, c.debuggerErr = b.openDebugger(s, params, &bridges)
	o.tools.extensions = b.extensions(s, o, params, bridges.Programs)
	o.commands = b.commands(s, o, params, bridges.FS, c.skills, plugins)
	opts.ID, opts.Workspace, opts.Log, opts.Uses = log.ID(), params.Workspace, log, log.Uses()
	opts.FS, opts.Terminal, opts.Programs, opts.Approver, opts.Elicitor = bridges.FS, bridges.Terminal, bridges.Programs, bridges.Approver, bridges.Elicitor
	opts.Values = agent.NewValues(nil)
	if params.worktree != nil {
		agent.SetValue(opts.Values, params.worktree)
	}
	toolkit.SetLanguages(opts.Values, o.languages, params.Display)
	if s.out.air.Has(air.AsyncTasks) {
		shell.WatchJobs(opts.Values, func(job shell.JobChange) {
			job.Title = o.Hide(job.Title)
			s.out.job(&job)
		})
	}
	if o.debugger != nil {
		debug.SetDebugger(opts.Values, o.debugger)
	}
	b.recordStates(s, params, &opts, log.ID())
	opts.Models, opts.Tools = b.opts.Models.Models, o.tools // not b.models, which would hide optional methods from the agent
	opts.Artifacts, opts.Children, opts.Local, opts.MaxRequests = log.Artifacts(), log.Children(), log.Local(), b.opts.Sessions.MaxRequests
	children := b.childBuilder(s, params, &bridges, &opts.Policy, languages)
	outermost := parent{id: s.id, bridges: bridges}
	opts.Subagent = func(about agent.Subagent) agent.Surroundings { return children.surroundings(outermost, about) }
	opts.Isolate = children.isolation(&outermost)
	children.provide(opts.Values)
	opts.Helpers = b.helpers(s, params, plugins)
	opts.Guidance = (&guidance{
		commands: o.commands, enabled: b.enabled, out: s.out,
		sources: rules.Options{UserDir: b.opts.Sessions.UserDir, Home: b.opts.Sessions.Home, CodexHome: b.opts.Sessions.CodexHome, Roots: params.roots()},
	}).load
	if configured := b.opts.Machine.MCPServers; configured != nil {
		o.tools.config = configured(params.roots(), plugins)
		ofTools, ofServers := opts.TrustQuestions, o.tools.config.Questions
		opts.TrustQuestions = func(ctx context.Context) []*trust.Question { return append(ofTools(ctx), ofServers(ctx)...) }
	}
	if hooks := b.opts.Sessions.Hooks; hooks != nil {
		opts.Hooks = hooks(params.roots(), plugins)
	}
	joinExtensions(o.tools.extensions, &opts)
	joinPlugins(plugins, &opts, s.out)
	opts.Emit, opts.NewID, opts.OS, opts.Panicked, opts.Tracer = s.emit, b.opts.NewID, b.opts.OS, b.panicked, b.opts.Tracer
	s.then(func(_ *opened, err error) {
		if err == nil {
			b.models.preconnect(opts.Model)
			b.models.discovery.start(false)
			b.sweepWorktrees(s)
		}
	})
	o.Session, o.lost = agent.New(opts), sessions.Lost(log)
	b.wake(s, o, c.turns)
	return o, append(params.notices, c.notices()...), nil
}

// wake lets a session begin turns by itself, or notify its user, when something ends while it is idle.
func (b *builder) wake(s *session, o *opened, set wake.Settings) {
	wake.Start(o.Session, wake.Options{
		Settings: set, Shows: b.client.showsTurns(set.Clients),
		Notice: func(title, detail string) { s.out.notice(agent.SeverityInfo, title, detail) },
	})
}

// emit sends an event of the session to the client.
func (s *session) emit(ev agent.Event) {
	if changed, ok := ev.(agent.ConfigChanged); ok {
		if changed.Mode {
			s.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(changed.Now.Mode)})
		}
		s.config.send(&changed.Now)
		return
	}
	s.out.emit(ev)
}

// childBuilder returns the builder of the child sessions of a session.
func (b *builder) childBuilder(s *session, params *sessionParams, set *Bridges, policy *approval.Policy, languages openedLanguages) *childBuilder {
	c := &childBuilder{out: s.out, workspace: params.Workspace, languages: languages.forSubagents()}
	c.bridges = func(id acp.SessionID) Bridges {
		child := set.Child(id)
		child.Programs = sessionPrograms{child.Programs, params.Workspace, languages.workspace}
		return child
	}
	worktrees := b.opts.Machine.Worktrees
	if worktrees == nil || params.side.Side == sides.Client {
		return c
	}
	c.apart = &apart{
		worktrees: func() (*worktree.Maker, error) { return worktrees(b.children) },
		bridges: func(id acp.SessionID, ws agent.Workspace) Bridges {
			capabilities := params.can
			capabilities.FS = acp.FileSystemCapabilities{} // the editor does not have the files open
			return b.opts.Machine.Bridges(BridgeOptions{
				Client: s.relay.Caller(b.client.conn), Capabilities: capabilities, SessionID: id, Workspace: ws, Children: b.children, Mark: s.mark,
			})
		},
		languages: func(roots []string, set *Bridges, session func() *agent.Session) *lsp.Workspace {
			if !languages.subagents {
				return nil
			}
			opened, _ := b.languagesIn(s, roots, set, policy, session, true) // the error was reported when the session began
			return opened.workspace
		},
	}
	return c
}

// sweepWorktrees removes the worktrees that killed processes have left without changes, and notifies the user of the others.
func (b *builder) sweepWorktrees(s *session) {
	if b.opts.Machine.Worktrees == nil {
		return
	}
	b.swept.Do(func() {
		b.tasks.run(func() { // ends with the server
			maker, err := b.opts.Machine.Worktrees(b.children)
			if err != nil {
				return // the first helper with a worktree reports it
			}
			left, err := maker.Sweep(b.tasks.ctx)
			if err != nil {
				b.opts.Log.Warn().Str("session", string(s.id)).Err(err).Msg("cleaning up worktrees")
			}
			for i := range left {
				s.out.notice(agent.SeverityWarning, isolation.Leftover(&left[i]), "")
			}
		})
	})
}

func (b *builder) bridges(s *session, params *sessionParams) Bridges {
	capabilities := params.can
	if params.worktree != nil {
		capabilities.FS = acp.FileSystemCapabilities{} // the editor has none of these files open, and may refuse those outside of its project
	}
	if guests := b.opts.Sessions.Guests; guests != nil && relay.Declared(b.client.capabilities().Meta) {
		s.relay = guests.Session(string(s.id), b.client.conn)
	}
	all := b.opts.Machine.Bridges(BridgeOptions{
		Client: s.relay.Caller(b.client.conn), Capabilities: capabilities, SessionID: s.id, Workspace: params.Workspace, Children: b.children, Mark: s.mark,
		Apart: params.side.Side == sides.Client,
	})
	if s.out.air.Has(air.SessionIndex) {
		all.Approver = askingApprover{all.Approver, s.out}
		if all.Elicitor != nil {
			all.Elicitor = askingElicitor{all.Elicitor, s.out}
		}
	}
	return all
}

// commands returns the slash commands of a session.
func (b *builder) commands(s *session, o *opened, params *sessionParams, files agent.FS, skills commands.SkillOptions, plugins userfiles.Plugins) *slash.Commands {
	opts := &b.opts.Sessions
	return slash.New(&slash.Options{
		Session: commandSession{s, b.models}, MCP: o.tools, Extensions: o.tools.extensions, Workspace: params.Workspace, Files: files, Languages: o.languages,
		Debugger: o.debugger, Store: opts.Store, Models: b.models, Tools: opts.Tools, Sources: opts.commandSources(params.roots(), skills, plugins), Trust: opts.trust(),
		Enabled: b.enabled, SummarizesBranches: opts.summarizesBranches, Sharing: opts.Sharing,
	})
}

// helpers returns a function that lists the helper agents of a session. No files are read until it is called.
func (b *builder) helpers(s *session, params *sessionParams, plugins userfiles.Plugins) func(context.Context) []agent.Helper {
	return agents.New(agents.Options{
		UserDir: b.opts.Sessions.UserDir, ProjectDirs: params.roots(), Home: b.opts.Sessions.Home, CodexHome: b.opts.Sessions.CodexHome, Plugins: plugins,
		Report: func(p userfiles.Problem) {
			s.out.notice(agent.SeverityWarning, "A helper agent file has an error.", p.String())
		},
	}).Helpers
}

// openedLanguages holds the language servers of one session.
type openedLanguages struct {
	workspace *lsp.Workspace // nil for none
	subagents bool           // whether subagents use the servers too
}

// forSubagents returns the language servers of the session's subagents; nil for none.
func (l openedLanguages) forSubagents() *lsp.Workspace {
	if !l.subagents {
		return nil
	}
	return l.workspace
}

// openLanguages returns the language servers of a session. It does not start them. The error is about their configuration.
// The agent's session is there once one of them is needed.
func (b *builder) openLanguages(s *session, params *sessionParams, set *Bridges, policy *approval.Policy, session func() *agent.Session) (openedLanguages, error) {
	if params.side.Side == sides.Client {
		return openedLanguages{}, nil
	}
	return b.languagesIn(s, params.roots(), set, policy, session, false)
}

// languagesIn is openLanguages for the directories of a session, or, if copied is set, for a copy of the user's.
func (b *builder) languagesIn(s *session, roots []string, set *Bridges, policy *approval.Policy, session func() *agent.Session, copied bool) (openedLanguages, error) {
	if b.opts.Machine.Languages == nil {
		return openedLanguages{}, nil
	}
	found, err := b.opts.Machine.Languages(roots)
	if found.Catalog == nil {
		return openedLanguages{}, err
	}
	files := set.FS
	catalog := found.Catalog
	if copied {
		catalog = copiedCatalog{catalog}
	}
	ws := b.languages.Open(lsp.WorkspaceOptions{
		Roots: roots, Catalog: catalog, OnWrite: found.OnWrite,
		ReadFile: func(ctx context.Context, path string) ([]byte, error) {
			if info, err := files.Stat(ctx, path); err == nil && !info.Mode().IsRegular() {
				return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
			}
			return files.ReadFile(ctx, path)
		},
		Notice: func(text, detail string) { s.out.notice(agent.SeverityWarning, text, detail) },
		Inside: func() lsp.StartFunc {
			if set.Inside == nil || !policy.Boundary.Encloses() {
				return nil
			}
			return func(ctx context.Context, children *proc.Group, o *proc.Options) (*proc.Process, bool, error) {
				return set.Inside(ctx, session().Access(ctx), children, o)
			}
		},
	})
	return openedLanguages{ws, found.Subagents}, err
}

// configuration is the user's configuration of one session.
type configuration struct {
	opts *SessionOptions
	cwd  string
	// Each error is about one part of the configuration; nil if that part is valid.
	settingsErr, modelErr, secretsErr, policyErr, languagesErr, debuggerErr error
	// worktree is that of the session; nil for none.
	worktree *worktrees.Session
	// apart reports whether the files are those of a client on another machine.
	apart bool
	// suggested is [approval.Policy.Suggested].
	suggested string
	skills    commands.SkillOptions
	turns     wake.Settings
}

// apply reads the configuration and stores it in the options of a session.
func (c *configuration) apply(opts *agent.Options) {
	opts.Secrets, c.secretsErr = secretsIn(c.opts, c.cwd)
	set, err := c.opts.settings(c.cwd)
	c.settingsErr, c.modelErr, c.skills, c.turns = err, set.ModelErr, set.Skills, set.Turns
	opts.Settings, opts.Retry, opts.TitleModel, opts.HelperModel = &set.Agent, set.Retry, set.TitleModel, set.HelperModel
	if c.opts.Policy != nil {
		opts.Policy = c.opts.Policy(c.cwd)
		c.policyErr, c.suggested = opts.Policy.Broken, opts.Policy.Suggested
		if opts.Policy.Keeper != nil && c.worktree != nil {
			opts.Policy.Keeper = c.worktree.Keeper(opts.Policy.Keeper)
		}
		if c.apart {
			opts.Policy.Boundary = boundary.Settings{Use: boundary.Off} // it could enclose commands of this machine only
		}
	}
}

// notices returns the notices about mistakes in the configuration.
func (c *configuration) notices() []agent.Noticed {
	var all []agent.Noticed
	add := func(severity agent.Severity, title string, err error) {
		all = append(all, agent.Noticed{Severity: severity, Title: title, Detail: err.Error()})
	}
	if c.settingsErr != nil {
		add(agent.SeverityWarning, "The configuration has errors; invalid settings are ignored.", c.settingsErr)
	}
	if c.modelErr != nil {
		all = append(all, agent.Noticed{Severity: agent.SeverityWarning, Title: "A configured model cannot be used: " + c.modelErr.Error()})
	}
	if c.secretsErr != nil {
		add(agent.SeverityError, "Cannot load the secrets to hide, so no model is called. Fix the file and reopen the session.", c.secretsErr)
	}
	if c.policyErr != nil && c.settingsErr == nil { // settingsErr includes policyErr
		add(agent.SeverityError, "Cannot read the permissions in the configuration, so every step needs approval. Fix the file and reopen the session.", c.policyErr)
	}
	if c.suggested != "" {
		all = append(all, agent.Noticed{Severity: agent.SeverityInfo, Title: c.suggested})
	}
	if c.languagesErr != nil {
		add(agent.SeverityWarning, "The language server configuration has an error.", c.languagesErr)
	}
	if c.debuggerErr != nil {
		add(agent.SeverityWarning, "The debug adapter configuration has an error.", c.debuggerErr)
	}
	return all
}

// recordStates records the state of the session's directories before the agent can change them.
func (b *builder) recordStates(s *session, params *sessionParams, opts *agent.Options, id string) {
	if params.side.Side == sides.Client {
		return
	}
	r := b.recorder(&params.Workspace, id, func(set *rewind.Options) {
		if set.Notice = s.out.notice; opts.Secrets != nil {
			set.Hide = opts.Secrets.Hide
		}
	})
	if r != nil {
		agent.SetValue(opts.Values, r)
	}
}

// recorder returns the recorder of a session's directories; nil if their states are not recorded.
func (b *builder) recorder(ws *agent.Workspace, id string, edit ...func(*rewind.Options)) *rewind.Recorder {
	if b.opts.Sessions.Checkpoints == nil {
		return nil
	}
	checkpoints := b.opts.Sessions.Checkpoints(ws.Cwd)
	if checkpoints == nil {
		return nil
	}
	set := rewind.Options{Session: id, Roots: append([]string{ws.Cwd}, ws.Additional...), Checkpoints: *checkpoints}
	for _, e := range edit {
		e(&set)
	}
	return rewind.New(set)
}

// openDebugger returns the debugger of a session; nil for none. It starts no process. The error is about the configuration.
func (b *builder) openDebugger(s *session, params *sessionParams, set *Bridges) (*debug.Debugger, error) {
	if b.opts.Machine.Debugging == nil || params.side.Side == sides.Client {
		return nil, nil
	}
	found, err := b.opts.Machine.Debugging(params.roots())
	if found.Adapters == nil {
		return nil, err
	}
	return &debug.Debugger{Adapters: found.Adapters, Sessions: dap.NewDebugger(dap.Options{
		Children: b.children, Env: found.Env, Log: s.log(&b.opts.Log),
		RunInTerminal: func(ctx context.Context, req *dap.TerminalRequest) (dap.Terminal, error) {
			return runInTerminal(ctx, set.Terminal, req)
		},
		Sandbox: set.Sandbox,
		Notice:  func(text string) { s.out.notice(agent.SeverityInfo, text, "") },
	})}, err
}

// runInTerminal runs a program in a terminal of the editor, or in a pseudo-terminal if the editor has no terminals.
func runInTerminal(ctx context.Context, terminal agent.Terminal, req *dap.TerminalRequest) (dap.Terminal, error) {
	cmd := agent.Command{Args: req.Args, Dir: req.Dir, Env: req.Env, PTY: true, OnOutput: req.Output}
	for _, name := range req.Unset {
		cmd.Env = append(cmd.Env, name+"=") // a command cannot unset a variable, so it is set to the empty string
	}
	exec, err := terminal.Start(ctx, cmd)
	if errors.Is(err, errors.ErrUnsupported) { // no pseudo-terminals on this system
		cmd.PTY = false
		exec, err = terminal.Start(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	return debugTerminal{exec}, nil
}

// debugTerminal implements [dap.Terminal] with an execution.
type debugTerminal struct{ agent.Execution }

func (d debugTerminal) ID() string { return d.TerminalID() }

func (d debugTerminal) Wait(ctx context.Context) (int, error) {
	status, err := d.Execution.Wait(ctx)
	return status.Code, err
}

// Output returns "" for a local terminal, whose output was passed on as it arrived.
func (d debugTerminal) Output(ctx context.Context) (string, error) {
	if d.TerminalID() == "" {
		return "", nil
	}
	out, err := d.Execution.Output(ctx)
	return out.Text, err
}
