package proc

// EnvironFolded is [Environ] with the rules of Windows.
func EnvironFolded(base, extra []string) []string { return environ(base, extra, true) }
