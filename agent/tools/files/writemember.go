package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/archive"
	"github.com/gajae-code/gjc/internal/text"
)

// member is a file to write in an archive.
type member struct {
	// path is the path of the archive, name that of the member.
	path, name string
}

// maxArchive bounds the size of the archives that are rewritten, in bytes.
const maxArchive = 256 << 20

// archiveSuffixes are the suffixes of archives that can be written, otherArchives those of some that cannot.
var (
	archiveSuffixes = []string{".zip", ".tar", ".tar.gz", ".tgz"}
	otherArchives   = []string{".tar.xz", ".tar.bz2", ".7z", ".jar"}
)

// memberOf returns the member that a path names in an archive, which may not exist yet, or nil for a plain file. An existing file
// of that name wins. A path that can only mean an archive that cannot be written is an error: the caller did not mean a file with a
// colon in its name.
func memberOf(ctx context.Context, call *agent.Call, input string) (*member, error) {
	for at, r := range input {
		if r != ':' || strings.Contains(input, "://") {
			continue
		}
		writable := endsIn(input[:at], archiveSuffixes)
		if !writable && !endsIn(input[:at], otherArchives) {
			continue
		}
		if _, err := call.FS.Stat(ctx, call.Workspace.Resolve(input)); err == nil {
			return nil, nil
		}
		path := call.Workspace.Resolve(input[:at])
		name := toolkit.Display(&call.Workspace, path)
		info, err := call.FS.Stat(ctx, path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
		case err == nil && info.IsDir():
			return nil, fmt.Errorf("%s is a directory, not an archive; put a / after its name for the path of a file in it, not a colon", name)
		case err == nil && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is a device, a pipe or a socket, not an archive that can be changed", name)
		case !writable:
			return nil, fmt.Errorf("%w for write: cannot write in archives such as %s, only in %s; use a command", agent.ErrBadInput, name, strings.Join(archiveSuffixes, ", "))
		default:
			return &member{path, input[at+1:]}, nil
		}
	}
	return nil, nil
}

// endsIn reports whether a file's name ends in one of suffixes, ignoring case, and is longer than that.
func endsIn(name string, suffixes []string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(suffixes, func(s string) bool {
		base, ok := strings.CutSuffix(name, s)
		return ok && base != "" && !strings.HasSuffix(base, "/")
	})
}

// label returns the name of the member for people.
func (m *member) label(call *agent.Call) string {
	return toolkit.Display(&call.Workspace, m.path) + ":" + archive.Clean(m.name)
}

// open reads the archive, or returns nil if it does not exist. old is the member's text, or nil if the member does not exist or is
// not text.
func (m *member) open(ctx context.Context, call *agent.Call) (a *archive.Archive, old *string, err error) {
	name := toolkit.Display(&call.Workspace, m.path)
	info, err := call.FS.Stat(ctx, m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	case info.Size() > maxArchive:
		return nil, nil, fmt.Errorf("%s has %s, too much to rewrite; use a command", name, toolkit.Size(info.Size()))
	}
	data, err := call.FS.ReadFile(ctx, m.path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	if a, err = archive.Open(bytes.NewReader(data), int64(len(data))); err != nil {
		return nil, nil, fmt.Errorf("%s cannot be changed: %w", name, err)
	}
	if was, err := a.ReadFile(ctx, m.name, edits.MaxPreview); err == nil {
		if text, _, err := toolkit.DecodeText(was); err == nil {
			old = &text
		}
	}
	return a, old, nil
}

func (m *member) diff(old *string, content string) agent.DiffContent {
	return agent.DiffContent{Path: m.path + ":" + archive.Clean(m.name), Old: old, New: content}
}

func (m *member) plan(ctx context.Context, call *agent.Call, content string) (*agent.CallPlan, error) {
	if err := archive.CheckName(m.name); err != nil {
		return nil, fmt.Errorf("%w for write: %w", agent.ErrBadInput, err)
	}
	plan := &agent.CallPlan{
		Title:     "Write " + m.label(call),
		Locations: []agent.Location{{Path: m.path}},
		Effects:   []approval.Effect{{Action: approval.ActionEdit, Path: m.path, Member: archive.Clean(m.name)}},
	}
	ctx, cancel := context.WithTimeout(ctx, edits.PreviewTime)
	defer cancel()
	if _, old, err := m.open(ctx, call); err == nil && len(content) <= edits.MaxPreview {
		plan.Content = []agent.Content{m.diff(old, content)}
	}
	return plan, nil
}

func (m *member) write(ctx context.Context, call *agent.Call, content string) (*agent.Result, error) {
	a, old, err := m.open(ctx, call)
	if err != nil {
		return nil, err
	}
	var data []byte
	replaced := false
	if a == nil {
		data, err = archive.New(m.path, m.name, []byte(content))
	} else {
		data, replaced, err = a.Put(ctx, m.name, []byte(content))
	}
	name := m.label(call)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s cannot be written: %w", name, err)
	}
	if err := call.FS.WriteFile(ctx, m.path, data); err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", name, toolkit.Reason(err))
	}
	verb := "added"
	if replaced {
		verb = "replaced"
	}
	if replaced && old == nil {
		old = new("")
	}
	edits.ChangeSetsOf(call).Push(&edits.ChangeSet{What: "Write " + name, Never: "previous archive contents are not kept"})
	return &agent.Result{
		Text:      fmt.Sprintf("Wrote %s to %s (%s).", text.Count(len(content), "byte"), name, verb),
		Content:   []agent.Content{m.diff(old, content)},
		Locations: []agent.Location{{Path: m.path}},
	}, nil
}
