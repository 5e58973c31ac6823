package agent

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kept is what the tools of a session keep from one call to the next: a shell's directory, jobs, texts that the model has read.
// It ends with its session. It is safe for concurrent use.
type Kept struct {
	root *Kept

	mu     sync.Mutex // guards what follows
	closed bool
	values []any // in the order in which they were made
}

// A KeptCloser is a kept value that has something to end. Close is called once, when its session ends, and takes no longer
// than ctx.
type KeptCloser interface{ Close(ctx context.Context) }

// A LateTeller is a kept value that comes to know things behind its calls: that a job has ended. Late returns what the model
// has not been told yet, once; empty for nothing. It must not block. about is for people, in a few words; empty for what they
// know.
type LateTeller interface {
	Late() (about, text string)
}

// NewKept returns what a session keeps; parent is that of the session that has started it, or nil.
func NewKept(parent *Kept) *Kept {
	k := new(Kept)
	k.root = k
	if parent != nil {
		k.root = parent.root
	}
	return k
}

// Root is what the outermost session keeps: what child sessions share with it.
func (k *Kept) Root() *Kept { return k.root }

// Keep returns the value of type T that is kept, and makes it where there is none. What is made behind the end of the session
// is closed at once.
func Keep[T any](k *Kept, make func() T) T {
	k.mu.Lock()
	for _, v := range k.values {
		if reflect.TypeOf(v) == reflect.TypeFor[T]() {
			k.mu.Unlock()
			return v.(T)
		}
	}
	v := make()
	closed := k.closed
	if !closed {
		k.values = append(k.values, v)
	}
	k.mu.Unlock()
	if c, ok := any(v).(KeptCloser); ok && closed {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		c.Close(over)
	}
	return v
}

// Close ends what is kept, the newest first. The session does it.
func (k *Kept) Close(ctx context.Context) {
	k.mu.Lock()
	values := k.values
	k.values, k.closed = nil, true
	k.mu.Unlock()
	for _, v := range slices.Backward(values) {
		if c, ok := v.(KeptCloser); ok {
			c.Close(ctx)
		}
	}
}

// LateOf returns what the values that are kept have to tell the model, once, and what that is about.
func LateOf(k *Kept) (about, text string) {
	k.mu.Lock()
	values := slices.Clone(k.values)
	k.mu.Unlock()
	var abouts, texts []string
	for _, v := range values {
		if t, ok := v.(LateTeller); ok {
			about, text := t.Late()
			if text != "" {
				texts = append(texts, text)
			}
			if about != "" {
				abouts = append(abouts, about)
			}
		}
	}
	return strings.Join(abouts, "; "), strings.Join(texts, "\n\n")
}
