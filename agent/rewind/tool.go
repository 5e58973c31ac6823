package rewind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/text"
)

// Tool returns the tool "rewind", which only the user can call: it restores the state before a step. Its text is for the user and the
// model.
func (r *Recorder) Tool(p *Plan) agent.Tool { return &tool{recorder: r, plan: p} }

type tool struct {
	recorder *Recorder
	plan     *Plan
}

// Limits of what a call shows.
const (
	maxDiffs = 100     // files
	maxDiff  = 1 << 20 // bytes of a file that goes through the editor
	maxNamed = 20      // files that a text names
)

// Spec implements [agent.Tool].
func (*tool) Spec() *agent.ToolSpec {
	return &agent.ToolSpec{
		Name: "rewind", Kind: agent.KindEdit, Schema: jsonx.Raw(`{"type":"object"}`), Exclusive: true,
		Uses: approval.Uses{Roots: true},
	}
}

// Plan implements [agent.Tool].
func (t *tool) Plan(ctx context.Context, _ *agent.Call) (*agent.CallPlan, error) {
	plan := &agent.CallPlan{Title: "Rewind the files to before: " + t.plan.Step.Title}
	for i, f := range t.plan.Files() {
		action := approval.ActionEdit
		if f.To == nil {
			action = approval.ActionDelete
		}
		plan.Effects = append(plan.Effects, approval.Effect{Action: action, Path: f.Path, Subject: f.Path})
		if i >= maxDiffs {
			continue
		}
		plan.Locations = append(plan.Locations, agent.Location{Path: f.Path})
		if diff, ok := f.diff(ctx); ok {
			plan.Content = append(plan.Content, diff)
		}
	}
	return plan, nil
}

// diff returns how the file changes, if it is a text before and after.
func (f *File) diff(ctx context.Context) (agent.DiffContent, bool) {
	d := agent.DiffContent{Path: f.Path}
	if f.From != nil {
		old, ok := f.text(ctx, f.From)
		if !ok {
			return d, false
		}
		s := string(old)
		d.Old = &s
	}
	if f.To != nil {
		to, ok := f.text(ctx, f.To)
		if !ok {
			return d, false
		}
		d.New = string(to)
	}
	return d, true
}

// text returns the content of a file that an editor can show.
func (f *File) text(ctx context.Context, s *checkpoint.State) ([]byte, bool) {
	if !s.File() || s.Size > maxDiff {
		return nil, false
	}
	var b bytes.Buffer
	if err := f.tree.Content(ctx, s, &b); err != nil || !utf8.Valid(b.Bytes()) || bytes.IndexByte(b.Bytes(), 0) >= 0 {
		return nil, false
	}
	return b.Bytes(), true
}

// edit is a change of a text, which goes through the editor, so that it is seen in the file's buffer.
type edit struct {
	*File
	to []byte
}

// Run implements [agent.Tool].
func (t *tool) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	if t.recorder.busy() > 1 { // besides this one
		return nil, errBusy
	}
	var edits []edit
	byUser := slices.Clone(t.plan.ByUser)
	files := t.plan.Files()
	for i := range files {
		f := &files[i]
		if err := permit.Check(ctx, permit.Effect{Action: permit.Change, Path: f.Path}); err != nil {
			return nil, err
		}
		if !f.From.File() {
			continue
		}
		from, isText := f.text(ctx, f.From)
		if !isText {
			continue
		}
		now, err := call.FS.ReadFile(ctx, f.Path)
		if err == nil && !bytes.Equal(now, from) && !slices.Contains(byUser, f.Path) {
			byUser = append(byUser, f.Path) // in a buffer that is not saved
		}
		if to, isText := f.text(ctx, orNone(f.To)); isText && f.From.Perm == f.To.Perm {
			edits = append(edits, edit{f, to})
		}
	}
	if err := t.consent(ctx, call, byUser); err != nil {
		return nil, err
	}
	if err := t.recorder.begin(ctx, t.plan); err != nil {
		return nil, err
	}
	for _, e := range edits {
		if err := call.FS.WriteFile(ctx, e.Path, e.to); err != nil {
			return nil, fmt.Errorf("%w; the rewind is not complete: run it again", err)
		}
	}
	problems, err := t.plan.restore(ctx, edits)
	if err != nil {
		return nil, fmt.Errorf("%w; the rewind is not complete: run it again", err)
	}
	call.Values.FilesChanged()
	return t.result(&call.Workspace, files, problems), nil
}

