package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/stats"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/sessions"
)

func newSessions(h *host, opts *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, read, export and delete stored sessions",
		Long: "sessions manages the stored conversations. It reads them without locking them, so it works while an editor has them open, " +
			"on a read-only disk, and when a session's directory no longer exists. Name a session by its ID or by a unique prefix of it (at least four characters).",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionsList(h, opts), newSessionsShow(h, opts), newSessionsSearch(h, opts), newSessionsExport(h, opts), newSessionsResume(h, opts), newSessionsFork(h, opts), newSessionsRewind(h, opts), newSessionsMove(h, opts), newSessionsDelete(h, opts), newSessionsPrune(h, opts), newSessionsStats(h, opts), newSessionsGC(h, opts), newSessionsMigrate(h, opts))
	return cmd
}

// sessionStore returns the stored sessions of the command line's agent directory.
func (h *host) sessionStore(opts *options) (*sessions.Store, error) {
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return nil, err
	}
	return h.store(dir), nil
}

// sessionsPage is the number of sessions that are read at a time.
const sessionsPage = 500

// eachSession calls fn with the sessions, the last written first, until fn returns false.
func eachSession(ctx context.Context, store *sessions.Store, list sessions.ListOptions, fn func(*sessions.Info) (bool, error)) error {
	list.Limit = sessionsPage
	for {
		page, err := store.List(ctx, list)
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			if more, err := fn(&page.Sessions[i]); err != nil || !more {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		list.Cursor = page.Next
	}
}

const (
	// minPrefix is the length from which a prefix of an ID is accepted, maxCandidates the number of matches that an
	// error lists.
	minPrefix     = 4
	maxCandidates = 20
)

// findSession returns the ID of the session that has this ID or this unique prefix.
func findSession(ctx context.Context, store *sessions.Store, name string) (string, error) {
	_, err := store.Info(ctx, name)
	if err == nil {
		return name, nil
	}
	if !errors.Is(err, sessions.ErrNotFound) {
		return "", err
	}
	unknown := fmt.Errorf(`there is no session %s; "gjc sessions list --all" lists them`, trust.Printable(name))
	if len(name) < minPrefix {
		return "", unknown
	}
	var found []string
	var lines strings.Builder
	err = eachSession(ctx, store, sessions.ListOptions{Archived: sessions.ArchivedInclude}, func(info *sessions.Info) (bool, error) {
		if strings.HasPrefix(info.ID, name) {
			found = append(found, info.ID)
			if len(found) <= maxCandidates {
				fmt.Fprintf(&lines, "\n  %s  %s", trust.Printable(info.ID), trust.Printable(info.Title))
			}
		}
		return true, nil
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", unknown
	case len(found) > maxCandidates:
		fmt.Fprintf(&lines, "\n  and %d more", len(found)-maxCandidates)
	case len(found) == 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s %w: it matches %d sessions; give more of the ID:%s", trust.Printable(name), errAmbiguous, len(found), lines.String())
}

// errAmbiguous is wrapped by the error for a prefix that matches several sessions.
var errAmbiguous = errors.New("is ambiguous")

func newSessionsStats(h *host, opts *options) *cobra.Command {
	var cwd, by, since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what sessions have used, by day, model or project",
		Long: "stats reads all sessions, archived ones too, and sums up the tokens and the cost of their answers, in all branches. " +
			"An answer that a fork has copied counts for the session that it comes from. The cost is that at the time of the answer, without those whose price was unknown.",
		Example: "  gjc sessions stats --by model --since 30d\n  gjc sessions stats --cwd ~/src/app --json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := stats.Options{By: stats.By(by), Location: time.Local}
			if !slices.Contains(stats.Kinds(), o.By) {
				return fmt.Errorf("%w: unknown --by %q; use day, model or project", errUsage, by)
			}
			var err error
			if cwd != "" {
				if o.Cwd, err = filepath.Abs(cwd); err != nil {
					return err
				}
			}
			if since != "" {
				if o.Since, err = sinceTime(since, time.Now()); err != nil {
					return fmt.Errorf("%w: --since: %w", errUsage, err)
				}
			}
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			report, err := stats.Collect(cmd.Context(), store, &o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(h.stdout, report)
			}
			return printStats(h.stdout, h.stderr, strings.ToUpper(by), report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&by, "by", string(stats.Day), "day, model or project")
	f.StringVar(&since, "since", "", "count from then on: 7d, 12h, or a date such as 2026-11-01")
	f.StringVar(&cwd, "cwd", "", "count the sessions of this directory only")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// sinceTime reads an age or a date.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither an age, such as 7d or 12h, nor a date, such as 2026-11-01", text)
}

func printStats(out, problems io.Writer, key string, report *stats.Report) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tSESSIONS\tREQUESTS\tINPUT\tCACHED\tOUTPUT\tCOST\t\n", key)
	for _, r := range append(report.Rows, report.Total) {
		unpriced := ""
		if r.Unpriced > 0 {
			unpriced = "+"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t$%.4f%s\t\n", trust.Printable(r.Key), r.Sessions, r.Requests, r.Input+r.CacheWrite, r.CacheRead, r.Output, r.CostUSD, unpriced)
	}
	if report.Total.Unpriced > 0 {
		fmt.Fprintf(problems, "+ without %d requests whose price is unknown\n", report.Total.Unpriced)
	}
	if n := len(report.Unreadable); n > 0 {
		fmt.Fprintf(problems, "gjc: %d sessions cannot be read: %s\n", n, strings.Join(report.Unreadable, ", "))
	}
	return w.Flush()
}

// listedSession is a session in the output of "list --json".
type listedSession struct {
	ID                    string    `json:"id"`
	Title                 string    `json:"title"`
	Cwd                   string    `json:"cwd"`
	AdditionalDirectories []string  `json:"additionalDirectories,omitempty"`
	ParentSession         string    `json:"parentSession,omitzero"`
	MessageCount          int       `json:"messageCount"`
	Size                  int64     `json:"size"`
	CreatedAt             time.Time `json:"createdAt,omitzero"`
	UpdatedAt             time.Time `json:"updatedAt"`
	Archived              bool      `json:"archived,omitzero"`
	Path                  string    `json:"path"`
}

func newSessionsList(h *host, opts *options) *cobra.Command {
	var cwd string
	var all, asJSON, archived bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions of this directory, the newest first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && cwd != "" {
				return fmt.Errorf("%w: use either --cwd or --all", errUsage)
			}
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			list := sessions.ListOptions{}
			if !all {
				if list.Cwd, err = filepath.Abs(cwd); err != nil {
					return err
				}
			}
			if archived {
				list.Archived = sessions.ArchivedOnly
			}
			if asJSON {
				return h.listSessionsJSON(cmd.Context(), store, list)
			}
			return h.listSessions(cmd.Context(), store, list)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cwd, "cwd", "", "list the sessions of this directory")
	f.BoolVar(&all, "all", false, "list the sessions of all directories")
	f.BoolVar(&archived, "archived", false, "list the archived sessions instead")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (h *host) listSessions(ctx context.Context, store *sessions.Store, list sessions.ListOptions) error {
	w := tabwriter.NewWriter(h.stdout, 0, 8, 2, ' ', 0)
	n := 0
	err := eachSession(ctx, store, list, func(info *sessions.Info) (bool, error) {
		if n == 0 {
			fmt.Fprintln(w, "ID\tTITLE\tMESSAGES\tSIZE\tUPDATED\tDIRECTORY")
		}
		n++
		title := info.Title
		if title == "" {
			title = "-"
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", trust.Printable(info.ID), trust.Printable(title), info.Messages,
			byteCount(info.Size), info.UpdatedAt.Local().Format("2006-01-02 15:04"), trust.Printable(info.Cwd))
		return true, err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		switch {
		case list.Cwd != "":
			fmt.Fprintf(h.stdout, "There are no sessions in %s; --all lists those of all directories.\n", trust.Printable(list.Cwd))
		default:
			fmt.Fprintln(h.stdout, "There are no sessions.")
		}
	}
	return w.Flush()
}

// listSessionsJSON prints an array with one session per line.
func (h *host) listSessionsJSON(ctx context.Context, store *sessions.Store, list sessions.ListOptions) error {
	before := "["
	err := eachSession(ctx, store, list, func(info *sessions.Info) (bool, error) {
		s := listedSession{
			ID: info.ID, Title: info.Title, Cwd: info.Cwd, AdditionalDirectories: info.AdditionalDirectories,
			ParentSession: info.ParentSession, MessageCount: info.Messages, Size: info.Size, CreatedAt: info.CreatedAt.UTC(), UpdatedAt: info.UpdatedAt.UTC(),
			Archived: info.Archived, Path: info.Path,
		}
		text, err := jsonx.Marshal(s)
		if err != nil {
			return false, err
		}
		_, err = fmt.Fprintf(h.stdout, "%s%s", before, text)
		before = ",\n"
		return true, err
	})
	if err != nil {
		return err
	}
	if before == "[" {
		_, err = io.WriteString(h.stdout, before)
	}
	if err == nil {
		_, err = io.WriteString(h.stdout, "]\n")
	}
	return err
}

func byteCount(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
}

func newSessionsDelete(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "delete id...",
		Short: "Delete sessions and their files",
		Long:  "delete removes sessions and their files permanently, without asking. It takes whole IDs and keeps sessions that are open. If an ID is unknown, it deletes nothing.",
		Args:  usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			titles := make([]string, len(args))
			for i, id := range args {
				info, err := store.Info(cmd.Context(), id)
				switch _, damaged := errors.AsType[*sessions.CorruptError](err); {
				case err == nil:
					titles[i] = info.Title
				case damaged: // it can still be deleted
				case errors.Is(err, sessions.ErrNotFound):
					switch whole, ferr := findSession(cmd.Context(), store, id); {
					case ferr == nil:
						return fmt.Errorf("nothing is deleted: give the whole ID, %s", trust.Printable(whole))
					case errors.Is(ferr, errAmbiguous):
						return fmt.Errorf("nothing is deleted: %w", ferr)
					}
					return fmt.Errorf(`nothing is deleted: there is no session %s; "gjc sessions list --all" lists them`, trust.Printable(id))
				default:
					return fmt.Errorf("nothing is deleted: %w", err)
				}
			}
			var errs []error
			for i, id := range args {
				if err := store.Delete(cmd.Context(), id); err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(h.stdout, "Deleted %s %s\n", id, trust.Printable(titles[i]))
			}
			return errors.Join(append(errs, endWorktrees(cmd.Context(), h, opts, store))...)
		},
	}
}

// existingDir returns the absolute path of an existing directory.
func existingDir(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", trust.Printable(dir))
	}
	return dir, nil
}

func newSessionsMove(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "move id directory",
		Short: "Give a session another working directory",
		Long:  "move is for a project that has moved: the session and its files then belong to the directory. The directory must exist, and the session must not be open.",
		Args:  usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			id, err := findSession(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			cwd, err := existingDir(args[1])
			if err != nil {
				return err
			}
			if err := store.Move(cmd.Context(), id, cwd); err != nil {
				return err
			}
			fmt.Fprintf(h.stdout, "Session %s is now in %s.\n", id, trust.Printable(cwd))
			return nil
		},
	}
}

