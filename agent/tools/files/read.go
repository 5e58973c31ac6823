// Package files implements the tools that read and change files: read, write, edit, apply_patch, notebook and undo.
package files

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/ipynb"
	"github.com/gajae-code/gjc/internal/picture"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/webclient"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed read.md
var readText string

type readInput struct {
	Path string `json:"path" jsonschema:"file, directory or URL, with an optional selector: a.go, a.go:40-60, a.go:40+20, a.go:raw, a.zip:inner/a.go"`
}

// Read returns the tool "read", which reads files, directories, members of archives and databases, and web pages through pages.
func Read(s *EditSettings, pages *webclient.Client) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[readInput]{
		Schemas: schemas,
		Name:    "read", Description: toolkit.Description(readText), Kind: agent.KindRead,
		Plan: planRead,
		Run: func(ctx context.Context, call *agent.Call, in *readInput) (*agent.Result, error) {
			if isConflict(in.Path) {
				return readShown(ctx, call, in.Path)
			}
			// What the path means may have changed since the target was judged.
			t, planned := call.Prepared.(*target)
			if !planned {
				var err error
				if t, err = resolveTarget(ctx, call, in.Path); err != nil {
					return nil, err
				}
			}
			if toolkit.IsWeb(t.path) {
				return toolkit.FetchPage(ctx, call, pages, &toolkit.WebPage{Address: t.path, Sel: t.sel})
			}
			return runRead(ctx, call, t, s)
		},
	})
}

const (
	artifactScheme = "artifact://"
	historyScheme  = "history://"
)

// target is the parsed path of a read call.
type target struct {
	// path is absolute, or the URL of an artifact or of a page.
	path string
	sel  toolkit.Selector
	// container is set for a file with parts: an archive, a database, a document. inner is the part of the path after the file's name.
	container *container
	inner     string
}

// artifact reports whether the target is not a file but something that the session stores: an output, a rule, a skill, a local file, or the
// report or the conversation of a helper.
func (t *target) artifact() bool { return isArtifact(t.path) }

func isArtifact(path string) bool {
	return strings.HasPrefix(path, artifactScheme) || strings.HasPrefix(path, historyScheme) || agent.IsDocument(path) || isLocal(path)
}

