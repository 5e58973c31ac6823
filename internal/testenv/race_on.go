//go:build race

package testenv

// Race reports that the race detector is on. It adds allocations and time, so budgets do not hold under it.
const Race = true
