package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/demo"
)

func newDemo(h *host, _ *options) *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show an editor session with the offline model, in a scratch workspace",
		Long: "demo starts \"gjc acp\" as an editor does, over pipes, in a scratch git workspace, and drives the offline model " +
			"through reading, searching, running, debugging, editing, diagnostics, renaming, asking, cancelling, closing and loading. It needs git " +
			"and Go, for the language server gopls, for the debugger dlv, no network and no key.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), h, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the workspace and the session files")
	return cmd
}

func runDemo(ctx context.Context, h *host, keep bool) error {
	err := demo.Run(ctx, demo.Options{Env: h.env, Out: h.stdout, Version: version(), Keep: keep})
	if errors.Is(err, demo.ErrFailed) {
		return errReported
	}
	return err
}
