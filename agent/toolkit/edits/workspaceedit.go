package edits

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// WorkspaceChange changes several files completely or not at all. It writes through the same file system as every other write, so that the
// user sees each change in the editor.
type WorkspaceChange struct {
	Call *agent.Call
	ops  []lsp.FileOperation
	// seen holds the contents of the files to remove at planning time, written the texts that this change has written.
	seen    map[string][]byte
	written map[string]string
	// undo holds the steps that restore what was done so far, in the order of the changes.
	undo []undoStep
	// back holds the operations that reverse the change, in the order of the changes, and never is the reason why there are none.
	// deleted holds the contents of removed files, and had their permissions. Raw and Modes are the same for files that are
	// restored; Raw also has the contents of files that are no text. Undoing is set if the change undoes another one, Unseen if the
	// model does not see the new texts.
	back    []lsp.FileOperation
	deleted map[string][]byte
	had     map[string]fs.FileMode
	never   string
	Raw     map[string][]byte
	Modes   map[string]fs.FileMode
	Undoing bool
	Unseen  bool
	// renamed are removed files and directories: they are renamed until everything is done.
	renamed []string

	// Content, Locations and Notes are parts of the result.
	Content   []agent.Content
	Locations []agent.Location
	Notes     []string
	// Before holds the texts of files before the change, Changed lists the files whose text has changed, and Events holds the other
	// changes to files. Language servers need them.
	Before  map[string]string
	Changed []string
	Events  []lsp.FileEvent
}

// undoStep reverses one change.
type undoStep struct {
	what string
	do   func(ctx context.Context) error
}

const (
	// undoTime bounds a rollback.
	undoTime = 20 * time.Second
	// maxShownDiffs bounds the texts of all diffs of one change, in bytes. Further files are only named.
	maxShownDiffs = 4 << 20
	// MaxFollowed bounds the locations in a result.
	MaxFollowed = 50
)

// ApplyOperations makes the changes. If it fails, all files are restored, or the error names those that are not. seen is the result
// of [SeenFiles] at planning time, or nil if no time has passed since.
func ApplyOperations(ctx context.Context, call *agent.Call, ops []lsp.FileOperation, seen map[string][]byte) (*WorkspaceChange, error) {
	return NewWorkspaceChange(call, ops, seen).Apply(ctx)
}

// NewWorkspaceChange returns a change that has not been made. See [ApplyOperations] for seen.
func NewWorkspaceChange(call *agent.Call, ops []lsp.FileOperation, seen map[string][]byte) *WorkspaceChange {
	return &WorkspaceChange{
		Call: call, ops: ops, seen: seen, written: make(map[string]string), Before: make(map[string]string), deleted: make(map[string][]byte),
		had: make(map[string]fs.FileMode),
	}
}

// Apply makes the change and returns w. It may be called once. If it fails, all files are restored, or the error names those that
// are not.
func (w *WorkspaceChange) Apply(ctx context.Context) (*WorkspaceChange, error) {
	if err := w.check(ctx); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	for i := range w.ops {
		err := context.Cause(ctx)
		if err == nil {
			err = w.step(ctx, &w.ops[i])
		}
		if err != nil {
			return nil, w.rollback(ctx, err)
		}
	}
	w.sweep(ctx)
	w.remember()
	return w, nil
}

// remember records what the model now knows of the files, and how to undo the change.
func (w *WorkspaceChange) remember() {
	if !w.Undoing {
		slices.Reverse(w.back)
		set := &ChangeSet{What: w.what(), Ops: w.back, Bytes: w.deleted, Modes: w.had, Never: w.never}
		ChangeSetsOf(w.Call).Push(set)
	}
	seen := KnownOf(w.Call)
	for i := range w.ops {
		if o := &w.ops[i]; o.Kind == lsp.RemoveFile || o.Kind == lsp.MoveFile {
			seen.moved(o.Path, o.NewPath)
		}
	}
	for path, text := range w.written {
		if !w.Unseen {
			seen.Put(path, text)
		}
	}
}

