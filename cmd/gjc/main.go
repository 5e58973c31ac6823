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

// run is main with an exit code; the script tests call it too.
func run() int {
	// Signals stay caught until the process is gone: one that comes when the end is near must not make it a bad one.
	// Only behind a first signal does a second end the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	context.AfterFunc(ctx, stop)
	return execute(ctx, &host{
		args: os.Args[1:], env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	})
}
