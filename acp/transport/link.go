package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/gajae-code/gjc/internal/text"
)

// link is one end of a connection over WebSocket: a stream of lines in each direction. If the peer knows the extension, the link survives its
// socket: messages are numbered and kept until the peer has confirmed them, and the next socket begins where the last one broke.
//
// Goroutines: the owner's, which is in run for each socket, and two that run starts and ends. Everything ends with ctx.
type link struct {
	plain bool  // without the extension: nothing is kept, and the link ends with its socket
	limit int64 // of out, in bytes
	// full ends a link that has too much to keep while it has no socket. If nil, the writer waits.
	full error
	// stall bounds the time that the peer confirms nothing while there is too much to keep.
	stall time.Duration
	// seen, if not nil, is called with each message of the peer's, one at a time.
	seen func(message []byte)
	ctx  context.Context //nolint:containedctx // ends with the link
	end  context.CancelCauseFunc

	mu      sync.Mutex    // guards the fields below
	changed chan struct{} // closed when one of them changes
	// socket counts the sockets; the last one is in use if attached is set.
	socket   int
	attached bool
	out      outgoing
	in       incoming

	rest []byte // of the line that is being read; Read's own
	over bool   // Read has returned the end; Read's own
}

// outgoing is the direction to the peer.
type outgoing struct {
	items  []item // those that the peer has not confirmed
	size   int64  // of items, in bytes
	next   int    // index of the first one that this socket has not had
	closed bool   // the end is in items, or was
	// confirmed is the number of those that the peer has confirmed, sent of those that any socket has had.
	confirmed, sent uint64
}

// incoming is the direction from the peer.
type incoming struct {
	items []item // those that Read has not returned
	size  int    // of items, in bytes
	// received is the number of those that have come, returned of those that the peer knows to have.
	received, returned uint64
}

// item is a numbered message of one direction: a line, or the end of the direction.
type item struct {
	line []byte
	end  bool
}

// The causes that end a link.
var (
	errDone       = errors.New("the connection has been closed")
	errSuperseded = errors.New("the client has come back by another socket")
	errBacklog    = errors.New("too many messages wait for a client that is not there")
)

// The bounds of what a link holds for Read, and of the messages that it confirms at once.
const (
	maxIn        = 256 << 10
	confirmEvery = 64
	// confirmAfter is the time after which a message is confirmed without others.
	confirmAfter = 20 * time.Millisecond
	// plainLimit bounds what waits for a peer without the extension, which is only there to be written.
	plainLimit = 1 << 20
)

func newLink(ctx context.Context, plain bool, limit int64, stall time.Duration) *link {
	if plain {
		limit = min(limit, plainLimit)
	}
	l := &link{plain: plain, limit: limit, stall: stall, changed: make(chan struct{})}
	l.ctx, l.end = context.WithCancelCause(ctx)
	return l
}

// wake wakes the goroutines that wait for a change. The caller holds l.mu.
func (l *link) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Read implements [io.Reader]. It returns whole messages as lines, and what has come before the end of the link. It is not for concurrent use.
func (l *link) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.over {
			return 0, io.EOF
		}
		l.mu.Lock()
		changed := l.changed
		if len(l.in.items) == 0 {
			l.mu.Unlock()
			select {
			case <-changed:
				continue
			case <-l.ctx.Done():
			}
			if l.empty() {
				return 0, l.ended()
			}
			continue
		}
		it := l.in.items[0]
		l.in.items[0] = item{}
		l.in.items = l.in.items[1:]
		l.in.size -= len(it.line)
		l.wake()
		l.mu.Unlock()
		l.rest, l.over = it.line, it.end
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *link) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.in.items) == 0
}

// ended returns the error of a link that has ended: [io.EOF] if it ended as it should.
func (l *link) ended() error {
	if cause := context.Cause(l.ctx); !errors.Is(cause, errDone) {
		return cause
	}
	return io.EOF
}

// writer returns the other direction: each line becomes a message. It waits while the peer has too much to confirm.
func (l *link) writer() io.Writer {
	return &lineWriter{send: func(line []byte) error {
		if !utf8.Valid(line) { // a text message must be
			return l.put(item{line: bytes.ToValidUTF8(line, []byte("\ufffd"))})
		}
		return l.put(item{line: bytes.Clone(line)})
	}}
}

// closeWrite ends the direction to the peer, after what has been written.
func (l *link) closeWrite() {
	_ = l.put(item{end: true}) // it is over in any case
}

