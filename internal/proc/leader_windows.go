package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// leader is the child, and the job object of the child and its descendants. The job ends when its last handle is closed, including
// when this process is killed.
type leader struct {
	cmd *exec.Cmd
	job windows.Handle
}

func (l *leader) prepare(cmd *exec.Cmd, _ bool) {
	// Suspended: the process must not run before it is in the job. Without CREATE_NO_WINDOW, each child of a program without a
	// console would open a console window.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
		CmdLine:       shellCommandLine(cmd),
	}
	l.cmd = cmd
}

// shellCommandLine returns the command line of cmd.exe that runs a line; "" for any other program, whose arguments are quoted by the
// usual rules. With /s, cmd.exe uses the text between the first and the last quote unchanged.
func shellCommandLine(cmd *exec.Cmd) string {
	n := len(cmd.Args)
	if n < 3 || !strings.EqualFold(filepath.Base(cmd.Path), "cmd.exe") || !strings.EqualFold(cmd.Args[n-2], "/c") {
		return ""
	}
	return syscall.EscapeArg(cmd.Path) + " " + strings.Join(cmd.Args[1:n-1], " ") + ` "` + cmd.Args[n-1] + `"`
}

func (l *leader) become(*User) error {
	return fmt.Errorf("running a program as another user: %w", errors.ErrUnsupported)
}

func (l *leader) start() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("creating a job object: %w", err)
	}
	l.job = job
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		l.closeJob()
		return fmt.Errorf("limiting a job object: %w", err)
	}
	if err := l.cmd.Start(); err != nil {
		l.closeJob()
		return err
	}
	var resumed error
	err = l.cmd.Process.WithHandle(func(h uintptr) {
		if resumed = windows.AssignProcessToJobObject(job, windows.Handle(h)); resumed == nil {
			resumed = resume(windows.Handle(h))
		}
	})
	if err = errors.Join(err, resumed); err != nil {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
		l.closeJob()
		return fmt.Errorf("putting process %d into its job object: %w", l.cmd.Process.Pid, err)
	}
	return nil
}

// resume resumes a process that was created suspended. It uses the process, because os/exec keeps no handle of its first thread.
func resume(process windows.Handle) error {
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(process))
	if status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

func (l *leader) pid() int {
	if l.cmd.Process == nil {
		return 0
	}
	return l.cmd.Process.Pid
}

func (l *leader) wait() ExitState {
	_ = l.cmd.Wait()
	if l.cmd.ProcessState == nil {
		return ExitState{Code: -1}
	}
	return ExitState{Code: l.cmd.ProcessState.ExitCode()}
}

func (l *leader) reap(seen ExitState) ExitState {
	l.closeJob()
	return seen
}

// awaitGroupEnd does nothing: ending a job ends all of it.
func (l *leader) awaitGroupEnd() {}

func (l *leader) kill() error { return windows.TerminateJobObject(l.job, 1) }

// terminate always fails: a process without a shared console cannot be asked to end.
func (l *leader) terminate() error { return errors.ErrUnsupported }

func terminateMarked(string) bool { return false }

func (l *leader) closeJob() {
	_ = windows.CloseHandle(l.job)
	l.job = 0
}

func openPTY(_, _ int) (master, tty *os.File, err error) { return nil, nil, errors.ErrUnsupported }
