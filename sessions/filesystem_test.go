package sessions_test

import (
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/sessionstest"
)

func TestFileSystem_Real(t *testing.T) { sessionstest.TestFileSystem(t, sessions.Disk(), t.TempDir()) }

func TestFileSystem_InMemory(t *testing.T) {
	sessionstest.TestFileSystem(t, newMemoryDisk(time.Unix(0, 0)).Process(diskFault{}), "/")
}

func TestStore_Real(t *testing.T) {
	sessionstest.TestStore(t, func(t *testing.T) (sessionstest.Disk, string) { return sessions.Disk, t.TempDir() })
}

func TestFollow_Real(t *testing.T) {
	sessionstest.TestFollow(t, func(*testing.T) sessions.FileSystem { return sessions.Disk() }, t.TempDir())
}

func TestPipe_Real(t *testing.T) {
	sessionstest.TestPipe(t, func(*testing.T) sessions.FileSystem { return sessions.Disk() }, t.TempDir())
}
