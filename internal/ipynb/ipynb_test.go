package ipynb

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText_CutsOutputs(t *testing.T) {
	long := `{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "stream", "text": "` + strings.Repeat(`line\n`, 100) +
		`"}, {"output_type": "stream", "name": "stderr", "text": "` + strings.Repeat("é", 5000) + `"}]}]}`
	text, cells, err := Text([]byte(long))
	if err != nil || cells != 1 {
		t.Fatal(err)
	}
	if !strings.Contains(text, "… 60 lines left out …") || strings.Count(text, "line\n") != 40 {
		t.Errorf("%q", text)
	}
	if !strings.Contains(text, "--- stderr ---") || !strings.Contains(text, "bytes left out …") || !utf8.ValidString(text) || len(text) > 6000 {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}

func TestText_NoNotebook(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `{"cells": null}`, `{"cells": {}}`, `{"cells": [1]}`, `{"nbformat": 3}`, `{"cells": [{"outputs": [{"data": 7}]}]}`} {
		if _, _, err := Text([]byte(text)); !errors.Is(err, errNotNotebook) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`{"cells": [{"cell_type": "code", "source": ["a\n", "b"], "execution_count": 1, "outputs": [{"output_type": "error", "traceback": ["\u001b[1mx"]}]}]}`))
	f.Add([]byte(`{"cells": [{"source": 7, "outputs": [{"data": {"text/plain": null, "image/png": {}}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, cells, err := Text(data)
		if err == nil && strings.Count(text, "--- cell ") < cells {
			t.Errorf("%d cells in %q", cells, text)
		}
		if !utf8.ValidString(text) {
			t.Errorf("no UTF-8: %q", text)
		}
	})
}
