package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/setup"
	"github.com/gajae-code/gjc/internal/trust"
)

func newSetup(h *host, _ *options) *cobra.Command {
	write := false
	cmd := &cobra.Command{
		Use:   "setup EDITOR",
		Short: "Print how to add gjc to an editor, or add it",
		Long: "setup prints the file of an editor's settings and the lines to add there. With --write it adds them itself: it keeps the rest of the file and its comments, " +
			"and leaves a copy of the old file next to it. EDITOR is one of: " + strings.Join(setup.Editors(), ", ") + ".",
		Example:   "  gjc setup zed\n  gjc setup zed --write",
		Args:      usageArgs(cobra.ExactArgs(1)),
		ValidArgs: setup.Editors(),
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := installed()
			if err != nil {
				return err
			}
			home, err := h.home()
			if err != nil {
				return err
			}
			plan, err := setup.For(args[0], setup.Options{Program: program, Home: home, Getenv: h.getenv, GOOS: runtime.GOOS})
			if errors.Is(err, setup.ErrUnknown) {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			if err != nil {
				return err
			}
			if within(program, os.TempDir()) {
				fmt.Fprintf(h.stderr, "gjc: %s is in a temporary directory and will be gone; install gjc first\n", trust.Printable(program))
			}
			if !write {
				// The lines alone are on stdout, for a file.
				fmt.Fprintf(h.stderr, "%s: add this to %s\n\n", plan.Title, trust.Printable(plan.Path))
				_, err := fmt.Fprint(h.stdout, plan.Snippet)
				fmt.Fprintf(h.stderr, "\n%s\n", plan.After)
				return err
			}
			backup, changed, err := plan.Write()
			switch {
			case err != nil:
				return err
			case !changed:
				fmt.Fprintf(h.stdout, "%s has gjc already.\n", trust.Printable(plan.Path))
			case backup == "":
				fmt.Fprintf(h.stdout, "Created %s.\n", trust.Printable(plan.Path))
			default:
				fmt.Fprintf(h.stdout, "Changed %s; the old file is %s.\n", trust.Printable(plan.Path), trust.Printable(filepath.Base(backup)))
			}
			_, err = fmt.Fprintln(h.stdout, plan.After)
			return err
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "change the settings, and keep a copy of the old ones")
	return cmd
}

// installed returns the path of this program. If PATH has it, that path is returned, which an update does not change.
func installed() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("gjc"); err == nil && filepath.IsAbs(found) {
		one, err1 := os.Stat(program)
		other, err2 := os.Stat(found)
		if err1 == nil && err2 == nil && os.SameFile(one, other) {
			return found, nil
		}
	}
	return program, nil
}

// within reports whether a path is below a directory.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// welcome prints what to do first.
func welcome(h *host) error {
	_, err := fmt.Fprintf(h.stdout, `gjc %s is a coding agent for your editor. What you can do next (gjc --help lists everything):
  gjc demo            watch a session in a scratch project; it needs no key
  gjc login           give it the key of a model; a local Ollama needs none
  gjc setup zed       add it to an editor: %s; --write does it for you
  gjc chat            use it here; gjc run "fix it" in a script or in CI
`, version(), strings.Join(setup.Editors(), ", "))
	return err
}
