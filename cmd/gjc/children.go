package main

import (
	"os"
	"runtime"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/proc"
)

// guardCommand is the argument that makes gjc the guard of another gjc's child processes; see [proc.RunGuard].
const guardCommand = "__guard"

// guardedChildren returns the group for all child processes of this process.
func guardedChildren(log *zerolog.Logger) *proc.Group {
	path := "/proc/self/exe" // still valid after an update has replaced the file
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			log.Warn().Err(err).Msg("child processes have no guard, and may outlive a gjc that is killed")
			return proc.NewGroup(nil)
		}
	}
	return proc.NewGuardedGroup(proc.GuardOptions{Path: path, Args: []string{guardCommand}, Failed: func(err error) {
		log.Warn().Err(err).Msg("child processes may outlive a gjc that is killed")
	}})
}
