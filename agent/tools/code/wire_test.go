package code

import "testing"

// Pictures embedded in text are omitted: they are useless to a model.
func TestMarkup_Pictures(t *testing.T) {
	raw := []byte(`{"kind":"markdown","value":"before ![x](data:image/png;base64,AAAA==) after ![y](https://example.invalid/y.png)"}`)
	if got := markup(raw); got != "before  after ![y](https://example.invalid/y.png)" {
		t.Errorf("got %q", got)
	}
}
