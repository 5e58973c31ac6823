package sandbox

import "golang.org/x/sys/unix"

// oldModeCalls are the mode calls that newer architectures do not have.
var oldModeCalls = []modeCall{
	{call: unix.SYS_CHMOD, mode: 1}, {call: unix.SYS_CREAT, mode: 1}, {call: unix.SYS_MKNOD, mode: 1}, {call: unix.SYS_OPEN, mode: 2, flags: 1, opens: true},
}
