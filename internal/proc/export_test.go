package proc

// EnvironFolded is [Environ] as on Windows.
func EnvironFolded(base, extra []string) []string { return environ(base, extra, true) }
