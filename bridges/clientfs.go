package bridges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
)

// clientFS reads and writes text files through the editor, including text that is not saved. Files that editors do not
// handle (binary files, files outside the roots, directories) are read from the disk.
type clientFS struct {
	LocalFS
	client        acp.Caller
	session       acp.SessionID
	workspace     agent.Workspace
	reads, writes bool
}

var _ agent.FS = (*clientFS)(nil)

// ReadFile implements [agent.FS].
func (c *clientFS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if !c.reads || !c.workspace.Contains(path) || isBinary(path) {
		return c.LocalFS.ReadFile(ctx, path)
	}
	// The editor opens the path itself, a moment later, and follows the links that it finds.
	if real, judged, err := approval.Reading(ctx, path); err != nil {
		return nil, err
	} else if judged && c.RealPath(path) != real {
		return nil, moved("read", path)
	}
	resp, err := acp.MethodFSReadTextFile.Call(ctx, c.client, &acp.ReadTextFileRequest{SessionID: c.session, Path: path})
	if err == nil {
		return []byte(resp.Content), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*acp.Error](err); ok {
		if e.Code == acp.ErrorCodeMethodNotFound || e.Code == acp.ErrorCodeResourceNotFound {
			return c.LocalFS.ReadFile(ctx, path)
		}
		// Editors use different codes for a file that does not exist.
		if _, serr := os.Stat(path); errors.Is(serr, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
	}
	return nil, fmt.Errorf("the editor could not read %s: %w", path, err)
}

// WriteFile implements [agent.FS]. Inside the editor's roots it never falls back to the disk: the user would not see the change.
func (c *clientFS) WriteFile(ctx context.Context, path string, data []byte) error {
	if !c.writes || !c.workspace.Contains(path) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return c.LocalFS.WriteFile(ctx, path, data)
	}
	if real, _, err := approval.Changing(ctx, path); err != nil {
		return err
	} else if real != "" && c.RealPath(path) != real {
		return moved("write", path)
	}
	// Not every editor creates the directories.
	if err := makeParents(path); err != nil {
		return err
	}
	_, err := acp.MethodFSWriteTextFile.Call(ctx, c.client, &acp.WriteTextFileRequest{
		SessionID: c.session, Path: path, Content: string(data),
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, silent := errors.AsType[*unansweredError](err); silent {
		return fmt.Errorf("the editor could not write %s: %w; it may still do so, read the file again before you change it", path, err)
	}
	return fmt.Errorf("the editor could not write %s: %w", path, err)
}

// maxUnsaved bounds how many files of a renamed directory are checked for unsaved text.
const maxUnsaved = 1000

// Rename implements [agent.FS]. The protocol has no method for it, so the file is renamed on the disk, and the editor notices
// by itself. Unsaved text is saved first, in a directory for the first [maxUnsaved] files.
func (c *clientFS) Rename(ctx context.Context, from, to string) error {
	if c.reads && c.writes && c.workspace.Contains(from) {
		if err := c.saveUnder(ctx, from); err != nil {
			return err
		}
	}
	return c.LocalFS.Rename(ctx, from, to)
}

// saveUnder saves a file, or the files in a directory, whose text in the editor differs from the disk.
func (c *clientFS) saveUnder(ctx context.Context, root string) error {
	checked := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git" || d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case !d.Type().IsRegular() || isBinary(path):
			return nil
		}
		if checked++; checked > maxUnsaved {
			return fs.SkipAll
		}
		disk, err := c.LocalFS.ReadFile(ctx, path)
		if err != nil {
			return err
		}
		text, err := c.ReadFile(ctx, path)
		if err != nil || bytes.Equal(bare(disk), bare(text)) {
			return err
		}
		return c.WriteFile(ctx, path, text)
	})
}

// bare returns text without carriage returns and the byte order mark, which some editors omit.
func bare(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// sniffSize is how much of a file is read to distinguish text from binary, in bytes.
const sniffSize = 8 << 10

// isBinary reports whether the file on disk is not text. A file that does not exist may be a new buffer.
func isBinary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	buf := make([]byte, sniffSize)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return true // a directory or a device
	}
	head := buf[:n]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	// The sniffed part may end inside a character.
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return false
		}
	}
	return true
}