// resolveTarget splits a path from its selector. An existing file named "a:3" has precedence over line 3 of "a".
func resolveTarget(ctx context.Context, call *agent.Call, input string) (*target, error) {
	if strings.TrimSpace(input) == "" {
		return nil, fmt.Errorf("%w for read: path is empty", agent.ErrBadInput)
	}
	if len(input) > toolkit.MaxReadPath {
		return nil, fmt.Errorf("%w for read: path is %s long, longer than any file's", agent.ErrBadInput, toolkit.Size(int64(len(input))))
	}
	base, sel, err := toolkit.SplitSelector(input)
	if isArtifact(input) {
		return &target{path: base, sel: sel}, err
	}
	if toolkit.IsWeb(input) {
		page, err := toolkit.ParseWebPage(input)
		if page == nil {
			return nil, err
		}
		return &target{path: page.Address, sel: page.Sel}, err
	}
	if scheme, _, ok := strings.Cut(input, "://"); ok {
		return nil, fmt.Errorf("%w for read: %s:// addresses cannot be read; path must be a file, a directory, or an address with http:// or https://", agent.ErrBadInput, toolkit.CutLine(scheme, 40))
	}
	if base != input || err != nil {
		whole := call.Workspace.Resolve(input)
		if _, serr := call.FS.Stat(ctx, whole); serr == nil {
			return &target{path: whole}, nil
		}
	}
	if t := inContainer(ctx, call, input); t != nil {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	return &target{path: call.Workspace.Resolve(base), sel: sel}, nil
}

func planRead(ctx context.Context, call *agent.Call, in *readInput) (*agent.CallPlan, error) {
	if isConflict(in.Path) {
		return planShown(call, in.Path)
	}
	t, err := resolveTarget(ctx, call, in.Path)
	if err != nil {
		return nil, err
	}
	call.Prepared = t
	if t.artifact() {
		return &agent.CallPlan{Title: "Read " + t.path}, nil
	}
	if toolkit.IsWeb(t.path) {
		return toolkit.PlanFetch(&toolkit.WebPage{Address: t.path, Sel: t.sel})
	}
	loc := agent.Location{Path: t.path}
	if len(t.sel.Ranges) > 0 {
		loc.Line = t.sel.Ranges[0].First
	}
	return &agent.CallPlan{
		Title:     "Read " + toolkit.Display(&call.Workspace, t.path) + t.inner,
		Locations: []agent.Location{loc},
		Effects:   []approval.Effect{{Action: approval.ActionRead, Path: t.path, Member: t.member()}},
	}, nil
}

func runRead(ctx context.Context, call *agent.Call, t *target, s *EditSettings) (*agent.Result, error) {
	if isLocal(t.path) {
		return readLocal(ctx, call, t, s)
	}
	if t.artifact() {
		return readArtifact(ctx, call, t)
	}
	name := toolkit.Display(&call.Workspace, t.path)
	info, err := call.FS.Stat(ctx, t.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	case err != nil: // it may still be an unsaved new file in the editor
	case info.IsDir():
		return listDirectory(ctx, call, t.path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket, not a regular file", name)
	case t.container != nil:
		return t.container.read(ctx, call, name, t)
	case info.Size() > toolkit.MaxReadFile:
		return readLong(ctx, call, name, t)
	}
	data, err := call.FS.ReadFile(ctx, t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, toolkit.Missing(ctx, call, t.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	edits.Saw(call, t.path, data)
	if content, _, err := toolkit.DecodeText(data); err == nil && content != "" && t.sel.Conflicts {
		return readConflicts(call, t.path, name, content), nil
	}
	t.sel.Anchors = s.anchors(&call.Model)
	return showData(ctx, call, name, data, t.sel)
}

func readArtifact(ctx context.Context, call *agent.Call, t *target) (*agent.Result, error) {
	if agent.IsDocument(t.path) {
		if call.Document == nil {
			return nil, fmt.Errorf("%s: this session has no rules, no skills and no helpers", t.path)
		}
		data, err := call.Document(ctx, t.path)
		if err != nil {
			return nil, err
		}
		return showText(t.path, data, t.sel)
	}
	if name, ok := strings.CutPrefix(t.path, historyScheme); ok {
		return readHistory(ctx, call, strings.TrimSuffix(name, "/"), t.sel)
	}
	if call.Artifacts == nil {
		return nil, fmt.Errorf("%s: this session keeps no outputs", t.path)
	}
	data, err := call.Artifacts.Get(ctx, t.path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", t.path, err)
	}
	return showText(t.path, data, t.sel)
}

// readHistory shows the conversation of a helper as Markdown.
func readHistory(ctx context.Context, call *agent.Call, name string, sel toolkit.Selector) (*agent.Result, error) {
	if call.Conversation == nil {
		return nil, fmt.Errorf("%s%s: this session has no helpers", historyScheme, name)
	}
	c, err := call.Conversation(ctx, name)
	if err != nil {
		return nil, err
	}
	title := c.Name
	if c.Title != "" {
		title += ": " + c.Title
	}
	var page bytes.Buffer
	if err := transcript.Write(&page, &transcript.Session{ID: c.ID, Title: title, Parent: c.Parent, Created: c.Created, Branch: c.Branch}, transcript.Markdown); err != nil {
		return nil, err
	}
	return showText(historyScheme+c.Name, page.Bytes(), sel)
}

// showData returns the result for the bytes of a file, according to their kind.
func showData(ctx context.Context, call *agent.Call, name string, data []byte, sel toolkit.Selector) (*agent.Result, error) {
	switch {
	case sel.Whole() && picture.Type(data) != "":
		return toolkit.ShowImage(ctx, call, name, data)
	case strings.EqualFold(path.Ext(name), ".ipynb") && !sel.Raw && !sel.Conflicts:
		cellText, cells, err := ipynb.Text(data)
		if err != nil {
			res, terr := showText(name, data, sel)
			if terr == nil {
				res.Text = toolkit.JoinNotes(res.Text, []string{"It cannot be shown as a notebook: " + err.Error() + "."})
			}
			return res, terr
		}
		note := fmt.Sprintf("A notebook with %s, shown as text: the lines differ from those of the file; %s:raw shows the file.", text.Count(cells, "cell"), name)
		return showMade(name, cellText, sel, note)
	case bytes.HasPrefix(data, []byte("%PDF-")) && !sel.Raw:
		return nil, fmt.Errorf("%s is a PDF (%s), which read does not support; if poppler is installed, pdftotext -layout FILE - prints its text", name, toolkit.Size(int64(len(data))))
	default:
		return showText(name, data, sel)
	}
}

// showText returns the result for text: the requested lines, within the limits.
func showText(name string, data []byte, sel toolkit.Selector) (*agent.Result, error) {
	text, enc, err := toolkit.DecodeText(data)
	invalid := errors.Is(err, toolkit.ErrNotUTF8) || errors.Is(err, toolkit.ErrHalves)
	notes := toolkit.EncodingNotes(enc, invalid)
	if err != nil && !invalid {
		return nil, fmt.Errorf("%s cannot be shown: %w (%s); a command such as file or xxd can show more", name, err, toolkit.Size(int64(len(data))))
	}
	if text == "" {
		return &agent.Result{Text: "(" + path.Base(name) + " is empty)"}, nil
	}
	lines := toolkit.SplitLines(toolkit.LineFeeds(text))
	if sel.Conflicts {
		return showConflicts(name, lines, nil), nil
	}
	w := toolkit.Window{Name: name, Lines: &toolkit.TextLines{Lines: lines}, Raw: sel.Raw, Anchors: sel.Anchors}
	if err := w.Show(sel.Ranges); err != nil {
		return nil, err
	}
	return &agent.Result{Text: toolkit.JoinNotes(w.Out.String(), append(notes, w.Notes...))}, nil
}

// showMade returns the result for text that was derived from a file: its lines are not the file's.
func showMade(name, text string, sel toolkit.Selector, notes ...string) (*agent.Result, error) {
	if text == "" {
		return &agent.Result{Text: toolkit.JoinNotes("", notes)}, nil
	}
	w := toolkit.Window{Name: name, Lines: &toolkit.TextLines{Lines: toolkit.SplitLines(text)}, Raw: sel.Raw, Made: true}
	if err := w.Show(sel.Ranges); err != nil {
		return nil, err
	}
	return &agent.Result{Text: toolkit.JoinNotes(w.Out.String(), append(w.Notes, notes...))}, nil
}
