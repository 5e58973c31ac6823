//go:build unix

package proc

import "syscall"

// The codes of waitid.
const (
	codeExited = 1
	codeKilled = 2
	codeDumped = 3
)

func (i *childInfo) state() ExitState {
	switch i.code {
	case codeExited:
		return ExitState{Code: int(i.status)}
	case codeKilled, codeDumped:
		return signaled(syscall.Signal(i.status))
	default:
		return ExitState{Code: -1}
	}
}
