// Command gjc is a coding agent that lives behind an editor: "gjc acp" speaks the Agent Client Protocol on stdin and
// stdout. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	os.Exit(run())
}

// run is main with an exit code; tests call it too, and may change the host.
func run(change ...func(*host)) int {
	// Signals stay caught until the process is gone: one that comes when the end is near must not make it a bad one.
	// Only behind a first signal does a second end the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	context.AfterFunc(ctx, stop)
	h := &host{args: os.Args[1:], env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	for _, fn := range change {
		fn(h)
	}
	return execute(ctx, h)
}
