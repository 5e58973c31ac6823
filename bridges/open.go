package bridges

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
)

var _ agent.Opener = LocalFS{}

// Open implements [agent.Opener].
func (LocalFS) Open(ctx context.Context, path string) (agent.OpenFile, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	real, judged, err := approval.Reading(ctx, path)
	if err != nil {
		return nil, err
	}
	var f *os.File
	if judged {
		f, err = openPinned(path, real)
	} else {
		f, err = os.OpenFile(path, os.O_RDONLY|noBlock, 0)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
