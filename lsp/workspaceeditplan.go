package lsp

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
)

// FileKind is the kind of file at a path.
type FileKind int

// The kinds.
const (
	NoFile FileKind = iota
	PlainFile
	Directory
)

// EditSurroundings provides the files and documents that a [WorkspaceEdit] is planned for.
type EditSurroundings struct {
	// Encoding is the position encoding of the server.
	Encoding Encoding
	// GOOS is the operating system of the paths.
	GOOS string
	// Kind returns the kind of file at a path. Required.
	Kind func(path string) (FileKind, error)
	// Read returns the text of a file as the server has it. Required.
	Read func(path string) (string, error)
	// Version returns the version of the open document of a path; ok is false if there is none. Optional.
	Version func(path string) (version int32, ok bool)
}

// OperationKind is the kind of a [FileOperation].
type OperationKind int

// The kinds.
const (
	// WriteFile replaces the text Old of the file Path by New.
	WriteFile OperationKind = iota
	// MakeFile creates the file Path with the text New. It does not exist before.
	MakeFile
	// MoveFile moves Path to NewPath, which does not exist before.
	MoveFile
	// RemoveFile removes Path and its contents.
	RemoveFile
)

// FileOperation is one step of a plan. Its paths are absolute and clean.
type FileOperation struct {
	Kind     OperationKind
	Path     string
	NewPath  string
	Old, New string
	// Directory reports that a directory is moved or removed; Recursive reports that it may be non-empty.
	Directory, Recursive bool
	// Edits is the number of edits from Old to New.
	Edits int
}

// Paths returns the paths that the operation changes.
func (o *FileOperation) Paths() []string {
	if o.Kind == MoveFile {
		return []string{o.Path, o.NewPath}
	}
	return []string{o.Path}
}

// Errors of a plan.
var (
	// ErrEditVersion is wrapped by the error for an edit of another version of the text.
	ErrEditVersion = errors.New("the edit is for another version of the text")
	// ErrEditTarget is wrapped by the error for a step whose file does not exist, exists already, or is of the wrong kind.
	ErrEditTarget = errors.New("the edit does not match the files")
)

