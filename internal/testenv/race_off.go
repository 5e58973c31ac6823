//go:build !race

package testenv

// Race reports whether the race detector is on. It adds allocations and time, so limits on those do not apply with it.
const Race = false
