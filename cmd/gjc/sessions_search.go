package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/rewind"
	"github.com/gajae-code/gjc/cmd/gjc/internal/search"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
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
			o.InMemory = h.shared != nil
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

// rewinding says what "gjc sessions rewind" does.
type rewinding struct {
	what        string
	dryRun, yes bool
}

func newSessionsRewind(h *host, opts *options) *cobra.Command {
	var r rewinding
	cmd := &cobra.Command{
		Use:   "rewind id [N]",
		Short: "Go back to just before a prompt, with the files, the conversation or both",
		Long: "rewind lists the prompts of a session, 1 the latest, with the files that changed after each. With a number it goes back to just before that prompt. " +
			"A rewind can be taken back: it is in the list too. Ignored files are never changed. The session must not be open elsewhere.",
		Example: "  gjc sessions rewind 0197f2c1\n  gjc sessions rewind 0197f2c1 2 --what code --dry-run",
		Args:    usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"code", "conversation", "both"}, r.what) {
				return fmt.Errorf("%w: --what is code, conversation or both", errUsage)
			}
			return r.run(cmd.Context(), h, opts, args)
		},
	}
	cmd.Flags().StringVar(&r.what, "what", "both", "what goes back: code, conversation or both")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "only print what would change")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "also take back what you changed yourself")
	return cmd
}

// run lists the prompts, or goes back to before one.
func (r *rewinding) run(ctx context.Context, h *host, opts *options, args []string) (err error) {
	agentDir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	store := h.store(agentDir)
	id, err := findSession(ctx, store, args[0])
	if err != nil {
		return err
	}
	log, err := store.Open(ctx, id) // which says that no turn is running
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	info, err := store.Info(ctx, id)
	if err != nil {
		return err
	}
	cwd := info.Cwd
	checkpoints := h.checkpoints(agentDir, opts)(cwd)
	if checkpoints == nil {
		return errors.New("checkpoints are off; switch them on with checkpoints.enabled in config.yml")
	}
	ws := agent.Workspace{Cwd: cwd, Additional: info.AdditionalDirectories}
	recorder := rewind.New(rewind.Options{
		Session: id, Roots: append([]string{ws.Cwd}, ws.Additional...), Checkpoints: *checkpoints,
		Notice: func(_ agent.Severity, title, detail string) { fmt.Fprintf(h.stderr, "%s %s\n", title, detail) },
	})
	defer recorder.Close(context.WithoutCancel(ctx))
	steps, err := recorder.Steps(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		printSteps(h.stdout, steps)
		return nil
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 || n > len(steps) {
		return fmt.Errorf("%w: there is no prompt %s; \"gjc sessions rewind %s\" lists them", errUsage, trust.Printable(args[1]), id)
	}
	step := &steps[n-1]
	if r.what != "conversation" {
		if err := r.files(ctx, h, recorder, step, &ws); err != nil {
			return err
		}
	}
	if r.what == "code" || step.Kind != checkpoint.Prompt {
		return nil
	}
	return r.conversation(h, log, step)
}

// files restores the files.
func (r *rewinding) files(ctx context.Context, h *host, recorder *rewind.Recorder, step *rewind.Step, ws *agent.Workspace) error {
	plan, err := recorder.Plan(ctx, step)
	if err != nil {
		return err
	}
	files := plan.Files()
	for i := range files {
		fmt.Fprintf(h.stdout, "%s %s\n", files[i].Verb(), trust.Printable(ws.Display(files[i].Path)))
	}
	for _, dir := range plan.Missing {
		fmt.Fprintf(h.stderr, "The state of %s is not recorded, so nothing in it changes.\n", dir)
	}
	if len(plan.Others) > 0 {
		fmt.Fprintf(h.stderr, "Other sessions recorded changes in the same directory since then; those are taken back too: %s\n", strings.Join(plan.Others, ", "))
	}
	if step.Skipped > 0 {
		fmt.Fprintf(h.stderr, "Not recorded, and left as they are, because they are too large, secret or unreadable: %d files\n", step.Skipped)
	}
	for _, path := range plan.ByUser {
		fmt.Fprintf(h.stdout, "changed by you: %s\n", trust.Printable(ws.Display(path)))
	}
	switch {
	case r.dryRun:
		fmt.Fprintf(h.stdout, "Would rewind %s.\n", text.Count(len(files), "file"))
		return nil
	case len(plan.ByUser) > 0 && !r.yes:
		return errors.New("nothing was changed, because you changed some of the files yourself; add --yes to take that back too")
	}
	problems, err := recorder.Apply(ctx, plan)
	for _, p := range problems {
		fmt.Fprintf(h.stderr, "not restored: %v\n", p)
	}
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s could not be restored", text.Count(len(problems), "file"))
	}
	fmt.Fprintf(h.stdout, "Rewound %s to before: %s\n", text.Count(len(files), "file"), trust.Printable(step.Title))
	return nil
}

