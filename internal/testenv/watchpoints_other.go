//go:build !(linux && amd64)

package testenv

// watchpoints reports true without a test: machines without watchpoints are known for Linux on amd64 only.
func watchpoints() (bool, error) { return true, nil }
