package sessionstest_test

import (
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/sessionstest"
)

func TestFileSystem_Real(t *testing.T) { sessionstest.FileSystem(t, sessions.Disk(), t.TempDir()) }

func TestFileSystem_InMemory(t *testing.T) {
	p := sessionstest.NewDisk(time.Unix(0, 0)).Process(sessionstest.Fault{})
	sessionstest.FileSystem(t, p, "/")
}
