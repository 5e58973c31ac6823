package tools

// Limits of the read tool.
const (
	// readLines is how many lines come when none are asked for.
	readLines = 300
	// maxReadFile bounds a file that is read whole, in bytes. A longer text is read in parts from the disk: no editor has it
	// open.
	maxReadFile = 64 << 20
	// maxReadPath bounds a path with all that stands behind it, in bytes.
	maxReadPath = 64 << 10
)

// maxShownColumns bounds a line around a place, in characters: generated files have very long ones.
const maxShownColumns = 240
