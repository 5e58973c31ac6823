package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	remote "github.com/gajae-code/gjc/cmd/gjc/internal/serve"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/server"
)

// options are the flags that several commands share.
type options struct {
	mode     string
	model    string
	profile  string
	apiKey   string
	agentDir string
	store    string
	logFile  string
	logLevel string
	// user is the user of "gjc serve" that an engine is for; empty for none.
	user    string
	rpcLog  string
	configs []string
	noLSP   bool
	// terminalAuth turns any command into the login.
	terminalAuth bool
}

// execute runs the command line and returns the exit code: 0, 1 for a failure, 2 for a usage error, or that of a [statusError].
func execute(ctx context.Context, h *host) int {
	if yes, code := becomes(h); yes {
		return code
	}
	var opts options
	var wrong error
	endStore := func() {}
	defer func() { endStore() }()
	root := newRoot(h, &opts)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		end, err := openShared(cmd.Context(), h, &opts)
		if err == nil {
			endStore = end
			err = checkConfigs(&opts)
		}
		return err
	}
	helpOf(root, &wrong)
	root.SetArgs(h.args)
	root.SetIn(h.stdin)
	root.SetOut(h.stdout)
	root.SetErr(h.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = wrong
	}
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(h.stderr, "gjc: %v\n", err)
	}
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

// statusError is returned for another exit status if the failure has already been printed.
type statusError int

func (s statusError) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// errReported is returned if the failure has already been printed.
var errReported = errors.New("failed")

func newRoot(h *host, opts *options) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:           "gjc",
		Short:         "gjc is a coding agent for your editor",
		Long:          "gjc is a coding agent for your editor. The editor starts \"gjc acp\" and speaks the Agent Client Protocol with it.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(h)
			}
			switch opts.mode {
			case "acp":
				return serve(cmd.Context(), h, opts)
			case "":
				if isTerminal(h.stdout) {
					return welcome(h)
				}
				return cmd.Help()
			default:
				return fmt.Errorf("%w: unknown mode %q; the only mode is \"acp\"", errUsage, opts.mode)
			}
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	f := root.PersistentFlags()
	f.StringVar(&opts.model, "model", "", "model of new sessions, as provider/id[:level]")
	f.StringVar(&opts.profile, "mpreset", "", "model profile, instead of modelProfile.default in config.yml")
	f.StringVar(&opts.apiKey, "api-key", "", "API key, preferred to all other sources")
	f.StringVar(&opts.agentDir, "agent-dir", "", "directory of gjc's own files")
	f.StringVar(&opts.store, "store", "", "PostgreSQL database for the sessions, as postgres://user@host/database; or set GJC_STORE")
	f.StringVar(&opts.logFile, "log-file", "", "write the log to this file instead of stderr")
	f.StringVar(&opts.logLevel, "log-level", "warn", "trace, debug, info, warn, error or off")
	f.StringVar(&opts.rpcLog, "rpc-log", "", "write every protocol message to this file")
	f.StringArrayVar(&opts.configs, "config", nil, "read this file after config.yml; may be repeated")
	f.BoolVar(&opts.noLSP, "no-lsp", false, "use no language servers")
	f.BoolVar(&opts.terminalAuth, strings.TrimPrefix(server.TerminalAuthFlag, "--"), false, "ask for an API key on this terminal and exit")
	_ = f.MarkHidden(strings.TrimPrefix(server.TerminalAuthFlag, "--")) // the flag exists
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version")
	root.Flags().StringVar(&opts.mode, "mode", "", "\"acp\" is the same as the command acp")
	root.AddCommand(newACP(h, opts), newEngineCommand(h, opts), newChat(h, opts), newCompletion(h), remote.NewServe(func() *remote.Env { return serving(h, opts) }, usageArgs), remote.NewConnect(func() *remote.Env { return serving(h, opts) }, usageArgs), newConfigCommand(h, opts), newDemo(h, opts), newDoctor(h, opts), newLogin(h, opts), newLogout(h, opts), newMan(), newMCP(h, opts), newModels(h, opts), newSchema(h), newSessions(h, opts), newSetup(h, opts), newTools(h, opts), newPlugin(h, opts), newTrust(h, opts), newPermissions(h, opts), newRun(h, opts), newVersion(h))
	for _, cmd := range append(root.Commands(), root) {
		// Editors append --acp-terminal-auth to the command that starts the agent, so every command must accept it.
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if opts.terminalAuth {
				return login(cmd.Context(), h, opts, loginOptions{})
			}
			return run(cmd, args)
		}
	}
	return root
}
