package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// BenchmarkCancel measures the time from a cancellation to the end of the turn: to the response while a model streams, and to
// the end of the process while a command runs.
func BenchmarkCancel(b *testing.B) {
	m := newMetrics(b)
	bash := testenv.NeedsTool(b, "bash")
	for b.Loop() {
		cancels(b, m, bash)
	}
}

func cancels(b *testing.B, m *metrics, bash string) {
	chunk := make(chan time.Time, 1)
	a := start(b, b.TempDir(), options{EditorOptions: acptest.EditorOptions{
		Capabilities: &acp.ClientCapabilities{}, // then commands are gjc's own children
		Updated:      onChunk(chunk),
	}})
	defer a.end()
	id := a.open()
	prompt := func(text string) <-chan error {
		done := make(chan error, 1)
		go func() {
			resp, err := a.Prompt(b.Context(), id, text)
			if err == nil && resp.StopReason != acp.StopReasonCancelled {
				err = fmt.Errorf("the turn ended with %s", resp.StopReason)
			}
			done <- err
		}()
		return done
	}
	cancel := func() time.Time {
		begin := time.Now()
		a.check(acp.MethodSessionCancel.Notify(b.Context(), a.Conn, &acp.CancelNotification{SessionID: id}))
		return begin
	}

	done := prompt("!say 1000000")
	<-chunk
	begin := cancel()
	a.check(<-done)
	m.took("cancel-of-a-model-that-streams", time.Since(begin))

	const several = 20
	m.took("bash-c-true-without-gjc", mean(several, func() { check(b, exec.CommandContext(b.Context(), bash, "-c", "true").Run()) }))
	m.took("tool-call-on-this-machine-first", a.prompt(id, "!bash true"))
	m.took("tool-call-on-this-machine", mean(several, func() { a.prompt(id, "!bash true") }))

	pidFile := filepath.Join(a.work, "pid")
	done = prompt("!bash echo $$ > " + pidFile + "; exec sleep 600")
	pid := readPID(b, pidFile)
	begin = cancel()
	for alive(pid) {
		time.Sleep(100 * time.Microsecond)
	}
	m.took("cancel-until-a-command-is-gone", time.Since(begin))
	a.check(<-done)
}

// mean returns the mean duration of n calls.
func mean(n int, do func()) time.Duration {
	begin := time.Now()
	for range n {
		do()
	}
	return time.Since(begin) / time.Duration(n)
}

// BenchmarkClose measures the time that gjc needs to end when its editor disconnects in the middle of a response.
func BenchmarkClose(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		chunk := make(chan time.Time, 1)
		a := start(b, b.TempDir(), options{EditorOptions: acptest.EditorOptions{Updated: onChunk(chunk)}})
		id := a.open()
		prompted := make(chan struct{})
		go func() {
			defer close(prompted)
			_, _ = a.Prompt(b.Context(), id, "!say 1000000") // ends with the connection
		}()
		<-chunk
		begin := time.Now()
		a.check(a.Process.Stdin().Close())
		_, err := a.Process.Wait(b.Context())
		a.check(err)
		m.took("stdin-closed-inside-a-prompt", time.Since(begin))
		<-prompted
		a.end()
		closesBoxes(b, m)
	}
}

// closesBoxes measures the end of a session, and of gjc, whose commands have run inside the boundary.
func closesBoxes(b *testing.B, m *metrics) {
	a := start(b, b.TempDir(), options{EditorOptions: acptest.EditorOptions{Capabilities: &acp.ClientCapabilities{}}})
	defer a.end()
	ids := []acp.SessionID{a.open(), a.open()}
	for _, id := range ids {
		a.prompt(id, "/mode auto")
		a.prompt(id, "!bash test -e /run/gjc/self && touch inside")
		_, err := os.Stat(filepath.Join(a.work, "inside"))
		a.check(err)
	}
	begin := time.Now()
	_, err := acp.MethodSessionClose.Call(b.Context(), a.Conn, &acp.CloseSessionRequest{SessionID: ids[0]})
	a.check(err)
	m.took("session-close-with-a-boundary", time.Since(begin))
	begin = time.Now()
	a.check(a.Process.Stdin().Close())
	_, err = a.Process.Wait(b.Context())
	a.check(err)
	m.took("stdin-closed-with-a-boundary", time.Since(begin))
}

// readPID waits for a command to write its process ID.
func readPID(b *testing.B, path string) int {
	b.Helper()
	for {
		data, err := os.ReadFile(path)
		if text, whole := strings.CutSuffix(string(data), "\n"); err == nil && whole {
			pid, err := strconv.Atoi(text)
			check(b, err)
			return pid
		}
		check(b, b.Context().Err())
		time.Sleep(time.Millisecond)
	}
}

// alive reports whether a process exists and is not a zombie. On systems other than Linux it always returns false.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
