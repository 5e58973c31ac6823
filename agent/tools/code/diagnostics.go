package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// Limits of the diagnostics action.
const (
	// maxDiagnosedFiles bounds the files of a glob.
	maxDiagnosedFiles = 20
	// diagnosedAtOnce is the number of files that are requested concurrently.
	diagnosedAtOnce = 4
	// maxListed bounds the problems that are listed.
	maxListed = 200
	// answerTime is the part of a call's timeout that is reserved for writing the result.
	answerTime = time.Second
)

func isGlob(file string) bool { return walk.HasMeta(file) }

// planDiagnostics adds the effects of reading the files, and of the project's checker for the workspace.
func planDiagnostics(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	switch file := strings.TrimSpace(c.in.File); {
	case file == "":
		return errors.New("file parameter required; use `*` for workspace scope where supported")
	case file == "*":
		return planWorkspaceDiagnostics(ctx, c, plan)
	case isGlob(file):
		g, err := walk.SplitGlob(ctx, c.call, file)
		if errors.Is(err, agent.ErrBadInput) {
			return err
		}
		plan.Effects = []approval.Effect{{Action: approval.ActionRead, Path: g.Base}}
	}
	return nil
}

func runDiagnostics(ctx context.Context, c *lspCall) (*agent.Result, error) {
	paths, note, err := c.diagnosedPaths(ctx)
	if err != nil {
		return nil, err
	}
	if note != "" {
		c.notes = append(c.notes, note)
	}
	if len(paths) == 0 {
		return c.result(ctx, "No files matched pattern: "+c.in.File), nil
	}
	end, _ := ctx.Deadline()
	limited, cancel := context.WithDeadline(ctx, end.Add(-answerTime))
	defer cancel()
	reports, errs := make([]*lsp.Report, len(paths)), make([]error, len(paths))
	var running sync.WaitGroup
	slots := make(chan struct{}, diagnosedAtOnce)
	for i, path := range paths {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			reports[i], errs[i] = c.w.Diagnostics(limited, path)
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(paths) == 1 {
		switch {
		case errors.Is(errs[0], fs.ErrNotExist):
			return nil, c.present(ctx)
		case errs[0] != nil:
			return nil, errs[0]
		case len(reports[0].Servers) == 0:
			return nil, c.noServer(ctx, "No language server found for "+c.name(paths[0]))
		}
	}
	var reported []*lsp.Report
	for i, path := range paths {
		switch r := reports[i]; {
		case errs[i] != nil:
			c.notes = append(c.notes, fmt.Sprintf("%s: %v", c.name(path), toolkit.Reason(errs[i])))
		case len(r.Servers) == 0:
			c.notes = append(c.notes, c.name(path)+": No language server found; nothing is known about it.")
		default:
			reported = append(reported, r)
		}
	}
	return c.reportResult(ctx, reported), nil
}

// diagnosedPaths returns the files that the call names. note says which files are omitted.
func (c *lspCall) diagnosedPaths(ctx context.Context) (paths []string, note string, err error) {
	if !isGlob(c.in.File) {
		if err := c.present(ctx); err != nil {
			return nil, "", err
		}
		return []string{c.path}, "", nil
	}
	g, err := walk.SplitGlob(ctx, c.call, strings.TrimSpace(c.in.File))
	switch {
	case errors.Is(err, agent.ErrBadInput):
		return nil, "", err
	case err != nil:
		return nil, "", nil // the file's directory does not exist
	case g.File:
		return []string{g.Base}, "", nil
	}
	more, match := 0, g.Matcher()
	err = walk.New(c.call).Walk(ctx, g.Base, func(path string, d fs.DirEntry) error {
		if d.IsDir() || !match(path) || c.call.Readable != nil && !c.call.Readable(path) {
			return nil
		}
		if len(paths) == maxDiagnosedFiles {
			more++
			return nil
		}
		paths = append(paths, path)
		return nil
	})
	if more > 0 {
		note = fmt.Sprintf("Only the first %d files were checked; %s match. Narrow the glob to check those.", maxDiagnosedFiles, text.Count(more, "more file"))
	}
	return paths, note, err
}

// reportResult returns the result for the servers' reports, with separate texts for the model and for people.
func (c *lspCall) reportResult(ctx context.Context, reports []*lsp.Report) *agent.Result {
	text := lsp.ReportText(reports, c.name, maxListed)
	for _, r := range reports {
		for i := range r.Diagnostics {
			d := &r.Diagnostics[i]
			c.follow(&place{path: d.Path, at: d.Start})
		}
	}
	res := c.result(ctx, text)
	res.Content = []agent.Content{agent.TextContent{Text: toolkit.JoinNotes(c.reportMarkdown(reports), c.notes)}}
	return res
}

// maxForPeople bounds the problems that an editor shows with the call. It usually lists them elsewhere too.
const maxForPeople = 50

func (c *lspCall) reportMarkdown(reports []*lsp.Report) string {
	var b strings.Builder
	shown := 0
	for _, r := range reports {
		about := lsp.Summary(r.Diagnostics)
		switch {
		case about != "":
		case len(r.Servers) > len(r.Silent)+len(r.Failed):
			about = "no problems"
		default:
			about = "not known"
		}
		fmt.Fprintf(&b, "**%s**: %s\n", c.name(r.Path), about)
		for i := range r.Diagnostics {
			if shown++; shown > maxForPeople {
				b.WriteString("- …\n")
				break
			}
			d := &r.Diagnostics[i]
			fmt.Fprintf(&b, "- %d:%d %s: %s\n", d.Start.Line, d.Start.Column, lsp.SeverityName(d.Severity), strings.Join(strings.Fields(d.Message), " "))
		}
		for _, s := range r.Silent {
			fmt.Fprintf(&b, "- %s has not answered in time\n", s)
		}
		for s, why := range r.Failed {
			fmt.Fprintf(&b, "- %s could not be asked: %s\n", s, strings.Join(strings.Fields(why), " "))
		}
	}
	return b.String()
}

// workspaceReports returns the problems of all files: requested from servers that support it, otherwise as published.
func (c *lspCall) workspaceReports(ctx context.Context, servers []*lsp.Server) []*lsp.Report {
	byPath := make(map[string]*lsp.Report)
	add := func(s *lsp.Server, path string, list func(text *lsp.Text) []lsp.Diagnostic) {
		text := c.text(ctx, path)
		if text == nil {
			return // the file was deleted or is outside the session
		}
		r := byPath[path]
		if r == nil {
			r = &lsp.Report{Path: path}
			byPath[path] = r
		}
		r.Servers = append(r.Servers, s.Name())
		for _, d := range list(text) {
			if !slices.Contains(r.Diagnostics, d) {
				r.Diagnostics = append(r.Diagnostics, d)
			}
		}
	}
	var files []string
	for _, s := range servers {
		c.asked = s.Name()
		if s.Supports("workspace/diagnostic", "") {
			c.awaitLoading(ctx, s)
			c.w.Refresh(ctx)
			found, ok, err := s.PullWorkspace(ctx)
			if err != nil {
				c.notes = append(c.notes, err.Error())
			}
			if ok && err == nil {
				for path, list := range found {
					if len(list) > 0 {
						add(s, path, func(text *lsp.Text) []lsp.Diagnostic {
							return lsp.NewDiagnostics(s.Name(), path, text, s.Encoding(), list)
						})
					}
				}
				continue
			}
		}
		if files == nil {
			files = c.workspaceFiles(ctx)
		}
		for _, path := range files {
			if list := s.Published(path); len(list) > 0 {
				add(s, path, func(text *lsp.Text) []lsp.Diagnostic {
					return lsp.NewDiagnostics(s.Name(), path, text, s.Encoding(), list)
				})
			}
		}
	}
	c.asked = ""
	reports := make([]*lsp.Report, 0, len(byPath))
	for _, r := range byPath {
		slices.SortStableFunc(r.Diagnostics, func(a, b lsp.Diagnostic) int {
			if a.Severity != b.Severity {
				return int(a.Severity) - int(b.Severity)
			}
			return a.Start.Line - b.Start.Line
		})
		reports = append(reports, r)
	}
	slices.SortFunc(reports, func(a, b *lsp.Report) int { return walk.ComparePaths(a.Path, b.Path) })
	return reports
}

// maxWorkspaceFiles bounds the files that are checked for published problems.
const maxWorkspaceFiles = 20_000

func (c *lspCall) workspaceFiles(ctx context.Context) []string {
	files := []string{}
	for _, root := range append([]string{c.call.Workspace.Cwd}, c.call.Workspace.Additional...) {
		// Results found before an error are good enough.
		_ = walk.New(c.call).Walk(ctx, root, func(path string, d fs.DirEntry) error {
			if !d.IsDir() {
				files = append(files, path)
			}
			if len(files) >= maxWorkspaceFiles {
				return fs.SkipAll
			}
			return nil
		})
	}
	return files
}

// checker is a project's own program that reports its problems.
type checker struct{ kind, line string }

// findChecker searches for the marker of a project in the working directory.
func findChecker(ctx context.Context, call *agent.Call) (checker, bool) {
	for _, m := range []struct {
		marker string
		checker
	}{
		{"Cargo.toml", checker{"rust", "cargo check --message-format=short"}},
		{"tsconfig.json", checker{"typescript", "npx --no-install tsc --noEmit"}},
		{"go.mod", checker{"go", "go build -o " + os.DevNull + " ./..."}}, // the build must not leave a binary behind
		{"pyproject.toml", checker{"python", "pyright"}},
		{"pyrightconfig.json", checker{"python", "pyright"}},
	} {
		if _, err := call.FS.Stat(ctx, filepath.Join(call.Workspace.Cwd, m.marker)); err == nil {
			return m.checker, true
		}
	}
	return checker{}, false
}

// workspaceDiagnostics runs the planned action for the whole workspace.
type workspaceDiagnostics struct {
	servers []*lsp.Server
	// check is the command to run; its line is empty if there is none.
	check checker
}

func planWorkspaceDiagnostics(ctx context.Context, c *lspCall, plan *agent.CallPlan) error {
	w := &workspaceDiagnostics{}
	c.call.Prepared = prepared(w)
	all, _, err := c.w.All(ctx)
	if err != nil {
		return err
	}
	pulls := false
	for _, s := range all {
		c.asked = s.Name()
		if err := s.Start(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			continue // its exit status reports the failure
		}
		w.servers = append(w.servers, s)
		pulls = pulls || s.Supports("workspace/diagnostic", "")
	}
	check, ok := findChecker(ctx, c.call)
	if !ok && len(w.servers) == 0 {
		return c.noServer(ctx, "Cannot detect project type. There is no checker to run for the workspace (Cargo.toml, tsconfig.json, go.mod, pyproject.toml), and no language server")
	}
	if ok && !pulls && (c.in.Apply == nil || *c.in.Apply) {
		w.check = check
		plan.Content = []agent.Content{agent.TextContent{Text: "$ " + check.line}}
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionCommand, Command: check.line, Title: check.line})
	}
	return nil
}