// put adds an item to those that the peer has to receive.
func (l *link) put(it item) error {
	stalled := time.NewTimer(l.stall)
	defer stalled.Stop()
	for before := uint64(0); ; {
		l.mu.Lock()
		size := int64(len(it.line))
		switch {
		case l.ctx.Err() != nil:
			l.mu.Unlock()
			return context.Cause(l.ctx)
		case l.out.closed:
			l.mu.Unlock()
			return errDone
		case it.end || len(l.out.items) == 0 || l.out.size+size <= l.limit:
			l.out.items = append(l.out.items, it)
			l.out.size += size
			l.out.closed = it.end
			l.wake()
			l.mu.Unlock()
			return nil
		case !l.attached && l.full != nil:
			l.mu.Unlock()
			l.end(l.full)
			return l.full
		}
		changed, progress, patience := l.changed, l.out.confirmed, stalled.C
		if !l.attached {
			patience = nil // the one who waits for a socket has a bound
		}
		l.mu.Unlock()
		if progress != before {
			before = progress
			stalled.Reset(l.stall)
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
		case <-patience:
			l.end(fmt.Errorf("the peer has read nothing for %s", l.stall))
		}
	}
}

// flush waits until the peer has everything, or ctx or the link ends.
func (l *link) flush(ctx context.Context) {
	for {
		l.mu.Lock()
		changed, left := l.changed, len(l.out.items)
		l.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// errCount reports a peer that confirms what it cannot have.
var errCount = errors.New("the peer has confirmed messages that were not sent")

// confirm removes what the peer has. The caller holds l.mu.
func (l *link) confirm(count uint64) error {
	if count < l.out.confirmed || count > l.out.sent {
		return errCount
	}
	n := int(count - l.out.confirmed) //nolint:gosec // at most their number
	for i := range n {
		l.out.size -= int64(len(l.out.items[i].line))
		l.out.items[i] = item{}
	}
	if l.out.items = l.out.items[n:]; len(l.out.items) == 0 {
		l.out.items = nil
	}
	l.out.confirmed = count
	l.out.next = max(0, l.out.next-n)
	l.wake()
	return nil
}

// attach lets a new socket carry on, in place of the last one. peerHas is the number of messages that the peer has; received is the same for
// this end. Nothing that the last socket brings counts any more.
func (l *link) attach(peerHas uint64) (socket int, received uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return 0, 0, context.Cause(l.ctx)
	}
	if err := l.confirm(peerHas); err != nil {
		return 0, 0, err
	}
	l.socket++
	l.attached, l.out.next, l.in.returned = true, 0, l.in.received
	l.wake()
	return l.socket, l.in.received, nil
}

// detach gives up a socket. It returns false if another one has taken its place.
func (l *link) detach(socket int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket != socket {
		return false
	}
	if l.attached {
		l.attached = false
		l.wake()
	}
	return true
}

// count returns the number of messages that have come. It is final while no socket is attached.
func (l *link) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in.received
}

// run carries messages over a socket until it breaks, another one takes its place, or the link ends. It closes the socket.
func (l *link) run(socket int, ws *websocket.Conn, keepAlive time.Duration) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(l.ctx))
	defer cancel(nil)
	defer func() { _ = ws.CloseNow() }() // it is over in any case
	// The end of the link closes the socket with words, while the reader below still reads.
	farewell := make(chan struct{})
	stop := context.AfterFunc(l.ctx, func() { // ends within the time that the package gives a peer to answer
		defer close(farewell)
		status, why := closing(context.Cause(l.ctx))
		_ = ws.Close(status, why)
		cancel(context.Cause(l.ctx))
	})
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { cancel(l.send(ctx, socket, ws)) })
	others.Go(func() { cancel(ping(ctx, ws, keepAlive, l.stall)) })
	err := l.receive(ctx, socket, ws)
	if !stop() {
		<-farewell // the end of ctx would cut it off
	}
	cancel(err)
	return context.Cause(ctx)
}

// maxReason is the maximum length of the reason in a frame that closes a WebSocket, in bytes.
const maxReason = 123

// closing returns how a socket is closed for the cause that ends the link.
func closing(cause error) (status websocket.StatusCode, why string) {
	var closed websocket.CloseError
	var denied *DeniedError
	switch {
	case errors.As(cause, &denied):
		return websocket.StatusPolicyViolation, text.TruncateBytes(denied.Error(), maxReason)
	case errors.As(cause, &closed):
		return closed.Code, closed.Reason
	case errors.Is(cause, errDone):
		return websocket.StatusNormalClosure, ""
	case errors.Is(cause, ErrRestart):
		return websocket.StatusServiceRestart, ErrRestart.Error()
	case errors.Is(cause, errClosed):
		return websocket.StatusGoingAway, "the server is closing"
	default:
		return websocket.StatusInternalError, "the connection has failed"
	}
}

// final reports whether a peer that closes a socket with a status has ended the link.
func final(status websocket.StatusCode) bool {
	switch status {
	case websocket.StatusNormalClosure, websocket.StatusProtocolError, websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
		websocket.StatusPolicyViolation, websocket.StatusMessageTooBig, websocket.StatusInternalError:
		return true
	default:
		return false
	}
}

