package toolkit

// Limits of the read tool.
const (
	// readLines is the number of lines that a call without a range returns.
	readLines = 300
	// MaxReadFile bounds a file that is read whole, in bytes. Longer text is read from the disk in parts: no editor has it open.
	MaxReadFile = 64 << 20
	// MaxReadPath bounds a path with its selector, in bytes.
	MaxReadPath = 64 << 10
)

// MaxShownColumns bounds a line of source around a location, in characters: generated files have very long ones.
const MaxShownColumns = 240
