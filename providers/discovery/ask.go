package discovery

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// maxAnswer bounds one answer, in bytes. The longest known list has less than one MiB.
const maxAnswer = 8 << 20

var (
	errTooLong = errors.New("the answer is too long")
	// errNoList is wrapped by the error of JSON that is not a list.
	errNoList = errors.New("the response has no list of models")
)

// get sends a GET request and returns the JSON of the answer.
func (s *server) get(ctx context.Context, address string) (facts, error) {
	return s.ask(ctx, http.MethodGet, address, nil)
}

// ask sends a request and returns the JSON of the answer.
func (s *server) ask(ctx context.Context, method, address string, body []byte) (facts, error) {
	page := false
	stream, err := wire.Open(ctx, s.cfg, func(ctx context.Context, res **http.Response) error {
		req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = s.header.Clone()
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		got, err := s.client.Do(req) //nolint:bodyclose // wire.Open and its Stream close it
		if got != nil {
			got.Body = &bounded{ReadCloser: got.Body, left: maxAnswer}
			page = strings.Contains(got.Header.Get("Content-Type"), "html")
			got.Header.Del("Content-Type") // recorded in page; without it, the body is read whatever its type
		}
		*res = got
		return err
	})
	if err != nil {
		return nil, s.refused(err)
	}
	defer stream.Close()
	if page {
		return nil, s.page()
	}
	all, err := stream.All()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errTooLong):
		return nil, s.errorf(providers.KindProtocol, "the list of models is longer than %d MiB", maxAnswer>>20)
	case err != nil:
		e := s.errorf(providers.KindNetwork, "the connection broke during the list of models")
		e.Err = err
		return nil, e
	}
	data := bytes.TrimSpace(all)
	switch {
	case bytes.HasPrefix(data, []byte("<")):
		return nil, s.page()
	case !jsonx.Valid(data):
		return nil, s.errorf(providers.KindProtocol, "the list of models is not JSON; check the base URL")
	}
	return facts(data), nil
}

func (s *server) page() error {
	return s.errorf(providers.KindInvalid, "the server answers with a web page instead of its models; check the base URL")
}

// refused returns the error for an error response.
func (s *server) refused(err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		return err // ctx's cause
	}
	if !absent(e) {
		return e
	}
	said := *e
	said.Kind, said.Message = providers.KindInvalid, "the server has no list of models there; check the base URL, or list the models in models.yml"
	return &said
}

// bounded reads at most left bytes of a body.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// list requests a list of models and returns its entries: the array data or models, or a bare array.
func (s *server) list(ctx context.Context, address string) ([]facts, error) {
	answer, err := s.get(ctx, address)
	if err != nil {
		return nil, err
	}
	entries, ok := answer.list()
	for _, name := range []string{"data", "models"} {
		if !ok {
			entries, ok = answer.at(name).list()
		}
	}
	if !ok {
		message := answer.at("error", "message").text()
		if message == "" {
			message = answer.at("error").text()
		}
		if message == "" {
			message = "the answer has no list of models; check the base URL"
		}
		e := s.errorf(providers.KindProtocol, "%.300s", message)
		e.Err = errNoList
		return nil, e
	}
	return entries, nil
}
