package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A box's first process guards its mounts. A mount on a file is gone once a program outside replaces the file, and files to be kept or
// hidden can appear later; the guard mounts them again. It alone has the capability for that, in a mount namespace of its own thread
// that the keeper and all programs share. No program of the box can reach it: its socket is not visible inside, and a process with
// fewer capabilities cannot trace it.

// The descriptors of the guard's sockets.
const (
	keeperFD = 3
	guardFD  = 4
)

// mountRequest asks the guard to keep, fix and hide paths: see [Policy].
type mountRequest struct {
	Keep  []string `json:"keep"`
	Fixed []string `json:"fixed"`
	Hide  []string `json:"hide"`
}

// guard is the first process of a box. It starts the keeper and serves mount requests. It returns when the keeper has ended.
func guard(in *Invocation) error {
	runtime.LockOSThread() // namespaces and capabilities are those of a thread
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	// What is mounted outside from now on would appear inside, and could be changed there.
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("separating mounts: %w", err)
	}
	keeper := &exec.Cmd{
		Path: boxSelf, Args: []string{boxSelf, Command, "keep"}, Env: in.Env, Stdout: in.Stdout, Stderr: in.Stderr,
		ExtraFiles: []*os.File{os.NewFile(keeperFD, "keeper")}, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := passNoCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := keeper.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- keeper.Wait() }()
	requests := make(chan *net.UnixConn)
	l, err := unixListener(guardFD)
	if err != nil {
		return err
	}
	go func() { // ends with this process
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			requests <- c
		}
	}()
	for {
		select {
		case err := <-ended:
			return err
		case c := <-requests:
			var req mountRequest
			files, err := receive(c, &req)
			closeAll(files)
			if err == nil {
				var a answer
				if err := mountAll(&req); err != nil {
					a.Error = err.Error()
				}
				_ = send(c, a) // the other side may have gone
			}
			_ = c.Close()
		}
	}
}

// passNoCapabilities makes programs that this thread executes have no capabilities, also those of root. The thread keeps its own.
func passNoCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&head, &data[0]); err != nil {
		return err
	}
	for capability := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // there are no more
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mountAll keeps, fixes and hides what is not so already. Paths that do not exist are ignored.
func mountAll(req *mountRequest) error {
	for _, path := range req.Fixed {
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st); err != nil || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			continue // it is a mount, or not there
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &os.PathError{Op: "fixing", Path: path, Err: err}
		}
	}
	for _, path := range req.Keep {
		var st unix.Statfs_t
		if err := unix.Statfs(path, &st); err != nil || st.Flags&unix.ST_RDONLY != 0 {
			continue // it is kept, or hidden, or not there
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &os.PathError{Op: "keeping", Path: path, Err: err}
		}
		if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|uintptr(st.Flags)&keptFlags, ""); err != nil {
			return &os.PathError{Op: "keeping", Path: path, Err: err}
		}
	}
	for _, path := range req.Hide {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil || st.Mode&0o777 == 0 {
			continue // it is hidden or not there
		}
		with := boxNone
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			with = boxVoid
		}
		if err := unix.Mount(with, path, "", unix.MS_BIND, ""); err != nil {
			return &os.PathError{Op: "hiding", Path: path, Err: err}
		}
	}
	return nil
}

// keptFlags are the flags of a mount that a process in a user namespace cannot remove; statfs has the same numbers for them.
const keptFlags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME

// unixListener returns the listener that this process has inherited.
func unixListener(fd uintptr) (*net.UnixListener, error) {
	f := os.NewFile(fd, "listener")
	l, err := net.FileListener(f)
	_ = f.Close() // l has a copy
	if err != nil {
		return nil, err
	}
	listener, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("descriptor %d is no Unix socket", fd)
	}
	return listener, nil
}
