//go:build unix

package bridges

import "syscall"

// noBlock prevents opening a pipe without a writer from blocking.
const noBlock = syscall.O_NONBLOCK
