//go:build unix

package main

import (
	"os"
	"syscall"
)

// endSignals end the program in good order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
