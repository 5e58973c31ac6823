package proc

import (
	"errors"
	"os"
	"time"
)

// hasGuard is false: a job object ends with its last handle, which the system closes at the end of this process.
const hasGuard = false

func startGuard(*GuardOptions, *os.File) (pid int, err error) { return 0, errors.ErrUnsupported }

func becomeGuard() {}

func killDescendants(int, time.Duration) {}

type reaper struct{}

func newReaper(func(pid int) bool) *reaper { return new(reaper) }

func (*reaper) stop() {}