// Plan returns the file operations of the edit. It changes no file. Each step sees the results of the earlier ones: a created file
// can be edited, and a renamed one can be edited under both names. Edits of one file become one operation, and edits without an
// effect are omitted.
func (w *WorkspaceEdit) Plan(s EditSurroundings) ([]FileOperation, error) {
	if w == nil {
		return nil, nil
	}
	p := &planner{EditSurroundings: s, written: make(map[string]int)}
	for _, c := range w.Changes {
		var err error
		switch c := c.(type) {
		case *TextDocumentEdit:
			err = p.edit(c)
		case *CreateFile:
			err = p.create(c)
		case *RenameFile:
			err = p.rename(c)
		case *DeleteFile:
			err = p.remove(c)
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(p.ops, func(o FileOperation) bool { return o.Kind == WriteFile && o.Old == o.New }), nil
}

// planner builds a plan. Its view of the files is that of Kind and Read with ops applied.
type planner struct {
	EditSurroundings
	ops []FileOperation
	// written has the last operation that wrote a path, moved the operations that moved or removed something.
	written map[string]int
	moved   []int
}

// stat returns the kind of file at a path after all operations. at is the operation that wrote it, or -1; origin is its path
// before all operations, if it existed.
func (p *planner) stat(path string) (kind FileKind, at int, origin string, err error) {
	for i := len(p.moved) - 1; i >= 0; i-- {
		if w, ok := p.written[path]; ok && w > p.moved[i] {
			return PlainFile, w, "", nil
		}
		if p.parentOfWritten(path, p.moved[i]) {
			return Directory, -1, "", nil
		}
		o := &p.ops[p.moved[i]]
		if o.Kind == MoveFile {
			if rest, ok := p.under(o.NewPath, path); ok {
				path = o.Path + rest
				continue
			}
		}
		if _, ok := p.under(o.Path, path); ok {
			return NoFile, -1, "", nil
		}
	}
	if w, ok := p.written[path]; ok {
		return PlainFile, w, "", nil
	}
	if p.parentOfWritten(path, -1) {
		return Directory, -1, "", nil
	}
	kind, err = p.Kind(path)
	return kind, -1, path, err
}

// parentOfWritten reports whether path is a directory that contains a file created after an operation.
func (p *planner) parentOfWritten(path string, after int) bool {
	for i := after + 1; i < len(p.ops); i++ {
		if o := &p.ops[i]; o.Kind == MakeFile {
			if rest, ok := p.under(path, o.Path); ok && rest != "" {
				return true
			}
		}
	}
	return false
}

// under reports whether path is root or in it, and returns the rest of the path.
func (p *planner) under(root, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, root)
	separator := byte('/')
	if p.GOOS == "windows" {
		separator = '\\'
	}
	return rest, ok && (rest == "" || rest[0] == separator || root[len(root)-1] == separator)
}

func (p *planner) path(uri string) (string, error) {
	name, err := FilePath(uri, p.GOOS)
	if err != nil {
		return "", err
	}
	clean := cleanPath(name, p.GOOS)
	if clean == "" {
		return "", fmt.Errorf("%w: %q has no absolute path", errNotAFile, uri)
	}
	return clean, nil
}

// cleanPath removes "." and ".." from an absolute path. It returns "" for a relative one.
func cleanPath(name, goos string) string {
	if goos != "windows" {
		if !strings.HasPrefix(name, "/") {
			return ""
		}
		return path.Clean(name)
	}
	slashed, volume := strings.ReplaceAll(name, `\`, "/"), ""
	switch {
	case strings.HasPrefix(slashed, "//"):
		host, rest, _ := strings.Cut(slashed[2:], "/")
		share, rest, ok := strings.Cut(rest, "/")
		if host == "" || share == "" || !ok {
			return ""
		}
		volume, slashed = `\\`+host+`\`+share, "/"+rest
	case len(slashed) > 2 && slashed[1:3] == ":/":
		volume, slashed = slashed[:2], slashed[2:]
	default:
		return ""
	}
	return volume + strings.ReplaceAll(path.Clean(slashed), "/", `\`)
}

// text returns the text of a file that stat has found.
func (p *planner) text(at int, origin string) (string, error) {
	if at >= 0 {
		return p.ops[at].New, nil
	}
	return p.Read(origin)
}

func (p *planner) edit(c *TextDocumentEdit) error {
	path, err := p.path(c.URI)
	if err != nil {
		return err
	}
	kind, at, origin, err := p.stat(path)
	if err == nil && kind == NoFile {
		path, kind, at, origin, err = p.renamedTo(path)
	}
	switch {
	case err != nil:
		return err
	case kind == NoFile:
		return &fs.PathError{Op: "edit", Path: path, Err: fs.ErrNotExist}
	case kind == Directory:
		return fmt.Errorf("%w: cannot edit %s, which is a directory", ErrEditTarget, path)
	}
	if c.Version != nil && p.Version != nil && at < 0 {
		if have, ok := p.Version(origin); ok && have != *c.Version {
			return fmt.Errorf("%w: the edit is for version %[3]d of %[2]s, which now has version %[4]d; request the edit again", ErrEditVersion, path, *c.Version, have)
		}
	}
	old, err := p.text(at, origin)
	if err != nil {
		return err
	}
	now, err := NewText(old).Apply(withLineEnds(old, c.Edits), p.Encoding)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if at >= 0 && p.ops[at].Path == path {
		p.ops[at].New = now
		p.ops[at].Edits += len(c.Edits)
		return nil
	}
	p.written[path] = len(p.ops)
	p.ops = append(p.ops, FileOperation{Kind: WriteFile, Path: path, Old: old, New: now, Edits: len(c.Edits)})
	return nil
}

// renamedTo returns the new path of a file that was renamed.
func (p *planner) renamedTo(gone string) (path string, kind FileKind, at int, origin string, err error) {
	for _, i := range p.moved {
		if o := &p.ops[i]; o.Kind == MoveFile {
			if rest, ok := p.under(o.Path, gone); ok {
				gone = o.NewPath + rest
			}
		}
	}
	kind, at, origin, err = p.stat(gone)
	return gone, kind, at, origin, err
}

// withLineEnds converts the line breaks of new text to those of the document, as editors do: servers always send LF.
func withLineEnds(text string, edits []protocol.TextEdit) []protocol.TextEdit {
	feeds, pairs := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	if feeds == 0 {
		return edits
	}
	out := slices.Clone(edits)
	for i := range out {
		plain := strings.ReplaceAll(out[i].NewText, "\r\n", "\n")
		if pairs > feeds-pairs {
			plain = strings.ReplaceAll(plain, "\n", "\r\n")
		}
		out[i].NewText = plain
	}
	return out
}

func (p *planner) create(c *CreateFile) error {
	path, err := p.path(c.URI)
	if err != nil {
		return err
	}
	kind, at, origin, err := p.stat(path)
	switch {
	case err != nil:
		return err
	case kind == NoFile:
		p.written[path] = len(p.ops)
		p.ops = append(p.ops, FileOperation{Kind: MakeFile, Path: path})
		return nil
	case kind == PlainFile && c.Overwrite:
		old, err := p.text(at, origin)
		if err != nil {
			return err
		}
		if at >= 0 && p.ops[at].Path == path {
			p.ops[at].New = ""
			return nil
		}
		p.written[path] = len(p.ops)
		p.ops = append(p.ops, FileOperation{Kind: WriteFile, Path: path, Old: old, Edits: 1})
		return nil
	case c.IgnoreIfExists:
		return nil
	default:
		return fmt.Errorf("%w: cannot create %s, which exists already", ErrEditTarget, path)
	}
}

func (p *planner) rename(c *RenameFile) error {
	from, err := p.path(c.OldURI)
	if err != nil {
		return err
	}
	to, err := p.path(c.NewURI)
	if err != nil {
		return err
	}
	if from == to {
		return nil
	}
	kind, _, _, err := p.stat(from)
	if err != nil {
		return err
	}
	if kind == NoFile {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if _, inside := p.under(from, to); inside {
		return fmt.Errorf("%w: cannot move %s into itself, to %s", ErrEditTarget, from, to)
	}
	target, _, _, err := p.stat(to)
	switch {
	case err != nil:
		return err
	case target == NoFile:
	case c.Overwrite:
		if _, inside := p.under(to, from); inside {
			return fmt.Errorf("%w: cannot move %s over its parent %s", ErrEditTarget, from, to)
		}
		p.move(FileOperation{Kind: RemoveFile, Path: to, Directory: target == Directory, Recursive: true})
	case c.IgnoreIfExists:
		return nil
	default:
		return fmt.Errorf("%w: cannot rename %s to %s, which exists already", ErrEditTarget, from, to)
	}
	p.move(FileOperation{Kind: MoveFile, Path: from, NewPath: to, Directory: kind == Directory})
	return nil
}

func (p *planner) remove(c *DeleteFile) error {
	path, err := p.path(c.URI)
	if err != nil {
		return err
	}
	kind, at, origin, err := p.stat(path)
	switch {
	case err != nil:
		return err
	case kind == NoFile && c.IgnoreIfNotExists:
		return nil
	case kind == NoFile:
		return &fs.PathError{Op: "delete", Path: path, Err: fs.ErrNotExist}
	}
	o := FileOperation{Kind: RemoveFile, Path: path, Directory: kind == Directory, Recursive: c.Recursive}
	if kind == PlainFile {
		// The text is only for display; a file that cannot be read can still be removed.
		o.Old, _ = p.text(at, origin)
	}
	p.move(o)
	return nil
}

func (p *planner) move(o FileOperation) {
	p.moved = append(p.moved, len(p.ops))
	p.ops = append(p.ops, o)
}
