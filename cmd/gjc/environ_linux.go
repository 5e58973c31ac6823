package main

import "golang.org/x/sys/unix"

// hideEnviron keeps this process's memory and environment, in which keys may be, from other programs of the same user: its own
// commands for one, which are not given them. Whoever may trace any process (root) still sees them. A program that this one becomes
// or starts is as any other.
func hideEnviron() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
