package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the first version of Landlock that covers all ways to change a file: version 3 (Linux 6.2) added truncation.
const minABI = 3

// scopesABI is the first version that can restrict signals and abstract sockets to the sandbox (Linux 6.12).
const scopesABI = 6

func landlockABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// landlockError returns why Landlock cannot be used, or nil if it can.
func landlockError() error {
	abi, err := landlockABI()
	switch {
	case err != nil:
		return fmt.Errorf("the kernel has no Landlock (%w)", err)
	case abi < minABI:
		return fmt.Errorf("the kernel's Landlock is too old (version %d of %d, Linux 6.2)", abi, minABI)
	}
	return seccompError()
}

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

// writing is the set of access rights that allow files to be changed.
const writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
	unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// onFiles is the subset of writing that a rule for a file, as opposed to a directory, may have.
const onFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// devices are always writable.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// enter restricts this thread and executes the program, which inherits the restrictions of the thread. callsOnly filters only the
// system calls, for a process whose file access is restricted already.
func enter(p *Policy, callsOnly bool, command, env []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if !callsOnly {
		if err := restrict(p); err != nil {
			return fmt.Errorf("sandbox: Landlock: %w", err)
		}
	}
	if err := filterCalls(p.Network); err != nil {
		return fmt.Errorf("sandbox: seccomp: %w", err)
	}
	return fmt.Errorf("sandbox: starting %s: %w", command[0], syscall.Exec(command[0], command, env))
}

func restrict(p *Policy) error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < minABI {
		return fmt.Errorf("version %d is too old; version %d or later is required", abi, minABI)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writing}
	if abi >= scopesABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.Network {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	rules := int(fd)
	defer func() { _ = unix.Close(rules) }() // the restriction does not depend on the descriptor
	for _, path := range append(p.Write, devices...) {
		if err := allow(rules, path); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow permits changes of everything below path. A path that does not exist is ignored.
func allow(rules int, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // the rule does not depend on the descriptor
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: writing, Parent_fd: int32(fd)}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access = onFiles
	}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return &os.PathError{Op: "allow", Path: path, Err: errno}
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

// filter returns the program that the kernel runs before each system call. Without network, it refuses all sockets except
// route sockets (netlink), and io_uring, which can open sockets too. Connected pairs of stream sockets are allowed; with other
// types, one socket of a pair could send to any address. The filter cannot see whether a mode is set inside or outside of the
// writable directories, so it refuses the setuid and setgid bits everywhere.
func filter(network bool) []unix.SockFilter {
	prog := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: equal, Jt: 1, K: arches[runtime.GOARCH]},
		{Code: ret, K: refuse(unix.EACCES)}, // other architectures number their system calls differently
		{Code: load, K: number},
		{Code: least, Jf: 1, K: x32},
		{Code: ret, K: refuse(unix.EACCES)},
	}
	// Each rule returns a result if it applies to the call.
	rule := func(call uint32, body ...unix.SockFilter) {
		prog = append(append(prog, unix.SockFilter{Code: equal, Jf: uint8(len(body)), K: call}), body...)
	}
	if !network {
		rule(unix.SYS_IO_URING_SETUP, unix.SockFilter{Code: ret, K: refuse(unix.ENOSYS)})
		rule(
			unix.SYS_SOCKET, unix.SockFilter{Code: load, K: firstArg}, unix.SockFilter{Code: equal, Jf: 1, K: unix.AF_NETLINK},
			unix.SockFilter{Code: ret, K: allowed}, unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
		)
		const socketType = 0xf
		rule(
			unix.SYS_SOCKETPAIR, unix.SockFilter{Code: load, K: firstArg + argSize}, unix.SockFilter{Code: and, K: socketType},
			unix.SockFilter{Code: equal, Jf: 1, K: unix.SOCK_STREAM},
			unix.SockFilter{Code: ret, K: allowed}, unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
		)
	}
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
		rule(m.call, body...)
	}
	// The flags and the mode of openat2 are in memory, which a filter cannot read. Programs fall back to openat.
	rule(unix.SYS_OPENAT2, unix.SockFilter{Code: ret, K: refuse(unix.ENOSYS)})
	return append(prog, unix.SockFilter{Code: ret, K: allowed})
}

// filterCalls installs the filter for the system calls of this thread and of the program that it executes.
func filterCalls(network bool) error {
	list := filter(network)
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(list)
	if errno != 0 {
		return errno
	}
	return nil
}

func bubblewrap(lookPath func(string) (string, error)) (string, bool) {
	path, err := lookPath("bwrap")
	return path, err == nil
}

// bubblewrapArgs returns the arguments of bwrap before the program.
func bubblewrapArgs(p *Policy) []string {
	// Without a PID namespace, the program could escape through /proc/PID/root of another process; without a user namespace, root
	// could mount anything.
	args := []string{
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc",
	}
	for _, dir := range p.Write {
		args = append(args, "--bind-try", dir, dir)
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	return append(args, "--")
}
