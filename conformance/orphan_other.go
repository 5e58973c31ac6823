//go:build !linux

package conformance

// processes returns [errNoTable]: the process table is read only on Linux.
func processes(string) ([]processInfo, error) { return nil, errNoTable }
