// Command gjc-conformance checks any ACP agent against version 1 of the protocol:
//
//	gjc-conformance [flags] -- <agent command>
//
// It exits with code 0 if the agent is conformant, 1 if it is not, 2 after a usage error. See docs/conformance.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/conformance"
	"github.com/gajae-code/gjc/internal/proc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	switch {
	case err == nil:
	case errors.Is(err, errNotConformant):
		stop()
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "gjc-conformance:", err)
		stop()
		os.Exit(2)
	}
}

// errNotConformant is the only error that is about the agent.
var errNotConformant = errors.New("the agent is not conformant")

// flags holds the command line's flags.
type flags struct {
	prompts, run, json, home string
	list, quiet              bool
	options                  conformance.Options
}

func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	var f flags
	cmd := &cobra.Command{
		Use:   "gjc-conformance [flags] -- <agent command>",
		Short: "Check an ACP agent against the protocol",
		Long: "Starts the agent's command, talks to it over stdin and stdout as good and bad clients do, and\n" +
			"reports which requirements of the Agent Client Protocol, version 1, it meets.",
		Example:       "  gjc-conformance --prompts gjc -- gjc acp --model offline/demo\n  gjc-conformance --run '^cancel' -- my-agent --acp",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, command []string) error {
			f.options.Env = env
			return f.check(cmd.Context(), command, stdout, stderr)
		},
	}
	set := cmd.Flags()
	set.SetInterspersed(false)
	set.StringVar(&f.prompts, "prompts", "", `prompts that make the agent's model act: a YAML or JSON file by purpose, or "gjc"; default: plain English`)
	set.StringVar(&f.run, "run", "", "run only the checks whose id matches this regular expression")
	set.StringVar(&f.json, "json", "", `write the report as JSON to this file, or to stdout for "-"`)
	set.StringVar(&f.home, "home", "", "home directory for the agent, for its credentials; default: empty ones")
	set.BoolVar(&f.list, "list", false, "list the checks and run none")
	set.BoolVar(&f.options.Strict, "strict", false, "fail checks that could not run, unless the agent does not advertise their part")
	set.BoolVar(&f.quiet, "quiet", false, "print only the checks that did not pass")
	set.IntVar(&f.options.Parallel, "parallel", 0, "number of concurrent checks; default: one per processor")
	set.DurationVar(&f.options.Timeout, "timeout", time.Minute, "time limit of one check")
	set.DurationVar(&f.options.Patience, "patience", 2*time.Second, "time limit for what should happen at once, such as exit and cancellation")
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cmd.ExecuteContext(ctx)
}

func (f *flags) check(ctx context.Context, command []string, stdout, stderr io.Writer) error {
	if f.run != "" {
		re, err := regexp.Compile(f.run)
		if err != nil {
			return fmt.Errorf("--run: %w", err)
		}
		f.options.Select = re
	}
	if f.list {
		return list(f.options.Select, stdout)
	}
	if len(command) == 0 {
		return errors.New("no agent to check; give its command after --")
	}
	if err := f.complete(command); err != nil {
		return err
	}
	report, err := conformance.Run(ctx, f.options)
	if err != nil {
		return err
	}
	text := stdout
	if f.json == "-" {
		text = stderr
	}
	if err := f.write(report, text, stdout); err != nil {
		return err
	}
	if !report.Conformant {
		return errNotConformant
	}
	return nil
}

// complete resolves the options that depend on this machine.
func (f *flags) complete(command []string) error {
	name := command[0]
	if filepath.Base(name) != name { // a relative path is relative to this directory, as in a shell
		var err error
		if name, err = filepath.Abs(name); err != nil {
			return fmt.Errorf("the agent: %w", err)
		}
	}
	path, err := proc.LookPath(name, f.options.Env)
	if err != nil {
		return fmt.Errorf("the agent: %w", err)
	}
	f.options.Command = append([]string{path}, command[1:]...)
	if f.home != "" {
		if f.options.Home, err = filepath.Abs(f.home); err != nil {
			return fmt.Errorf("--home: %w", err)
		}
	}
	if f.prompts != "" {
		f.options.Prompts, err = conformance.ReadPrompts(f.prompts)
	}
	return err
}

func list(selected *regexp.Regexp, w io.Writer) error {
	none := true
	for _, c := range conformance.Checks() {
		if selected != nil && !selected.MatchString(c.ID) {
			continue
		}
		none = false
		if _, err := fmt.Fprintln(w, c.String()); err != nil {
			return err
		}
	}
	if none {
		return conformance.ErrNoChecks
	}
	return nil
}

// write writes the report: as text, and as JSON if requested.
func (f *flags) write(report *conformance.Report, text, stdout io.Writer) error {
	if err := report.WriteText(text, f.quiet); err != nil {
		return err
	}
	switch f.json {
	case "":
		return nil
	case "-":
		return report.WriteJSON(stdout)
	}
	file, err := os.Create(f.json)
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return errors.Join(report.WriteJSON(file), file.Close())
}
