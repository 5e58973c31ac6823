//go:build !linux && !darwin

package proc

import "syscall"

// signal finds nothing: on Windows the job object holds all that a child starts.
func (t *target) signal(syscall.Signal) (found, unsure int) { return 0, 0 }

// groupLives is for those that were asked to end.
func groupLives(int) bool { return false }

func ownIdentity() string { return "" }

func isDead(string) bool { return false }
