package offline

import (
	"maps"
	"slices"
)

// CommandNames returns the commands that call a tool of a fixed name.
func CommandNames() []string { return slices.Sorted(maps.Keys(inputs)) }