func newSessionsGC(h *host, opts *options) *cobra.Command {
	var gc sessions.GCOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove images and files that no session refers to",
		Long: "gc removes images that no session refers to, outputs and marks without a session, and incomplete files of processes that died. " +
			"It keeps all sessions, archived ones too. It may run while editors have sessions open: it keeps files younger than --min-age.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if gc.MinAge < 0 {
				return fmt.Errorf("%w: --min-age must not be negative", errUsage)
			}
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			found, err := store.GC(cmd.Context(), gc)
			var size int64
			for _, g := range found {
				size += g.Size
				fmt.Fprintf(h.stdout, "%s (%s, %s)\n", trust.Printable(g.Path), g.Why, byteCount(g.Size))
			}
			verb := "Removed"
			if gc.DryRun {
				verb = "Would remove"
			}
			fmt.Fprintf(h.stdout, "%s %d, %s in all.\n", verb, len(found), byteCount(size))
			return err
		},
	}
	cmd.Flags().BoolVar(&gc.DryRun, "dry-run", false, "only print what would be removed")
	cmd.Flags().DurationVar(&gc.MinAge, "min-age", sessions.DefaultGCAge, "keep files younger than this")
	return cmd
}

// pruning says which sessions "gjc sessions prune" deletes.
type pruning struct {
	olderThan string
	maxSize   string
	keep      int
	archived  bool
	dryRun    bool
}

