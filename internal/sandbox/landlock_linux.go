package sandbox

import (
	"errors"
	"fmt"
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

// confine restricts this thread and executes the program, which inherits the restrictions of the thread. It returns only on failure.
//
// The restrictions are those on files in [newTree], and others that Landlock brings with them: programs cannot trace a process outside,
// so the environment, memory, descriptors, root and working directory of gjc and of other programs in /proc stay closed, and they
// cannot change mounts. Of the capabilities of root, those that would open this again go away. Landlock before version 9 (after Linux 6.18) does not cover connections to sockets in the file system; without the
// network, seccomp refuses sockets of that family. With [Policy.Network], programs can connect to them, hidden or not.
func confine(p *Policy, command, env []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := restrict(withAliases(p, nil)); err != nil {
		return fmt.Errorf("restricting the program with Landlock: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := install(confinedFilter(p.Network), 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return fmt.Errorf("starting %s: %w", command[0], syscall.Exec(command[0], command, env))
}

func restrict(p *Policy) error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < minABI {
		return errors.New("too old")
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writing}
	if len(p.Hide) > 0 {
		attr.Handled_access_fs |= reading
	}
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
	rules := ruleset{fd: int(fd), handled: attr.Handled_access_fs}
	defer func() { _ = unix.Close(rules.fd) }() // the restriction does not depend on the descriptor
	if err := newTree(p).apply(&rules); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// fileCapabilities are the capabilities that programs keep, if they have them: those to use files and processes of other users.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes the other capabilities from this thread. With CAP_PERFMON or CAP_SYS_ADMIN, the kernel shows the
// environment of all processes without asking Landlock. PR_SET_NO_NEW_PRIVS keeps root from getting them back with the next program.
func dropCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[0] = unix.CapUserData{Effective: data[0].Effective & fileCapabilities, Permitted: data[0].Permitted & fileCapabilities}
	data[1] = unix.CapUserData{}
	return unix.Capset(&head, &data[0])
}
