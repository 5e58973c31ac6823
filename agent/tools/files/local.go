package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// isLocal reports whether a path is the address of a local file.
func isLocal(path string) bool { return strings.HasPrefix(path, agent.LocalScheme) }

// errNoLocal is the error of a session without local files.
var errNoLocal = errors.New("this session has no local:// files")

// withLocal returns the call with an [agent.FS] that also has the local files, under their addresses.
func withLocal(call *agent.Call) (*agent.Call, error) {
	if call.Local == nil {
		return nil, errNoLocal
	}
	with := *call
	with.FS = localFiles{call.FS, call.Local}
	return &with, nil
}

// readsLocal is like withLocal, and returns the call itself in a session without local files.
func readsLocal(call *agent.Call) *agent.Call {
	if with, err := withLocal(call); err == nil {
		return with
	}
	return call
}

// localFiles has the local files under their addresses. It reads them only: they are written with [agent.Local].
type localFiles struct {
	agent.FS
	local agent.Local
}

func (f localFiles) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if isLocal(path) {
		return f.local.Read(ctx, path)
	}
	return f.FS.ReadFile(ctx, path)
}

func (f localFiles) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if !isLocal(path) {
		return f.FS.Stat(ctx, path)
	}
	data, err := f.local.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	return localInfo{path, int64(len(data))}, nil
}

func (f localFiles) RealPath(path string) string {
	if isLocal(path) {
		return path
	}
	return f.FS.RealPath(path)
}

// localInfo describes a local file.
type localInfo struct {
	name string
	size int64
}

func (i localInfo) Name() string       { return i.name }
func (i localInfo) Size() int64        { return i.size }
func (i localInfo) Mode() fs.FileMode  { return 0o600 }
func (i localInfo) ModTime() time.Time { return time.Time{} }
func (i localInfo) IsDir() bool        { return false }
func (i localInfo) Sys() any           { return nil }

// readLocal shows a local file, or lists all.
func readLocal(ctx context.Context, call *agent.Call, t *target, s *EditSettings) (*agent.Result, error) {
	call, err := withLocal(call)
	if err != nil {
		return nil, err
	}
	if t.path == agent.LocalScheme {
		return listLocal(ctx, call)
	}
	data, err := call.Local.Read(ctx, t.path)
	if err != nil {
		return nil, missingLocal(ctx, call, err)
	}
	edits.Saw(call, t.path, data)
	t.sel.Anchors = s.anchors(&call.Model)
	return showText(t.path, data, t.sel)
}

func listLocal(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	all, err := call.Local.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return &agent.Result{Text: "(there are no local:// files yet; write creates them)"}, nil
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s%s (%s)\n", agent.LocalScheme, name, toolkit.Size(all[name]))
	}
	return &agent.Result{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}

// missingLocal adds the names that exist to an error for a file that does not.
func missingLocal(ctx context.Context, call *agent.Call, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, lerr := call.Local.List(ctx)
	if lerr != nil || len(all) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	const most = 20
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Errorf("%w; there are %s", err, strings.Join(names, ", "))
}

// writeLocal replaces a local file with the content that the model gives.
func writeLocal(ctx context.Context, call *agent.Call, path, content string, s *EditSettings) (*agent.Result, error) {
	call, err := withLocal(call)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(content, 0) {
		return nil, fmt.Errorf("%w for write: the content contains NUL bytes; write is for text", agent.ErrBadInput)
	}
	content, note := s.bare(call, content)
	verb := "created"
	if old, err := edits.OpenText(ctx, call, path); err == nil {
		verb = "replaced"
		if err := overwritable(call, path, old.Text); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := call.Local.Write(ctx, path, []byte(content)); err != nil {
		return nil, err
	}
	edits.KnownOf(call).Put(path, content)
	res := &agent.Result{Text: fmt.Sprintf("Wrote %s to %s (%s).", text.Count(len(content), "byte"), path, verb)}
	if note != "" {
		res.Text = toolkit.JoinNotes(res.Text, []string{note})
	}
	return res, nil
}

// editLocal makes replacements in a local file.
func editLocal(ctx context.Context, call *agent.Call, path string, in []textEdit) (*agent.Result, error) {
	call, err := withLocal(call)
	if err != nil {
		return nil, err
	}
	old, err := edits.OpenText(ctx, call, path)
	if err != nil {
		return nil, missingLocal(ctx, call, err)
	}
	now, loose, err := applyEdits(path, old.Text, in)
	if err != nil {
		return nil, err
	}
	if err := call.Local.Write(ctx, path, toolkit.EncodeText(now, old.Encoding)); err != nil {
		return nil, err
	}
	edits.KnownOf(call).Put(path, now)
	var notes []string
	if len(loose) > 0 {
		notes = append(notes, looseNote(loose, len(in)))
	}
	return &agent.Result{
		Text: toolkit.JoinNotes("Edited "+path+".\n"+toolkit.ShortDiff(path, toolkit.LineFeeds(old.Text), toolkit.LineFeeds(now)), notes),
	}, nil
}

// local reports whether the edits are of local files. It returns an error for a call that also edits others, or moves or deletes.
func (f *fileEdits) local() (bool, error) {
	n := 0
	for i := range f.edits {
		if e := &f.edits[i]; isLocal(e.path) || isLocal(e.newPath) {
			n++
			if e.newPath != "" || e.kind == lsp.RemoveFile {
				return false, fmt.Errorf("%w: local:// files cannot be moved or deleted; write replaces their content", agent.ErrBadInput)
			}
		}
	}
	if n > 0 && n < len(f.edits) {
		return false, fmt.Errorf("%w: edit local:// files in a call of their own", agent.ErrBadInput)
	}
	return n > 0, nil
}

// runLocal makes the edits of local files.
func (f *fileEdits) runLocal(ctx context.Context) (*agent.Result, error) {
	if err := f.workOut(ctx, false); err != nil {
		return nil, err
	}
	done := &edits.WorkspaceChange{}
	for i := range f.ops {
		o := &f.ops[i]
		if err := f.call.Local.Write(ctx, o.Path, []byte(o.New)); err != nil {
			return nil, err
		}
		edits.KnownOf(f.call).Put(o.Path, o.New)
	}
	return &agent.Result{Text: toolkit.JoinNotes(f.text(done), f.notes)}, nil
}
