package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/internal/trust"
)

func newPermissions(h *host, opts *options) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "List the answers that you have given for workspaces",
		Long:  "permissions lists the answers \"Always allow in this workspace\", with their numbers. /permissions lists those of a session, too. Rules of the configuration are in permissions of config.yml.",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			store, err := permissionStore(h, opts)
			if err != nil {
				return err
			}
			all, err := store.List()
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(w permissions.Workspace) bool { return len(w.Grants)+len(w.Rules) == 0 }) // only notices were shown there
			if asJSON {
				return printJSON(h.stdout, all)
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(h.stdout, "There are no answers for workspaces yet.")
				return err
			}
			for _, w := range all {
				fmt.Fprintln(h.stdout, trust.Printable(w.Path))
				for _, r := range w.Rules {
					fmt.Fprintf(h.stdout, "  adopted: permissions.%s: %s\n", r.Verdict, trust.Printable(r.Text))
				}
				for i, g := range w.Grants {
					fmt.Fprintf(h.stdout, "  %d. %s\n", i+1, g.Describe())
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newPermissionsRevoke(h, opts), newPermissionsSuggest(h, opts))
	return cmd
}

func permissionStore(h *host, opts *options) (*permissions.Store, error) {
	agentDir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return nil, err
	}
	return permissions.Open(agentDir), nil
}

func newPermissionsRevoke(h *host, opts *options) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "revoke directory [number...]",
		Short: "Forget answers for a workspace",
		Long:  "revoke forgets the answers with the given numbers for a workspace, or all of them. Sessions that are open ask again, too. With --all it forgets the answers for every workspace.",
		Args:  usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return fmt.Errorf("%w: name a directory, or use --all", errUsage)
			}
			store, err := permissionStore(h, opts)
			if err != nil {
				return err
			}
			if all {
				n, err := store.RevokeAll(cmd.Context())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(h.stdout, "Answers forgotten: %d.\n", n)
				return err
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			numbers := make(map[int]bool)
			for _, arg := range args[1:] {
				n, err := strconv.Atoi(arg)
				if err != nil || n < 1 {
					return fmt.Errorf("%w: %q is not the number of an answer", errUsage, arg)
				}
				numbers[n] = true
			}
			n, err := store.Revoke(cmd.Context(), dir, numbers)
			switch {
			case err != nil:
				return err
			case n == 0:
				return errors.New("there is no such answer for " + trust.Printable(dir) + `; "gjc permissions" lists them`)
			}
			_, err = fmt.Fprintf(h.stdout, "Answers forgotten: %d.\n", n)
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget all answers")
	return cmd
}

// revokePermissions forgets the answers for a workspace that is trusted no longer; dir is empty for all workspaces.
func revokePermissions(h *host, cmd *cobra.Command, opts *options, dir string) error {
	store, err := permissionStore(h, opts)
	if err != nil {
		return err
	}
	if dir == "" {
		_, err = store.RevokeAll(cmd.Context())
	} else {
		_, err = store.Revoke(cmd.Context(), dir, nil)
	}
	return err
}

func newPermissionsSuggest(h *host, opts *options) *cobra.Command {
	adopt := false
	cmd := &cobra.Command{
		Use:   "suggest [directory]",
		Short: "Show what the permissions of other agents would mean, or adopt them",
		Long: "suggest reads the permissions of Claude Code (.claude/settings.json) and the sandbox settings of Codex (.codex/config.toml) in a directory, this one unless another is named, and in the home directory (or CODEX_HOME), and prints them as settings of config.yml. They have no effect. " +
			"With --adopt, the rules hold for sessions in the directory, until gjc permissions revoke.",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(strings.Join(args, ""))
			if err != nil {
				return err
			}
			home, _ := h.home() // without one there are no files in it
			all := permissions.Suggest(dir, home, codexHome(h))
			if len(all) == 0 {
				_, err := fmt.Fprintln(h.stdout, "There are no permissions of other agents here.")
				return err
			}
			for _, line := range permissions.Describe(all) {
				fmt.Fprintln(h.stdout, trust.Printable(line))
			}
			if !adopt {
				_, err := fmt.Fprintln(h.stdout, "Nothing of this holds. --adopt adopts the rules; the other lines go into config.yml.")
				return err
			}
			store, err := permissionStore(h, opts)
			if err != nil {
				return err
			}
			n, err := store.Adopt(cmd.Context(), dir, all)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(h.stdout, "Adopted rules: %d. They hold for sessions in %s that begin from now on.\n", n, trust.Printable(dir))
			return err
		},
	}
	cmd.Flags().BoolVar(&adopt, "adopt", false, "adopt the rules for this directory")
	return cmd
}
