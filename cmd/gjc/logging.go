package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/cmd/gjc/internal/redact"
)

// newLogger returns the log, on stderr or in a file, and a function that closes it.
func newLogger(stderr *os.File, opts *options) (zerolog.Logger, func(), error) {
	level, err := zerolog.ParseLevel(opts.logLevel)
	if opts.logLevel == "off" {
		level, err = zerolog.Disabled, nil
	}
	if err != nil {
		return zerolog.Nop(), nil, fmt.Errorf("%w: unknown --log-level %q; the levels are trace, debug, info, warn, error, off", errUsage, opts.logLevel)
	}
	var out io.Writer = stderr
	closeLog := func() {}
	if opts.logFile != "" {
		f, err := os.OpenFile(opts.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return zerolog.Nop(), nil, fmt.Errorf("opening the log: %w", err)
		}
		out, closeLog = f, func() { _ = f.Close() } // every line has been written already
	}
	fields := zerolog.New(out).Level(level).With().Timestamp()
	if opts.user != "" {
		fields = fields.Str("user", opts.user)
	}
	return fields.Logger(), closeLog, nil
}

// newTrace returns a function that writes protocol messages to a file, one per line after the time and direction ("<"
// from the editor, ">" to it), and one that closes the file. Without a path it returns nil.
func newTrace(path string) (trace func(sent bool, line []byte), closeTrace func(), err error) {
	if path == "" {
		return nil, func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the message log: %w", err)
	}
	var mu sync.Mutex // reader and writer trace concurrently
	return func(sent bool, line []byte) {
		dir := ">"
		if !sent {
			dir, line = "<", redact.Message(line)
		}
		mu.Lock()
		defer mu.Unlock()
		// A full disk costs the trace, not the session.
		_, _ = fmt.Fprintf(f, "%s %s %s\n", time.Now().UTC().Format("15:04:05.000000"), dir, bytes.TrimRight(line, "\n"))
	}, func() { _ = f.Close() }, nil
}
