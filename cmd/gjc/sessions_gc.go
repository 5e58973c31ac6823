package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/sessions"
)

func newSessionsGC(h *host, opts *options) *cobra.Command {
	var gc sessions.GCOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove images and files that no session refers to",
		Long: "gc removes images that no session refers to, outputs and marks without a session, and incomplete files of processes that died. " +
			"It keeps all sessions, archived ones too. It may run while editors have sessions open: it keeps files younger than --min-age.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if gc.MinAge < 0 {
				return fmt.Errorf("%w: --min-age must not be negative", errUsage)
			}
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			found, err := store.GC(cmd.Context(), gc)
			var size int64
			for _, g := range found {
				size += g.Size
				fmt.Fprintf(h.stdout, "%s (%s, %s)\n", trust.Printable(g.Path), g.Why, byteCount(g.Size))
			}
			verb := "Removed"
			if gc.DryRun {
				verb = "Would remove"
			}
			fmt.Fprintf(h.stdout, "%s %d, %s in all.\n", verb, len(found), byteCount(size))
			return err
		},
	}
	cmd.Flags().BoolVar(&gc.DryRun, "dry-run", false, "only print what would be removed")
	cmd.Flags().DurationVar(&gc.MinAge, "min-age", sessions.DefaultGCAge, "keep files younger than this")
	return cmd
}
