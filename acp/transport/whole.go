package transport

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// The package websocket takes [io.EOF] in the middle of a message for the end of the message. A connection that ends there would pass a part of
// a message on as a whole one. The types below report the end of a connection as another error.

// errCut reports a connection that has ended. A peer that ends it as it should has said so before.
var errCut = errors.New("the connection was cut")

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

// wholeWriter gives the server's side of an upgrade a connection without [io.EOF].
type wholeWriter struct{ http.ResponseWriter }

// Hijack implements [http.Hijacker].
func (w wholeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	return wholeConn{conn}, buffered, err
}

type wholeConn struct{ net.Conn }

// Read implements [io.Reader].
func (c wholeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, notEOF(err)
}

// wholeTripper gives the client's side of an upgrade a connection without [io.EOF].
type wholeTripper struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t wholeTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = wholeBody{conn}
	}
	return resp, nil
}

type wholeBody struct{ io.ReadWriteCloser }

// Read implements [io.Reader].
func (b wholeBody) Read(p []byte) (int, error) {
	n, err := b.ReadWriteCloser.Read(p)
	return n, notEOF(err)
}
