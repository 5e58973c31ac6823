//go:build !linux && !darwin

package proc

import "syscall"

// signalMarked finds nothing: on Windows the job object holds all that a child starts.
func signalMarked(string, syscall.Signal) int { return 0 }

// groupLives is for those that were asked to end.
func groupLives(int) bool { return false }
