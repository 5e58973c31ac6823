//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals end the program in good order.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// surviveBrokenPipes makes a write to a pipe without a reader an error, also to stdout and stderr. An editor that dies
// takes stderr with it, and the next line of the log must not kill the program before its children are gone. Unlike
// an ignored signal, one that is notified is not passed on to children.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
