// Package mcpverbs holds the verbs of "gjc mcp", which /mcp has, too.
package mcpverbs

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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
)

// Env holds the surroundings of the verbs.
type Env struct {
	In  io.Reader
	Out io.Writer
	// Options says where servers are defined. Its first root is the working directory.
	Options func() (mcpfiles.Options, error)
	// Connect returns the options of the connections to servers from a directory.
	Connect func(ctx context.Context, cwd string) mcp.Options
	// Accounts returns the user's accounts at servers. New sign-ins are kept in the system's keyring if keyring is set.
	Accounts func(keyring bool) (*oauth.Accounts, error)
	// Usage marks an error as a mistake in the command line.
	Usage func(error) error
}

// New returns the command with its verbs.
func New(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "List, add, test and change MCP servers",
		Long: "gjc uses the MCP servers of the editor, of mcp.json in the agent directory, and of the workspace's own files: .gjc/mcp.json, .mcp.json, .vscode/mcp.json, " +
			".cursor/mcp.json, .gemini/settings.json and .codex/config.toml. It asks before it starts a server of the workspace. In a session, /mcp has the same verbs.",
		Args: env.args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(env.list(), env.get(), env.add(), env.addJSON(), env.test(), env.enable("enable", "Let a server start", true),
		env.enable("disable", "Keep a server from starting", false), env.remove(), env.importServers(), env.login(), env.logout())
	return cmd
}

func (e *Env) args(of cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := of(cmd, args); err != nil {
			return e.Usage(err)
		}
		return nil
	}
}

func (e *Env) printJSON(v any) error {
	text, err := jsonx.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(e.Out, "%s\n", text)
	}
	return err
}

func (e *Env) list() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the servers and the files that define them",
		Long:  "list shows each definition and how it counts: used, disabled, shadowed by another file, not trusted, or invalid. It starts no server.",
		Args:  e.args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := e.Options()
			if err != nil {
				return err
			}
			found, notes := mcpfiles.List(&o)
			if asJSON {
				return e.printJSON(found)
			}
			if len(found) == 0 {
				fmt.Fprintln(e.Out, "There are no servers. gjc mcp add NAME -- COMMAND adds one.")
			}
			w := tabwriter.NewWriter(e.Out, 0, 8, 2, ' ', 0)
			for _, d := range found {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", trust.Printable(d.Name), d.State, trust.Printable(d.Runs), trust.Printable(d.File))
				if d.Detail != "" {
					fmt.Fprintf(w, "\t%s\t\t\n", trust.Printable(d.Detail))
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, n := range notes {
				fmt.Fprintln(e.Out, trust.Printable(n))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (e *Env) get() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a server's definition as it is in its file",
		Args:  e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := e.Options()
			if err != nil {
				return err
			}
			d, definition, err := mcpfiles.Get(&o, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return e.printJSON(struct {
					mcpfiles.Listed
					Definition jsonx.Raw `json:"definition"`
				}{d, definition})
			}
			if err := definition.Indent(); err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "%s: %s\n%s\n%s\n", trust.Printable(d.Name), d.State, trust.Printable(d.File), definition)
			if d.Detail != "" {
				fmt.Fprintln(e.Out, trust.Printable(d.Detail))
			}
			for _, n := range d.Notes {
				fmt.Fprintln(e.Out, trust.Printable(n))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// target is the file that a verb changes.
type target struct{ scope string }

func (t *target) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.scope, "scope", "user", "user: mcp.json in the agent directory; project: .gjc/mcp.json here")
}

func (e *Env) path(t *target) (string, error) {
	o, err := e.Options()
	if err != nil {
		return "", err
	}
	switch t.scope {
	case "user":
		return filepath.Join(o.AgentDir, mcpfiles.FileName), nil
	case "project":
		return filepath.Join(o.Roots[0], ".gjc", mcpfiles.FileName), nil
	}
	return "", e.Usage(fmt.Errorf("unknown scope %q; it is user or project", t.scope))
}

// added reports what was added, and what is left to do.
func (e *Env) added(t *target, name, path string) error {
	fmt.Fprintf(e.Out, "Added %s to %s.\n", trust.Printable(name), trust.Printable(path))
	if t.scope == "project" {
		fmt.Fprintln(e.Out, "gjc asks before it starts a server of a workspace; gjc trust add . answers now.")
	}
	return nil
}

func (e *Env) add() *cobra.Command {
	var t target
	var envs, headers []string
	var transport, dir, timeout string
	force := false
	cmd := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND [ARG…] | add NAME URL",
		Short: "Add a server that is a program or an address",
		Long:  "add adds a server to mcp.json and keeps the rest of the file as it is. ${NAME} in a value is a variable of the environment at the time of the connection, so that a secret need not be in the file.",
		Example: `  gjc mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/docs
  gjc mcp add issues https://mcp.example.com/mcp --header 'Authorization=Bearer ${ISSUES_TOKEN}'`,
		Args: e.args(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			definition, err := definitionOf(args[1:], transport, envs, headers, dir, timeout)
			if err != nil {
				return e.Usage(err)
			}
			path, err := e.path(&t)
			if err != nil {
				return err
			}
			if err := mcpfiles.Add(cmd.Context(), path, args[0], definition, force); err != nil {
				return err
			}
			return e.added(&t, args[0], path)
		},
	}
	t.flag(cmd)
	f := cmd.Flags()
	f.StringArrayVarP(&envs, "env", "e", nil, "a variable of its environment, NAME=VALUE")
	f.StringArrayVarP(&headers, "header", "H", nil, "a header of each request, NAME=VALUE or NAME: VALUE")
	f.StringVarP(&transport, "transport", "t", "", "stdio, http or sse; by default from the other arguments")
	f.StringVar(&dir, "cwd", "", "its working directory")
	f.StringVar(&timeout, "timeout", "", "milliseconds to start, and without a message during a call")
	f.BoolVar(&force, "force", false, "replace a server of the same name")
	return cmd
}