func orNone(s *checkpoint.State) *checkpoint.State {
	if s == nil {
		return new(checkpoint.State)
	}
	return s
}

// errKept reports that the user did not want to lose changes.
var errKept = errors.New("nothing was changed, because you changed some of the files yourself; save or commit your changes, and run /rewind again")

// consent asks about what the user has changed.
func (t *tool) consent(ctx context.Context, call *agent.Call, byUser []string) error {
	if len(byUser) == 0 {
		return nil
	}
	decision, err := call.Consent(ctx, agent.Consent{
		Title: "Overwrite " + text.Count(len(byUser), "file") + " that you changed",
		Text:  "You, or a program that gjc has not started, changed since then:\n" + list(&call.Workspace, byUser) + "\n\nRewinding takes that back too. /rewind can undo it.",
	})
	switch {
	case err != nil:
		return err
	case decision == agent.AllowOnce || decision == agent.AllowAlways || decision == agent.AllowWorkspace:
		return nil
	default:
		return errKept
	}
}

// list returns paths as a list for people.
func list(ws *agent.Workspace, paths []string) string {
	var b strings.Builder
	for i, path := range paths {
		if i == maxNamed {
			fmt.Fprintf(&b, "- and %d more\n", len(paths)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", ws.Display(path))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// restore restores everything that did not go through the editor.
func (p *Plan) restore(ctx context.Context, edits []edit) ([]checkpoint.Problem, error) {
	var problems []checkpoint.Problem
	for _, part := range p.parts {
		rest := slices.DeleteFunc(slices.Clone(part.changes), func(c checkpoint.Change) bool {
			path := filepath.Join(part.tree.Dir(), filepath.FromSlash(c.Path))
			return slices.ContainsFunc(edits, func(e edit) bool { return e.Path == path })
		})
		failed, err := part.tree.Restore(ctx, rest)
		problems = append(problems, failed...)
		if err != nil {
			return problems, err
		}
	}
	return problems, nil
}

// Apply restores the state outside of an editor, where no buffer has the files, and records what it has left.
func (r *Recorder) Apply(ctx context.Context, p *Plan) ([]checkpoint.Problem, error) {
	if err := r.begin(ctx, p); err != nil {
		return nil, err
	}
	problems, err := p.restore(ctx, nil)
	r.record(ctx, r.mark(checkpoint.After, "", p.Step.Title, true))
	return problems, err
}

// result describes what was done.
func (t *tool) result(ws *agent.Workspace, files []File, problems []checkpoint.Problem) *agent.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "Rewound %s to before: %s", text.Count(len(files)-min(len(files), len(problems)), "file"), t.plan.Step.Title)
	if names := describe(ws, files); names != "" {
		b.WriteString("\n" + names)
	}
	if len(problems) > 0 {
		b.WriteString("\nNot restored:\n")
		for _, p := range problems {
			fmt.Fprintf(&b, "- %s: %v\n", p.Path, p.Err)
		}
	}
	return &agent.Result{Text: strings.TrimSuffix(b.String(), "\n"), IsError: len(problems) > 0}
}

// describe lists files with what happens to them.
func describe(ws *agent.Workspace, files []File) string {
	var lines []string
	for i := range files {
		if i == maxNamed {
			lines = append(lines, fmt.Sprintf("- and %d more", len(files)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("- %s %s", files[i].Verb(), ws.Display(files[i].Path)))
	}
	return strings.Join(lines, "\n")
}
