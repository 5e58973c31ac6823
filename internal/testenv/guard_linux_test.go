package testenv_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/testenv"
)

// runVariable makes the test binary run as a separate test run of the kind that the value names.
const runVariable = "GJC_TESTENV_TEST_RUN"

func TestMain(m *testing.M) {
	kind := os.Getenv(runVariable)
	if kind == "" {
		os.Exit(m.Run())
	}
	if strings.HasPrefix(kind, "hidden") { // the process that a run starts
		if err := testenv.ReportProcess(); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		fmt.Println("started", os.Getpid())
		select {}
	}
	os.Exit(testenv.Run(runs[kind]))
}

// testRun implements Run like a *testing.M.
type testRun func() int

func (r testRun) Run() int { return r() }

var runs = map[string]testRun{
	"passes": func() int { return 0 },
	"fails":  func() int { startOrphan(); return 5 },
	"leaves": func() int { startOrphan(); return 0 },
	"panics": func() int { startOrphan(); panic("as a timeout does") },
	"hangs":  func() int { startOrphan(); select {} },
	// Only root can read its environment.
	"hides": func() int {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(testenv.RunEnv(), runVariable+"=hidden")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = fmt.Println(bufio.NewReader(out).ReadString('\n'))
		}
		if err != nil {
			fmt.Println(err)
		}
		return 5
	},
}

// startOrphan starts a process in a session of its own and prints its id.
func startOrphan() {
	cmd := exec.Command("setsid", "sleep", "600")
	cmd.Env = append(testenv.RunEnv(), "PATH="+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("started", cmd.Process.Pid)
}

// However a test run ends, none of its processes remain. A run that passes but leaves processes fails.
func TestRun(t *testing.T) {
	testenv.NeedsTool(t, "setsid")
	for kind, want := range map[string]struct {
		code int
		says string
	}{
		"passes": {code: 0}, "fails": {code: 5}, "panics": {code: 2}, "hangs": {code: -1}, "hides": {code: 5},
		"leaves": {code: 1, says: "processes are left:\n"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Env = append(os.Environ(), runVariable+"="+kind, "TMPDIR="+temp)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			cmd.WaitDelay = time.Minute
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid, fd := 0, -1
			if kind != "passes" {
				line, err := bufio.NewReader(stdout).ReadString('\n')
				if _, scanErr := fmt.Sscanf(line, "started %d", &pid); err != nil || scanErr != nil {
					t.Fatalf("%q, %v, %v", line, err, scanErr)
				}
				if fd, err = unix.PidfdOpen(pid, 0); err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
			}
			if kind == "hangs" {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(stderr.String(), want.says) {
				t.Errorf("the run ended with %d, want %d:\n%s", code, want.code, &stderr)
			}
			if fd >= 0 && !ends(fd) {
				t.Errorf("process %d is left", pid)
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			// The guard removes its directory last.
			for begin := time.Now(); ; {
				left, err := filepath.Glob(filepath.Join(temp, "*"))
				if err == nil && len(left) == 0 {
					break
				}
				if time.Since(begin) > time.Minute {
					t.Fatalf("left: %v, %v", left, err)
				}
			}
		})
	}
}

// ends waits for the end of a process that is not a child of this one.
func ends(fd int) bool {
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000); n > 0 {
			return true
		} else if err != nil && err != unix.EINTR {
			return false
		}
	}
	return false
}
