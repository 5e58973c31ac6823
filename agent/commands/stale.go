package commands

import (
	"context"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Stale reports whether [Load] would return something else now. It reads no file: it compares the times and sizes of
// the files and directories that were read. It reports false when ctx ends.
func (s *Set) Stale(ctx context.Context) bool { return configfile.Stale(ctx, s.stamps) }
