package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/internal/trust"
)

// existingDir returns the absolute path of an existing directory.
func existingDir(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", trust.Printable(dir))
	}
	return dir, nil
}

func newSessionsMove(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "move id directory",
		Short: "Give a session another working directory",
		Long:  "move is for a project that has moved: the session and its files then belong to the directory. The directory must exist, and the session must not be open.",
		Args:  usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			id, err := findSession(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			cwd, err := existingDir(args[1])
			if err != nil {
				return err
			}
			if err := store.Move(cmd.Context(), id, cwd); err != nil {
				return err
			}
			fmt.Fprintf(h.stdout, "Session %s is in %s now.\n", id, trust.Printable(cwd))
			return nil
		},
	}
}
