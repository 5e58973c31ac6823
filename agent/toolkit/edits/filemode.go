package edits

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// executables is implemented by file systems that can make a file executable.
type executables interface {
	// MakeExecutable makes a file executable for everyone who can read it. It is a no-op if the file is not on the disk.
	MakeExecutable(ctx context.Context, path string) error
}

// MarkExecutable makes a new script executable if the file system can, and returns a note about it, or "".
func MarkExecutable(ctx context.Context, call *agent.Call, path, text string) string {
	files, ok := call.FS.(executables)
	if !ok || !strings.HasPrefix(text, "#!") {
		return ""
	}
	if err := files.MakeExecutable(ctx, path); err != nil {
		return fmt.Sprintf("The file could not be made executable: %v", toolkit.Reason(err))
	}
	return "The file is executable."
}

// modeSetter is implemented by file systems that support permissions.
type modeSetter interface {
	// SetMode gives a file the permissions in mode. It is a no-op if the file is not on the disk.
	SetMode(ctx context.Context, path string, mode fs.FileMode) error
}

// setMode gives a restored file the permissions that it had.
func setMode(ctx context.Context, call *agent.Call, path string, mode fs.FileMode) (notes []string) {
	files, ok := call.FS.(modeSetter)
	if !ok {
		return nil
	}
	if err := files.SetMode(ctx, path, mode); err != nil {
		return []string{fmt.Sprintf("The file could not be given its permissions (%v): %v", mode.Perm(), toolkit.Reason(err))}
	}
	return nil
}

// SetExecutable makes a file executable for everyone who can read it, or takes that back, if the file system can. It returns notes about it.
func SetExecutable(ctx context.Context, call *agent.Call, path string, on bool) (notes []string) {
	info, err := call.FS.Stat(ctx, path)
	if err != nil || info.Mode()&0o100 != 0 == on {
		return nil // an editor has not saved it yet, or nothing is to be done
	}
	mode := info.Mode().Perm() &^ 0o111
	if on {
		mode = info.Mode().Perm() | info.Mode().Perm()&0o444>>2
	}
	return setMode(ctx, call, path, mode)
}
