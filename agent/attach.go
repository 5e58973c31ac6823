package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/gajae-code/gjc/internal/text"
)

// maxAttached bounds a file that a prompt attaches, in bytes.
const maxAttached = 256 << 10

// errAttached is wrapped by the error for a file that a prompt names and does not get.
var errAttached = errors.New("not attached")

// ReadAttached returns the text of a file that a prompt of t names, as the editor has it. A path that leads nowhere or to a directory is an
// error that wraps [fs.ErrNotExist]: it is text. The file must be in the workspace, and one that the model may read without a question.
func ReadAttached(ctx context.Context, t *RunningTurn, path string) (string, error) {
	s := t.session
	files, ws := s.opts.FS, &s.opts.Workspace
	path = ws.Resolve(path)
	info, err := files.Stat(ctx, path)
	if err != nil || info.IsDir() {
		return "", fs.ErrNotExist
	}
	fail := func(why string) (string, error) { return "", fmt.Errorf("%w: %s", errAttached, why) }
	real := files.RealPath(path)
	switch {
	case !ws.Contains(path) || !ws.real().Contains(real):
		return fail("it is outside the workspace; read it with the read tool if you need it")
	case !s.readable(path):
		return fail("reading it needs the user's permission; read it with the read tool if you need it")
	case !info.Mode().IsRegular():
		return fail("it is not a regular file")
	case info.Size() > maxAttached:
		return fail(fmt.Sprintf("it is larger than %d KiB; read parts of it with the read tool", maxAttached>>10))
	}
	data, err := files.ReadFile(ctx, path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errAttached, err)
	}
	content, _, ok := text.Decode(data)
	switch {
	case !ok:
		return fail("it is no text")
	case len(content) > maxAttached:
		return fail(fmt.Sprintf("it is larger than %d KiB; read parts of it with the read tool", maxAttached>>10))
	}
	return s.Hide(content), nil
}
