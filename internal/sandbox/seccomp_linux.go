package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccompError returns why system calls cannot be filtered, or nil if they can.
func seccompError() error {
	if _, ok := arches[runtime.GOARCH]; !ok {
		return fmt.Errorf("no filters for system calls of %s", runtime.GOARCH)
	}
	// A kernel with seccomp filters reads the filter at the given nil address and returns EFAULT.
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0); !errors.Is(err, unix.EFAULT) {
		return errors.New("the kernel has no seccomp filters")
	}
	return nil
}

// arches are the seccomp constants of the architectures.
var arches = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32 is the bit that marks the system calls of the x32 ABI of amd64, which has a second number for each of them.
const x32 = 0x40000000

// The instructions of a seccomp program (classic BPF).
const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	ret   = unix.BPF_RET | unix.BPF_K
	// The offsets in seccomp_data; that of an argument is the offset of its lower half.
	number, architecture, firstArg, argSize = 0, 4, 16, 8

	allowed = 0x7fff0000
)

func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// modeCall is a system call that sets the mode of a file, with the index of its mode argument. A call that opens a file also has a
// flags argument; its mode is undefined unless the flags create the file.
type modeCall struct {
	call, mode, flags uint32
	opens             bool
}

// makes contains the open flags that create a file.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// program is a seccomp program in the making.
type program []unix.SockFilter

// rule adds instructions for a system call, which must return a result.
func (p *program) rule(call uint32, body ...unix.SockFilter) {
	*p = append(append(*p, unix.SockFilter{Code: equal, Jf: uint8(len(body)), K: call}), body...)
}

// refuse adds a rule that makes a system call fail.
func (p *program) refuse(errno unix.Errno, calls ...uint32) {
	for _, call := range calls {
		p.rule(call, unix.SockFilter{Code: ret, K: refuse(errno)})
	}
}

// newProgram returns the beginning of a seccomp program: only the system calls of the native architecture are possible, because others
// have other numbers. It refuses io_uring, whose operations no filter sees.
func newProgram() program {
	p := program{
		{Code: load, K: architecture},
		{Code: equal, Jt: 1, K: arches[runtime.GOARCH]},
		{Code: ret, K: refuse(unix.EACCES)},
		{Code: load, K: number},
		{Code: least, Jf: 1, K: x32},
		{Code: ret, K: refuse(unix.EACCES)},
	}
	p.refuse(unix.ENOSYS, unix.SYS_IO_URING_SETUP)
	return p
}

// boxFilter returns the program for the processes of a box. Sockets are for the box's own network and for files, since others
// (AF_VSOCK) are not separated by namespaces; neither are the kernel's keyrings. Nothing can be typed into a terminal.
func boxFilter() program {
	p := newProgram()
	families := []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	body := []unix.SockFilter{{Code: load, K: firstArg}}
	for i, family := range families {
		body = append(body, unix.SockFilter{Code: equal, Jt: uint8(len(families) - i), K: family})
	}
	p.rule(unix.SYS_SOCKET, append(body, unix.SockFilter{Code: ret, K: refuse(unix.EAFNOSUPPORT)}, unix.SockFilter{Code: ret, K: allowed})...)
	p.refuse(unix.ENOSYS, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL)
	p.rule(
		unix.SYS_IOCTL, unix.SockFilter{Code: load, K: firstArg + argSize}, unix.SockFilter{Code: equal, Jt: 1, K: unix.TIOCSTI},
		unix.SockFilter{Code: equal, Jf: 1, K: tiocLinux}, unix.SockFilter{Code: ret, K: refuse(unix.EPERM)}, unix.SockFilter{Code: ret, K: allowed},
	)
	return p.finish()
}

// tiocLinux is the request by which the Linux console pastes its selection.
const tiocLinux = 0x541c

// confinedFilter returns the program for a process with Landlock alone. Without network, it refuses all sockets except route
// sockets (netlink). Connected pairs of stream sockets are allowed; with other types, one socket of a pair could send to any
// address.
func confinedFilter(network bool) program {
	p := newProgram()
	if !network {
		p.rule(
			unix.SYS_SOCKET, unix.SockFilter{Code: load, K: firstArg}, unix.SockFilter{Code: equal, Jf: 1, K: unix.AF_NETLINK},
			unix.SockFilter{Code: ret, K: allowed}, unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
		)
		const socketType = 0xf
		p.rule(
			unix.SYS_SOCKETPAIR, unix.SockFilter{Code: load, K: firstArg + argSize}, unix.SockFilter{Code: and, K: socketType},
			unix.SockFilter{Code: equal, Jf: 1, K: unix.SOCK_STREAM},
			unix.SockFilter{Code: ret, K: allowed}, unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
		)
	}
	return p.finish()
}

// finish adds the end of a program, which allows everything else. It refuses the setuid and setgid bits everywhere, because a
// filter cannot see whether a file is inside or outside of the writable directories.
func (p program) finish() program {
	for _, m := range append([]modeCall{
		{call: unix.SYS_FCHMOD, mode: 1},
		{call: unix.SYS_FCHMODAT, mode: 2},
		{call: unix.SYS_FCHMODAT2, mode: 2},
		{call: unix.SYS_MKNODAT, mode: 2},
		{call: unix.SYS_OPENAT, mode: 3, flags: 2, opens: true},
	}, oldModeCalls...) {
		body := []unix.SockFilter{
			{Code: load, K: firstArg + m.mode*argSize},
			{Code: bits, Jf: 1, K: unix.S_ISUID | unix.S_ISGID},
			{Code: ret, K: refuse(unix.EPERM)},
			{Code: ret, K: allowed},
		}
		if m.opens {
			body = append([]unix.SockFilter{
				{Code: load, K: firstArg + m.flags*argSize},
				{Code: bits, Jt: 1, K: makes},
				{Code: ret, K: allowed},
			}, body...)
		}
		p.rule(m.call, body...)
	}
	// The flags and the mode of openat2 are in memory, which a filter cannot read. Programs fall back to openat.
	p.refuse(unix.ENOSYS, unix.SYS_OPENAT2)
	return append(p, unix.SockFilter{Code: ret, K: allowed})
}

// install makes the kernel run a program before each system call of this thread and of what it executes; with the flag
// SECCOMP_FILTER_FLAG_TSYNC, of all threads.
func install(p program, flags uintptr) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}
