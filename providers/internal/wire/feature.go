package wire

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/gajae-code/gjc/providers"
)

// A Feature is a part of an API that a server may lack although the description of its model promises it. The zero value is ready for
// use. It is safe for concurrent use.
type Feature struct{ lacking atomic.Bool }

// Lacking reports whether the server has refused the feature.
func (f *Feature) Lacking() bool { return f.lacking.Load() }

// Or returns a function that sends a body that uses the feature with post. If the server refuses it as invalid, the function sends the
// body that plain returns, and remembers the refusal if that is accepted.
func (f *Feature) Or(
	post func(context.Context, []byte) (*Stream, error), plain func() ([]byte, error),
) func(context.Context, []byte) (*Stream, error) {
	return func(ctx context.Context, body []byte) (*Stream, error) {
		s, err := post(ctx, body)
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Status != http.StatusBadRequest || e.Kind != providers.KindInvalid {
			return s, err
		}
		if body, err = plain(); err != nil {
			return nil, e
		}
		if s, err = post(ctx, body); err == nil {
			f.lacking.Store(true)
		}
		return s, err
	}
}
