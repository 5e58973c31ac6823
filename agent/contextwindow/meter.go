package contextwindow

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/providers"
)

// A Meter records the usage of one answer while it arrives. The zero value is ready to use.
type Meter struct {
	// Begun is set by the first event. A request that failed before it costs nothing.
	Begun bool
	// Complete is set when the whole answer has arrived.
	Complete bool
	// Usage holds the usage figures received so far; zero for none.
	Usage providers.Usage
}

// Add records an event.
func (m *Meter) Add(ev providers.Event) {
	m.Begun = true
	switch ev := ev.(type) {
	case providers.UsageSoFar:
		m.Usage = ev.Usage
	case providers.Done:
		m.Usage, m.Complete = ev.Message.Usage, true
	default:
	}
}

// StreamError returns the error of a model's stream. If ctx has ended, it returns ctx's cause.
func StreamError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the model call was cut off: %w", err)
	}
	return err
}

// Overflowed reports whether a request failed because it did not fit the model's window.
func Overflowed(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Kind == providers.KindContextOverflow
}
