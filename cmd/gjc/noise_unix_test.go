//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// makeNoiseOnSignals makes the process print to stdout in every way that gjc's code or a library could: on SIGUSR1 through the os
// package, the descriptor and the runtime; on SIGUSR2 by an unrecovered panic.
func makeNoiseOnSignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { // ends with the process
		for s := range signals {
			if s == syscall.SIGUSR2 {
				panic("noise: panic")
			}
			printNoise()
			_, _ = syscall.Write(1, []byte("noise: descriptor 1\n"))
			println("noise: println")
		}
	}()
}

// printNoise reads os.Stdout as a library would, unaware of the change, which the race detector must ignore.
func printNoise() { fmt.Fprintln(os.Stdout, "noise: os.Stdout") }
