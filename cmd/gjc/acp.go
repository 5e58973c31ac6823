package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	remote "github.com/gajae-code/gjc/cmd/gjc/internal/serve"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/engines"
	"github.com/gajae-code/gjc/cmd/gjc/internal/storage"
	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/registry"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newACP(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor over the Agent Client Protocol on stdin and stdout",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), h, opts) },
	}
}

// serve runs "gjc acp". It returns nil when the editor closes stdin, and when ctx ends.
func serve(ctx context.Context, h *host, opts *options) error {
	// Collecting earlier than usual keeps the process small; nearly all the time it waits for a model.
	debug.SetGCPercent(60)
	system.SurviveBrokenPipes()
	if isTerminal(h.stdin) {
		fmt.Fprintln(h.stderr, "gjc acp speaks the Agent Client Protocol with an editor, and waits for its messages here; this is a terminal. "+
			"Run gjc demo to see what it does, gjc --help for the commands; Ctrl-D ends it.")
	}
	protocol, err := takeStdout(h)
	if err != nil {
		return fmt.Errorf("taking over stdout: %w", err)
	}
	e, err := newEngine(ctx, h, opts)
	if err != nil {
		return err
	}
	defer e.close()
	err = server.Serve(ctx, h.stdin, protocol, nil, e.options)
	if ctx.Err() != nil {
		return nil // a signal ended ctx: this is an orderly end
	}
	return err
}

// serving returns the environment of "gjc serve" and "gjc connect".
func serving(h *host, opts *options) *remote.Env {
	log, _, err := newLogger(h.stderr, opts)
	store := cmp.Or(opts.store, h.getenv(storeAddress))
	return &remote.Env{
		Stdin: h.stdin, Stdout: h.stdout, Stderr: h.stderr, Getenv: h.getenv, Environ: h.env, Log: log, Store: store,
		UserStore: func(ctx context.Context, user string) (string, error) {
			return storage.UserAddress(ctx, store, user)
		},
		AgentDir: func() (string, error) { return h.agentDir(opts.agentDir) },
		Models: func() (*http.Client, error) {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return nil, err
			}
			set, err := h.modelSettings(dir, opts)
			if err != nil {
				return nil, err
			}
			return set.HTTP.Client()
		},
		Engine: func() ([]string, error) {
			switch {
			case err != nil:
				return nil, err // of the flags of the log
			case opts.apiKey != "":
				return nil, errors.New("--api-key would show the key in the list of processes; use gjc login, or the variable of the provider")
			case opts.rpcLog != "":
				return nil, errors.New("--rpc-log is for one client; use it with gjc acp")
			case opts.logFile != "":
				return nil, errors.New("the engines of several users write no common --log-file; redirect stderr to a file")
			}
			return opts.engineArgs(), nil
		},
		Children: func() *proc.Group {
			return guardedChildren(&log)
		},
	}
}

// engineArgs returns the arguments of "gjc engine" that say the same as those of this process.
func (o *options) engineArgs() []string {
	args := []string{engineCommand}
	for _, c := range o.configs {
		args = append(args, "--config", c)
	}
	if o.model != "" {
		args = append(args, "--model", o.model)
	}
	for flag, value := range map[string]string{"--agent-dir": o.agentDir, "--mpreset": o.profile, "--log-level": o.logLevel} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if o.noLSP {
		args = append(args, "--no-lsp")
	}
	return args
}

// engineCommand is the name of the command that serves the clients of one user of "gjc serve".
const engineCommand = "engine"

// newEngineCommand returns the command that "gjc serve" starts for each user.
func newEngineCommand(h *host, opts *options) *cobra.Command {
	var (
		socket     string
		remote     bool
		workspaces []string
	)
	cmd := &cobra.Command{
		Use:    engineCommand,
		Short:  "Serve the clients of one user of gjc serve",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, closeLog, err := newLogger(h.stderr, opts)
			if err != nil {
				return err
			}
			defer closeLog()
			h.children = guardedChildren(&log)
			e, err := newEngine(cmd.Context(), h, opts)
			if err != nil {
				return err
			}
			defer e.close()
			if remote {
				e.options.Machine.Sides = &sides.Rules{Workspaces: workspaces, Dir: filepath.Join(e.options.Sessions.UserDir, "elsewhere")}
			}
			debug.SetGCPercent(60)
			go system.TrimMemory(cmd.Context(), trimAfter) // ends with the process
			e.options.Sessions.Guests = relay.NewHost(e.options.Sessions.Store, log)
			go e.options.Sessions.Guests.Run(cmd.Context()) // ends with the process
			err = engines.Listen(cmd.Context(), socket, h.stdin, h.stdout, func(ctx context.Context, r io.Reader, w io.Writer, closer io.Closer) {
				options := e.options // of one user: the clients share models, tools and the store
				options.Machine.Children = proc.NewGroup(h.children)
				if err := server.Serve(ctx, r, w, closer, options); err != nil && ctx.Err() == nil {
					log.Warn().Err(err).Msg("serving a client")
				}
			})
			ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), engineGrace)
			defer cancel()
			return errors.Join(err, h.children.Close(ctx))
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "path of the Unix socket")
	cmd.Flags().StringVar(&opts.user, "user", "", "name of the user, for the log")
	cmd.Flags().BoolVar(&remote, "remote", false, "clients are on other machines")
	cmd.Flags().StringArrayVar(&workspaces, "workspace", nil, "directory in which their sessions may work; can be repeated")
	_ = cmd.MarkFlagRequired("socket") // the flag exists
	return cmd
}

