//go:build unix

package bridges

import "syscall"

// noBlock keeps the opening of a pipe that nobody writes to from waiting.
const noBlock = syscall.O_NONBLOCK
