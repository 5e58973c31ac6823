// Package edits makes the changes to files for all tools. It reads a text, writes it through the editor, records what the model
// knows of each file and how to undo each change, and applies changes of several files completely or not at all.
package edits

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/lsp"
)

// TextFile holds the text of a file as of its reading.
type TextFile struct {
	Text     string
	Encoding toolkit.Encoding
}

// OpenText reads a file that is to be changed. The error explains why it cannot be changed; it wraps [fs.ErrNotExist] if the file
// does not exist.
func OpenText(ctx context.Context, call *agent.Call, path string) (*TextFile, error) {
	name := toolkit.Display(&call.Workspace, path)
	switch info, err := call.FS.Stat(ctx, path); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be changed: %w", name, toolkit.Reason(err))
	case err != nil: // it may still be an unsaved new file in the editor
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; give the path of a file in it", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket, not a regular file", name)
	case info.Size() > toolkit.MaxReadFile:
		return nil, fmt.Errorf("%s has %s, too much to change with this tool; use a command", name, toolkit.Size(info.Size()))
	}
	data, err := call.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, toolkit.Reason(err))
	}
	text, enc, err := toolkit.DecodeText(data)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be changed with this tool: %w", name, err)
	}
	return &TextFile{text, enc}, nil
}

// ErrStale is wrapped by the error for a file that has changed since the edit was prepared for it.
var ErrStale = errors.New("the file has changed since the edit was planned")

// Unchanged returns an error if the text of a file is no longer old. old is nil for a file that did not exist. Callers use it if
// time has passed since they read the file.
func Unchanged(ctx context.Context, call *agent.Call, path string, old *TextFile) error {
	now, err := OpenText(ctx, call, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if (now == nil) != (old == nil) || now != nil && *now != *old {
		return StaleError(call, path)
	}
	return nil
}

// StaleError returns an error that wraps [ErrStale] and names the file at path.
func StaleError(call *agent.Call, path string) error {
	return fmt.Errorf("%s: %w; call the tool again", toolkit.Display(&call.Workspace, path), ErrStale)
}

// Limits of a preview.
const (
	PreviewTime = 2 * time.Second
	// MaxPreview bounds both texts of a preview together, in bytes. A larger change is shown after it is made.
	MaxPreview = 256 << 10
)

// Preview returns the diff of a change before it is made, for the question to the user. It returns nil if the change fails or is
// too large: in that case the call itself reports the error or the diff. apply receives nil if the file does not exist.
func Preview(ctx context.Context, call *agent.Call, path string, apply func(old *TextFile) (string, error)) []agent.Content {
	ctx, cancel := context.WithTimeout(ctx, PreviewTime)
	defer cancel()
	old, err := OpenText(ctx, call, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := apply(old)
	if err != nil || old != nil && (len(old.Text)+len(text) > MaxPreview || text == old.Text) || len(text) > MaxPreview {
		return nil
	}
	c := Change{Path: path, Old: old, Now: text}
	return []agent.Content{c.Diff()}
}

// Change is one write of one file.
type Change struct {
	Call *agent.Call
	Path string
	// Old is nil for a new file.
	Old *TextFile
	// Now is the text after the write. It differs from the text that was written if the editor formats on save.
	Now   string
	Notes []string
}

// Write writes data, which encodes text, and reads back what the editor saved.
func (c *Change) Write(ctx context.Context, data []byte, text string) error {
	name := toolkit.Display(&c.Call.Workspace, c.Path)
	if err := c.Call.FS.WriteFile(ctx, c.Path, data); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, toolkit.Reason(err))
	}
	c.Now = text
	// The file is written, so an error from here on is only a note.
	data, err := c.Call.FS.ReadFile(ctx, c.Path)
	if err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("The file could not be read again: %v", toolkit.Reason(err)))
		return nil
	}
	if now, _, err := toolkit.DecodeText(data); err == nil && now != text {
		c.Now = now
		if toolkit.LineFeeds(now) != toolkit.LineFeeds(text) {
			c.Notes = append(c.Notes, "The editor changed the text while saving it, perhaps by formatting it; read the file before the next edit.")
		}
	}
	return nil
}

// Done records a finished write: what the model now knows of the file, and how to undo the write.
func (c *Change) Done() {
	KnownOf(c.Call).Put(c.Path, c.Now)
	what := "Edit "
	if c.Call.Name == "write" {
		what = "Write "
	}
	ChangeSetsOf(c.Call).Push(&ChangeSet{What: what + toolkit.Display(&c.Call.Workspace, c.Path), Ops: []lsp.FileOperation{c.back()}})
}

// back returns the operation that reverses the write.
func (c *Change) back() lsp.FileOperation {
	if c.Old == nil {
		path := c.Path
		if real, link := toolkit.LinkTarget(c.Call, path); link { // keeps a link whose target did not exist
			path = real
		}
		return lsp.FileOperation{Kind: lsp.RemoveFile, Path: path, Old: c.Now}
	}
	return lsp.FileOperation{Path: c.Path, Old: c.Now, New: c.Old.Text, Edits: 1}
}

// Diff returns the whole old and new text. The old text is nil for a new file.
func (c *Change) Diff() agent.DiffContent {
	d := agent.DiffContent{Path: c.Path, New: c.Now}
	if c.Old != nil {
		d.Old = &c.Old.Text
	}
	return d
}

// FirstLine returns the number of the first line that differs, from 1.
func (c *Change) FirstLine() int {
	if c.Old == nil {
		return 1
	}
	old := c.Old.Text
	same := 0
	for same < min(len(old), len(c.Now)) && old[same] == c.Now[same] {
		same++
	}
	if same == len(c.Now) && same > 0 { // lines were removed from the end
		return strings.Count(c.Now[:same-1], "\n") + 1
	}
	return strings.Count(c.Now[:same], "\n") + 1
}
