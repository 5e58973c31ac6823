// Package manpage writes the manual pages of a command line.
package manpage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes the pages of a command and its subcommands into dir: gjc.1, gjc-sessions.1, gjc-sessions-list.1. version appears at
// the bottom of the pages.
func Write(dir, version string, cmd *cobra.Command) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(page(cmd, version)), 0o644); err != nil {
		return err
	}
	for _, sub := range subcommands(cmd) {
		if err := Write(dir, version, sub); err != nil {
			return err
		}
	}
	return nil
}

// subcommands returns the subcommands that have pages.
func subcommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, sub)
		}
	}
	return all
}

func page(cmd *cobra.Command, version string) string {
	var b strings.Builder
	path := cmd.CommandPath()
	name := strings.ReplaceAll(path, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"User commands\"\n", roffQuote(strings.ToUpper(name)), roffQuote("gjc "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	}
	if len(subcommands(cmd)) > 0 {
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
	if subs := subcommands(cmd); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(sub.CommandPath()), roffText(sub.Short))
		}
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, cmd.Parent().CommandPath())
	}
	for _, sub := range subcommands(cmd) {
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