// definitionOf returns the definition for the arguments of add.
func definitionOf(words []string, transport string, envs, headers []string, dir, timeout string) ([]byte, error) {
	d := make(map[string]any)
	isURL := strings.HasPrefix(words[0], "http://") || strings.HasPrefix(words[0], "https://")
	switch {
	case isURL && transport != "stdio":
		if len(words) > 1 {
			return nil, fmt.Errorf("an address has no arguments, such as %q", words[1])
		}
		d["url"] = words[0]
	default:
		d["command"] = words[0]
		if len(words) > 1 {
			d["args"] = words[1:]
		}
	}
	if transport != "" {
		d["type"] = transport
	}
	if dir != "" {
		d["cwd"] = dir
	}
	if timeout != "" {
		n := jsonx.Raw(timeout)
		if !jsonx.Valid(n) || n.Kind() != '0' {
			return nil, errors.New("--timeout must be a number of milliseconds")
		}
		d["timeout"] = n
	}
	for _, list := range []struct {
		name, flag, marks string
		values            []string
	}{{"env", "--env", "=", envs}, {"headers", "--header", "=:", headers}} {
		if len(list.values) == 0 {
			continue
		}
		pairs := make(map[string]string)
		for _, v := range list.values {
			i := strings.IndexAny(v, list.marks)
			if i <= 0 {
				return nil, fmt.Errorf("%s must be NAME=VALUE", list.flag)
			}
			pairs[strings.TrimSpace(v[:i])] = strings.TrimPrefix(v[i+1:], " ")
		}
		d[list.name] = pairs
	}
	return jsonx.Marshal(d)
}

func (e *Env) addJSON() *cobra.Command {
	var t target
	force := false
	cmd := &cobra.Command{
		Use:     "add-json NAME JSON",
		Short:   "Add a server by its definition",
		Long:    "add-json adds a definition as it is written in mcp.json. With - as JSON, it is read from stdin.",
		Example: `  gjc mcp add-json files '{"command": "mcp-server-filesystem", "args": ["/srv/docs"], "tools": {"deny": ["write_*"]}}'`,
		Args:    e.args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			definition := []byte(args[1])
			if args[1] == "-" {
				data, err := io.ReadAll(io.LimitReader(e.In, maxDefinition))
				if err != nil {
					return fmt.Errorf("reading the definition from stdin: %w", err)
				}
				definition = data
			}
			path, err := e.path(&t)
			if err != nil {
				return err
			}
			if err := mcpfiles.Add(cmd.Context(), path, args[0], definition, force); err != nil {
				return err
			}
			return e.added(&t, args[0], path)
		},
	}
	t.flag(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace a server of the same name")
	return cmd
}

// maxDefinition bounds a definition on stdin, in bytes.
const maxDefinition = 64 << 10

func (e *Env) remove() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a server from mcp.json",
		Long:  "remove removes a server from mcp.json in the agent directory or, with --scope project, from .gjc/mcp.json. To keep a server of another file from starting, use disable.",
		Args:  e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := e.path(&t)
			if err != nil {
				return err
			}
			if err := mcpfiles.Remove(cmd.Context(), path, args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.Out, "Removed %s from %s.\n", trust.Printable(args[0]), trust.Printable(path))
			return err
		},
	}
	t.flag(cmd)
	return cmd
}

func (e *Env) enable(verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Long:  short + ". The answer for a server of a workspace's file is kept in mcp.json of the agent directory, for this workspace.",
		Args:  e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := e.Options()
			if err != nil {
				return err
			}
			path, err := o.Switch(cmd.Context(), args[0], on)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.Out, "%s is %sd in %s.\n", trust.Printable(args[0]), verb, trust.Printable(path))
			return err
		},
	}
}

