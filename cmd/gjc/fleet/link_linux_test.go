package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// link is one connection of a client to a server.
type link struct {
	*acptest.Editor
	// abort ends the connection as kill -9 of the client does. It may be called from any goroutine.
	abort func()
	// wait returns when nothing of the connection is left. It follows abort or Close.
	wait func()
}

// gone reports whether the connection has ended.
func (l *link) gone() bool {
	select {
	case <-l.Conn.Closing():
		return true
	default:
		return false
	}
}

// capabilities are those of a client that knows the extension and notices, and has neither files nor terminals.
func capabilities() *acp.ClientCapabilities {
	c := &acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}}
	_ = c.Meta.Set("gjc/attach", true) // a bool can be encoded
	return c
}

// dialProcess starts "gjc connect".
func dialProcess(ctx context.Context, program, url, tokenFile, home string, updated func(*acp.SessionNotification)) (*link, error) {
	cmd := exec.Command(program, "connect", strings.Replace(url, "ws://", "http://", 1), "--token-file", tokenFile, "--retry", "2s") // abort ends it
	cmd.Env, cmd.Dir = append(environment(home), mark()), home
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := new(link)
	ended := make(chan struct{})
	read, write := io.Pipe()
	go func() { // ends with the process
		defer close(ended)
		_, err := io.Copy(write, out)
		_ = write.CloseWithError(errors.Join(err, io.EOF))
		_ = cmd.Wait() // it is killed, or its server is
	}()
	l.abort = func() { _ = cmd.Process.Kill() }
	l.wait = func() { <-ended }
	l.Editor = acptest.NewEditor(ctx, read, in, closers{in, read}, acptest.EditorOptions{Capabilities: capabilities(), Updated: updated})
	return l, nil
}

type closers []io.Closer

// Close implements [io.Closer].
func (c closers) Close() error {
	var err error
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
}

// dialSocket connects over WebSocket. The socket is reset when the client is killed, as the system does with those of a process.
func dialSocket(ctx context.Context, url, token string, updated func(*acp.SessionNotification)) (*link, error) {
	var mu sync.Mutex
	var socket *net.TCPConn
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			mu.Lock()
			socket = tcp
			mu.Unlock()
		}
		return conn, err
	}
	transport := &http.Transport{DialContext: dial}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	}) // the package closes the body
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(64 << 20)
	l := new(link)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	read, write := io.Pipe()
	ended := make(chan struct{})
	go func() { // ends with the socket
		defer close(ended)
		for {
			_, line, err := ws.Read(life)
			if err == nil {
				_, err = write.Write(append(line, '\n'))
			}
			if err != nil {
				_ = write.CloseWithError(io.EOF)
				_ = ws.CloseNow() // its end is what counts
				return
			}
		}
	}()
	l.abort = func() {
		mu.Lock()
		defer mu.Unlock()
		_ = socket.SetLinger(0) // a reset; it may be closed
		_ = socket.Close()
	}
	l.wait = func() { <-ended }
	socketEnd := closerFunc(func() error {
		err := ws.Close(websocket.StatusNormalClosure, "")
		end()
		return errors.Join(err, read.Close())
	})
	l.Editor = acptest.NewEditor(life, read, &lineWriter{ctx: life, ws: ws}, socketEnd, acptest.EditorOptions{Capabilities: capabilities(), Updated: updated})
	return l, nil
}

type closerFunc func() error

// Close implements [io.Closer].
func (f closerFunc) Close() error { return f() }

// lineWriter sends each line as a message.
type lineWriter struct {
	ctx  context.Context // that of the connection
	ws   *websocket.Conn
	part []byte
}

// Write implements [io.Writer].
func (w *lineWriter) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	for {
		line, rest, whole := bytes.Cut(w.part, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if err := w.ws.Write(w.ctx, websocket.MessageText, line); err != nil {
			return 0, err
		}
		w.part = rest
	}
}
