//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/proc"
)

// fakeVariable is the environment variable that selects the fake in a re-executed test binary.
const fakeVariable = "GJC_PROC_FAKE"

// fakes are the child programs of the tests. Their arguments are the test binary's.
var fakes = map[string]func(args []string){
	// echo copies stdin to stdout and exits at end of file.
	"echo": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	// fail prints an error and exits with code 3.
	"fail": func([]string) {
		fmt.Fprintln(os.Stderr, "no such flag")
		os.Exit(3)
	},
	// quit exits with code 7 when it reads a line, but not at end of file.
	"quit": func([]string) {
		fmt.Println("ready")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			os.Exit(7)
		}
		block()
	},
	// deaf never reads, and ends only on SIGTERM. The system ends it at once, even if a SIGKILL arrives before it has run again; a
	// Go program would first handle the signal itself.
	"deaf": func([]string) {
		fmt.Println(syscall.Exec("/bin/sh", []string{"sh", "-c", "echo ready; exec sleep 3600"}, os.Environ()))
	},
	// stubborn ends only on SIGKILL.
	"stubborn": func([]string) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		fmt.Println("ready")
		block()
	},
	// parent starts the named fake as a child that keeps stdout open, prints the child's process ID, and exits. With a second
	// argument, the child leaves the process group.
	"parent": func(args []string) {
		cmd := exec.Command(self())
		cmd.Env = fakeEnv(args[0])
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: len(args) > 1}
		// The child inherits a pipe that is closed when this process exits, which signals latecomer.
		stdin, _, err := os.Pipe()
		if err == nil {
			cmd.Stdin = stdin
			err = cmd.Start()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(cmd.Process.Pid)
	},
	// latecomer prints a line when its parent has ended.
	"latecomer": func([]string) {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("late")
	},
	// chatter writes forever.
	"chatter": func([]string) {
		signal.Ignore(syscall.SIGPIPE)
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(4)
			}
		}
	},
	// print writes the given number of bytes.
	"print": func(args []string) {
		var n int
		_, _ = fmt.Sscan(args[0], &n)
		_, _ = io.Copy(os.Stdout, io.LimitReader(zeros{}, int64(n)))
	},
	// both writes alternately to stdout and stderr.
	"both": func([]string) {
		for i := range 5 {
			fmt.Fprintln(os.Stdout, "out", i)
			fmt.Fprintln(os.Stderr, "err", i)
		}
	},
	// terminal prints the size of its terminal and reads from it until end of file.
	"terminal": func([]string) {
		size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
		if err != nil {
			fmt.Println("no terminal:", err)
			os.Exit(1)
		}
		fmt.Printf("terminal %dx%d\n", size.Col, size.Row)
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Printf("read %q\n", in.Text())
		}
	},
	// shell ignores SIGTERM, as an interactive shell does.
	"shell": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		block()
	},
	"env": func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
	// supervisor starts a stubborn child with the package under test, and waits to be killed.
	"supervisor": func([]string) {
		p, err := proc.Start(context.Background(), &proc.Options{Path: self(), Env: fakeEnv("stubborn")})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		// Wait until the child has written: its pipe breaks when this process is killed.
		if _, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		block()
	},
}

// block waits for the signal that ends the process. A timer prevents the runtime from reporting a deadlock, and a stray fake from
// running forever.
func block() { <-time.After(time.Hour) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		fake, ok := fakes[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such fake:", name)
			os.Exit(99)
		}
		fake(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func fakeEnv(name string) []string {
	// A race-enabled binary sleeps for a second before it exits, unless told otherwise.
	env := proc.Environ(os.Environ(), fakeVariable+"="+name, "GORACE=atexit_sleep_ms=0")
	if mark, ok := os.LookupEnv("GJC_CHILD"); ok { // children of a fake inherit its mark, as those of other programs do
		env = append(env, "GJC_CHILD="+mark)
	}
	return env
}
