package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// server is one machine with a "gjc serve", which is started again when it was killed.
type server struct {
	number  int
	program string
	args    []string // after "serve --listen ADDRESS"
	home    string
	mark    string // of the environments of its processes, without its life

	mu     sync.Mutex // guards the fields below
	lives  int
	listen string
	url    string // empty while it does not run
	cmd    *exec.Cmd
	ended  chan struct{} // closed when cmd has ended
	paused bool
	away   []span // in which it did not run, or was paused
	// engines are the moments at which its engine was killed, with what that was taking over.
	engines []time.Time
}

// span is a time; end is zero if it goes on.
type span struct {
	begin, end time.Time
	paused     bool // the server was only paused
}

// leave and back record that the server does not work for a while. The caller holds s.mu.
func (s *server) leave(paused bool) { s.away = append(s.away, span{begin: time.Now(), paused: paused}) }

func (s *server) back() {
	if n := len(s.away); n > 0 {
		s.away[n-1].end = time.Now()
	}
}

// sincePause returns the time since the server went on after its last pause; false if it was not paused, or is.
func (s *server) sincePause() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.away)
	if n == 0 || !s.away[n-1].paused || s.away[n-1].end.IsZero() {
		return 0, false
	}
	return time.Since(s.away[n-1].end), true
}

// lastAway returns for how long the server has worked.
func (s *server) lastAway() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.away); n > 0 {
		return "until " + time.Since(s.away[n-1].end).Round(time.Millisecond).String() + " ago"
	}
	return "never"
}

// wasAway reports whether the server did not work at some moment of a time; if that says so, only because it was paused.
func (s *server) wasAway(during span) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.away, func(a span) bool {
		return (a.paused || !during.paused) && a.begin.Before(during.end) && (a.end.IsZero() || a.end.After(during.begin))
	})
}

// worksFrom returns the first moment from begin on from which the server, and its engine, worked until end; end for none.
func (s *server) worksFrom(begin, end time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.away {
		switch {
		case !a.begin.Before(end) || !a.end.IsZero() && !a.end.After(begin):
		case a.end.IsZero() || a.end.After(end):
			return end
		default:
			begin = a.end
		}
	}
	for _, killed := range s.engines {
		if killed.After(begin) && killed.Before(end) {
			begin = killed
		}
	}
	return begin
}

// life is the text that the environments of the processes of the present life contain.
func (s *server) life() string { return fmt.Sprintf("%s.%d.%d.", s.mark, s.number, s.lives) }

// start starts the server, at the address of its last life if it had one.
func (s *server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives++
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()                                                             // the process has its own
	s.cmd = exec.Command(s.program, append([]string{"serve", "--listen", s.listen}, s.args...)...) // it outlives many contexts
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = append(environment(s.home), s.life()), s.home, log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.ended = ended
	lines := bufio.NewReader(out)
	line, err := lines.ReadBytes('\n')
	go func(cmd *exec.Cmd) { // ends with the process
		_ = cmd.Wait() // it is killed, or ends by a signal
		close(ended)
	}(s.cmd)
	var first struct {
		Listening string `json:"listening"`
	}
	if err == nil {
		err = jsonx.Unmarshal(line, &first)
	}
	if err != nil {
		return fmt.Errorf("the first line of server %d is %q: %w", s.number, line, err)
	}
	s.back()
	s.url = strings.Replace(first.Listening, "http://", "ws://", 1)
	s.listen = strings.TrimSuffix(strings.TrimPrefix(first.Listening, "http://"), "/acp")
	return nil
}

func (s *server) log() string { return filepath.Join(s.home, "serve.log") }

// address returns the address for clients; empty while the server does not run.
func (s *server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// usable reports whether the server runs and is not paused.
func (s *server) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url != "" && !s.paused
}

// processes returns the process IDs of the present life: the server's, its engine's, their guards' and those of commands.
func (s *server) processes() ([]int, error) {
	all, err := testenv.Processes(s.life())
	var ids []int
	for id := range all {
		ids = append(ids, id)
	}
	return ids, err
}

// engine returns the process ID of the engine; 0 without one.
func (s *server) engine() (int, error) {
	all, err := testenv.Processes(s.life())
	for id, line := range all {
		if slices.Contains(strings.Fields(line), "engine") {
			return id, err
		}
	}
	return 0, err
}

// kill kills the server's process, with all others of its machine if that is to fail as a whole. It returns the process IDs.
func (s *server) kill(machine bool) (ids []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = []int{s.cmd.Process.Pid}
	if machine {
		if ids, err = s.processes(); err != nil {
			return nil, err
		}
	}
	// A machine fails as a whole: nothing on it sees the end of something else, which would be an orderly end of a turn.
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, id := range ids {
			if err := syscall.Kill(id, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return nil, err
			}
		}
	}
	<-s.ended
	s.url = ""
	s.leave(false)
	return ids, nil
}

// killEngine kills the engine's process. It returns false if there is none.
func (s *server) killEngine() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.engine()
	if err != nil || id == 0 {
		return false, err
	}
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, err
	}
	s.engines = append(s.engines, time.Now())
	return true, nil
}

// pause stops all processes of the machine, or lets them go on.
func (s *server) pause(stop bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sig := syscall.SIGCONT
	if s.paused = stop; stop {
		sig = syscall.SIGSTOP
		s.leave(true)
	} else {
		s.back()
	}
	ids, err := s.processes()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := syscall.Kill(id, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// stop ends the server as an operator does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case <-s.ended:
	case <-time.After(hang):
		t.Errorf("server %d does not end", s.number)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("server %d ends with %v", s.number, s.cmd.ProcessState)
	}
	s.url = ""
}

// show writes the end of the server's log to the test's.
func (s *server) show(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(s.log())
	t.Logf("server %d: %v\n%s", s.number, err, bytes.TrimSpace(text[max(0, len(text)-4000):]))
}

// environment returns that of a machine of its own, whose only model is the offline one.
func environment(home string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "TMPDIR=" + home + ".tmp", "GJC_NO_TITLE=1",
		"OLLAMA_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1/v1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1/v1",
	}, testenv.RunEnv()...)
}
