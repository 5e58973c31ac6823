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

// ClientFS is the editor's files: text as it stands in the editor, saved or not. What an editor does not handle
// (binary files, what lies outside its roots, directories) is the disk's.
type ClientFS struct {
	LocalFS
	client        acp.Caller
	session       acp.SessionID
	workspace     agent.Workspace
	reads, writes bool
}

var _ agent.FS = (*ClientFS)(nil)

// ReadFile implements [agent.FS].
func (c *ClientFS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if !c.reads || !c.workspace.Contains(path) || isBinary(path) {
		return c.LocalFS.ReadFile(ctx, path)
	}
	// The editor opens the path itself, a moment later.
	if real, ok := approval.PermitOf(ctx).Reading(path); ok && c.RealPath(path) != real {
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
		// Editors have no agreed code for a file that is nowhere.
		if _, serr := os.Stat(path); errors.Is(serr, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
	}
	return nil, fmt.Errorf("the editor could not read %s: %w", path, err)
}

// WriteFile implements [agent.FS]. There is no fallback inside the editor's roots: the user would not see the change.
func (c *ClientFS) WriteFile(ctx context.Context, path string, data []byte) error {
	if !c.writes || !c.workspace.Contains(path) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return c.LocalFS.WriteFile(ctx, path, data)
	}
	if real, _, err := approval.PermitOf(ctx).Changing(path); err != nil {
		return err
	} else if real != "" && c.RealPath(path) != real {
		return moved("write", path)
	}
	// Not every editor makes the directories.
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
	if _, silent := errors.AsType[*UnansweredError](err); silent {
		return fmt.Errorf("the editor could not write %s: %w; it may still do so, read the file again before you change it", path, err)
	}
	return fmt.Errorf("the editor could not write %s: %w", path, err)
}

// maxUnsaved bounds how many files of a directory that moves are looked at for unsaved text.
const maxUnsaved = 1000

// Rename implements [agent.FS]. The protocol has no method for it: it is the disk that moves, and the editor finds out by
// itself. What it has not saved is saved before, so that no text stays behind at the old place; in a directory that holds
// for the first [maxUnsaved] files.
func (c *ClientFS) Rename(ctx context.Context, from, to string) error {
	if c.reads && c.writes && c.workspace.Contains(from) {
		if err := c.saveUnder(ctx, from); err != nil {
			return err
		}
	}
	return c.LocalFS.Rename(ctx, from, to)
}

// saveUnder saves the text of a file, or of the files in a directory, where the editor's is another than the disk's.
func (c *ClientFS) saveUnder(ctx context.Context, root string) error {
	looked := 0
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git" || d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case !d.Type().IsRegular() || isBinary(path):
			return nil
		}
		if looked++; looked > maxUnsaved {
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

// bare is a text without what some editors leave out: carriage returns and the byte order mark.
func bare(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// sniffSize is how much of a file is looked at to tell text from binary.
const sniffSize = 8 << 10

// isBinary reports whether the file on disk is no text. One that is not there may be a new buffer.
func isBinary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	buf := make([]byte, sniffSize)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return true // a directory or a device: not the editor's
	}
	head := buf[:n]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	// The last character may be cut by the sniff.
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return false
		}
	}
	return true
}
