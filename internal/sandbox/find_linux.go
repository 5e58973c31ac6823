package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// kinds are those of this system, the strongest first.
var kinds = []Kind{Bubblewrap, Landlock}

// check finds what a boundary of the kind needs.
func (s *Sandbox) check(lookPath func(string) (string, error)) error {
	if s.Kind == Landlock {
		return landlockError()
	}
	if err := seccompError(); err != nil {
		return err
	}
	var err error
	if s.bwrap, err = lookPath("bwrap"); err != nil {
		return errors.New("bwrap is not installed")
	}
	// A kernel or a container may deny user namespaces. As the first process, the trial leaves no orphan.
	ctx, cancel := context.WithTimeout(context.Background(), tryLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.bwrap, "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--", s.self, Command).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == Failed {
		return nil
	}
	return fmt.Errorf("bwrap does not work here: %w: %s", err, bytes.TrimSpace(out))
}

// tryLimit bounds the trial of bubblewrap, which takes a tenth of a second on an idle machine.
const tryLimit = 30 * time.Second
