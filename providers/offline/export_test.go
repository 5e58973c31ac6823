package offline

import (
	"maps"
	"slices"
)

// CommandNames returns the commands that call a fixed tool.
func CommandNames() []string { return slices.Sorted(maps.Keys(inputs)) }
