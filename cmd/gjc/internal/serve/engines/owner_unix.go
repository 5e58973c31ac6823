//go:build unix

package engines

import (
	"os"

	"github.com/gajae-code/gjc/internal/proc"
)

func isRoot() bool { return os.Geteuid() == 0 }

// give makes a user the owner of a directory.
func give(path string, u *proc.User) error { return os.Lchown(path, int(u.UID), int(u.GID)) }