// conversation makes the conversation continue before a prompt.
func (r *rewinding) conversation(h *host, log *sessions.Log, step *rewind.Step) error {
	path, err := log.PathTo(step.Entry)
	if err != nil {
		return err
	}
	if r.dryRun {
		fmt.Fprintln(h.stdout, "Would continue the conversation before it.")
		return nil
	}
	leaf, _ := sessions.ToNavigate(path[len(path)-1])
	if err := log.Rewind(leaf); err != nil {
		return err
	}
	fmt.Fprintln(h.stdout, "The conversation continues before it.")
	return nil
}

func printSteps(w io.Writer, steps []rewind.Step) {
	if len(steps) == 0 {
		fmt.Fprintln(w, "No prompt is recorded.")
	}
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(w, "%d  %s  %s  %s\n", s.N, s.Time.Local().Format(time.DateTime), text.Count(len(s.Changed), "file"), trust.Printable(s.Title))
		for _, c := range s.Changed {
			fmt.Fprintf(w, "     %s %s\n", c.Verb(), trust.Printable(c.Path))
		}
	}
}

// pruneCheckpoints removes the recorded states of sessions that are gone, and those beyond the configured age and size.
func pruneCheckpoints(ctx context.Context, h *host, opts *options) error {
	agentDir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	stored, err := checkpoint.List(checkpointsIn(agentDir))
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range stored {
		set := h.checkpoints(agentDir, opts)(s.Dir)
		if set == nil || s.Dir == "" {
			continue
		}
		tree := checkpoint.Open(s.Dir, *set)
		pruned, err := tree.Prune(ctx)
		errs = append(errs, err, tree.Close())
		freed := byteCount(max(0, pruned.Before-pruned.After))
		switch dir := trust.Printable(s.Dir); {
		case pruned.Gone:
			fmt.Fprintf(h.stdout, "Removed the recorded states of %s, which does not exist any more (%s).\n", dir, freed)
		case pruned.Points > 0:
			fmt.Fprintf(h.stdout, "Removed %s of the files in %s (%s).\n", text.Count(pruned.Points, "recorded state"), dir, freed)
		}
	}
	return errors.Join(errs...)
}

// endWorktrees removes the worktrees of sessions that are gone, and prints where their changes are.
func endWorktrees(ctx context.Context, h *host, opts *options, store *sessions.Store) error {
	agentDir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	children := proc.NewGroup(nil)
	trees := &worktrees.Store{Maker: worktreesOf(h, agentDir, opts), Children: children}
	ended, err := trees.EndUnknown(ctx, func(id string) bool {
		_, err := store.Info(ctx, id)
		return !errors.Is(err, sessions.ErrNotFound)
	})
	for _, e := range ended {
		for i := range e.Branches {
			b := &e.Branches[i]
			fmt.Fprintf(h.stdout, "The changes of session %s are on the branch %s of %s. To have them: %s\n", e.Session, b.Name, trust.Printable(b.Repository), b.Command())
		}
	}
	return errors.Join(err, children.Close(context.WithoutCancel(ctx)))
}
