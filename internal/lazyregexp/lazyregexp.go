// Package lazyregexp makes regular expressions that are compiled when they are first used: a process that starts for each editor
// window should not compile all of them each time.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what gives the expression. It panics at the first call if expr is none.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
