package toolkit

// Limits of the read tool.
const (
	// readLines is how many lines come when none are asked for.
	readLines = 300
	// MaxReadFile bounds a file that is read whole, in bytes. A longer text is read in parts from the disk: no editor has it
	// open.
	MaxReadFile = 64 << 20
	// MaxReadPath bounds a path with all that stands behind it, in bytes.
	MaxReadPath = 64 << 10
)

// MaxShownColumns bounds a line around a place, in characters: generated files have very long ones.
const MaxShownColumns = 240