// check checks the files before the first change, so that most errors come before it.
func (w *WorkspaceChange) check(ctx context.Context) error {
	for i := range w.ops {
		o := &w.ops[i]
		if slices.ContainsFunc(w.ops[:i], func(p lsp.FileOperation) bool { return Touches(&p, o.Path) }) {
			continue
		}
		var err error
		switch o.Kind {
		case lsp.WriteFile:
			if _, raw := w.Raw[o.Path]; raw {
				_, err = w.bytesAsSeen(ctx, o.Path)
				break
			}
			_, err = w.open(ctx, o)
		case lsp.RemoveFile:
			err = w.asSeen(ctx, o)
		default:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SeenFiles returns the editor's contents of the files that operations remove, so that a file with unknown content is not removed.
// It omits a file that an earlier operation changes, that cannot be read, or that is too large.
func SeenFiles(ctx context.Context, call *agent.Call, ops []lsp.FileOperation) map[string][]byte {
	seen := make(map[string][]byte)
	for i := range ops {
		o := &ops[i]
		if o.Kind != lsp.RemoveFile || o.Directory || slices.ContainsFunc(ops[:i], func(p lsp.FileOperation) bool { return Touches(&p, o.Path) }) {
			continue
		}
		if data, err := readSeen(ctx, call, o.Path); err == nil {
			seen[o.Path] = data
		}
	}
	return seen
}

// readSeen reads a file of any content, up to the size that is compared.
func readSeen(ctx context.Context, call *agent.Call, path string) ([]byte, error) {
	if info, err := call.FS.Stat(ctx, path); err == nil && (info.Size() > toolkit.MaxReadFile || !info.Mode().IsRegular()) {
		return nil, errors.ErrUnsupported
	}
	data, err := call.FS.ReadFile(ctx, path)
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

// asSeen returns an error if the content of a file that is to be removed differs from the one at planning time or from what this
// change wrote. A file that could not be read at planning time passes.
func (w *WorkspaceChange) asSeen(ctx context.Context, o *lsp.FileOperation) error {
	if o.Directory {
		return nil
	}
	seen, known := w.seen[o.Path]
	text, written := w.written[o.Path]
	if !written {
		text = o.Old
	}
	if !known && !written && o.Old == "" {
		return nil
	}
	data, err := readSeen(ctx, w.Call, o.Path)
	if err != nil {
		return fmt.Errorf("cannot check that %s is unchanged before deleting it: %w", w.name(o.Path), toolkit.Reason(err))
	}
	same := !known || bytes.Equal(seen, data)
	if same && (written || o.Old != "") { // the user saw the planned text
		now, _, err := toolkit.DecodeText(data)
		same = err == nil && now == text
	}
	if !same {
		return fmt.Errorf("%s cannot be deleted: %w; read it and call the tool again", w.name(o.Path), ErrStale)
	}
	return nil
}

// Touches reports whether an operation changes path or one of its parent directories.
func Touches(o *lsp.FileOperation, path string) bool {
	return slices.ContainsFunc(o.Paths(), func(p string) bool {
		return p == path || strings.HasPrefix(path, strings.TrimSuffix(p, string(filepath.Separator))+string(filepath.Separator))
	})
}

// open reads the file of a write. Its text must match the plan.
func (w *WorkspaceChange) open(ctx context.Context, o *lsp.FileOperation) (*TextFile, error) {
	file, err := OpenText(ctx, w.Call, o.Path)
	if err != nil {
		return nil, err
	}
	if file.Text != o.Old {
		return nil, StaleError(w.Call, o.Path)
	}
	return file, nil
}

// what returns a short name of the change.
func (w *WorkspaceChange) what() string {
	if len(w.ops) == 1 {
		o := &w.ops[0]
		switch o.Kind {
		case lsp.WriteFile:
			return "Edit " + w.name(o.Path)
		case lsp.MakeFile:
			return "Write " + w.name(o.Path)
		case lsp.MoveFile:
			return "Rename " + w.name(o.Path)
		default:
			return "Delete " + w.name(o.Path)
		}
	}
	return w.Call.Name + ", " + text.Count(len(w.ops), "change")
}

func (w *WorkspaceChange) name(path string) string { return toolkit.Display(&w.Call.Workspace, path) }

func (w *WorkspaceChange) step(ctx context.Context, o *lsp.FileOperation) error {
	switch o.Kind {
	case lsp.WriteFile:
		return w.write(ctx, o)
	case lsp.MakeFile:
		return w.create(ctx, o)
	case lsp.MoveFile:
		return w.move(ctx, o)
	default:
		return w.remove(ctx, o)
	}
}

func (w *WorkspaceChange) later(what string, do func(ctx context.Context) error) {
	w.undo = append(w.undo, undoStep{what, do})
}

func (w *WorkspaceChange) write(ctx context.Context, o *lsp.FileOperation) error {
	if raw, ok := w.Raw[o.Path]; ok {
		return w.overwrite(ctx, o.Path, raw)
	}
	old, err := w.open(ctx, o)
	if err != nil {
		return err
	}
	if _, known := w.Before[o.Path]; !known {
		w.Before[o.Path] = old.Text
	}
	w.later("the text of "+w.name(o.Path), func(ctx context.Context) error {
		return w.writeBack(ctx, o.Path, toolkit.EncodeText(old.Text, old.Encoding))
	})
	c := Change{Call: w.Call, Path: o.Path, Old: old}
	if err := c.Write(ctx, toolkit.EncodeText(o.New, old.Encoding), o.New); err != nil {
		return err
	}
	w.back = append(w.back, c.back())
	w.wrote(&c)
	return nil
}

// writeBack restores the content of a file that a write, even a failed one, may have changed.
func (w *WorkspaceChange) writeBack(ctx context.Context, path string, data []byte) error {
	if now, err := w.Call.FS.ReadFile(ctx, path); err == nil && bytes.Equal(now, data) {
		return nil
	}
	return w.Call.FS.WriteFile(ctx, path, data)
}

// bytesAsSeen returns the content of a file, which must be the one at planning time.
func (w *WorkspaceChange) bytesAsSeen(ctx context.Context, path string) ([]byte, error) {
	data, err := w.Call.FS.ReadFile(ctx, path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", w.name(path), toolkit.Reason(err))
	case !bytes.Equal(data, w.seen[path]):
		return nil, StaleError(w.Call, path)
	}
	return data, nil
}

// overwrite replaces a file by a content that is no text, or that has another encoding.
func (w *WorkspaceChange) overwrite(ctx context.Context, path string, raw []byte) error {
	old, err := w.bytesAsSeen(ctx, path)
	if err != nil {
		return err
	}
	w.later("the content of "+w.name(path), func(ctx context.Context) error { return w.writeBack(ctx, path, old) })
	if err := w.Call.FS.WriteFile(ctx, path, raw); err != nil {
		return fmt.Errorf("%s cannot be written: %w", w.name(path), toolkit.Reason(err))
	}
	w.never = w.name(path) + " was replaced, and its old content is not kept"
	w.wroteBytes(path, raw, lsp.FileChanged)
	return nil
}

// wroteBytes adds a file that is no text to the result.
func (w *WorkspaceChange) wroteBytes(path string, raw []byte, kind protocol.FileChangeType) {
	w.Content = append(w.Content, agent.TextContent{Text: fmt.Sprintf("Wrote `%s` (%s, no text).", w.name(path), toolkit.Size(int64(len(raw))))})
	w.locate(path, 0)
	w.Events = append(w.Events, lsp.FileEvent{Path: path, Type: kind})
}

// wrote adds a written file to the result.
func (w *WorkspaceChange) wrote(c *Change) {
	w.written[c.Path] = c.Now
	w.Content = append(w.Content, c.Diff())
	w.locate(c.Path, c.FirstLine())
	for _, n := range c.Notes {
		w.Notes = append(w.Notes, w.name(c.Path)+": "+n)
	}
	if !slices.Contains(w.Changed, c.Path) {
		w.Changed = append(w.Changed, c.Path)
	}
}

func (w *WorkspaceChange) locate(path string, line int) {
	if len(w.Locations) < MaxFollowed {
		w.Locations = append(w.Locations, agent.Location{Path: path, Line: line})
	}
}

func (w *WorkspaceChange) create(ctx context.Context, o *lsp.FileOperation) error {
	switch kind, err := FileKind(ctx, w.Call, o.Path); {
	case err != nil:
		return err
	case kind != lsp.NoFile:
		return fmt.Errorf("%s cannot be created: it exists already", w.name(o.Path))
	}
	w.parents(ctx, o.Path)
	w.later("the new file "+w.name(o.Path), func(ctx context.Context) error {
		if err := w.Call.FS.Remove(ctx, o.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	c := Change{Call: w.Call, Path: o.Path}
	data := []byte(o.New)
	if raw, ok := w.Raw[o.Path]; ok {
		data = raw
	}
	if err := c.Write(ctx, data, o.New); err != nil {
		return err
	}
	w.back = append(w.back, c.back())
	if mode, known := w.Modes[o.Path]; known {
		c.Notes = append(c.Notes, setMode(ctx, w.Call, o.Path, mode)...)
	} else if note := MarkExecutable(ctx, w.Call, o.Path, o.New); note != "" {
		c.Notes = append(c.Notes, note)
	}
	if _, _, err := toolkit.DecodeText(data); err != nil {
		w.wroteBytes(o.Path, data, lsp.FileCreated)
		return nil
	}
	w.wrote(&c)
	return nil
}

// parents adds undo steps for the directories that a step is about to create.
func (w *WorkspaceChange) parents(ctx context.Context, path string) {
	var missing []string
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := w.Call.FS.Stat(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		w.later("the new directory "+w.name(dir), func(ctx context.Context) error {
			entries, err := w.Call.FS.ReadDir(ctx, dir)
			switch {
			case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) > 0:
				return nil
			case err != nil:
				return err
			}
			return w.Call.FS.Remove(permit.With(ctx, permit.Own()), dir) // no effect names the directories of a new file
		})
	}
}

func (w *WorkspaceChange) move(ctx context.Context, o *lsp.FileOperation) error {
	w.parents(ctx, o.NewPath)
	if err := w.Call.FS.Rename(ctx, o.Path, o.NewPath); err != nil {
		return fmt.Errorf("%s cannot be renamed to %s: %w", w.name(o.Path), w.name(o.NewPath), linkReason(err))
	}
	w.later("the name of "+w.name(o.Path), func(ctx context.Context) error {
		return w.Call.FS.Rename(ctx, o.NewPath, o.Path)
	})
	w.back = append(w.back, lsp.FileOperation{Kind: lsp.MoveFile, Path: o.NewPath, NewPath: o.Path, Directory: o.Directory})
	w.Content = append(w.Content, agent.TextContent{Text: fmt.Sprintf("Renamed `%s` to `%s`.", w.name(o.Path), w.name(o.NewPath))})
	w.locate(o.NewPath, 0)
	w.Events = append(w.Events, lsp.FileEvent{Path: o.Path, Type: protocol.FileChangeTypeDeleted})
	for path, text := range maps.Clone(w.written) {
		if rest, ok := strings.CutPrefix(path, o.Path); ok && (rest == "" || rest[0] == filepath.Separator) {
			delete(w.written, path)
			w.written[o.NewPath+rest] = text
		}
	}
	for i, path := range w.Changed { // the text has moved
		if rest, ok := strings.CutPrefix(path, o.Path); ok && (rest == "" || rest[0] == filepath.Separator) {
			w.Changed[i] = o.NewPath + rest
			if text, known := w.Before[path]; known {
				w.Before[w.Changed[i]] = text
				delete(w.Before, path)
			}
		}
	}
	if o.Directory {
		w.Events = append(w.Events, lsp.FileEvent{Path: o.NewPath, Type: protocol.FileChangeTypeCreated})
	} else if !slices.Contains(w.Changed, o.NewPath) {
		w.Changed = append(w.Changed, o.NewPath)
	}
	return nil
}

// linkReason is [toolkit.Reason] for errors that name two paths.
func linkReason(err error) error {
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return toolkit.Reason(err)
}

func (w *WorkspaceChange) remove(ctx context.Context, o *lsp.FileOperation) error {
	if o.Directory && !o.Recursive {
		entries, err := w.Call.FS.ReadDir(ctx, o.Path)
		if err != nil {
			return fmt.Errorf("%s cannot be deleted: %w", w.name(o.Path), toolkit.Reason(err))
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s cannot be deleted: the directory is not empty", w.name(o.Path))
		}
	}
	if err := w.asSeen(ctx, o); err != nil {
		return err
	}
	data, err := readSeen(ctx, w.Call, o.Path)
	switch _, link := toolkit.LinkTarget(w.Call, o.Path); {
	case o.Directory || err != nil:
		w.never = w.name(o.Path) + " was deleted and cannot be restored"
	case link:
		w.never = w.name(o.Path) + " was a link, and links are not restored"
	}
	if info, err := w.Call.FS.Stat(ctx, o.Path); err == nil {
		w.had[o.Path] = info.Mode()
	}
	aside := filepath.Join(filepath.Dir(o.Path), ".gjc-removed-"+rand.Text()[:8])
	approval.PermitOf(ctx).AllowSibling(o.Path, aside)
	permit.Aside(ctx, aside)
	if err := w.Call.FS.Rename(ctx, o.Path, aside); err != nil {
		return fmt.Errorf("%s cannot be deleted: %w", w.name(o.Path), linkReason(err))
	}
	w.renamed = append(w.renamed, aside)
	w.later(w.name(o.Path)+", which is now at "+w.name(aside), func(ctx context.Context) error {
		return w.Call.FS.Rename(ctx, aside, o.Path)
	})
	text, _, err := toolkit.DecodeText(data)
	if err != nil {
		text = ""
	}
	w.back = append(w.back, lsp.FileOperation{Kind: lsp.MakeFile, Path: o.Path, New: text})
	w.deleted[o.Path] = data
	if o.Directory || o.Old == "" {
		w.Content = append(w.Content, agent.TextContent{Text: fmt.Sprintf("Deleted `%s`.", w.name(o.Path))})
	} else {
		w.Content = append(w.Content, agent.DiffContent{Path: o.Path, Old: &o.Old})
	}
	w.Events = append(w.Events, lsp.FileEvent{Path: o.Path, Type: protocol.FileChangeTypeDeleted})
	w.Changed = slices.DeleteFunc(w.Changed, func(path string) bool { return Touches(o, path) })
	maps.DeleteFunc(w.written, func(path, _ string) bool { return Touches(o, path) })
	return nil
}

// sweep ends the change by deleting the removed files.
func (w *WorkspaceChange) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	for _, path := range w.renamed {
		if err := w.Call.FS.Remove(ctx, path); err != nil {
			w.Notes = append(w.Notes, fmt.Sprintf("The deleted item still exists as %s because it could not be removed: %v", w.name(path), toolkit.Reason(err)))
		}
	}
	size := 0
	for i, c := range w.Content {
		d, ok := c.(agent.DiffContent)
		if !ok {
			continue
		}
		size += len(d.New)
		if d.Old != nil {
			size += len(*d.Old)
		}
		if size > maxShownDiffs {
			w.Content[i] = agent.TextContent{Text: fmt.Sprintf("Changed `%s`.", w.name(d.Path))}
		}
	}
}

// rollback restores what was done before err and adds to err whether that succeeded.
func (w *WorkspaceChange) rollback(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var left []string
	for _, u := range slices.Backward(w.undo) {
		if uerr := u.do(ctx); uerr != nil {
			left = append(left, fmt.Sprintf("%s (%v)", u.what, toolkit.Reason(uerr)))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%w\nThe changes before it were undone, but these could not be put back: %s", err, strings.Join(left, "; "))
	}
	return fmt.Errorf("%w\nAll changes were undone", err)
}

// FileKind returns the kind of file at a path as the editor sees it: an unsaved new text is a file.
func FileKind(ctx context.Context, call *agent.Call, path string) (lsp.FileKind, error) {
	switch info, err := call.FS.Stat(ctx, path); {
	case err == nil && info.IsDir():
		return lsp.Directory, nil
	case err == nil:
		return lsp.PlainFile, nil
	case !errors.Is(err, fs.ErrNotExist):
		return lsp.NoFile, fmt.Errorf("%s: %w", toolkit.Display(&call.Workspace, path), toolkit.Reason(err))
	}
	switch _, err := call.FS.ReadFile(ctx, path); {
	case err == nil:
		return lsp.PlainFile, nil
	case errors.Is(err, fs.ErrNotExist):
		return lsp.NoFile, nil
	default:
		return lsp.NoFile, fmt.Errorf("%s: %w", toolkit.Display(&call.Workspace, path), toolkit.Reason(err))
	}
}

// Join adds a change that was made after this one.
func (w *WorkspaceChange) Join(done *WorkspaceChange) {
	w.Content = append(w.Content, done.Content...)
	w.Locations = append(w.Locations, done.Locations[:min(len(done.Locations), MaxFollowed-len(w.Locations))]...)
	w.Notes = append(w.Notes, done.Notes...)
	w.Events = append(w.Events, done.Events...)
	for _, path := range done.Changed {
		if !slices.Contains(w.Changed, path) {
			w.Changed = append(w.Changed, path)
			if text, ok := done.Before[path]; ok {
				w.Before[path] = text
			}
		}
	}
}
