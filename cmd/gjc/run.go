package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/cmd/gjc/internal/isolated"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/sessions"
)

// runFlags are the flags of "gjc run".
type runFlags struct {
	input    headless.Input
	session  sessionFlags
	limits   headless.Limits
	requests int
	ask      string
	output   string
	schema   string
	// worktree runs in a worktree, whose changes get to a branch with this name.
	worktree bool
	branch   string
	// apply merges the changes into the working tree instead.
	apply bool
}

// sessionFlags are the flags that choose a session and its options.
type sessionFlags struct {
	cwd            string
	addDirs        []string
	thinking, mode string
	resume, fork   string
	continues      bool
	system, append string
	noSave         bool
	mcp            []string
	allow, deny    []string
}

const runLong = `run sends one prompt and prints the answer. The prompt is the arguments; "-" among them stands for stdin, which is also read if there
are none. It is the same agent as in an editor, with the same sessions, settings and tools.

What would ask is refused, unless gjc can ask on a terminal; allow it with --allow or --mode auto.

Exit status: 0 done, 1 error, 2 usage, 3 something was refused for lack of permission, 4 a limit was reached, 5 the answer does
not fit the schema, 130 interrupted.`

func newRun(h *host, opts *options) *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run [prompt...]",
		Short: "Run one prompt without an editor",
		Long:  runLong,
		Example: `  gjc run "fix the failing test"
  git diff | gjc run "review this" -
  gjc run --mode auto --output json --max-cost 0.50 -f task.md`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.input.Args, r.input.Stdin, r.input.Interactive = args, h.stdin, isTerminal(h.stdin)
			return r.run(cmd.Context(), h, opts)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&r.input.Files, "file", "f", nil, "read the prompt, or more of it, from this file; may be repeated")
	f.StringArrayVar(&r.input.Images, "image", nil, "add this image to the prompt; may be repeated")
	r.session.add(f)
	f.IntVar(&r.requests, "max-requests", 0, "ask the model at most this often")
	f.Float64Var(&r.limits.CostUSD, "max-cost", 0, "end after a request when the run has cost this many US dollars")
	f.DurationVar(&r.limits.Time, "timeout", 0, "end after this time, such as 90s or 10m")
	f.StringVar(&r.ask, "ask", "", "never, or terminal to ask there (the default if there is one)")
	f.StringVar(&r.schema, "schema", "", "require an answer that is JSON and fits the JSON Schema in this file")
	f.BoolVar(&r.worktree, "worktree", false, "work in a copy of the repository with its uncommitted changes, and keep the changes as a branch")
	f.BoolVar(&r.apply, "apply", false, "with --worktree, merge the changes into the working tree at the end; a branch is made only if that fails for a file")
	f.StringVar(&r.branch, "branch", "", "with --worktree, the name of the branch after \"gjc/\"")
	f.StringVar(&r.output, "output", "text", "text, json, or stream-json for each update on a line")
	return cmd
}

// add adds the flags to those of a command.
func (s *sessionFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.cwd, "cwd", "", "work in this directory")
	f.StringArrayVar(&s.addDirs, "add-dir", nil, "work in this directory, too; may be repeated")
	f.StringVar(&s.thinking, "thinking", "", "how much the model reasons: off, low, medium, high…")
	f.StringVar(&s.mode, "mode", "", "default, strict, plan or auto")
	f.StringVar(&s.resume, "resume", "", "continue this session, given by its ID or a prefix")
	f.BoolVar(&s.continues, "continue", false, "continue the last session of the directory")
	f.StringVar(&s.fork, "fork", "", "begin a new session with the conversation of this one")
	f.StringVar(&s.system, "system", "", "replace the system prompt")
	f.StringVar(&s.append, "append-system", "", "add to the system prompt")
	f.BoolVar(&s.noSave, "no-save", false, "store no session")
	f.StringArrayVar(&s.mcp, "mcp", nil, "use the MCP servers of this file, which is like mcp.json; may be repeated")
	f.StringArrayVar(&s.allow, "allow", nil, "allow steps without a question, such as \"bash(go test)\"; may be repeated")
	f.StringArrayVar(&s.deny, "deny", nil, "refuse steps; may be repeated")
}

