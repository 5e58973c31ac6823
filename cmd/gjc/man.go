package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan returns the hidden command that writes the manual pages for the archives of releases.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man directory",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeMan(args[0], cmd.Root())
		},
	}
}

// writeMan writes the page of a command and those of its subcommands: gjc.1, gjc-sessions.1, gjc-sessions-list.1.
func writeMan(dir string, cmd *cobra.Command) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range manCommands(cmd) {
		if err := writeMan(dir, sub); err != nil {
			return err
		}
	}
	return nil
}

// manCommands returns the subcommands that have pages.
func manCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, sub)
		}
	}
	return all
}

func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	path := cmd.CommandPath()
	name := strings.ReplaceAll(path, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"User commands\"\n", roffQuote(strings.ToUpper(name)), roffQuote("gjc "+version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	}
	if len(manCommands(cmd)) > 0 {
		fmt.Fprintf(&b, ".br\n.B %s\n", roff(path+" command"))
	}
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(long))
	flags := func(title string, set *pflag.FlagSet) {
		first := true
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if first {
				b.WriteString(".SH " + title + "\n")
				first = false
			}
			head := "--" + f.Name
			if f.Shorthand != "" {
				head = "-" + f.Shorthand + ", " + head
			}
			kind, usage := pflag.UnquoteUsage(f)
			if kind != "" {
				head += " " + kind
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(head), roffText(usage))
		})
	}
	cmd.InitDefaultHelpFlag()
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if subs := manCommands(cmd); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(sub.CommandPath()), roffText(sub.Short))
		}
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, cmd.Parent().CommandPath())
	}
	for _, sub := range manCommands(cmd) {
		others = append(others, sub.CommandPath())
	}
	if len(others) > 0 {
		for i, other := range others {
			others[i] = "\\fB" + roff(strings.ReplaceAll(other, " ", "-")) + "\\fR(1)"
		}
		b.WriteString(".SH SEE ALSO\n" + strings.Join(others, ",\n") + "\n")
	}
	b.WriteString(".SH EXIT STATUS\n0 on success, 1 after a failure, 2 after a usage error.\n")
	return b.String()
}

// roff escapes a text for the middle of a line.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "\n", " ").Replace(s)
}

func roffQuote(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }

// roffText writes a text with its line breaks. No line may begin with a control character.
func roffText(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		switch {
		case line == "":
			b.WriteString(".PP\n")
			continue
		case i > 0 && strings.HasPrefix(line, " "):
			b.WriteString(".br\n")
		}
		b.WriteString(`\&` + roff(line) + "\n")
	}
	return b.String()
}
