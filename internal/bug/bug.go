// Package bug reports states that should be impossible, once for each place in the code. Without a handler, as in
// every test, a report panics; the program sets a handler that logs.
package bug

import (
	"fmt"
	"runtime"
	"sync"
)

// A Report describes one bug that occurred.
type Report struct {
	// Site is the file and line of the call that reported it, as "file.go:12".
	Site    string
	Message string
	// Stack is the stack of the goroutine that reported it.
	Stack string
}

// The table is global to the process: bugs belong to the program, not to a session.
var table struct {
	mu      sync.Mutex
	count   map[string]int
	handler func(Report)
}

// Handle sets fn as the handler of the first report of each site. Only cmd calls it, once, at start.
func Handle(fn func(Report)) {
	table.mu.Lock()
	defer table.mu.Unlock()
	table.handler = fn
}

// Reportf reports a bug. Without a handler it panics, so that a test cannot miss it.
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