func (r *runFlags) run(ctx context.Context, h *host, opts *options) error {
	rules, err := r.check(h)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	prompt, err := r.input.Prompt()
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	session, err := r.session.session(ctx, h, opts)
	if err != nil {
		return err
	}
	o := headless.Options{Version: version(), Session: *session, Prompt: prompt, Limits: r.limits}
	if r.schema != "" {
		if o.Schema, err = headless.ReadSchema(r.schema); err != nil {
			return fmt.Errorf("%w: --schema: %w", errUsage, err)
		}
	}
	if r.ask == "terminal" {
		terminal := h.stdin
		if !isTerminal(terminal) {
			if terminal, err = headless.OpenTerminal(); err != nil {
				return fmt.Errorf("%w: --ask terminal: there is no terminal to ask on: %w", errUsage, err)
			}
			defer func() { _ = terminal.Close() }() // it was only read
		}
		o.Approve = (&headless.Asker{In: terminal, Out: h.stderr}).Approve
	}
	stdout, e, err := r.session.engine(ctx, h, opts, rules)
	if err != nil {
		return err
	}
	defer e.close()
	e.options.Sessions.MaxRequests = r.requests
	if o.Schema != nil {
		tools := e.options.Sessions.Tools
		e.options.Sessions.Tools = func() []agent.Tool { return append(tools(), o.Schema.Tool()) }
		o.Structured = func(model string) bool {
			info, ok := e.models.Lookup(model)
			return ok && info.StructuredOutput
		}
	}
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	out := &headless.Output{Format: r.output, Out: stdout, Err: h.stderr, Gone: gone}
	if isTerminal(h.stderr) && r.output == "text" {
		out.Progress = h.stderr
	}
	o.Serve = func(ctx context.Context, from io.Reader, to io.Writer) error {
		return server.Serve(ctx, from, to, nil, e.options)
	}
	o.Opened, o.Updated = r.priced(e), out.Update
	o.Session.InPlace = true // a worktree of a run is asked for, and ends with it
	tree, err := r.isolate(ctx, h, e, &o.Session)
	if err != nil {
		return err
	}
	result, err := headless.Run(ctx, o)
	if err != nil {
		result = headless.Failure(err)
	}
	if tree != nil {
		tree.Finish(ctx, prompt, result)
	}
	if status := out.Finish(result); status != headless.Done {
		return statusError(status)
	}
	return nil
}

// isolate moves the session into a worktree if the flags say so, and returns it.
func (r *runFlags) isolate(ctx context.Context, h *host, e *engine, session *headless.Session) (*isolated.Run, error) {
	if !r.worktree {
		return nil, nil //nolint:nilnil // a run without a worktree has none
	}
	children := guardedChildren(&e.options.Log) // the server closes its own before the changes are stored
	e.closers = append(e.closers, func() { _ = children.Close(context.WithoutCancel(ctx)) })
	maker, err := e.options.Machine.Worktrees(children)
	if err != nil {
		return nil, err
	}
	tree, err := isolated.Begin(ctx, &isolated.Options{
		Maker: maker, Branch: r.branch, Apply: r.apply, Notice: func(text string) { fmt.Fprintf(h.stderr, "gjc: %s\n", text) },
	}, session)
	if err != nil {
		return nil, fmt.Errorf("--worktree: %w", err)
	}
	return tree, nil
}

// check checks the flags and returns the rules.
func (r *runFlags) check(h *host) (approval.Rules, error) {
	if !slices.Contains(headless.Formats(), r.output) {
		return nil, fmt.Errorf("unknown --output %q; use text, json or stream-json", r.output)
	}
	if r.ask == "" {
		r.ask = "never"
		if isTerminal(h.stdin) && isTerminal(h.stderr) {
			r.ask = "terminal"
		}
	}
	if r.ask != "never" && r.ask != "terminal" {
		return nil, fmt.Errorf("unknown --ask %q; use never or terminal", r.ask)
	}
	if r.requests < 0 || r.limits.CostUSD < 0 || r.limits.Time < 0 {
		return nil, errors.New("a limit must not be negative")
	}
	if (r.branch != "" || r.apply) && !r.worktree {
		return nil, errors.New("--branch and --apply are for --worktree")
	}
	if r.worktree && (r.session.resume != "" || r.session.continues) {
		return nil, errors.New("a session continues where it began; use --worktree with a new session or with --fork")
	}
	return r.session.check()
}

// another reports whether the session is, or begins with, one that exists.
func (s *sessionFlags) another() bool { return s.resume != "" || s.fork != "" || s.continues }

