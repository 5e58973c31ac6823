// Package cloud signs in to the clouds that serve the models of others: access tokens for Google Cloud, signatures and
// event streams of AWS. It reads no environment and no file but through what it is given.
//
// Its errors are of type [*providers.Error], hold no secret, and do not name the model, which is the caller's to add.
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

// first returns the first of the variables that is set.
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

// readFile is read, or that of the system.
func readFile(read func(string) ([]byte, error), path string) ([]byte, error) {
	if read == nil {
		read = os.ReadFile
	}
	return read(path)
}

// early is how long before its end a credential is no longer used.
const early = time.Minute

// kept holds a credential until it is about to expire. One caller at a time gets the next one; the others wait for it.
type kept[T any] struct {
	init sync.Once
	turn chan struct{} // holds a token while nobody is at work
	// value is good until the time until; forever if that is zero.
	value T
	until time.Time
	have  bool
}

// get returns the credential, from next if it has to. A credential that never expires has the zero time.
func (k *kept[T]) get(ctx context.Context, next func(context.Context) (T, time.Time, error)) (T, error) {
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
