package testenv

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchedVariable makes a test binary the process that [watchpoints] traces.
const watchedVariable = "GJC_TESTENV_WATCHED"

var watched atomic.Uint32

func init() { // runs on the main thread, which is the traced one
	if os.Getenv(watchedVariable) == "" {
		return
	}
	fmt.Printf("%p\n", &watched)
	_, _ = syscall.Read(0, make([]byte, 1)) // on this thread; the byte says that the watchpoint is set
	watched.Store(1)
	os.Exit(0)
}

// watchpoints reports whether a process stops when it writes to a watched variable.
var watchpoints = sync.OnceValues(func() (works bool, err error) {
	runtime.LockOSThread() // only this thread is the tracer
	defer runtime.UnlockOSThread()

	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	stdin, begin, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer func() { _ = stdin.Close() }()
	defer func() { _ = begin.Close() }()
	address, stdout, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer func() { _ = address.Close() }()
	process, err := os.StartProcess(self, []string{self}, &os.ProcAttr{
		Env:   append(os.Environ(), watchedVariable+"=1"),
		Files: []*os.File{stdin, stdout, os.Stderr},
	})
	_ = stdout.Close()
	if err != nil {
		return false, err
	}
	reaped := false
	defer func() {
		if !reaped {
			_ = process.Kill()
			_, _ = process.Wait()
		}
	}()

	line, err := bufio.NewReader(address).ReadString('\n')
	if err != nil {
		return false, err
	}
	var at uint64
	if _, err := fmt.Sscanf(line, "0x%x", &at); err != nil {
		return false, err
	}

	if err := unix.PtraceAttach(process.Pid); err != nil {
		return false, fmt.Errorf("attaching: %w", err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(process.Pid, &status, unix.WALL, nil); err != nil {
		return false, err
	}
	// user.u_debugreg of <sys/user.h>. DR7: register 0 is on, for writes (1) to four bytes (3).
	const registers, control = 848, 7
	for _, set := range []struct {
		register uintptr
		value    uint64
	}{{0, at}, {control, 1 | 1<<16 | 3<<18}} {
		value := binary.LittleEndian.AppendUint64(nil, set.value)
		if _, err := unix.PtracePokeUser(process.Pid, registers+8*set.register, value); err != nil {
			return false, fmt.Errorf("setting a debug register: %w", err)
		}
	}
	if _, err := begin.WriteString("\n"); err != nil {
		return false, err
	}
	for {
		signal := 0
		if s := status.StopSignal(); s != unix.SIGSTOP { // SIGSTOP is from attaching
			signal = int(s)
		}
		if err := unix.PtraceCont(process.Pid, signal); err != nil {
			return false, err
		}
		if _, err := unix.Wait4(process.Pid, &status, unix.WALL, nil); err != nil {
			return false, err
		}
		switch {
		case status.Exited() && status.ExitStatus() == 0: // the process has written without stopping
			reaped = true
			return false, nil
		case !status.Stopped():
			reaped = true
			return false, fmt.Errorf("the watched program ended with %v", status)
		case status.StopSignal() == unix.SIGTRAP:
			return true, nil
		}
	}
})