func (e *Env) importServers() *cobra.Command {
	var what mcpfiles.Selection
	names := mcpfiles.Programs()
	cmd := &cobra.Command{
		Use:   "import [NAME…]",
		Short: "Copy servers from other programs' settings into mcp.json",
		Long: "import copies the servers that you use in other programs, all or the named ones. It replaces none of mcp.json without --force, and reports what cannot be copied. " +
			"Of the projects of Claude it copies the servers for the current directory, or for --project, and turns off what is off there. The programs are: " +
			strings.Join(names, ", ") + ".",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case what.Program != "" && !slices.Contains(names, what.Program):
				return e.Usage(fmt.Errorf("unknown program %q; the programs are %s", what.Program, strings.Join(names, ", ")))
			case what.Project != "" && what.Program != "" && what.Program != "claude":
				return e.Usage(errors.New("--project is for --from claude"))
			}
			o, err := e.Options()
			if err != nil {
				return err
			}
			what.Names = args
			if what.Project != "" && !filepath.IsAbs(what.Project) {
				what.Project = filepath.Join(o.Roots[0], what.Project)
			}
			all, err := mcpfiles.Import(cmd.Context(), &o, what)
			for _, i := range all {
				fmt.Fprintf(e.Out, "%s (%s): %s\n", trust.Printable(i.Name), trust.Printable(i.File), trust.Printable(i.What))
			}
			if err == nil && len(all) == 0 {
				fmt.Fprintln(e.Out, "No other program has MCP servers here.")
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&what.Program, "from", "", "only from this program")
	f.StringVar(&what.Project, "project", "", "the directory whose project of Claude is meant (default: the current one)")
	f.BoolVar(&what.Force, "force", false, "replace servers of the same name")
	f.BoolVar(&what.Dry, "dry-run", false, "only show what would be copied")
	return cmd
}

func (e *Env) test() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Connect to a server and list its tools",
		Args:  e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := e.Options()
			if err != nil {
				return err
			}
			server, err := mcpfiles.Resolve(cmd.Context(), o, args[0])
			if err != nil {
				return err
			}
			return e.try(cmd.Context(), o.Roots[0], *server, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// try connects to a server, once, and describes it.
func (e *Env) try(ctx context.Context, cwd string, server mcp.Server, asJSON bool) error {
	opts := e.Connect(ctx, cmp.Or(cwd, os.TempDir()))
	accounts, err := e.Accounts(false)
	if err != nil {
		return err
	}
	opts.Backoff, opts.Accounts = []time.Duration{}, accounts
	set := mcp.NewSet(opts, []mcp.Server{server})
	defer func() { _ = set.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	set.Start()
	if err := set.Ready(ctx); err != nil {
		return err
	}
	st := set.Status()[0]
	if st.State != mcp.StateConnected {
		return fmt.Errorf("%s: %s", server.Name, st.LastError)
	}
	var tools []string
	for _, t := range set.Tools() {
		tools = append(tools, t.Remote)
	}
	if asJSON {
		return e.printJSON(struct {
			Name      string   `json:"name"`
			Transport string   `json:"transport"`
			Protocol  string   `json:"protocol"`
			Info      string   `json:"info"`
			Tools     []string `json:"tools"`
			Prompts   int      `json:"prompts"`
			Resources int      `json:"resources"`
		}{server.Name, st.Transport, st.Protocol, st.Info, tools, st.Prompts, st.Resources + st.Templates})
	}
	_, err = fmt.Fprintf(e.Out, "%s is connected: %s, %s, protocol %s\n%d tools: %s\n%d prompts, %d resources\n", trust.Printable(server.Name), st.Transport, trust.Printable(st.Info),
		trust.Printable(st.Protocol), len(tools), trust.Printable(strings.Join(tools, ", ")), st.Prompts, st.Resources+st.Templates)
	return err
}

// account returns the user's account at a server.
func (e *Env) account(ctx context.Context, name string, keyring bool) (*oauth.Account, error) {
	o, err := e.Options()
	if err != nil {
		return nil, err
	}
	server, err := mcpfiles.Resolve(ctx, o, name)
	if err != nil {
		return nil, err
	}
	accounts, err := e.Accounts(keyring)
	if err != nil {
		return nil, err
	}
	account := mcp.Account(server, accounts)
	if account == nil {
		return nil, fmt.Errorf("%s has no sign-in: it is no HTTP server, or its definition has a header Authorization", name)
	}
	return account, nil
}

func (e *Env) login() *cobra.Command {
	keyring := false
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Sign in to a server with a browser",
		Long: "login asks an HTTP server for its authorization server and prints the address to open in a browser, which returns to a port of this machine. " +
			"gjc keeps the tokens in auth.json, readable only by you, and refreshes them. Open sessions connect with their next prompt.",
		Args: e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			account, err := e.account(cmd.Context(), args[0], keyring)
			if err != nil {
				return err
			}
			err = account.SignIn(cmd.Context(), func(_ context.Context, address string) error {
				_, err := fmt.Fprintf(e.Out, "Open this address in a browser to sign in to %s:\n\n%s\n\n", args[0], trust.Printable(address))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(e.Out, "You are signed in to %s.\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&keyring, "keyring", false, "keep the tokens in the system's keyring")
	return cmd
}

func (e *Env) logout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout NAME",
		Short: "Forget and revoke the sign-in at a server",
		Args:  e.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			account, err := e.account(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			was, err := account.SignOut(cmd.Context())
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", args[0], err)
			case !was:
				return fmt.Errorf("you are not signed in to %s", args[0])
			}
			_, err = fmt.Fprintf(e.Out, "You are signed out of %s.\n", args[0])
			return err
		},
	}
}
