package shell

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
)

const (
	// sshIdle is the time for which a connection stays without a command, in seconds. It bounds what remains of a session that was killed.
	sshIdle = 600
	// sshExitTime is the time for which a connection may take to end.
	sshExitTime = 2 * time.Second
	// maxSocketPath is the maximum length of a socket's path, in bytes. Systems allow at least 104, and ssh first creates the
	// socket with 17 more.
	maxSocketPath = 80
)

// sshLinks holds the connections that commands share. Each one is an ssh process that belongs to no call, with a socket in a
// directory that only the user can access. The outermost session owns the connections, and they end with it.
type sshLinks struct {
	mu     sync.Mutex // guards the fields below
	closed bool
	dir    string // empty if there is none yet
	links  map[SSHHost]*sshLink
}

type sshLink struct {
	programs agent.Programs
	// ssh is the program, socket the path of the connection's socket.
	ssh, socket, address string
}

var _ agent.ValueCloser = (*sshLinks)(nil)

func sshLinksOf(call *agent.Call) *sshLinks {
	return agent.Value(call.Values.Root(), func() *sshLinks { return new(sshLinks) })
}

// options returns the options with which ssh uses the connection to a host, or creates it. ssh for Windows cannot share
// connections.
func (s *sshLinks) options(call *agent.Call, ssh string, h *SSHHost) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	link := s.links[*h]
	if link == nil {
		if s.dir == "" && !s.closed && runtime.GOOS != "windows" {
			s.dir = socketDir()
		}
		if s.dir == "" {
			return []string{"ControlMaster=no", "ControlPath=none"}
		}
		link = &sshLink{call.Programs, ssh, filepath.Join(s.dir, strconv.Itoa(len(s.links))), h.Address}
		if s.links == nil {
			s.links = make(map[SSHHost]*sshLink)
		}
		s.links[*h] = link
	}
	return []string{
		"ControlMaster=auto", "ControlPersist=" + strconv.Itoa(sshIdle), "ControlPath=" + link.socket,
		// A dead connection must not make every later command fail.
		"ServerAliveInterval=15", "ServerAliveCountMax=3",
	}
}

// socketDir creates a directory for sockets whose path is short enough and that ssh reads literally. It returns "" if it cannot.
func socketDir() string {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		dir, err := os.MkdirTemp(parent, "gjc-ssh-")
		if err != nil {
			continue
		}
		if len(dir)+len("/99") <= maxSocketPath && !strings.ContainsAny(dir, " \t\"'\\%$~") {
			return dir
		}
		_ = os.Remove(dir) // it is empty
	}
	return ""
}

// Close implements [agent.ValueCloser].
func (s *sshLinks) Close(ctx context.Context) {
	s.mu.Lock()
	dir, links := s.dir, s.links
	s.dir, s.links, s.closed = "", nil, true
	s.mu.Unlock()
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sshExitTime)
	defer cancel()
	var ends sync.WaitGroup
	for _, l := range links {
		if _, err := os.Lstat(l.socket); err != nil {
			continue // it was never created, or has ended
		}
		ends.Go(func() {
			// A connection that does not answer ends after its idle time.
			_, _ = l.programs.Output(ctx, agent.Program{Path: l.ssh, Args: []string{"-O", "exit", "-o", "ControlPath=" + l.socket, "--", l.address}, Dir: dir}, 1<<10)
		})
	}
	ends.Wait()
	_ = os.RemoveAll(dir) // best effort: it is in the temporary directory
}
