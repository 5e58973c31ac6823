//go:build !(linux && amd64)

package testenv

// watchpoints reports true without a test: only Linux on amd64 is known to have machines without watchpoints.
func watchpoints() (bool, error) { return true, nil }
