package search

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed astedit.md
var astEditText string

// Limits of the ast_edit tool.
const (
	maxASTEdited = 1000
	maxASTOps    = 50
	// maxASTTexts bounds the texts of the files to change, before and after, in bytes.
	maxASTTexts = 64 << 20
)

type astEditInput struct {
	Ops   []astOp  `json:"ops" jsonschema:"what to rewrite"`
	Paths []string `json:"paths" jsonschema:"files, directories or globs"`
	Lang  string   `json:"lang,omitzero" jsonschema:"only files of this language; all if absent"`
}

type astOp struct {
	Pattern string `json:"pat" jsonschema:"a piece of code with $NAME and $$$NAME as metavariables"`
	Out     string `json:"out" jsonschema:"the replacement code; empty deletes the match"`
}

// AstEdit returns the tool "ast_edit", which rewrites code by its structure with ast-grep. globalIgnore is the path of the user's own ignore
// file, or "".
func AstEdit(globalIgnore string) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[astEditInput]{
		Schemas: schemas,
		Name:    "ast_edit", Description: toolkit.Description(astEditText), Kind: agent.KindSearch, Exclusive: true, Program: astProgram,
		Uses: approval.Uses{Programs: []string{astProgram}},
		Plan: planASTEdit, Run: func(ctx context.Context, call *agent.Call, in *astEditInput) (*agent.Result, error) {
			return runASTEdit(ctx, call, in, globalIgnore)
		},
	})
}

func planASTEdit(ctx context.Context, call *agent.Call, in *astEditInput) (*agent.CallPlan, error) {
	scopes, _, err := in.check(ctx, call)
	if err != nil {
		return nil, err
	}
	return &agent.CallPlan{Title: "Preview " + in.title(), Effects: globEffects(scopes)}, nil
}

func (in *astEditInput) title() string {
	title := fmt.Sprintf("rewriting %s to %s", toolkit.CutLine(text.VisibleLine(in.Ops[0].Pattern), toolkit.MaxCommandTitle), toolkit.CutLine(text.VisibleLine(in.Ops[0].Out), toolkit.MaxCommandTitle))
	if more := len(in.Ops) - 1; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	return title + " in " + strings.Join(in.Paths, ", ")
}

// metaVariable matches the names in patterns.
var metaVariable = lazyregexp.New(`\$\$?\$?[A-Z_][A-Z0-9_]*`)

func (in *astEditInput) check(ctx context.Context, call *agent.Call) (scopes []walk.Glob, language string, err error) {
	switch {
	case len(in.Ops) == 0:
		return nil, "", fmt.Errorf("%w for ast_edit: ops is empty; give at least one", agent.ErrBadInput)
	case len(in.Ops) > maxASTOps:
		return nil, "", fmt.Errorf("%w for ast_edit: there are %d ops; the limit is %d", agent.ErrBadInput, len(in.Ops), maxASTOps)
	}
	for i := range in.Ops {
		op := &in.Ops[i]
		if slices.ContainsFunc(in.Ops[:i], func(o astOp) bool { return strings.TrimSpace(o.Pattern) == strings.TrimSpace(op.Pattern) }) {
			return nil, "", fmt.Errorf("%w for ast_edit: two ops have the same pat %q", agent.ErrBadInput, toolkit.CutLine(op.Pattern, toolkit.MaxCommandTitle))
		}
		if len(op.Out) > maxASTPattern || strings.ContainsRune(op.Out, 0) {
			return nil, "", fmt.Errorf("%w for ast_edit: an out is longer than %s or contains a NUL byte", agent.ErrBadInput, toolkit.Size(maxASTPattern))
		}
		known := metaVariable().FindAllString(op.Pattern, -1)
		for _, name := range metaVariable().FindAllString(op.Out, -1) {
			if !slices.Contains(known, name) {
				return nil, "", fmt.Errorf("%w for ast_edit: out has %s, which its pat %q does not", agent.ErrBadInput, name, toolkit.CutLine(op.Pattern, toolkit.MaxCommandTitle))
			}
		}
		if scopes, language, err = astScopes(ctx, call, "ast_edit", op.Pattern, in.Paths, in.Lang); err != nil {
			return nil, "", err
		}
	}
	return scopes, language, nil
}

func runASTEdit(ctx context.Context, call *agent.Call, in *astEditInput, globalIgnore string) (*agent.Result, error) {
	scopes, language, err := in.check(ctx, call)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxASTTime, errASTTime)
	defer cancel()
	files, notes, err := astFiles(ctx, call, scopes, language, globalIgnore)
	if err != nil {
		return nil, err
	}
	s := astStaging{call: call, edits: make(map[string][]astChange), notes: notes}
	for i := range in.Ops {
		if err := s.find(ctx, &in.Ops[i], i, files); err != nil {
			return nil, err
		}
	}
	if err := s.plan(ctx); err != nil {
		return nil, err
	}
	pending := agent.Value(call.Values, newPendingEdit)
	if len(s.ops) == 0 {
		return &agent.Result{Text: toolkit.JoinNotes("Nothing would change.", s.notes)}, nil
	}
	if pending.put(newStagedEdit(in.title(), s.ops, s.count)) {
		s.notes = append(s.notes, "This preview replaces the previous one, which was neither applied nor discarded.")
	}
	changes := &edits.Operations{Call: call, Ops: s.ops}
	summary := fmt.Sprintf("%s in %s. Nothing has been changed yet: call resolve with action apply or discard.", text.Count(s.count, "replacement"), text.Count(len(s.ops), "file"))
	s.notes = append(s.notes, summary)
	diffs, left := astDiffs(changes)
	if left > 0 {
		s.notes = append(s.notes, "The diffs of "+text.Count(left, "more file")+" are not shown.")
	}
	return &agent.Result{Text: toolkit.JoinNotes(diffs, s.notes), Locations: changes.Places()}, nil
}

