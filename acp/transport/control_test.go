package transport

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// What the decoder takes, the encoder writes.
func FuzzControl(f *testing.F) {
	f.Add([]byte("e"))
	f.Add([]byte("a\x00\x00\x00\x00\x00\x00\x00\x07"))
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseControl(data)
		if err != nil {
			if !errors.Is(err, errControl) {
				t.Error(err)
			}
			return
		}
		if got := c.append(nil); !bytes.Equal(got, data) {
			t.Errorf("%x has become %x", data, got)
		}
	})
}

// Whatever a peer sends of the extension, what a link has not had confirmed stays, in order, and its counts add up.
func FuzzLink(f *testing.F) {
	f.Add([]byte("wws\x01s\x01c\x01d\x00t"))
	f.Add([]byte("wwwsssc\x03r\x02c\xff"))
	f.Fuzz(func(t *testing.T, steps []byte) {
		l := newLink(context.Background(), false, 1<<20, time.Minute)
		defer l.end(errDone)
		socket, written, confirmed := 0, uint64(0), uint64(0)
		for i := range steps {
			arg := uint64(0)
			if i+1 < len(steps) {
				arg = uint64(steps[i+1])
			}
			switch steps[i] {
			case 'w':
				if l.put(item{line: []byte{byte(written)}}) == nil {
					written++
				}
			case 's': // a socket sends
				if d := l.due(socket, false); d.item != nil && d.item.line[0] < byte(confirmed) && written < 256 {
					t.Fatalf("message %d is sent, and %d are confirmed", d.item.line[0], confirmed)
				}
			case 'c':
				if l.take(t.Context(), socket, websocket.MessageBinary, control{count: arg}.append(nil)) == nil && l.ctx.Err() == nil && socket > 0 {
					confirmed = arg
				}
			case 'r':
				if s, _, err := l.attach(arg); err == nil {
					socket, confirmed = s, arg
				}
			case 't':
				l.in.items, l.in.size = nil, 0 // as Read does
				_ = l.take(t.Context(), socket, websocket.MessageText, []byte("{}"))
			case 'd':
				l.detach(socket)
			}
			if confirmed > written {
				t.Fatalf("%d are confirmed of %d", confirmed, written)
			}
			if left := uint64(len(l.out.items)); l.ctx.Err() == nil && left != written-l.out.confirmed {
				t.Fatalf("%d are left of %d, with %d confirmed", left, written, l.out.confirmed)
			}
		}
	})
}
