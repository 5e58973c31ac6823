package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed write.md
var writeText string

type writeInput struct {
	Path    string `json:"path" jsonschema:"the file, relative to the working directory or absolute, a member of an archive: a.zip:docs/a.md, or a row of a database: a.db:users:7"`
	Content string `json:"content" jsonschema:"the complete text of the file; for a row, a JSON object"`
}

// Write returns the tool "write", which writes whole files, members of archives and rows of databases.
func Write(s *EditSettings) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[writeInput]{
		Schemas: schemas,
		Name:    "write", Description: toolkit.Description(writeText), Kind: agent.KindEdit, Exclusive: true,
		Uses: edits.Uses(),
		Plan: func(ctx context.Context, call *agent.Call, in *writeInput) (*agent.CallPlan, error) {
			if isConflict(in.Path) {
				content, _ := s.bare(call, in.Content)
				r, err := resolve(ctx, call, in.Path, content)
				if err != nil {
					return nil, err
				}
				call.Prepared = r
				return r.plan(call), nil
			}
			if isLocal(in.Path) {
				path, err := changePath(call, "write", in.Path)
				return &agent.CallPlan{Title: "Write " + path}, err
			}
			if m, err := memberOf(ctx, call, in.Path); err != nil {
				return nil, err
			} else if m != nil {
				content, _ := s.bare(call, in.Content)
				return m.plan(ctx, call, content)
			}
			if r, err := rowOf(ctx, call, in.Path, in.Content); err != nil {
				return nil, err
			} else if r != nil {
				return r.plan(ctx, call), nil
			}
			path, err := changePath(call, "write", in.Path)
			if err != nil {
				return nil, err
			}
			return &agent.CallPlan{
				Title:     "Write " + toolkit.Display(&call.Workspace, path),
				Locations: []agent.Location{{Path: path}},
				Content: edits.Preview(ctx, call, path, func(old *edits.TextFile) (string, error) {
					content, _ := s.bare(call, in.Content)
					text, _, _ := replacement(old, content)
					return text, nil
				}),
				Effects: []approval.Effect{{Action: approval.ActionEdit, Path: path}},
			}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *writeInput) (*agent.Result, error) {
			if r, ok := call.Prepared.(*resolution); ok {
				return r.write(ctx, call)
			}
			if isLocal(in.Path) {
				return writeLocal(ctx, call, in.Path, in.Content, s)
			}
			if m, err := memberOf(ctx, call, in.Path); err != nil {
				return nil, err
			} else if m != nil {
				content, _ := s.bare(call, in.Content)
				return m.write(ctx, call, content)
			}
			if r, err := rowOf(ctx, call, in.Path, in.Content); err != nil {
				return nil, err
			} else if r != nil {
				return r.write(ctx, call)
			}
			return runWrite(ctx, call, in, s)
		},
	})
}

// changePath checks the path of a file to change and makes it absolute.
func changePath(call *agent.Call, tool, input string) (string, error) {
	if strings.TrimSpace(input) == "" {
		return "", fmt.Errorf("%w for %s: path is empty", agent.ErrBadInput, tool)
	}
	if strings.HasSuffix(input, "/") {
		return "", fmt.Errorf("%w for %s: %s names a directory; path must be a file", agent.ErrBadInput, tool, input)
	}
	if isLocal(input) && tool != "notebook" {
		if call.Local == nil {
			return "", errNoLocal
		}
		return input, nil
	}
	if strings.Contains(input, "://") {
		return "", fmt.Errorf("%w for %s: %s is an address; path must be a file", agent.ErrBadInput, tool, input)
	}
	if strings.ContainsRune(input, 0) {
		return "", fmt.Errorf("%w for %s: path contains a NUL byte", agent.ErrBadInput, tool)
	}
	return call.Workspace.Resolve(input), nil
}