// astDiffs returns the diffs of the files that fit, and how many files do not.
func astDiffs(c *edits.Operations) (diffs string, left int) {
	var b strings.Builder
	for i := range c.Ops {
		o := &c.Ops[i]
		name := c.Name(o.Path)
		one := fmt.Sprintf("%s: %s\n%s\n", name, text.Count(o.Edits, "replacement"), strings.TrimSuffix(toolkit.ShortDiff(name, toolkit.LineFeeds(o.Old), toolkit.LineFeeds(o.New)), "\n"))
		if i > 0 && b.Len()+len(one) > toolkit.MaxText {
			return b.String(), len(c.Ops) - i
		}
		b.WriteString(one)
	}
	return b.String(), 0
}

// astChange is a replacement in a file, by byte offsets in the file on the disk.
type astChange struct {
	start, end int
	old, text  string
	// op is the index of the op that makes the change.
	op int
}

// astStaging computes the changes of a call.
type astStaging struct {
	call  *agent.Call
	edits map[string][]astChange
	// order lists the files in the order in which they were found.
	order []string

	ops   []lsp.FileOperation
	count int
	notes []string
}

func (s *astStaging) find(ctx context.Context, op *astOp, number int, files []astFile) error {
	run, err := newASTRun(s.call, astSearch{pattern: strings.TrimSpace(op.Pattern), rewrite: &op.Out})
	if err != nil {
		return err
	}
	matches, err := run.matches(ctx, files, func(int) bool { return false })
	if err != nil {
		return err
	}
	if run.cut {
		return errors.New("too many matches, so nothing was changed; narrow the paths")
	}
	for _, why := range run.complained() {
		s.notes = append(s.notes, "Nothing was rewritten for "+why+".")
	}
	for i := range matches {
		m := &matches[i]
		if _, known := s.edits[m.File]; !known {
			s.order = append(s.order, m.File)
		}
		at := m.ReplacementOffsets
		s.edits[m.File] = append(s.edits[m.File], astChange{at.Start, at.End, m.Text, m.Replacement, number})
	}
	if len(s.order) > maxASTEdited {
		return fmt.Errorf("the patterns match in %d files; at most %d are changed at once. Narrow the paths", len(s.order), maxASTEdited)
	}
	return nil
}

// plan creates the operations.
func (s *astStaging) plan(ctx context.Context) error {
	slices.SortFunc(s.order, walk.ComparePaths)
	texts, nested := 0, 0
	for _, path := range s.order {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := toolkit.Display(&s.call.Workspace, path)
		file, err := edits.OpenText(ctx, s.call, path)
		if errors.Is(err, fs.ErrNotExist) {
			return edits.StaleError(s.call, path)
		}
		if err != nil {
			return err
		}
		data := toolkit.EncodeText(file.Text, file.Encoding)
		saved, err := walk.ReadFile(path, toolkit.MaxReadFile)
		if err != nil || !bytes.Equal(saved, data) {
			s.notes = append(s.notes, name+" was skipped: it has unsaved changes in the editor, and ast-grep reads the disk.")
			continue
		}
		changes, inside, err := outermost(s.edits[path])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		nested += inside
		now, err := replaceAt(data, changes)
		if err != nil {
			return fmt.Errorf("%s: %w", name, edits.ErrStale)
		}
		text, encoding, err := toolkit.DecodeText(now)
		if err != nil || encoding != file.Encoding {
			return fmt.Errorf("%s would no longer be text: %w", name, errors.Join(err, toolkit.ErrNotUTF8))
		}
		if text == file.Text {
			continue
		}
		if texts += len(text) + len(file.Text); texts > maxASTTexts {
			return fmt.Errorf("the files to change are larger than %s in total; narrow the paths", toolkit.Size(maxASTTexts))
		}
		s.ops = append(s.ops, lsp.FileOperation{Kind: lsp.WriteFile, Path: path, Old: file.Text, New: text, Edits: len(changes)})
		s.count += len(changes)
	}
	if nested > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s inside another; once this is applied, call again for the rest.", countVerb(nested, "match lies", "matches lie")))
	}
	return nil
}

func countVerb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// outermost removes changes nested in another of the same op, and returns how many. Changes of two ops must not overlap.
func outermost(changes []astChange) (outer []astChange, inside int, err error) {
	slices.SortStableFunc(changes, func(a, b astChange) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	for _, c := range changes {
		if len(outer) > 0 {
			last := outer[len(outer)-1]
			switch overlap := c.start < last.end || c.start == last.start && c.end == last.end; {
			case overlap && c.op != last.op:
				return nil, 0, fmt.Errorf("two ops match code that overlaps, as in %q; make the patterns narrower, or edit in two calls", toolkit.CutLine(text.VisibleLine(last.old), maxASTVariable))
			case overlap:
				inside++
				continue
			}
		}
		outer = append(outer, c)
	}
	return outer, inside, nil
}

// replaceAt makes the changes, which are in order and do not overlap. It fails if data has changed since the matches were found.
func replaceAt(data []byte, changes []astChange) ([]byte, error) {
	var out []byte
	at := 0
	for _, c := range changes {
		if c.start < at || c.end < c.start || c.end > len(data) || !bytes.HasPrefix(data[c.start:], []byte(c.old)) {
			return nil, edits.ErrStale
		}
		out = append(append(out, data[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, data[at:]...), nil
}
