package commands

import (
	"context"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Stale reports whether [Load] would find something else by now. It reads no file: it looks at the times and sizes of
// those that were read and of the directories that they stand in. When ctx ends it reports false.
func (s *Set) Stale(ctx context.Context) bool { return configfile.Stale(ctx, s.stamps) }
