package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// finding is one result of doctor.
type finding struct {
	// State is "ok", "warning" or "problem".
	State string `json:"state"`
	What  string `json:"what"`
	// Detail describes the result and what to do about it.
	Detail string `json:"detail"`
}

func newDoctor(h *host, opts *options) *cobra.Command {
	asJSON, online := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine's setup",
		Long: "doctor checks the files, programs and keys that sessions in this directory use, and changes nothing. With --online it also sends each configured provider " +
			"one short request, and reports the source of the key, the address and the result. The exit status is 1 if there is a problem.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := waitFor(cmd.Context(), func() []finding { return examine(cmd.Context(), h, opts, online) })
			if err != nil {
				return err
			}
			if asJSON {
				text, err := jsonx.Marshal(found)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(h.stdout, "%s\n", text); err != nil {
					return err
				}
			} else {
				for _, f := range found {
					fmt.Fprintf(h.stdout, "%-8s %-14s %s\n", f.State, f.What, f.Detail)
				}
			}
			for _, f := range found {
				if f.State == "problem" {
					return errReported
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&online, "online", false, "send each configured provider one short request")
	return cmd
}

// endTime is the time that doctor's children have to end after a signal.
const endTime = 2 * time.Second

// waitFor returns look's result, or ctx's cause. If look ignores ctx, for example on a file system that hangs, its
// goroutine continues until the process ends.
func waitFor(ctx context.Context, look func() []finding) ([]finding, error) {
	done := make(chan []finding, 1)
	go func() { done <- look() }()
	select {
	case found := <-done:
		return found, nil
	case <-ctx.Done():
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
	return nil, context.Cause(ctx)
}

// examine checks everything that a session needs. It changes nothing, and uses the network only if online is set.
func examine(ctx context.Context, h *host, opts *options, online bool) []finding {
	var all []finding
	add := func(state, what, format string, args ...any) {
		all = append(all, finding{state, what, fmt.Sprintf(format, args...)})
	}
	add("ok", "version", "%s", version())
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		add("problem", "agent dir", "%v", err)
		return all
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		add("ok", "agent dir", "%s (created with the first session)", dir)
	case err != nil:
		add("problem", "agent dir", "%v", err)
	case !info.IsDir():
		add("problem", "agent dir", "%s is not a directory; move it away or pass --agent-dir", dir)
	default:
		if err := writable(dir); err != nil {
			add("problem", "agent dir", "%v; sessions cannot be saved there", err)
		} else {
			add("ok", "agent dir", "%s", dir)
		}
	}
	if cwd, err := os.Getwd(); err != nil {
		add("problem", "files", "%v", err)
	} else {
		examineFiles(ctx, h, opts, dir, cwd, add)
	}
	all = append(all, h.examineModels(ctx, dir, opts)...)
	if online {
		all = append(all, h.examineOnline(ctx, dir, opts)...)
	}
	shell := h.local(ctx).Shell
	if _, err := os.Stat(shell.Path); err != nil {
		add("problem", "shell", "%v", err)
	} else {
		add("ok", "shell", "%s", shell.Path)
	}
	if box, err := findSandbox(); err != nil {
		add("ok", "sandbox", "none for commands: %v", err)
	} else {
		add("ok", "sandbox", "%s; bash.sandbox in config.yml turns it on", box.Kind)
	}
	for _, tool := range []struct{ name, without string }{
		{"git", "the demo needs it"},
		{"rg", "the search tool uses its own engine, with the same output"},
	} {
		if path, err := exec.LookPath(tool.name); err != nil {
			add("warning", tool.name, "not on PATH: %s", tool.without)
		} else {
			add("ok", tool.name, "%s", path)
		}
	}
	examineSSH(h, dir, exec.LookPath, add)
	examineLanguages(ctx, h, opts, dir, add)
	examineAdapters(ctx, h, opts, dir, add)
	page, err := h.store(dir).List(ctx, sessions.ListOptions{Limit: 1})
	switch {
	case err != nil:
		add("problem", "sessions", "%v", err)
	case len(page.Sessions) == 0:
		add("ok", "sessions", "none yet")
	default:
		add("ok", "sessions", "the latest is %q of %s", page.Sessions[0].Title, page.Sessions[0].UpdatedAt.Format("2006-01-02 15:04"))
	}
	return all
}

// writable creates and removes a file in a directory.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
