package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/search"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/sessions"
)

func newSessionsSearch(h *host, opts *options) *cobra.Command {
	var o search.Options
	asJSON := false
	cmd := &cobra.Command{
		Use:   "search word...",
		Short: "Find sessions by their titles, prompts and answers",
		Long: "search finds the sessions, archived ones too, that have all words in their titles, prompts, answers or summaries; what tools printed does not count. " +
			"Words match in any case and inside longer ones; several in double quotes are one. The index is brought up to date first, which takes a while the first time.",
		Example: "  gjc sessions search parser panic\n  gjc sessions search '\"index out of range\"' --cwd .",
		Args:    usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			switch {
			case len(search.Words(query)) == 0:
				return fmt.Errorf("%w: %w", errUsage, search.ErrNoWords)
			case o.Limit < 1:
				return fmt.Errorf("%w: --limit must be at least 1", errUsage)
			}
			if o.Cwd != "" {
				var err error
				if o.Cwd, err = filepath.Abs(o.Cwd); err != nil {
					return err
				}
			}
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			result, err := search.Search(cmd.Context(), store, query, o)
			if err != nil {
				return err
			}
			if asJSON {
				for i := range result.Hits {
					result.Hits[i].Snippet = snippetText(result.Hits[i].Snippet, "", "")
				}
				return printJSON(h.stdout, result)
			}
			printHits(h, result)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Cwd, "cwd", "", "search the sessions of this directory only")
	f.IntVar(&o.Limit, "limit", 20, "print at most this many sessions")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printHits prints the sessions that were found, each with the place.
func printHits(h *host, result *search.Result) {
	begin, end := "", ""
	if isTerminal(h.stdout) && h.getenv("NO_COLOR") == "" && h.getenv("TERM") != "dumb" {
		begin, end = "\x1b[1m", "\x1b[22m"
	}
	for _, hit := range result.Hits {
		title := hit.Title
		if title == "" {
			title = "-"
		}
		if hit.Archived {
			title += " (archived)"
		}
		fmt.Fprintf(h.stdout, "%s  %s  %s  %s\n", hit.ID, hit.UpdatedAt.Local().Format("2006-01-02 15:04"), trust.Printable(title), trust.Printable(hit.Cwd))
		if hit.Role != "title" {
			fmt.Fprintf(h.stdout, "    %s: %s\n", hit.Role, snippetText(hit.Snippet, begin, end))
		}
	}
	if len(result.Hits) == 0 {
		fmt.Fprintln(h.stdout, "No session has these words.")
	}
	if result.More > 0 {
		fmt.Fprintf(h.stderr, "%d more; --limit prints more, another word finds fewer\n", result.More)
	}
	if n := len(result.Unreadable); n > 0 {
		fmt.Fprintf(h.stderr, "gjc: %d sessions cannot be read: %s\n", n, strings.Join(result.Unreadable, ", "))
	}
}

// snippetText returns a snippet as text for people, with the words between begin and end.
func snippetText(snippet, begin, end string) string {
	var b strings.Builder
	for i, part := range strings.Split(snippet, search.Begin) {
		word, rest, is := strings.Cut(part, search.End)
		if i == 0 || !is {
			b.WriteString(trust.Printable(part))
			continue
		}
		b.WriteString(begin + trust.Printable(word) + end + trust.Printable(rest))
	}
	return b.String()
}

func newSessionsResume(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "resume id [prompt...]",
		Short: "Continue a session with a prompt, as gjc run --resume does, or on a terminal without one, as gjc chat does",
		Args:  usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			session := sessionFlags{resume: args[0]}
			if len(args) == 1 && isTerminal(h.stdin) && isTerminal(h.stdout) {
				return session.chat(cmd, h, opts)
			}
			r := runFlags{output: "text", session: session}
			r.input.Args, r.input.Stdin, r.input.Interactive = args[1:], h.stdin, isTerminal(h.stdin)
			return r.run(cmd.Context(), h, opts)
		},
	}
}

func newSessionsFork(h *host, opts *options) *cobra.Command {
	cwd := ""
	cmd := &cobra.Command{
		Use:   "fork id",
		Short: "Copy a session and print the ID of the copy",
		Long:  "fork copies a session, which may be open, with all its branches. The copy belongs to the same directory, or to another.",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			id, err := fork(cmd.Context(), store, args[0], cwd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(h.stdout, id)
			return err
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "the directory of the copy")
	return cmd
}

// fork copies a session for a directory, or for its own if cwd is "", and returns the ID of the copy.
func fork(ctx context.Context, store *sessions.Store, name, cwd string) (string, error) {
	id, err := findSession(ctx, store, name)
	if err != nil {
		return "", err
	}
	info, err := store.Info(ctx, id)
	if err != nil {
		return "", err
	}
	o := sessions.ForkOptions{Cwd: info.Cwd, AdditionalDirectories: info.AdditionalDirectories}
	if cwd != "" {
		if o.Cwd, err = existingDir(cwd); err != nil {
			return "", fmt.Errorf("%w: --cwd: %w", errUsage, err)
		}
		o.AdditionalDirectories = nil
	}
	log, err := store.Fork(ctx, id, o)
	if err != nil {
		return "", err
	}
	return log.ID(), log.Close()
}
