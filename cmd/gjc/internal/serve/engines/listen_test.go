package engines_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/engines"
)

// The connection of a client ends when the engine has released what it used, not when the engine stops reading from it.
func TestListen_EndsAfterRelease(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	stdin, end := io.Pipe()
	started, ready := io.Pipe()
	read, release := make(chan error, 1), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- engines.Listen(t.Context(), socket, stdin, ready, func(_ context.Context, r io.Reader, _ io.Writer, closer io.Closer) {
			blocked := make(chan error)
			go func() {
				_, err := r.Read(make([]byte, 1))
				blocked <- err
			}()
			_ = closer.Close()
			read <- <-blocked
			<-release
		})
	}()
	if _, err := started.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-read; err == nil {
		t.Error("closer has not freed the read")
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("before the release, the connection ends: %v", err)
	}
	close(release)
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the release: %v", err)
	}
	_ = end.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
