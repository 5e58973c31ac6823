// Package bug reports what can not happen but did: once for each place in the code. Where no handler is set, as in
// every test, a report panics; the program sets one that logs.
package bug

import (
	"fmt"
	"runtime"
	"sync"
)

// A Report is one bug that showed itself.
type Report struct {
	// Site is the file and line that reported, as "file.go:12".
	Site    string
	Message string
	// Stack is the goroutine that reported.
	Stack string
}

// The table is the one state of the process here: bugs belong to the program, not to a session.
var table struct {
	mu      sync.Mutex
	count   map[string]int
	handler func(Report)
}

// Handle makes fn receive the first report of each site. Only cmd calls it, once, at start.
func Handle(fn func(Report)) {
	table.mu.Lock()
	defer table.mu.Unlock()
	table.handler = fn
}

// Reportf reports a bug. Without a handler it panics, so that no test passes over one.
func Reportf(format string, args ...any) {
	report(fmt.Sprintf(format, args...))
}

// Errorf reports a bug like [Reportf] and returns it as an error.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	report(err.Error())
	return err
}

// Count returns how many bugs were reported since the process started.
func Count() int {
	table.mu.Lock()
	defer table.mu.Unlock()
	n := 0
	for _, c := range table.count {
		n += c
	}
	return n
}

func report(message string) {
	site := "unknown"
	if _, file, line, ok := runtime.Caller(2); ok {
		site = fmt.Sprintf("%s:%d", file, line)
	}
	table.mu.Lock()
	if table.count == nil {
		table.count = make(map[string]int)
	}
	table.count[site]++
	first, handler := table.count[site] == 1, table.handler
	table.mu.Unlock()
	if handler == nil {
		panic("bug: " + message)
	}
	if first {
		buf := make([]byte, 16<<10)
		handler(Report{Site: site, Message: message, Stack: string(buf[:runtime.Stack(buf, false)])})
	}
}
