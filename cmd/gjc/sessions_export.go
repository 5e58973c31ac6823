package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/cmd/gjc/internal/storage"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// viewSession opens a stored session for reading. The caller closes it.
func (h *host) viewSession(ctx context.Context, opts *options, name string) (*sessions.Log, error) {
	store, err := h.sessionStore(opts)
	if err != nil {
		return nil, err
	}
	id, err := findSession(ctx, store, name)
	if err != nil {
		return nil, err
	}
	log, err := store.View(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, n := range log.Notices() {
		fmt.Fprintln(h.stderr, "note:", trust.Printable(n))
	}
	return log, nil
}

// transcriptOf returns the transcript of a stored session.
func (h *host) transcriptOf(ctx context.Context, opts *options, log *sessions.Log) (*transcript.Session, error) {
	s, err := transcript.Stored(log)
	if err != nil {
		return nil, err
	}
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return nil, err
	}
	s.Tools = tools.All(new(tools.Settings))
	models := h.registry(dir, opts, func(string) {})
	defer models.Close()
	_ = models.Load(ctx) // without it the transcript lacks windows and prices
	known := make(map[string]providers.ModelInfo)
	for _, m := range models.All() {
		known[m.Ref()] = m
	}
	s.Models = func(ref string) (providers.ModelInfo, bool) { m, ok := known[ref]; return m, ok }
	return s, nil
}

func newSessionsShow(h *host, opts *options) *cobra.Command {
	entries := false
	cmd := &cobra.Command{
		Use:   "show id",
		Short: "Print a session as Markdown",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := h.viewSession(cmd.Context(), opts, args[0])
			if err != nil {
				return err
			}
			defer func() { _ = log.Close() }() // it was only read
			out := &terminalText{w: bufio.NewWriter(h.stdout)}
			if entries {
				err = showEntries(out, log)
			} else {
				var s *transcript.Session
				if s, err = h.transcriptOf(cmd.Context(), opts, log); err == nil {
					err = transcript.Write(out, s, transcript.Markdown)
				}
			}
			return errors.Join(err, out.w.Flush())
		},
	}
	cmd.Flags().BoolVar(&entries, "entries", false, "list the entries of all branches instead; a star marks those of the active one")
	return cmd
}

// showEntries lists the tree of a session.
func showEntries(out io.Writer, log *sessions.Log) error {
	all, err := log.Entries()
	if err != nil {
		return err
	}
	branch, err := log.Branch()
	if err != nil {
		return err
	}
	active, labels := make(map[string]bool), log.Labels()
	for _, e := range branch {
		active[e.Ref().ID] = true
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\tID\tPARENT\tKIND\tLABEL\tWORDS")
	for _, e := range all {
		ref := e.Ref()
		mark, parent := "", ref.ParentID
		if active[ref.ID] {
			mark = "*"
		}
		if parent == "" {
			parent = "-"
		}
		kind, words := string(e.Kind()), firstWords(e)
		if m, ok := e.(sessions.MessageEntry); ok {
			kind = m.Role
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", mark, trust.Printable(ref.ID), trust.Printable(parent), trust.Printable(kind),
			trust.Printable(labels[ref.ID]), trust.Printable(words))
	}
	return w.Flush()
}

// maxWords is the number of characters of an entry that are listed.
const maxWords = 60

// firstWords returns the beginning of an entry's text.
func firstWords(e sessions.Entry) string {
	said := ""
	switch e := e.(type) {
	case sessions.MessageEntry:
		said = e.Message.Text()
		for _, c := range e.Message.ToolCalls() {
			said += " [" + c.Name + "]"
		}
	case sessions.CustomMessage:
		said = (&providers.Message{Parts: e.Parts}).Text()
	case sessions.ModelChange:
		said = e.Model
	case sessions.ThinkingChange:
		said = string(e.Level)
	case sessions.ModeChange:
		said = e.Mode
	case sessions.Compaction:
		said = e.Summary
	case sessions.BranchSummary:
		said = e.Summary
	case sessions.Label:
		said = e.TargetID + " " + e.Label
	case sessions.Custom:
		said = e.CustomType
	default:
	}
	if r := []rune(said); len(r) > 4*maxWords {
		said = string(r[:4*maxWords])
	}
	return text.Truncate(text.OneLine(said), maxWords)
}

// terminalText removes control characters, so that a conversation cannot control the terminal.
type terminalText struct{ w *bufio.Writer }

func (t *terminalText) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		// A character that is split between two writes contains no control character.
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == '\n' || r == '\t' || r == utf8.RuneError && n == 1 && rest[0] >= utf8.RuneSelf:
			_ = t.w.WriteByte(rest[0])
		case r < ' ' || r >= 0x7f && r < 0xa0:
			_, _ = t.w.WriteRune(utf8.RuneError)
		default:
			_, _ = t.w.Write(rest[:n])
		}
		rest = rest[n:]
	}
	_, err := t.w.Write(nil) // the writer keeps its first error
	return len(p), err
}

