// Package pluginctl holds the verbs of "gjc plugin".
package pluginctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/plugins"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// Env holds the surroundings of the verbs.
type Env struct {
	Out io.Writer
	// Open returns the store, and the user's answers about plugins.
	Open func() (*plugins.Store, *trust.Store, error)
	// Cwd returns the working directory.
	Cwd func() (string, error)
	// Ask asks a question to answer with yes or no. It reports false for terminal if no user can answer.
	Ask func(question string) (yes, terminal bool, err error)
	// Args wraps the check of arguments.
	Args func(cobra.PositionalArgs) cobra.PositionalArgs
	// Failed is the error to return if the failure was printed.
	Failed error
}

// New returns the command with its verbs.
func New(e *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, list and update plugins",
		Long: "A plugin is a directory with commands, skills, helper agents, hooks, tools and MCP servers, also one for Claude Code. " +
			"Installing one runs nothing; the first session that would use it shows the programs that it can run, and asks.",
		Args: e.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(e.install(), e.link(), e.list(), e.enable("enable", "Let sessions use a plugin", true), e.enable("disable", "Keep sessions from using a plugin", false),
		e.update(), e.remove(), e.doctor(), e.marketplace())
	return cmd
}

func (e *Env) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out, format, args...)
	return err
}

func (e *Env) printJSON(v any) error {
	text, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	return e.printf("%s\n", text)
}

// describe prints what a plugin holds and what it can run.
func (e *Env) describe(about *plugins.About) error {
	var b strings.Builder
	if about.Description != "" {
		fmt.Fprintf(&b, "  %s\n", trust.Printable(about.Description))
	}
	fmt.Fprintf(&b, "  It holds %s.\n", about.Holds())
	if len(about.Programs) > 0 {
		b.WriteString("  A session asks before it uses the plugin, which can run:\n")
		for _, p := range about.Programs {
			fmt.Fprintf(&b, "    %s\n", trust.Printable(p))
		}
	}
	for _, n := range about.Notes {
		fmt.Fprintf(&b, "  Note: %s\n", n)
	}
	return e.printf("%s", b.String())
}

func (e *Env) install() *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use:   "install [SOURCE]",
		Short: "Install a plugin from a directory, a git repository or a marketplace",
		Long: "SOURCE is ./DIRECTORY, URL[#REF[:SUBDIRECTORY]] of a git repository (https, ssh or file), OWNER/REPOSITORY[@REF] for GitHub, or NAME@MARKETPLACE. " +
			"REF is a branch, a tag or a commit. The files are copied; nothing in them runs. " +
			"Without SOURCE, install installs the plugins that the project in the working directory requires in .gjc/plugins.yml; only sessions in such projects use them.",
		Example: `  gjc plugin install ./my-plugin
  gjc plugin install https://git.example.com/tools.git#v1.2:plugins/review
  gjc plugin marketplace add anthropics/skills
  gjc plugin install document-skills@anthropic-agent-skills`,
		Args: e.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, answers, err := e.Open()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return e.installRequired(cmd.Context(), s, answers, dry)
			}
			c, err := s.Prepare(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer c.Close()
			done := "Installed"
			if dry {
				done = "Would install"
			} else if err := c.Apply(cmd.Context()); err != nil {
				return err
			}
			if err := e.printf("%s %s.\n", done, strings.TrimSpace(strings.Join([]string{c.Entry.Name, trust.Printable(c.Entry.Version), at(&c.Entry)}, " "))); err != nil {
				return err
			}
			return e.describe(c.About)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "fetch and check it, and install nothing")
	return cmd
}

// installRequired installs what the project in the working directory requires, and keeps that the user has agreed to its list.
func (e *Env) installRequired(ctx context.Context, s *plugins.Store, answers *trust.Store, dry bool) error {
	cwd, err := e.Cwd()
	if err != nil {
		return err
	}
	required := plugins.ReadRequired(cwd)
	if len(required) == 0 {
		return errors.New("there is no .gjc/plugins.yml in this directory; name a SOURCE to install a plugin")
	}
	for _, r := range required {
		for _, p := range r.Problems {
			if err := e.printf("Note: %s\n", trust.Printable(p)); err != nil {
				return err
			}
		}
	}
	missing, err := s.Missing(required)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		err = e.printf("All plugins that this project requires are installed.\n")
	}
	failed := []error{err}
	for i := range missing {
		name := trust.Printable(missing[i].String())
		if dry {
			failed = append(failed, e.printf("Would install %s.\n", name))
			continue
		}
		p, about, err := s.InstallRequired(ctx, &missing[i])
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		failed = append(failed, e.printf("Installed %s %s for projects that require it.\n", p.Name, trust.Printable(cmp.Or(p.Version, at(p)))), e.describe(about))
	}
	for _, r := range required {
		if !dry && r.Subject != nil {
			failed = append(failed, answers.Set(ctx, r.Subject, trust.Trusted))
		}
	}
	return errors.Join(failed...)
}

