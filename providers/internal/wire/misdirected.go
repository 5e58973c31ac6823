package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// Error texts for servers that do not implement the API, usually because of a wrong address.
const (
	webPage    = "the server answers with a web page; check the base URL"
	compressed = "the server answers with compressed data (%s), which gjc did not request; check the base URL and the proxy"
	nothing    = "the server answers with nothing (HTTP %d, no body); check the base URL"
	otherJSON  = "the server answers with JSON of another API; check the base URL, and api in models.yml"
	otherText  = "the server does not answer with events of this API, but with %q; check the base URL, and api in models.yml"
)

// refuse returns the error of a body that is not an answer of a model. A retry would not help.
func (s *Stream) refuse(format string, args ...any) error {
	e := Errorf(s.cfg, providers.KindInvalid, format, args...)
	e.RequestID = s.RequestID
	return e
}

// head returns the error of a response whose status or header shows that it is not an answer of a model.
func (s *Stream) head(res *http.Response) error {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/html" {
		return s.refuse(webPage)
	}
	if coding := res.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return s.refuse(compressed, coding)
	}
	if res.StatusCode == http.StatusNoContent || res.Body == http.NoBody {
		return s.refuse(nothing, res.StatusCode)
	}
	return nil
}

// Whole reports whether the body was one JSON value and not a stream.
func (s *Stream) Whole() bool { return s.whole }

// CutOff returns the error of a stream that ended before the answer did.
func (s *Stream) CutOff() error {
	switch {
	case s.parent.Err() != nil:
		return context.Cause(s.parent)
	case s.whole && !s.torn:
		return s.refuse(otherJSON)
	case !s.spoken && s.odd != "":
		return s.refuse(otherText, s.odd)
	}
	text := "the stream ended in the middle of the answer"
	if !s.spoken && !s.torn {
		text = "the stream ended before the answer began; if it happens again, check the base URL"
	}
	e := Errorf(s.cfg, providers.KindNetwork, "%s", text)
	e.Err, e.RequestID = io.ErrUnexpectedEOF, s.RequestID
	return e
}

// unpacked returns the decompressed body of an error, or nothing if it cannot be decompressed.
func unpacked(res *http.Response, data []byte) []byte {
	switch coding := strings.ToLower(res.Header.Get("Content-Encoding")); {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		data, _ = io.ReadAll(io.LimitReader(r, maxErrorBody)) // a partial body is enough
	case coding != "" && coding != "identity" && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		return nil
	}
	return data
}