func newSessionsExport(h *host, opts *options) *cobra.Command {
	var file, format string
	force := false
	cmd := &cobra.Command{
		Use:   "export id",
		Short: "Write a session to a file, as an HTML page, Markdown or JSON",
		Long:  "export writes a session to a file: one self-contained HTML page, Markdown, or JSON. Without --output the file is gjc-session-<id>.html in this directory; - means standard output. The format follows from --format, or else from the file's name.",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			want := transcript.FormatOf(file, transcript.HTML)
			if format != "" {
				var err error
				if want, err = transcript.ParseFormat(format); err != nil {
					return fmt.Errorf("%w: %w", errUsage, err)
				}
			}
			log, err := h.viewSession(cmd.Context(), opts, args[0])
			if err != nil {
				return err
			}
			defer func() { _ = log.Close() }() // it was only read
			s, err := h.transcriptOf(cmd.Context(), opts, log)
			if err != nil {
				return err
			}
			if file == "-" {
				if err := transcript.Write(h.stdout, s, want); err != nil {
					return fmt.Errorf("writing the session to standard output: %w", err)
				}
				return nil
			}
			if file == "" {
				file = "gjc-session-" + log.ID() + "." + string(want)
			}
			path, err := filepath.Abs(file)
			if err != nil {
				return err
			}
			if err := writeExport(path, force, func(w io.Writer) error { return transcript.Write(w, s, want) }); err != nil {
				return err
			}
			_, err = fmt.Fprintf(h.stdout, "Exported to %s\n", trust.Printable(path))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&file, "output", "o", "", "write to this file; - means standard output")
	f.StringVar(&format, "format", "", "md, json or html; if empty, what the file's name says")
	f.BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

// writeExport writes a file atomically. Without force it does not replace an existing file.
func writeExport(path string, force bool, write func(io.Writer) error) (err error) {
	there := fmt.Errorf("%s exists already; name another file with -o, or use --force", trust.Printable(path))
	switch info, err := os.Lstat(path); {
	case err != nil: // creating the file shows what is wrong
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name a file in it with -o", trust.Printable(path))
	case !force:
		return there
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".gjc-export-*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s; create it, or name another file with -o", trust.Printable(filepath.Dir(path)))
	}
	if err != nil {
		return fmt.Errorf("exporting the session: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // it no longer exists if it was renamed
	if err := errors.Join(write(temp), temp.Close()); err != nil {
		return fmt.Errorf("exporting the session to %s: %w", path, err)
	}
	if !force {
		switch err := os.Link(temp.Name(), path); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			return there
		default: // a file system without links
		}
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("exporting the session: %w", err)
	}
	return nil
}

func newSessionsMigrate(h *host, opts *options) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "migrate --to PLACE",
		Short: "Copy all sessions to a database, or back to a directory",
		Long: "migrate copies all sessions with their images, outputs, helpers and marks. A place is an address such as postgres://user@host/database, or the path of an agent directory. " +
			"It overwrites nothing: a session that the target already has stays as it is, and one with another content there is reported. Sessions that are open are skipped. After an interruption, run it again.",
		Example: "  gjc sessions migrate --to postgres://gjc@db.example.com/gjc\n  gjc sessions migrate --from postgres://gjc@db.example.com/gjc --to ~/.gjc/agent",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return fmt.Errorf("%w: --to is missing", errUsage)
			}
			return migrateSessions(cmd.Context(), h, opts, from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the place to copy from; if it is not given, the one that the other commands use")
	cmd.Flags().StringVar(&to, "to", "", "the place to copy to")
	return cmd
}

func migrateSessions(ctx context.Context, h *host, opts *options, from, to string) error {
	var source storage.Place
	switch {
	case from == "" && h.shared != nil:
		source = *h.shared
	default:
		if from == "" {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return err
			}
			from = dir
		}
		place, end, err := storage.Open(ctx, from)
		if err != nil {
			return fmt.Errorf("%w: --from: %w", errUsage, err)
		}
		defer end()
		source = place
	}
	target, end, err := storage.Open(ctx, to)
	if err != nil {
		return fmt.Errorf("%w: --to: %w", errUsage, err)
	}
	defer end()
	if source.Name == target.Name {
		return fmt.Errorf("%w: --from and --to are both %s", errUsage, source.Name)
	}
	report, err := storage.Copy(ctx, source, target)
	fmt.Fprintf(h.stdout, "Copied %s and %s (%s) from %s to %s.\n", text.Count(report.Copied, "session"), text.Count(report.Images, "image"), byteCount(report.Bytes), source.Name, target.Name)
	if report.Same > 0 {
		fmt.Fprintf(h.stdout, "%s had been copied before.\n", text.Count(report.Same, "session"))
	}
	for _, name := range report.InUse {
		fmt.Fprintf(h.stdout, "skipped, because it is open: %s\n", trust.Printable(name))
	}
	for _, name := range report.Different {
		fmt.Fprintf(h.stdout, "skipped, because the target has another content: %s\n", trust.Printable(name))
	}
	if err == nil && len(report.InUse)+len(report.Different) > 0 {
		err = fmt.Errorf("%s not copied; close the open ones and run it again, or delete the other ones there", text.Count(len(report.InUse)+len(report.Different), "session"))
	}
	return err
}
