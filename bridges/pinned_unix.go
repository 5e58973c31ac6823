//go:build unix

package bridges

import "syscall"

// noBlock keeps the opening of a pipe without a writer from blocking.
const noBlock = syscall.O_NONBLOCK
