package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/cmd/gjc/internal/chat"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
)

const chatLong = `chat is a conversation with the agent on this terminal. It is the same agent as in an editor, with the same sessions, settings and
tools; /help lists commands and keys.

It works over ssh, reads plain lines if stdin is not a terminal or TERM is dumb, and shows no colours if NO_COLOR is set. The log is off
unless --log-file or --log-level is given.`

func newChat(h *host, opts *options) *cobra.Command {
	var s sessionFlags
	cmd := &cobra.Command{
		Use:     "chat",
		Short:   "Talk with the agent on a terminal",
		Long:    chatLong,
		Example: "  gjc chat\n  gjc chat --continue --mode auto",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.chat(cmd, h, opts) },
	}
	s.add(cmd.Flags())
	return cmd
}

// chat talks with the agent in the session of the flags.
func (s *sessionFlags) chat(cmd *cobra.Command, h *host, opts *options) error {
	ctx := cmd.Context()
	if !cmd.Flags().Changed("log-level") && opts.logFile == "" {
		opts.logLevel = "off" // its lines would be among those of the conversation
	}
	rules, err := s.check()
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	session, err := s.session(ctx, h, opts)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, system.EndSignals...)
	defer signal.Stop(signals)
	stdout, e, err := s.engine(ctx, h, opts, rules)
	if err != nil {
		return err
	}
	defer e.close()
	history := new(lineedit.History)
	if !s.noSave {
		dir, err := h.agentDir(opts.agentDir)
		if err != nil {
			return err
		}
		if history, err = lineedit.OpenHistory(filepath.Join(dir, "chat-history.jsonl")); err != nil {
			fmt.Fprintf(h.stderr, "gjc: %v; lines are remembered only until the end\n", err)
		}
	}
	return chat.Run(ctx, &chat.Options{
		Serve: func(ctx context.Context, from io.Reader, to io.Writer) error {
			return server.Serve(ctx, from, to, nil, e.options)
		},
		Version: version(), Session: *session, Terminal: newTerminal(h, stdout), History: history, Signals: signals,
	})
}

// newTerminal describes the terminal of this process.
func newTerminal(h *host, stdout *os.File) *chat.Terminal {
	t := &chat.Terminal{
		In: h.stdin, Out: stdout, Interactive: isTerminal(h.stdin) && isTerminal(stdout),
		Colour: h.getenv("NO_COLOR") == "", Unicode: showsUnicode(h),
	}
	dumb := h.getenv("TERM") == "dumb" || h.getenv("TERM") == "" && !system.Consoles
	out := int(stdout.Fd())
	if !t.Interactive || dumb || system.EscapeSequences(out) != nil {
		return t
	}
	t.Raw = func() (func(), error) {
		in := int(h.stdin.Fd())
		before, err := term.MakeRaw(in)
		if err != nil {
			return nil, err
		}
		return func() { _ = term.Restore(in, before) }, nil // nothing is left to do if the terminal has gone
	}
	t.Size = func() (columns, rows int) {
		columns, rows, err := term.GetSize(out)
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}
	resized := make(chan os.Signal, 1)
	system.Resizes(resized)
	t.Resized = resized
	if system.CanSuspend {
		t.Suspend = system.Suspend
	}
	return t
}

// showsUnicode reports whether the terminal shows more than ASCII, as the variables of POSIX say it.
func showsUnicode(h *host) bool {
	locale := strings.ToUpper(cmp.Or(h.getenv("LC_ALL"), h.getenv("LC_CTYPE"), h.getenv("LANG")))
	return system.Consoles || strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
}
