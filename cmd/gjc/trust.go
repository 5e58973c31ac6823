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
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/plugins"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// trustFile returns the file with the answers about workspaces.
func trustFile(agentDir string) string { return filepath.Join(agentDir, "trust.json") }

func newTrust(h *host, opts *options) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "List the workspaces that may run commands of their own",
		Long: "A workspace can name programs in its own files: language servers in lsp.json, debug adapters in dap.json, hooks in .gjc/hooks, tools in .gjc/tools, MCP servers in .mcp.json and the files of other editors, command lines in command files, programs in node_modules/.bin, code that a language server loads (eslint, TypeScript). gjc runs them after you have allowed it, " +
			"and asks again when one of the files changes. trust lists your answers.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			store, _, err := h.trustStore(opts)
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(h.stdout, entries)
			}
			if len(entries) == 0 {
				_, err := fmt.Fprintln(h.stdout, "There are no answers yet. gjc asks when a workspace names programs of its own.")
				return err
			}
			w := tabwriter.NewWriter(h.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "STATE\tWHEN\tWORKSPACE\tFOR")
			for _, e := range entries {
				for _, state := range []trust.State{trust.Trusted, trust.Denied} {
					if what := e.Covers(state); len(what) > 0 || state == e.State {
						fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state, e.When.Local().Format("2006-01-02 15:04"), trust.Printable(e.Path), trust.Printable(strings.Join(what, ", ")))
					}
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newTrustAdd(h, opts), newTrustRevoke(h, opts))
	return cmd
}

