package dap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
)

// processesWith returns the other processes that have an entry in their environment.
func processesWith(t *testing.T, entry string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && pid != os.Getpid() && bytes.Contains(env, []byte(entry+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitProcesses waits until there are n processes with an entry in their environment, and returns them.
func awaitProcesses(t *testing.T, entry string, n int) []int {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(timeout); ; {
		pids := processesWith(t, entry)
		if len(pids) == n {
			return pids
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes: %v, want %d", pids, n)
		}
		<-tick.C
	}
}

// TestProcessTree_Ended checks that a debuggee in its own process session, as debuggers start it, does not outlive the debug
// session, however that ends.
func TestProcessTree_Ended(t *testing.T) {
	for _, how := range []string{"terminate", "close", "kill the adapter", "adapter ends", "idle"} {
		t.Run(how, func(t *testing.T) {
			opts := dap.Options{}
			if how == "idle" {
				opts.Idle = 5 * time.Second
			}
			d := newDebugger(t, opts)
			a, spec := daptest.Process(t)
			p := daptest.NewProgram(a, source(t), daptest.All())
			s, err := d.Start(within(t), &dap.Start{Adapter: spec, Request: "launch", Dir: filepath.Dir(p.Path)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(within(t)); err != nil {
				t.Fatal(err)
			}
			// Keep the session in use until the debuggee runs.
			asked := make(chan *daptest.Request, 1)
			p.Handle("evaluate", func(r *daptest.Request) { asked <- r })
			done := make(chan error, 1)
			go func() {
				_, err := s.Evaluate(within(t), "x", "watch", 0)
				done <- err
			}()
			r := <-asked
			a.Spawn()
			pids := awaitProcesses(t, spec.Env[0], 2)
			r.Respond(map[string]any{"result": "1"})
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			switch how {
			case "terminate":
				err = s.Terminate(within(t), true)
			case "close":
				err = d.Close(within(t))
			case "kill the adapter":
				for _, pid := range pids {
					if exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); exe == spec.Path {
						err = unix.Kill(pid, unix.SIGKILL)
					}
				}
			case "adapter ends":
				a.Exit(0)
			}
			if err != nil {
				t.Fatal(err)
			}
			awaitProcesses(t, spec.Env[0], 0)
		})
	}
}
