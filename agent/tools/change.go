package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// textFile is a file's text as it was read.
type textFile struct {
	text     string
	encoding encoding
}

// openText reads a file to change. Errors say why it cannot be changed; one for a file that is not there wraps
// [fs.ErrNotExist].
func openText(ctx context.Context, call *agent.Call, path string) (*textFile, error) {
	name := display(&call.Workspace, path)
	switch info, err := call.FS.Stat(ctx, path); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be changed: %w", name, reason(err))
	case err != nil: // it may still be a new file in the editor that was never saved
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; give the path of a file in it", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket, not a file that can be changed", name)
	case info.Size() > maxReadFile:
		return nil, fmt.Errorf("%s has %s, too much to change with this tool; use a command", name, size(info.Size()))
	}
	data, err := call.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, reason(err))
	}
	text, enc, err := decodeText(data)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be changed with this tool: %w", name, err)
	}
	return &textFile{text, enc}, nil
}

// errStale is wrapped by the error for a file that is not as it was when the edit was made for it.
var errStale = errors.New("the file has changed since the edit was worked out")

// unchanged fails if the text of a file is not old any more, which is nil for a file that was not there. It is for what
// took a while since the file was read.
func unchanged(ctx context.Context, call *agent.Call, path string, old *textFile) error {
	now, err := openText(ctx, call, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if (now == nil) != (old == nil) || now != nil && *now != *old {
		return staleError(call, path)
	}
	return nil
}

func staleError(call *agent.Call, path string) error {
	return fmt.Errorf("%s: %w; call the tool again", display(&call.Workspace, path), errStale)
}

// Bounds of a preview.
const (
	previewTime = 2 * time.Second
	// maxPreview bounds both texts of a preview together, in bytes. A larger change is shown once it is made.
	maxPreview = 256 << 10
)

// preview is the diff of a change before it is made, so that the user can see what is asked for. Where it cannot be
// told there is none: the call itself will say why. apply gets nil for a file that is not there.
func preview(ctx context.Context, call *agent.Call, path string, apply func(old *textFile) (string, error)) []agent.Content {
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	old, err := openText(ctx, call, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := apply(old)
	if err != nil || old != nil && (len(old.text)+len(text) > maxPreview || text == old.text) || len(text) > maxPreview {
		return nil
	}
	c := change{path: path, old: old, now: text}
	return []agent.Content{c.diff()}
}

// change is one write of one file.
type change struct {
	call *agent.Call
	path string
	// old is nil for a new file.
	old *textFile
	// now is the text that is there after the write; it may differ from what was written when the editor
	// formats on save.
	now   string
	notes []string
}

// write writes data, which encodes text, and looks at what the editor made of it.
func (c *change) write(ctx context.Context, data []byte, text string) error {
	name := display(&c.call.Workspace, c.path)
	if err := c.call.FS.WriteFile(ctx, c.path, data); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, reason(err))
	}
	c.now = text
	// The write is done: a failure from here on is a remark at most.
	data, err := c.call.FS.ReadFile(ctx, c.path)
	if err != nil {
		c.notes = append(c.notes, fmt.Sprintf("The file could not be read again: %v", reason(err)))
		return nil
	}
	if now, _, err := decodeText(data); err == nil && now != text {
		c.now = now
		if lineFeeds(now) != lineFeeds(text) {
			c.notes = append(c.notes, "The editor changed the text on saving, by formatting perhaps; read the file before the next edit.")
		}
	}
	return nil
}

// done takes note of a write that stays: what the model knows of the file now, and how to undo it.
func (c *change) done() {
	knownOf(c.call).put(c.path, c.now)
	what := "Edit "
	if c.call.Name == "write" {
		what = "Write "
	}
	changeSetsOf(c.call).push(&changeSet{what: what + display(&c.call.Workspace, c.path), ops: []lsp.FileOperation{c.back()}})
}

// back is what takes the write back.
func (c *change) back() lsp.FileOperation {
	if c.old == nil {
		path := c.path
		if real, link := linked(c.call, path); link { // one that led nowhere, and stays
			path = real
		}
		return lsp.FileOperation{Kind: lsp.RemoveFile, Path: path, Old: c.now}
	}
	return lsp.FileOperation{Path: c.path, Old: c.now, New: c.old.text, Edits: 1}
}

// linked reports whether a path is a symbolic link itself, and where it leads.
func linked(call *agent.Call, path string) (real string, is bool) {
	real = call.FS.RealPath(path)
	return real, real != filepath.Join(call.FS.RealPath(filepath.Dir(path)), filepath.Base(path))
}

func (c *change) diff() agent.DiffContent {
	d := agent.DiffContent{Path: c.path, New: c.now}
	if c.old != nil {
		d.Old = &c.old.text
	}
	return d
}

// firstLine is the first line that is different now, 1-based.
func (c *change) firstLine() int {
	if c.old == nil {
		return 1
	}
	old := c.old.text
	same := 0
	for same < min(len(old), len(c.now)) && old[same] == c.now[same] {
		same++
	}
	if same == len(c.now) && same > 0 { // lines were cut off the end
		return strings.Count(c.now[:same-1], "\n") + 1
	}
	return strings.Count(c.now[:same], "\n") + 1
}