// printJSON prints a value as JSON on one line.
func printJSON(w io.Writer, v any) error {
	text, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

func (h *host) trustStore(opts *options) (store *trust.Store, agentDir string, err error) {
	agentDir, err = h.agentDir(opts.agentDir)
	if err != nil {
		return nil, "", err
	}
	return trust.Open(trustFile(agentDir)), agentDir, nil
}

func newTrustAdd(h *host, opts *options) *cobra.Command {
	plugin := ""
	cmd := &cobra.Command{
		Use:   "add [directory]",
		Short: "Let a workspace run commands of its own, as its files are now",
		Long:  "add allows what a session in the directory (this one, unless another is named) would ask for: the files that name programs, as they are now, and the programs in the workspace itself. With --plugin it allows what an installed plugin can run, in all workspaces.",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if plugin != "" {
				return trustPlugin(cmd.Context(), h, opts, plugin)
			}
			dir, err := filepath.Abs(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if info, err := os.Stat(dir); err != nil {
				return err
			} else if !info.IsDir() {
				return fmt.Errorf("%s is not a directory; name the workspace's directory", dir)
			}
			store, agentDir, err := h.trustStore(opts)
			if err != nil {
				return err
			}
			local := h.local(cmd.Context())
			subjects, err := trustedFiles(cmd.Context(), h, agentDir, dir, &local)
			if err != nil {
				return err
			}
			for _, sub := range subjects {
				if err := store.Set(cmd.Context(), sub, trust.Trusted); err != nil {
					return err
				}
				fmt.Fprintf(h.stdout, "%s is trusted:\n  %s\n", trust.Printable(trust.Canonical(sub.Path)), strings.Join(sub.Describe(), "\n  "))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&plugin, "plugin", "", "allow the programs of this plugin instead")
	return cmd
}

// trustPlugin allows what a plugin can run, as it is now.
func trustPlugin(ctx context.Context, h *host, opts *options, name string) error {
	store, dir, err := h.trustStore(opts)
	if err != nil {
		return err
	}
	all, err := pluginStore(h, dir).Survey(ctx, store)
	if err != nil {
		return err
	}
	for _, p := range all {
		switch {
		case !strings.EqualFold(p.Name, name):
			continue
		case p.About == nil:
			return fmt.Errorf("the plugin %s is not used: %s", p.Name, p.Detail)
		case p.Subject == nil:
			_, err := fmt.Fprintf(h.stdout, "The plugin %s runs nothing, so it needs no answer.\n", p.Name)
			return err
		}
		if err := store.Set(ctx, p.Subject, trust.Trusted); err != nil {
			return err
		}
		_, err := fmt.Fprintf(h.stdout, "The plugin %s is trusted:\n  %s\n", p.Name, strings.Join(p.Subject.Describe(), "\n  "))
		return err
	}
	return fmt.Errorf("there is no plugin %s; \"gjc plugin list\" shows the plugins", trust.Printable(name))
}

// trustedFiles returns what a workspace's files would run: language servers, debug adapters, hooks and MCP servers. A catalog without
// answers asks about everything.
func trustedFiles(ctx context.Context, h *host, agentDir, dir string, local *bridges.Local) ([]*trust.Subject, error) {
	first, err := workspaceSubject(ctx, h, agentDir, dir, local)
	if err != nil {
		return nil, err
	}
	all := []*trust.Subject{first}
	for _, sub := range mcpfiles.Subjects([]string{dir}) {
		i := slices.IndexFunc(all, func(other *trust.Subject) bool { return trust.Canonical(other.Path) == trust.Canonical(sub.Path) })
		if i < 0 {
			all = append(all, sub)
		} else {
			all[i] = trust.Merge(all[i], sub)
		}
	}
	return all, nil
}

// workspaceSubject returns what a directory's own files would run, without MCP servers, which files in the directories above may
// define, too.
func workspaceSubject(ctx context.Context, h *host, agentDir, dir string, local *bridges.Local) (*trust.Subject, error) {
	home, _ := h.home() // without one there are no files in it
	servers, err := lspconfig.New(lspconfig.Options{
		Roots: []string{dir}, Home: home, AgentDir: agentDir, Env: local.Environ,
	}).Untrusted(ctx)
	if err != nil {
		return nil, err
	}
	adapters, err := dapconfig.New(dapconfig.Options{
		Roots: []string{dir}, Home: home, AgentDir: agentDir, Env: local.Environ,
	}).Untrusted(ctx)
	if err != nil {
		return nil, err
	}
	own := hooks.Load(hooks.Options{Roots: []string{dir}}).Subject(dir)
	for _, sub := range custom.Load(ctx, custom.Options{Roots: []string{dir}}).Subjects() {
		own = trust.Merge(own, sub)
	}
	for _, sub := range extensions.Load(ctx, extensions.LoadOptions{Roots: []string{dir}}).Subjects() {
		own = trust.Merge(own, sub)
	}
	for _, required := range plugins.ReadRequired(dir) {
		own = trust.Merge(own, required.Subject)
	}
	files, _ := commands.Load(ctx, commands.Options{ProjectDirs: []string{dir}, Foreign: true}) // sessions report the problems
	sub := cmp.Or(trust.Merge(trust.Merge(servers, adapters), trust.Merge(own, files.Subject(dir))), &trust.Subject{Path: dir})
	if len(sub.Programs) == 0 {
		sub.Programs = []string{"none now; later ones are trusted too"}
	}
	return sub, nil
}

func newTrustRevoke(h *host, opts *options) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "revoke directory",
		Short: "Forget the answer for a workspace",
		Long:  "revoke forgets the answer for a workspace, yes or no, or with --all every answer. The answers about permissions for the workspace are forgotten, too. gjc asks again when it next needs an answer. Running programs continue until their session ends.",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return fmt.Errorf("%w: name a directory, or use --all", errUsage)
			}
			store, _, err := h.trustStore(opts)
			if err != nil {
				return err
			}
			if all {
				n, err := store.RevokeAll(cmd.Context())
				if err != nil {
					return err
				}
				if err := revokePermissions(h, cmd, opts, ""); err != nil {
					return err
				}
				_, err = fmt.Fprintf(h.stdout, "Answers forgotten: %d.\n", n)
				return err
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			was, err := store.Revoke(cmd.Context(), dir)
			if err == nil {
				err = revokePermissions(h, cmd, opts, dir)
			}
			switch {
			case err != nil:
				return err
			case !was:
				return errors.New("there is no answer for " + trust.Printable(dir) + `; "gjc trust" lists them`)
			}
			_, err = fmt.Fprintf(h.stdout, "The answer for %s is forgotten.\n", trust.Printable(dir))
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget all answers")
	return cmd
}