func runWrite(ctx context.Context, call *agent.Call, in *writeInput, s *EditSettings) (*agent.Result, error) {
	path, err := changePath(call, "write", in.Path)
	if err != nil {
		return nil, err
	}
	name := toolkit.Display(&call.Workspace, path)
	if strings.ContainsRune(in.Content, 0) {
		return nil, fmt.Errorf("%w for write: the content contains NUL bytes; write is for text", agent.ErrBadInput)
	}
	if edits.ReportsWrites(call) || edits.FormatsWrites(call) { // before the file is read: the user may type while the question is open
		if err := toolkit.TrustWorkspace(ctx, call, path); err != nil {
			return nil, err
		}
	}
	old, err := edits.OpenText(ctx, call, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	given, note := s.bare(call, in.Content)
	content, enc, notes := replacement(old, given)
	if note != "" {
		notes = append(notes, note)
	}
	if old != nil && content == old.Text {
		edits.KnownOf(call).Put(path, old.Text)
		return &agent.Result{Text: name + " already has this text; nothing changed."}, nil
	}
	if old != nil {
		if err := s.checkGenerated(call, path, old.Text); err != nil {
			return nil, err
		}
		if err := overwritable(call, path, old.Text); err != nil {
			return nil, err
		}
	}
	if edits.FormatsWrites(call) {
		if formatted, note := edits.FormatWrite(ctx, call, path, content); note != "" {
			content, notes = formatted, append(notes, note)
		}
		if err := edits.Unchanged(ctx, call, path, old); err != nil {
			return nil, err
		}
	}
	data := toolkit.EncodeText(content, enc)
	c := edits.Change{Call: call, Path: path, Old: old}
	if err := c.Write(ctx, data, content); err != nil {
		return nil, err
	}
	c.Done()
	verb := "created"
	if old != nil {
		verb = "replaced"
	} else if note := edits.MarkExecutable(ctx, call, path, c.Now); note != "" {
		notes = append(notes, note)
	}
	text := fmt.Sprintf("Wrote %s to %s (%s).", text.Count(len(data), "byte"), name, verb)
	res := &agent.Result{
		Text:      toolkit.JoinNotes(text, append(notes, c.Notes...)),
		Content:   []agent.Content{c.Diff()},
		Locations: []agent.Location{{Path: path, Line: c.FirstLine()}},
	}
	edits.DiagnoseChange(ctx, &c, res, edits.ReportsWrites(call))
	return res, nil
}

// overwritable returns an error for a text that the model knew and that has changed since, because that change would be lost. A
// file that the model has never read may be replaced; the diff shows its content.
func overwritable(call *agent.Call, path, text string) error {
	known, isKnown := edits.KnownOf(call).Get(path)
	if !isKnown || toolkit.LineFeeds(known) == toolkit.LineFeeds(text) {
		return nil
	}
	edits.KnownOf(call).Put(path, text)
	name := toolkit.Display(&call.Workspace, path)
	return fmt.Errorf("%s: %w, %s. Nothing was written. What has changed:\n%s\nWrite again with that in mind",
		name, edits.ErrChanged, edits.ByOthers, strings.TrimSuffix(toolkit.ShortDiff(name, toolkit.LineFeeds(known), toolkit.LineFeeds(text)), "\n"))
}

// bare returns the text without anchors if the model has copied them with the lines from read, and a note about it.
func (s *EditSettings) bare(call *agent.Call, content string) (text, note string) {
	if !s.anchors(&call.Model) {
		return content, ""
	}
	text, had := hashline.BareText(content)
	if had {
		note = "The anchors before the lines were removed."
	}
	return text, note
}

// replacement returns the text to write instead of old, which is nil for a new file. An existing file keeps its encoding and its
// CRLF line endings: read shows neither, so the model cannot write them.
func replacement(old *edits.TextFile, content string) (text string, enc toolkit.Encoding, notes []string) {
	if old == nil {
		return content, toolkit.PlainUTF8, nil
	}
	if toolkit.LineEnd(old.Text) == "\r\n" && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		notes = append(notes, "The file keeps its CRLF line endings.")
	}
	if old.Encoding != toolkit.PlainUTF8 {
		content = strings.TrimPrefix(content, toolkit.Utf8BOM)
		notes = append(notes, "The file stays "+old.Encoding.String()+".")
	}
	return content, old.Encoding, notes
}