// at returns the short commit of a plugin.
func at(p *plugins.Entry) string {
	if p.Commit == "" {
		return ""
	}
	return fmt.Sprintf("(commit %.12s)", p.Commit)
}

func (e *Env) link() *cobra.Command {
	return &cobra.Command{
		Use:   "link DIRECTORY",
		Short: "Use a plugin in its directory, to work on it",
		Long:  "link uses a directory as it is at any time. When it names programs and changes, the next session asks again.",
		Args:  e.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			p, about, err := s.Link(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := e.printf("Linked %s to %s.\n", p.Name, trust.Printable(p.Link)); err != nil {
				return err
			}
			return e.describe(about)
		},
	}
}

// listed is a plugin in the JSON output.
type listed struct {
	plugins.Entry
	Dir      string   `json:"dir"`
	State    string   `json:"state"`
	Detail   string   `json:"detail,omitzero"`
	Commands []string `json:"commands,omitzero"`
	Skills   []string `json:"skills,omitzero"`
	Agents   []string `json:"agents,omitzero"`
	Tools    []string `json:"tools,omitzero"`
	Programs []string `json:"programs,omitzero"`
	Notes    []string `json:"notes,omitzero"`
}

func (e *Env) list() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins with their states",
		Long:  "list shows each plugin: used, disabled, not trusted (a session will ask), denied, or broken.",
		Args:  e.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, answers, err := e.Open()
			if err != nil {
				return err
			}
			all, err := s.Survey(cmd.Context(), answers)
			if err != nil {
				return err
			}
			if asJSON {
				out := make([]listed, len(all))
				for i, st := range all {
					out[i] = listed{Entry: st.Entry, Dir: st.Dir, State: st.State, Detail: st.Detail}
					if a := st.About; a != nil {
						out[i].Commands, out[i].Skills, out[i].Agents, out[i].Tools, out[i].Programs, out[i].Notes = a.Commands, a.Skills, a.Agents, a.Tools, a.Programs, a.Notes
					}
				}
				return e.printJSON(out)
			}
			if len(all) == 0 {
				return errors.Join(e.printf("There are no plugins. gjc plugin install SOURCE installs one.\n"), e.listMissing(s))
			}
			w := tabwriter.NewWriter(e.Out, 0, 8, 2, ' ', 0)
			var details []string
			fmt.Fprintln(w, "NAME\tVERSION\tSTATE\tHOLDS\tSOURCE")
			for _, st := range all {
				holds := "-"
				if st.About != nil {
					holds = st.About.Holds()
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", st.Name, cmp.Or(trust.Printable(st.Version), fmt.Sprintf("%.12s", st.Commit), "-"), st.State, holds, trust.Printable(st.Source))
				if st.Detail != "" {
					details = append(details, st.Name+": "+trust.Printable(st.Detail)+"\n")
				}
			}
			return errors.Join(w.Flush(), e.printf("%s", strings.Join(details, "")), e.listMissing(s))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listMissing prints the plugins that the project in the working directory requires and that are not installed.
func (e *Env) listMissing(s *plugins.Store) error {
	cwd, err := e.Cwd()
	if err != nil {
		return err
	}
	missing, err := s.Missing(plugins.ReadRequired(cwd))
	for i := range missing {
		err = errors.Join(err, e.printf("This project requires %s, which is not installed; gjc plugin install installs it.\n", trust.Printable(missing[i].String())))
	}
	return err
}

func (e *Env) enable(verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Long:  short + ". Open sessions follow with their next prompt.",
		Args:  e.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			if err := s.SetEnabled(cmd.Context(), args[0], on); err != nil {
				return err
			}
			return e.printf("%s is %sd.\n", args[0], verb)
		},
	}
}