// maxCheckerLines bounds the lines of a checker's output that are shown.
const maxCheckerLines = 50

func (w *workspaceDiagnostics) run(ctx context.Context, c *lspCall) (*agent.Result, error) {
	var reports []*lsp.Report
	if err := c.within(ctx, func(ctx context.Context) error {
		reports = c.workspaceReports(ctx, w.servers)
		return nil
	}); err != nil {
		return nil, err
	}
	var known []string
	for _, s := range w.servers {
		if s.Supports("workspace/diagnostic", "") {
			known = append(known, s.Name())
		}
	}
	var b strings.Builder
	text := lsp.ReportText(reports, c.name, maxListed)
	switch {
	case text != "":
		b.WriteString("Workspace diagnostics of the language servers:\n" + text + "\n")
	case len(known) > 0:
		fmt.Fprintf(&b, "No issues found (%s)\n", strings.Join(known, ", "))
	case len(w.servers) > 0:
		b.WriteString("The language servers have reported no problems so far; they know only the files that were opened, not the whole workspace.\n")
	}
	for _, r := range reports {
		for i := range r.Diagnostics {
			c.follow(&place{path: r.Path, at: r.Diagnostics[i].Start})
		}
	}
	var shown []agent.Content
	if len(reports) > 0 {
		shown = append(shown, agent.TextContent{Text: c.reportMarkdown(reports)})
	}
	if w.check.line != "" {
		checked, err := w.checked(ctx, c)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "Workspace diagnostics (%s):\n%s\n", w.check.kind, checked.Text)
		shown = append(shown, checked.Content...)
	}
	res := c.result(ctx, b.String())
	if shown != nil {
		res.Content = shown
	}
	return res, nil
}

// checked runs the checker with the timeout for commands: a first build takes longer than a language server may.
func (w *workspaceDiagnostics) checked(ctx context.Context, c *lspCall) (*agent.Result, error) {
	res, err := c.check(ctx, c.call, w.check.line)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(res.Text, "\n")
	if len(lines) > maxCheckerLines {
		lines = append(lines[:maxCheckerLines:maxCheckerLines], fmt.Sprintf("... and %d more lines", len(lines)-maxCheckerLines))
	}
	res.Text = strings.Join(lines, "\n")
	if !res.IsError && strings.HasPrefix(res.Text, "(no output)") {
		res.Text = "No issues found"
	}
	return res, nil
}
