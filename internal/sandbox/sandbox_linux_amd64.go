package sandbox

import "golang.org/x/sys/unix"

// oldModeCalls are those that newer architectures do not have.
var oldModeCalls = []modeCall{{unix.SYS_CHMOD, 1}}