func (e *Env) update() *cobra.Command {
	yes, dry := false, false
	cmd := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Fetch plugins again, and show what would change",
		Long: "update fetches the named plugins, or all that are installed, from where they came, and shows the difference: commits, files, programs. " +
			"It asks before it replaces one. A new content is asked about in the next session again, if it can run programs.",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			names := args
			if len(names) == 0 {
				all, err := s.List()
				if err != nil {
					return err
				}
				for i := range all {
					if all[i].Link == "" {
						names = append(names, all[i].Name)
					}
				}
			}
			var failed []error
			for _, name := range names {
				if err := e.updateOne(cmd.Context(), s, name, yes, dry); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", trust.Printable(name), err))
				}
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "replace them without asking")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would change")
	return cmd
}

func (e *Env) updateOne(ctx context.Context, s *plugins.Store, name string, yes, dry bool) error {
	c, err := s.PrepareUpdate(ctx, name)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Same() {
		return e.printf("%s is up to date.\n", c.Entry.Name)
	}
	if err := e.printf("%s:\n  %s\n", c.Entry.Name, strings.Join(c.Difference(), "\n  ")); err != nil || dry {
		return err
	}
	if !yes {
		answer, terminal, err := e.Ask("Replace " + c.Entry.Name + "?")
		switch {
		case err != nil:
			return err
		case !terminal:
			return errors.New("not replaced, since no user can be asked here; --yes replaces it")
		case !answer:
			return e.printf("%s stays as it is.\n", c.Entry.Name)
		}
	}
	if err := c.Apply(ctx); err != nil {
		return err
	}
	return e.printf("Updated %s.\n", c.Entry.Name)
}

func (e *Env) remove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a plugin and its files",
		Long:  "remove removes a plugin. The directory of a linked one stays.",
		Args:  e.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			if err := s.Remove(cmd.Context(), args[0]); err != nil {
				return err
			}
			return e.printf("Removed %s.\n", args[0])
		},
	}
}

func (e *Env) doctor() *cobra.Command {
	fix, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for damaged plugins and leftovers",
		Long:  "doctor looks for plugins whose directory is missing, was changed or has a broken manifest, and for files that belong to no plugin.",
		Args:  e.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			all, err := s.Doctor(cmd.Context(), fix)
			if err != nil {
				return err
			}
			bad := false
			for _, f := range all {
				bad = bad || f.Fix != "" && !f.Fixed
			}
			if asJSON {
				err = e.printJSON(append([]plugins.Finding{}, all...))
			} else if len(all) == 0 {
				err = e.printf("The plugins are in order.\n")
			}
			for _, f := range all {
				if asJSON {
					break
				}
				line := trust.Printable(f.Text)
				switch {
				case f.Fixed:
					line += " (repaired)"
				case f.Fix != "":
					line += "\n  " + trust.Printable(f.Fix)
				}
				err = errors.Join(err, e.printf("%s\n", line))
			}
			if err == nil && bad {
				err = e.Failed
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "remove leftovers, and install damaged plugins again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listMarkets prints the marketplaces.
func (e *Env) listMarkets(asJSON bool) error {
	s, _, err := e.Open()
	if err != nil {
		return err
	}
	all, err := s.Markets()
	if err != nil {
		return err
	}
	if asJSON {
		return e.printJSON(append([]plugins.Market{}, all...))
	}
	if len(all) == 0 {
		return e.printf("There are no marketplaces. gjc plugin marketplace add SOURCE adds one.\n")
	}
	for _, m := range all {
		if err := e.printf("%s  %s\n", m.Name, trust.Printable(m.Source)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) marketplace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "marketplace",
		Short: "List, add and remove marketplaces",
		Long:  "A marketplace is a directory or a repository with the file .claude-plugin/marketplace.json, which lists plugins and where they are.",
		Args:  e.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	asJSON := false
	list := &cobra.Command{
		Use:   "list",
		Short: "List the marketplaces that you have added",
		Args:  e.Args(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { return e.listMarkets(asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(list)
	cmd.AddCommand(&cobra.Command{
		Use:   "add SOURCE",
		Short: "Add a marketplace",
		Long:  "add adds a marketplace: ./DIRECTORY, URL[#REF[:SUBDIRECTORY]] or OWNER/REPOSITORY[@REF]. It installs nothing.",
		Args:  e.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			name, names, err := s.AddMarket(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return e.printf("Added the marketplace %s with %d plugins: %s\ngjc plugin install NAME@%s installs one.\n", name, len(names), trust.Printable(strings.Join(names, ", ")), name)
		},
	}, &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a marketplace; its plugins stay",
		Args:  e.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := e.Open()
			if err != nil {
				return err
			}
			if err := s.RemoveMarket(cmd.Context(), args[0]); err != nil {
				return err
			}
			return e.printf("Removed the marketplace %s.\n", args[0])
		},
	})
	return cmd
}