// trimAfter is the time after which an idle engine returns memory to the system.
const trimAfter = 30 * time.Second

// engineGrace bounds how long the child processes of an engine may take to end.
const engineGrace = 2 * time.Second

// tracesTime bounds sending the last traces at the end.
const tracesTime = 2 * time.Second

// engine serves a client, an editor or one of gjc's own. It has the server's options, and closes what they need.
type engine struct {
	options server.Options
	opts    *options
	models  *registry.Registry
	closers []func()
}

// newEngine returns an engine. It reads no configuration. The caller must close it.
func newEngine(ctx context.Context, h *host, opts *options) (e *engine, err error) {
	e = &engine{opts: opts}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	log, closeLog, err := newLogger(h.stderr, opts)
	if err != nil {
		return e, err
	}
	e.closers = append(e.closers, closeLog)
	if err := system.HideEnviron(); err != nil {
		log.Warn().Err(err).Msg("other programs of this user can read gjc's environment")
	}
	trace, closeTrace, err := newTrace(opts.rpcLog)
	if err != nil {
		return e, err
	}
	e.closers = append(e.closers, closeTrace)
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return e, err
	}
	bug.Handle(func(r bug.Report) {
		log.Error().Str("site", r.Site).Str("stack", r.Stack).Msg("bug: " + r.Message)
	})
	warn := func(note string) { log.Warn().Msg(note) }
	if h.children == nil {
		h.children = guardedChildren(&log)
	}
	tracer, problems := telemetry.FromEnviron(h.getenv, version(), warn)
	for _, p := range problems {
		warn(p)
	}
	e.closers = append(e.closers, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTime)
		defer cancel()
		if err := tracer.Close(ctx); err != nil {
			log.Warn().Err(err).Msg("sending the last traces")
		}
	})
	models := h.registry(dir, opts, warn)
	e.models, e.closers = models, append(e.closers, models.Close)
	local := withoutKeys(h.local(ctx), models)
	local.Sandbox, local.Upstream = h.sandboxOnce(), upstream(dir, opts)
	home, _ := h.home() // without one there are no helper agents from other programs
	e.options = server.Options{
		Version: version(), OS: runtime.GOOS, NewID: uuid.NewString, Login: h.loginCommand(opts), Log: log, Trace: trace, Tracer: tracer,
		Models: server.ModelOptions{
			Models: models, Discover: models.Discover, Stopgap: offline.Info().Provider, Default: opts.model,
			Preconnect: func(ctx context.Context, info providers.ModelInfo) {
				if config.Read(dir, opts.configs, "").Network.Preconnect {
					models.Preconnect(ctx, info)
				}
			},
		},
		Sessions: server.SessionOptions{
			Store: h.store(dir), Tools: h.tools(dir, opts, models, warn), Settings: h.settings(dir, opts, models), Policy: h.policy(dir, opts),
			Secrets: h.secrets(dir, opts), Sharing: sharing(h, dir, opts), Hooks: hooksOf(dir, home), CustomTools: customTools(dir), Plugins: pluginsOf(h, dir), Extensions: extensionsOf(dir), Checkpoints: h.checkpoints(dir, opts), UserDir: dir, Home: home, CodexHome: codexHome(h), Trust: trust.Open(trustFile(dir)),
		},
		Machine: server.MachineOptions{
			Bridges: h.bridges(local), Environ: local.Environ, Children: h.children,
			MCPAccounts: mcpAccounts(models, dir, false), Worktrees: worktreesOf(h, dir, opts),
			Languages: h.languages(dir, opts, &local), Debugging: h.debugging(dir, opts, &local),
			MCPServers: mcpConfigs(h, dir, opts, nil), MCPCache: mcpfiles.NewCache(filepath.Join(dir, "cache", "mcp")),
		},
	}
	return e, nil
}

// close ends what the engine has begun, the last first.
func (e *engine) close() {
	for _, fn := range slices.Backward(e.closers) {
		fn()
	}
}

// isTerminal reports whether f is a terminal. It leaves the file's mode unchanged, unlike [os.File.Fd].
func isTerminal(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	is := false
	if err := conn.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) }); err != nil {
		return false
	}
	return is
}

// loginCommand returns the command line that asks for a key on a terminal, for editors that need the whole command
// line.
func (h *host) loginCommand(opts *options) []string {
	program, err := os.Executable()
	if err != nil {
		return nil // the login method is not offered then
	}
	command := []string{program, "acp", server.TerminalAuthFlag}
	if opts.agentDir != "" {
		command = append(command, "--agent-dir", opts.agentDir)
	}
	return command
}

// takeStdout returns the process's stdout, reserved for the protocol. It redirects stdout's descriptor to stderr, so that no child
// process and no panic can write into the protocol.
func takeStdout(h *host) (*os.File, error) {
	protocol, err := system.DivertStdout(h.stdout, h.stderr)
	if err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return protocol, nil
}