func newSessionsPrune(h *host, opts *options) *cobra.Command {
	var p pruning
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete sessions by age or size",
		Long: "prune deletes the sessions that were last used before an age, or, the oldest first, as many as needed for the rest to fit a size, " +
			"permanently and without asking; --dry-run only lists them. It keeps sessions that are open, and the last --keep ones. It also removes the worktrees of sessions that are gone, whose changes it stores in branches, and the recorded files of such sessions, and those beyond checkpoints.keepDays and keepMB.",
		Example: "  gjc sessions prune --older-than 90d --dry-run\n  gjc sessions prune --max-size 2GB --keep 100",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := h.sessionStore(opts)
			if err != nil {
				return err
			}
			chosen, err := p.choose(cmd.Context(), store, time.Now())
			if err != nil {
				return err
			}
			if err := p.delete(cmd.Context(), store, chosen, h.stdout); err != nil || p.dryRun {
				return err
			}
			return errors.Join(endWorktrees(cmd.Context(), h, opts, store), pruneCheckpoints(cmd.Context(), h, opts))
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.olderThan, "older-than", "", "delete sessions that were last used before then: 90d, 12h, or a date")
	f.StringVar(&p.maxSize, "max-size", "", "delete the oldest sessions until the files of the others have at most this size: 500MB, 2GB")
	f.IntVar(&p.keep, "keep", 0, "keep at least this many of the last sessions")
	f.BoolVar(&p.archived, "archived", false, "delete only archived sessions")
	f.BoolVar(&p.dryRun, "dry-run", false, "list the sessions and delete nothing")
	return cmd
}

