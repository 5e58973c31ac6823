//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals end the program in an orderly way.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// surviveBrokenPipes turns a write to a pipe without a reader into an error, also for stdout and stderr. An editor that
// dies takes stderr with it, and the next line of the log must not kill gjc before its children have ended. Children do
// not inherit a notified signal, unlike an ignored one.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
