package acp

import (
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Meta is the extension space that nearly every protocol object has under "_meta". Values are kept unchanged. Keys should have a
// vendor prefix ("example.com/x") to avoid clashes.
type Meta map[string]jsonx.Raw

// Set stores the JSON of v under key. It creates the map if it is nil.
func (m *Meta) Set(key string, v any) error {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode _meta %q: %w", key, err)
	}
	if *m == nil {
		*m = Meta{}
	}
	(*m)[key] = raw
	return nil
}

// Get decodes the value under key into v. If there is none, it returns false and leaves v unchanged. It returns an error if the
// value does not fit v.
func (m Meta) Get(key string, v any) (bool, error) {
	raw, ok := m[key]
	if !ok {
		return false, nil
	}
	if err := jsonx.Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("decode _meta %q: %w", key, err)
	}
	return true, nil
}