// choose returns the sessions to delete, the last used first.
func (p *pruning) choose(ctx context.Context, store *sessions.Store, now time.Time) ([]sessions.Info, error) {
	if p.olderThan == "" && p.maxSize == "" {
		return nil, fmt.Errorf("%w: use --older-than or --max-size", errUsage)
	}
	if p.keep < 0 {
		return nil, fmt.Errorf("%w: --keep must not be negative", errUsage)
	}
	var before time.Time
	var err error
	if p.olderThan != "" {
		if before, err = sinceTime(p.olderThan, now); err != nil {
			return nil, fmt.Errorf("%w: --older-than: %w", errUsage, err)
		}
	}
	room := int64(math.MaxInt64)
	if p.maxSize != "" {
		if room, err = byteSize(p.maxSize); err != nil {
			return nil, fmt.Errorf("%w: --max-size: %w", errUsage, err)
		}
	}
	list := sessions.ListOptions{Archived: sessions.ArchivedInclude}
	if p.archived {
		list.Archived = sessions.ArchivedOnly
	}
	var chosen []sessions.Info
	kept, full := 0, false
	err = eachSession(ctx, store, list, func(info *sessions.Info) (bool, error) {
		full = full || info.Size > room
		if kept >= p.keep && (full || info.UpdatedAt.Before(before)) {
			chosen = append(chosen, *info)
		} else {
			kept, room = kept+1, room-info.Size
		}
		return true, nil
	})
	return chosen, err
}

// delete deletes sessions, and prints what it does.
func (p *pruning) delete(ctx context.Context, store *sessions.Store, chosen []sessions.Info, out io.Writer) error {
	var errs []error
	count, size := 0, int64(0)
	for _, info := range chosen {
		if !p.dryRun {
			if err := store.Delete(ctx, info.ID); errors.Is(err, sessions.ErrLocked) {
				fmt.Fprintf(out, "Kept %s %s: it is open\n", info.ID, trust.Printable(info.Title))
				continue
			} else if err != nil {
				errs = append(errs, err)
				continue
			}
		}
		count, size = count+1, size+info.Size
		fmt.Fprintf(out, "%s  %s  %s\n", info.ID, info.UpdatedAt.Local().Format(time.DateOnly), trust.Printable(info.Title))
	}
	verb := "Deleted"
	if p.dryRun {
		verb = "Would delete"
	}
	fmt.Fprintf(out, "%s %d sessions (%s).\n", verb, count, byteCount(size))
	return errors.Join(errs...)
}

// byteSize reads a size such as "500MB"; K, M and G are powers of 1024, as in [byteCount].
func byteSize(text string) (int64, error) {
	number, unit := strings.ToUpper(strings.TrimSpace(text)), int64(1)
	number = strings.TrimSuffix(number, "B")
	for suffix, factor := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = rest, factor
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0 && n*float64(unit) < math.MaxInt64/2) { // also if it is no number
		return 0, fmt.Errorf("%q is not a size, such as 500MB or 2GB", text)
	}
	return int64(n * float64(unit)), nil
}
