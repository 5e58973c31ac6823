package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gajae-code/gjc/cmd/gjc/internal/manpage"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// errUsage is wrapped by errors about the command line.
var errUsage = errors.New("usage error")

// usageArgs wraps the error of check in errUsage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		return nil
	}
}

// unknownCommand returns the error for a word that is not a subcommand of cmd.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	// A prefix of a name matches too: "sess".
	meant := text.Near(word, names)
	if i := slices.IndexFunc(names, func(n string) bool { return len(word) > 1 && strings.HasPrefix(n, strings.ToLower(word)) }); meant == "" && i >= 0 {
		meant = names[i]
	}
	if meant != "" {
		return fmt.Errorf("%w: unknown command %q for %s; did you mean %q?", errUsage, word, cmd.CommandPath(), meant)
	}
	return fmt.Errorf("%w: unknown command %q for %s; the commands are %s", errUsage, word, cmd.CommandPath(), strings.Join(names, ", "))
}

// flagError returns cobra's error about a flag, with the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := strings.TrimLeft(e.GetSpecifiedName(), "-")
		if len(e.GetSpecifiedShortnames()) > 0 {
			name = "" // a single letter is close to every name
		}
		var names []string
		collect := func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		}
		cmd.Flags().VisitAll(collect)
		cmd.InheritedFlags().VisitAll(collect)
		// Short names resemble each other: a third of the letters may differ.
		if meant := text.Near(name, names); name != "" && meant != "" && text.Distance(name, meant) <= (len(name)+1)/3 {
			return fmt.Errorf("%w: %w; did you mean --%s?", errUsage, err, meant)
		}
		return fmt.Errorf("%w: %w; %s --help lists the flags", errUsage, err, cmd.CommandPath())
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

// checkConfigs returns an error for a file of --config that cannot be read.
func checkConfigs(opts *options) error {
	for _, path := range opts.configs {
		if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: --config: there is no file %s", errUsage, path)
		} else if err != nil {
			return fmt.Errorf("%w: --config: %w", errUsage, err)
		} else if info.IsDir() {
			return fmt.Errorf("%w: --config: %s is a directory; name a file", errUsage, path)
		}
	}
	return nil
}

// newHelp returns the command help. Unlike cobra's own, it reports an unknown command as a usage error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, word := range args {
				i := slices.IndexFunc(about.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
				if i < 0 {
					return unknownCommand(about, word)
				}
				about = about.Commands()[i]
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// helpOf wraps cobra's help. If the words before --help are not commands, it stores a usage error in *wrong.
func helpOf(root *cobra.Command, wrong *error) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 && cmd.Flags().Changed("help") {
			*wrong = unknownCommand(cmd, words[0])
			return
		}
		help(cmd, args)
	})
}

// shells are the shells with completion scripts.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(h *host) *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a script that completes commands and flags in a shell",
		Long: "completion prints a script for a shell, which completes the commands and flags of gjc.\n\n" +
			"  bash:        source <(gjc completion bash), in ~/.bashrc\n" +
			"  zsh:         gjc completion zsh > \"${fpath[1]}/_gjc\"\n" +
			"  fish:        gjc completion fish > ~/.config/fish/completions/gjc.fish\n" +
			"  powershell:  gjc completion powershell | Out-String | Invoke-Expression, in $PROFILE",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && slices.Contains(shells, args[0]) {
				return nil
			}
			meant := ""
			if len(args) == 1 {
				meant = configfile.Suggestion(args[0], shells)
			}
			return fmt.Errorf("%w: name one shell: %s%s", errUsage, strings.Join(shells, ", "), meant)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(h.stdout, true)
			case "zsh":
				return root.GenZshCompletion(h.stdout)
			case "fish":
				return root.GenFishCompletion(h.stdout, true)
			default:
				return root.GenPowerShellCompletionWithDesc(h.stdout)
			}
		},
	}
}

// newMan returns the hidden command that writes the manual pages for the release archives.
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
			return manpage.Write(args[0], version(), cmd.Root())
		},
	}
}
