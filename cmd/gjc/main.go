// Command gjc is a coding agent for editors: "gjc acp" speaks the Agent Client Protocol on stdin and stdout. See
// README.md.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
	"github.com/gajae-code/gjc/internal/permit"
)

func main() {
	os.Exit(run())
}

// run is main with an exit code. Tests call it too, and may change the host.
func run(change ...func(*host)) int {
	// Signals stay caught until the process ends, so that one during an orderly end does not turn it into a failure.
	// Only a second signal ends the process at once.
	ctx, stop := signal.NotifyContext(permit.With(context.Background(), permit.Own()), system.EndSignals...)
	context.AfterFunc(ctx, stop)
	h := &host{args: os.Args[1:], env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	for _, fn := range change {
		fn(h)
	}
	return execute(ctx, h)
}
