//go:build !linux

package conformance

// processes returns [errNoTable]: only Linux has a process table that can be read here.
func processes(string) ([]processInfo, error) { return nil, errNoTable }
