package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// writing is the set of access rights that allow files to be changed.
const writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
	unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// onFiles is the subset of writing that a rule for a file, as opposed to a directory, may have.
const onFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// devices are always writable.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// confine restricts this thread and executes the program, which inherits the restrictions of the thread. It returns only on failure.
func confine(p *Policy, command, env []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := restrict(p); err != nil {
		return fmt.Errorf("Landlock: %w", err)
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
	for _, path := range append(granted(p), devices...) {
		if err := allow(rules, path); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// granted returns the paths of a policy that are allowed with all that is in them. Landlock has no exceptions: in the place of a
// directory that contains something to keep stand its other entries, so that nothing new can be made in it.
func granted(p *Policy) []string {
	var paths []string
	var grant func(path string)
	grant = func(path string) {
		switch contains(p.Keep, path) {
		case keepsAll:
		case keepsNone:
			paths = append(paths, path)
		case keepsSome:
			entries, _ := os.ReadDir(path) // what cannot be listed is not granted
			for _, e := range entries {
				grant(filepath.Join(path, e.Name()))
			}
		}
	}
	for _, path := range p.Write {
		grant(filepath.Clean(path))
	}
	return paths
}

// keeps says how much of a path stays as it is.
type keeps int

const (
	keepsNone keeps = iota
	keepsSome
	keepsAll
)

func contains(keep []string, path string) keeps {
	found := keepsNone
	for _, k := range keep {
		if k = filepath.Clean(k); k == path {
			return keepsAll
		}
		if strings.HasPrefix(k, strings.TrimSuffix(path, "/")+"/") {
			found = keepsSome
		}
	}
	return found
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
