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
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return execute(ctx, &host{
		args: os.Args[1:], env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	})
}
