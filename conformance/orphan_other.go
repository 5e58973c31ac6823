//go:build !linux

package conformance

// processes is not implemented on this system.
func processes(string) ([]processInfo, error) { return nil, errNoTable }
