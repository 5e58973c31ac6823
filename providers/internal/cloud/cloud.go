// Package cloud signs in to the clouds that serve models: access tokens for Google Cloud, signatures and event streams of AWS.
// It reads the environment and files only through the functions of its options.
//
// Its errors are of type [*providers.Error] and contain no secrets. The caller adds the model to them.
package cloud

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
)

func failed(kind providers.ErrorKind, format string, args ...any) error {
	return &providers.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// first returns the value of the first variable that is set.
func first(getenv func(string) string, names ...string) string {
	if getenv == nil {
		return ""
	}
	for _, name := range names {
		if value := getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// readFile returns read, or os.ReadFile if read is nil.
func readFile(read func(string) ([]byte, error), path string) ([]byte, error) {
	if read == nil {
		read = os.ReadFile
	}
	return read(path)
}

// early is the time before its expiry from which a credential is no longer used.
const early = time.Minute

// cached caches a credential until shortly before its expiry. One caller at a time gets the next one; the others wait for it.
type cached[T any] struct {
	init sync.Once
	turn chan struct{} // holds a token while no caller gets the next credential
	// value is valid until the time until; forever if until is zero.
	value T
	until time.Time
	have  bool
}

// get returns the credential, calling next if necessary. next returns the zero time for a credential that never expires.
func (k *cached[T]) get(ctx context.Context, next func(context.Context) (T, time.Time, error)) (T, error) {
	k.init.Do(func() {
		k.turn = make(chan struct{}, 1)
		k.turn <- struct{}{}
	})
	var none T
	select {
	case <-k.turn:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	defer func() { k.turn <- struct{}{} }()
	if k.have && (k.until.IsZero() || time.Until(k.until) > early) {
		return k.value, nil
	}
	value, until, err := next(ctx)
	if err != nil {
		return none, err
	}
	k.value, k.until, k.have = value, until, true
	return value, nil
}