// check checks the flags and returns the rules.
func (s *sessionFlags) check() (approval.Rules, error) {
	if s.mode != "" {
		if _, err := approval.ParseMode(s.mode); err != nil {
			return nil, fmt.Errorf("--mode: %w", err)
		}
	}
	if s.resume != "" && s.fork != "" || s.continues && (s.resume != "" || s.fork != "") {
		return nil, errors.New("use only one of --resume, --continue and --fork")
	}
	if s.system != "" && s.append != "" {
		return nil, errors.New("use either --system or --append-system")
	}
	if s.noSave && s.another() {
		return nil, errors.New("--no-save is for a new session")
	}
	var rules approval.Rules
	for _, list := range []struct {
		verdict approval.Verdict
		name    string
		texts   []string
	}{{approval.Allow, "--allow", s.allow}, {approval.Deny, "--deny", s.deny}} {
		for _, text := range list.texts {
			rule, err := config.ParseRule(list.verdict, text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list.name, err)
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// session returns the session of the flags.
func (s *sessionFlags) session(ctx context.Context, h *host, opts *options) (*headless.Session, error) {
	cwd, err := existingDir(s.cwd)
	if err != nil {
		return nil, fmt.Errorf("%w: --cwd: %w", errUsage, err)
	}
	session := &headless.Session{Cwd: cwd, Mode: s.mode, Thinking: s.thinking}
	if s.another() {
		id, err := s.existing(ctx, h, opts, session)
		if err != nil {
			return nil, err
		}
		if session.Resume = id; s.fork != "" {
			session.Resume, session.Fork = "", id
		}
		session.Model, session.Thinking = modelAndLevel(opts.model, s.thinking)
	}
	for _, dir := range s.addDirs {
		dir, err := existingDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: --add-dir: %w", errUsage, err)
		}
		session.Additional = append(session.Additional, dir)
	}
	for mode, text := range map[acp.SystemPromptMode]string{acp.SystemPromptModeOverride: s.system, acp.SystemPromptModeAppend: s.append} {
		if text != "" {
			session.System = &acp.SystemPrompt{Mode: mode, Content: []acp.ContentBlock{&acp.TextContent{Text: text}}}
		}
	}
	return session, nil
}

// existing returns the ID of the session that the flags name, and gives to the session that one's directory, unless the flags have one.
func (s *sessionFlags) existing(ctx context.Context, h *host, opts *options, session *headless.Session) (acp.SessionID, error) {
	store, err := h.sessionStore(opts)
	if err != nil {
		return "", err
	}
	name := cmp.Or(s.resume, s.fork)
	if s.continues {
		page, err := store.List(ctx, sessions.ListOptions{Cwd: session.Cwd, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(page.Sessions) == 0 {
			return "", fmt.Errorf("there is no session in %s to continue", trust.Printable(session.Cwd))
		}
		name = page.Sessions[0].ID
	}
	id, err := findSession(ctx, store, name)
	if err != nil {
		return "", err
	}
	info, err := store.Info(ctx, id)
	if err != nil {
		return "", err
	}
	if s.cwd == "" {
		session.Cwd = info.Cwd
	}
	return acp.SessionID(id), nil
}

// modelAndLevel splits "provider/id[:level]"; another level wins.
func modelAndLevel(model, level string) (id, thinking string) {
	at := strings.LastIndexByte(model, ':')
	if at < 0 || !slices.Contains(providers.ThinkingLevels(), providers.ThinkingLevel(model[at+1:])) {
		return model, level
	}
	return model[:at], cmp.Or(level, model[at+1:])
}

// engine takes over stdout and returns it with an engine for the session. The caller must close the engine.
func (s *sessionFlags) engine(ctx context.Context, h *host, opts *options, rules approval.Rules) (*os.File, *engine, error) {
	system.SurviveBrokenPipes()
	stdout, err := takeStdout(h)
	if err != nil {
		return nil, nil, fmt.Errorf("taking over stdout: %w", err)
	}
	e, err := newEngine(ctx, h, opts)
	if err != nil {
		return nil, nil, err
	}
	if err := s.adapt(ctx, h, e, rules); err != nil {
		e.close()
		return nil, nil, err
	}
	return stdout, e, nil
}

// adapt changes the server's options for the session.
func (s *sessionFlags) adapt(ctx context.Context, h *host, e *engine, rules approval.Rules) error {
	o := &e.options
	if len(s.mcp) > 0 {
		dir, err := h.agentDir(e.opts.agentDir)
		if err != nil {
			return err
		}
		files := mcpOptions(h, dir, nil)
		files.AgentDir, files.More = "", s.mcp
		if _, err := mcpfiles.NewSource(files).Servers(ctx); err != nil {
			return fmt.Errorf("%w: --mcp: %w", errUsage, err)
		}
		o.Machine.MCPServers = mcpConfigs(h, dir, e.opts, s.mcp)
	}
	policy := o.Sessions.Policy
	o.Sessions.Policy = func(cwd string) approval.Policy {
		p := policy(cwd)
		p.Rules = append(p.Rules[:len(p.Rules):len(p.Rules)], rules...)
		return p
	}
	if s.noSave {
		dir, err := os.MkdirTemp("", "gjc-run-")
		if err != nil {
			return err
		}
		e.closers = append(e.closers, func() { _ = os.RemoveAll(dir) }) // best effort: it is in the temporary directory
		o.Sessions.Store = sessions.NewStore(filepath.Join(dir, "sessions"), &sessions.StoreOptions{TempDir: os.TempDir()})
	}
	return nil
}

// priced returns a function that refuses a model without a price if the cost is limited.
func (r *runFlags) priced(e *engine) func(model string) error {
	return func(model string) error {
		info, ok := e.models.Lookup(model)
		if r.limits.CostUSD > 0 && ok && info.Cost == (providers.Cost{}) && info.Provider != offline.Info().Provider {
			return fmt.Errorf("the price of %s is unknown, so --max-cost cannot hold; give it a cost in models.yml, or use --max-requests", model)
		}
		return nil
	}
}
