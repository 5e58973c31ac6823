package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// kinds are those of this system.
var kinds = []Kind{Seatbelt}

// check runs a program with profiles of both kinds: a version of macOS may not know all their rules, and a process that has a
// profile cannot get another.
func (s *Sandbox) check(func(string) (string, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryLimit)
	defer cancel()
	const dir = "/private/var/empty/gjc"
	p := &Policy{Write: []string{dir}, Keep: []string{dir + "/a/b"}, Hide: []string{dir + "/c"}, Show: []string{dir + "/c/d"}, Temp: dir + "/t", ProxyPort: 1}
	for _, p.Network = range []bool{false, true} {
		program, args := s.Confine(p, "/usr/bin/true", nil)
		if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s does not work here: %w: %s", program, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// tryLimit bounds the trial.
const tryLimit = 5 * time.Second