// receive takes messages until the socket breaks. It ends the link if the peer does.
func (l *link) receive(ctx context.Context, socket int, ws *websocket.Conn) error {
	for {
		kind, message, err := ws.Read(ctx)
		if err == nil {
			err = l.take(ctx, socket, kind, message)
		}
		switch status := websocket.CloseStatus(err); {
		case err == nil:
			continue
		case status == websocket.StatusNormalClosure:
			l.end(errDone)
		case status == websocket.StatusServiceRestart:
			l.end(ErrRestart)
		case errors.Is(err, websocket.ErrMessageTooBig):
			// The package closes the socket with the words.
			l.end(websocket.CloseError{Code: websocket.StatusMessageTooBig, Reason: "the message is too large"})
		case final(status):
			l.end(fmt.Errorf("the peer has ended the connection: %w", err))
		}
		return err
	}
}

// take takes a message of the peer's. What does not follow the extension ends the link.
func (l *link) take(ctx context.Context, socket int, kind websocket.MessageType, message []byte) error {
	if kind == websocket.MessageText {
		return l.accept(ctx, socket, item{line: oneLine(message)})
	}
	if l.plain {
		err := websocket.CloseError{Code: websocket.StatusUnsupportedData, Reason: "ACP has text messages only"}
		l.end(err)
		return err
	}
	c, err := parseControl(message)
	switch {
	case err != nil:
	case c.end:
		return l.accept(ctx, socket, item{end: true})
	default:
		l.mu.Lock()
		if l.socket == socket {
			err = l.confirm(c.count)
		}
		l.mu.Unlock()
	}
	if err != nil {
		l.end(websocket.CloseError{Code: websocket.StatusProtocolError, Reason: err.Error()})
	}
	return err
}

// accept counts an item of the peer's and hands it to Read, when there is room.
func (l *link) accept(ctx context.Context, socket int, it item) error {
	if l.seen != nil && !it.end {
		l.seen(it.line)
	}
	for {
		l.mu.Lock()
		if l.socket != socket {
			l.mu.Unlock()
			return errSuperseded
		}
		if len(l.in.items) == 0 || l.in.size+len(it.line) <= maxIn {
			l.in.items = append(l.in.items, it)
			l.in.size += len(it.line)
			l.in.received++
			l.wake()
			l.mu.Unlock()
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

// due has the next message, or confirmation, for a socket.
type due struct {
	item    *item  // nil for none
	count   uint64 // of the messages to confirm
	confirm bool   // there are some, and now is the time
	pending bool   // there are some, and they can wait for others
	over    bool   // another socket has taken this one's place
	changed <-chan struct{}
}

// due returns what a socket has to send. late is set if messages have waited to be confirmed.
func (l *link) due(socket int, late bool) due {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := due{changed: l.changed, over: l.socket != socket || !l.attached, count: l.in.received}
	if d.over {
		return d
	}
	if l.out.next < len(l.out.items) {
		it := l.out.items[l.out.next]
		d.item = &it
		l.out.next++
		l.out.sent = max(l.out.sent, l.out.confirmed+uint64(l.out.next)) //nolint:gosec // an index
	}
	if waiting := l.in.received - l.in.returned; !l.plain && waiting > 0 {
		ended := len(l.in.items) > 0 && l.in.items[len(l.in.items)-1].end
		if d.confirm = late || ended || waiting >= confirmEvery; d.confirm {
			l.in.returned = l.in.received
		}
		d.pending = !d.confirm
	}
	return d
}

// send sends what there is, until the socket breaks.
func (l *link) send(ctx context.Context, socket int, ws *websocket.Conn) error {
	soon := time.NewTimer(confirmAfter)
	defer soon.Stop()
	waiting, late := false, false
	for {
		d := l.due(socket, late)
		late = false
		if d.over {
			return errSuperseded
		}
		if err := l.write(ctx, ws, &d); err != nil {
			return err
		}
		if d.item != nil {
			continue
		}
		if d.pending && !waiting {
			soon.Reset(confirmAfter)
		}
		waiting = d.pending
		var now <-chan time.Time
		if waiting {
			now = soon.C
		}
		select {
		case <-d.changed:
		case <-now:
			waiting, late = false, true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write writes what is due.
func (l *link) write(ctx context.Context, ws *websocket.Conn, d *due) error {
	if d.item == nil && !d.confirm {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.stall, fmt.Errorf("the peer has read nothing for %s", l.stall))
	defer cancel()
	var err error
	switch {
	case d.item == nil || d.item.end && l.plain:
	case d.item.end:
		err = ws.Write(ctx, websocket.MessageBinary, control{end: true}.append(nil))
	default:
		err = ws.Write(ctx, websocket.MessageText, d.item.line)
	}
	if err == nil && d.item != nil && l.plain {
		l.mu.Lock()
		err = l.confirm(l.out.confirmed + 1)
		l.mu.Unlock()
	}
	if err == nil && d.confirm {
		err = ws.Write(ctx, websocket.MessageBinary, control{count: d.count}.append(nil))
	}
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// ping returns when the peer does not answer, or ctx ends.
func ping(ctx context.Context, ws *websocket.Conn, every, patience time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		reply, cancel := context.WithTimeout(ctx, patience)
		err := ws.Ping(reply)
		cancel()
		if err != nil {
			return fmt.Errorf("the peer does not answer: %w", err)
		}
	}
}
