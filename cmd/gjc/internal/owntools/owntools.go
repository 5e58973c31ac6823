// Package owntools implements gjc tools: it lists the tools that the user's and the workspace's files describe, and runs one.
package owntools

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/text"
)

// Machine has what the commands need.
type Machine struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Load reads the tools for the directory where gjc was started, which it returns.
	Load func(ctx context.Context) (set *custom.Set, cwd string, err error)
	// Programs returns what runs the programs of tools. The caller must call end.
	Programs func(ctx context.Context, cwd string) (programs agent.Programs, end func())
	// Args wraps the check of arguments.
	Args func(cobra.PositionalArgs) cobra.PositionalArgs
	// Failed is the error to return if the failure was printed.
	Failed error
}

// New returns the command.
func New(m Machine) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools that your files and this workspace's describe",
		Long: "A file tools/NAME.yml in the agent directory, or .gjc/tools/NAME.yml in a workspace, describes a tool for the model and names the program that its calls run. " +
			"tools lists them with their state. \"gjc tools test\" runs one.",
		Args: m.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.list(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:   "test name [json]",
		Short: "Run a tool as a call of the model would",
		Long: "test runs a tool with an input, a JSON object; with - it reads the input from stdin. It prints what the call does, as far as the file declares it, and the result for the model. " +
			"It asks no questions, and the program runs without a sandbox.",
		Args: m.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			input := "{}"
			if len(args) > 1 {
				input = args[1]
			}
			if input == "-" {
				data, err := io.ReadAll(io.LimitReader(m.Stdin, maxInput))
				if err != nil {
					return fmt.Errorf("reading the input: %w", err)
				}
				input = string(data)
			}
			return m.test(cmd.Context(), args[0], input)
		},
	})
	return cmd
}

// maxInput bounds an input from stdin, in bytes.
const maxInput = 16 << 20

// listed is a tool in the JSON output.
type listed struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	File        string   `json:"file"`
	Command     []string `json:"command"`
	State       string   `json:"state"`
}

func (m *Machine) list(ctx context.Context, asJSON bool) error {
	set, _, err := m.Load(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		all := make([]listed, 0, len(set.Files))
		for _, f := range set.Files {
			all = append(all, listed{f.Name, f.Description, f.Path, f.Command, f.State})
		}
		out, err := jsonx.Marshal(all)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(m.Stdout, "%s\n", out)
		return err
	}
	m.problems(set)
	if len(set.Files) == 0 {
		_, err := fmt.Fprintln(m.Stdout, "There are no tools. docs/tools.md says how to describe one.")
		return err
	}
	w := tabwriter.NewWriter(m.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tFILE\tDESCRIPTION")
	for _, f := range set.Files {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.State, text.VisibleLine(f.Path), text.VisibleLine(text.Truncate(text.FirstLine(f.Description), 60)))
	}
	return w.Flush()
}

func (m *Machine) problems(set *custom.Set) {
	for _, p := range set.Problems {
		fmt.Fprintln(m.Stderr, "gjc:", text.VisibleLine(p.String()))
	}
}

// tool returns the tool with a name.
func (m *Machine) tool(set *custom.Set, name string) (agent.Tool, error) {
	for _, t := range set.Tools {
		if t.Spec().Name == name {
			return t, nil
		}
	}
	if i := slices.IndexFunc(set.Files, func(f custom.File) bool { return f.Name == name && f.State == "not trusted" }); i >= 0 {
		return nil, fmt.Errorf("the tool %s in %s is not trusted; look at it, and allow it with \"gjc trust add\"", name, set.Files[i].Path)
	}
	var names []string
	for _, t := range set.Tools {
		names = append(names, t.Spec().Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no tool %q, and no other tool either", name)
	}
	return nil, fmt.Errorf("there is no tool %q; the tools are %s", name, strings.Join(names, ", "))
}

func (m *Machine) test(ctx context.Context, name, input string) error {
	set, cwd, err := m.Load(ctx)
	if err != nil {
		return err
	}
	m.problems(set)
	t, err := m.tool(set, name)
	if err != nil {
		return err
	}
	programs, end := m.Programs(ctx, cwd)
	defer end()
	values := agent.NewValues(nil)
	defer values.Close(context.WithoutCancel(ctx))
	call := &agent.Call{
		ID: "test", Name: name, Input: jsonx.Raw(input), Values: values,
		Environment: agent.Environment{Workspace: agent.Workspace{Cwd: cwd}, Programs: programs},
		Update: func(p agent.Progress) {
			for _, c := range p.Content {
				if c, ok := c.(agent.TextContent); ok {
					fmt.Fprintln(m.Stderr, text.Visible(c.Text))
				}
			}
		},
	}
	ctx = permit.With(ctx, permit.Own()) // the user has started it
	plan, err := t.Plan(ctx, call)
	if err == nil {
		m.printPlan(plan)
		began := time.Now()
		var res *agent.Result
		if res, err = t.Run(ctx, call); err == nil {
			return m.printResult(res, time.Since(began))
		}
	}
	fmt.Fprintf(m.Stderr, "the model would see this error:\n%s\n", text.Visible(err.Error()))
	return m.Failed
}

// printPlan prints what the call does.
func (m *Machine) printPlan(plan *agent.CallPlan) {
	for i := range plan.Effects {
		for _, e := range plan.Effects[i].Each() {
			what := ""
			switch e.Action {
			case approval.ActionCommand:
				what = "runs " + strings.TrimPrefix(e.Command, "exec ") + " in " + e.Dir
			case approval.ActionRead:
				what = "reads " + e.Path
			case approval.ActionNetwork:
				if what = "connects to " + e.Host; e.Host == "" {
					what = "connects to any host"
				}
			default:
				what = "changes " + e.Path
			}
			fmt.Fprintln(m.Stderr, text.VisibleLine(what))
		}
	}
}

// printResult prints the result for the model.
func (m *Machine) printResult(res *agent.Result, took time.Duration) error {
	if _, err := fmt.Fprintln(m.Stdout, strings.TrimRight(text.Visible(res.Text), "\n")); err != nil {
		return err
	}
	for _, img := range res.Images {
		if _, err := fmt.Fprintf(m.Stdout, "[%s, %d bytes]\n", img.MIMEType, len(img.Data)); err != nil {
			return err
		}
	}
	fmt.Fprintf(m.Stderr, "took %s\n", took.Round(time.Millisecond))
	if res.IsError {
		return m.Failed
	}
	return nil
}
