package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// connection is a connection over Streamable HTTP.
type connection struct {
	server *Server
	id     string
	owner  string
	in     *io.PipeWriter  // what the client has posted, in lines
	ctx    context.Context //nolint:containedctx // ends with the connection
	end    context.CancelCauseFunc

	mu      sync.Mutex         // guards the fields below
	streams map[string]*stream // by session; that of the connection is ""
	// answers are the streams on which the client waits for the answers to its requests, by their IDs.
	answers map[string]way
	// named are the sessions that the client knows: it has named them, or got their IDs in answers.
	named map[string]bool
	// asked are the sessions of the requests that the client has to answer, by their IDs.
	asked map[string]string
	// first receives the answer to the request with the ID firstID.
	first    chan []byte
	firstID  string
	buffered int64
	room     chan struct{} // closed when something was read
	users    int           // streams and requests that are open
	idle     *time.Timer
	since    time.Time // there are no users
}

// way is that of an answer to the client.
type way struct {
	stream string
	// after is the session whose messages come before; empty for none. The two streams have no order, so this is a matter of luck to a client,
	// but of little.
	after string
}

// stream holds the messages for one stream of events.
type stream struct {
	queue []queued
	more  chan struct{} // holds a token after something was added
	taken bool          // a client receives it
}

// queued is a message of a stream, or one that waits for those before it, and goes to the connection's stream then.
type queued struct {
	line  []byte
	moves bool
}

// errIdle and errGone are causes that end a connection.
var (
	errIdle = errors.New("the client has not been there for a while")
	errGone = errors.New("the client has ended the connection")
)

// maxID bounds the IDs that are kept, in bytes.
const maxID = 1024

func (s *Server) newConnection(r *http.Request, id string) (*connection, *io.PipeReader) {
	in, w := io.Pipe()
	c := &connection{
		server: s, id: id, owner: s.opts.Owner(r), in: w, streams: make(map[string]*stream), answers: make(map[string]way), asked: make(map[string]string), named: make(map[string]bool), room: make(chan struct{}),
	}
	c.ctx, c.end = context.WithCancelCause(lifetime{s.ctx, r.Context()})
	c.idle = time.AfterFunc(s.opts.Idle, func() { c.end(errIdle) })
	return c, in
}

// run serves the connection until it ends.
func (c *connection) run(r *io.PipeReader, leave func()) {
	defer leave()
	stop := context.AfterFunc(c.ctx, func() { _ = c.in.CloseWithError(io.EOF) })
	defer stop()
	err := c.server.opts.Serve(c.ctx, r, &lineWriter{send: c.deliver})
	if errors.Is(err, ErrRestart) {
		ctx, cancel := context.WithTimeout(c.ctx, c.server.opts.Stall)
		c.flush(ctx)
		cancel()
	}
	c.end(fmt.Errorf("the connection has ended: %w", errors.Join(err, io.EOF)))
	_ = r.CloseWithError(io.EOF)
	c.idle.Stop()
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	delete(c.server.open, c.id)
}

// use keeps the connection from being idle until the returned function is called.
func (c *connection) use() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	c.idle.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.users--; c.users == 0 && c.ctx.Err() == nil {
			c.since = time.Now()
			c.idle.Reset(c.server.opts.Idle)
		}
	}
}

// giveUp implements waitingRoom.
func (c *connection) giveUp(cause error) { c.end(cause) }

// flush waits until the client has what was written, or ctx or the connection ends.
func (c *connection) flush(ctx context.Context) {
	for {
		c.mu.Lock()
		left, room := c.buffered, c.room
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-room:
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// away implements waitingRoom.
func (c *connection) away() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.users == 0
}

// maxStreams bounds the streams of a connection that are open or have messages.
const maxStreams = 1024

// stream returns the stream of a session; nil if there are too many. The caller holds c.mu.
func (c *connection) stream(session string) *stream {
	st := c.streams[session]
	if st == nil {
		if len(c.streams) >= maxStreams {
			maps.DeleteFunc(c.streams, func(_ string, st *stream) bool { return !st.taken && len(st.queue) == 0 })
		}
		if len(c.streams) >= maxStreams {
			return nil
		}
		st = &stream{more: make(chan struct{}, 1)}
		c.streams[session] = st
	}
	return st
}

// deliver puts a message of the agent's into the stream by which the client expects it. It waits while the client does not read what it has
// got so far.
func (c *connection) deliver(line []byte) error {
	m, _ := parse(line)
	line = append([]byte(nil), line...)
	if err := c.wait(int64(len(line))); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	session, after := m.session, ""
	switch {
	case m.method == "" && m.hasID():
		key := string(m.id)
		if c.first != nil && key == c.firstID {
			c.first <- line
			c.first = nil
			return nil
		}
		session, after = c.answers[key].stream, c.answers[key].after
		delete(c.answers, key)
		c.name(m.opened)
	case !c.named[session]:
		// The client cannot open the stream of a session that it does not know, such as a helper's.
		session = ""
	case m.hasID():
		c.asked[string(m.id)] = session
	}
	if st := c.streams[after]; after != "" && st != nil && st.taken && len(st.queue) > 0 {
		st.queue = append(st.queue, queued{line, true})
		c.buffered += int64(len(line))
		return nil
	}
	return c.queue(session, line)
}

// queue puts a message into a stream. The caller holds c.mu.
func (c *connection) queue(session string, line []byte) error {
	st := c.stream(session)
	if st == nil {
		err := fmt.Errorf("the client reads none of %d sessions", maxStreams)
		c.end(err)
		return err
	}
	st.queue = append(st.queue, queued{line: line})
	c.buffered += int64(len(line))
	select {
	case st.more <- struct{}{}:
	default:
	}
	return nil
}

// name records that the client knows a session. The caller holds c.mu.
func (c *connection) name(session string) {
	if session == "" {
		return
	}
	if len(c.named) >= maxStreams {
		clear(c.named) // what it does not name again comes by the connection's stream
	}
	c.named[session] = true
}

// wait waits until there is room for a message of a size. If the client reads nothing meanwhile, it ends the connection.
func (c *connection) wait(size int64) error {
	o := &c.server.opts
	for {
		c.mu.Lock()
		full, room := c.buffered > 0 && c.buffered+size > o.MaxBuffered, c.room
		c.mu.Unlock()
		if !full {
			return context.Cause(c.ctx)
		}
		stalled := time.NewTimer(o.Stall)
		select {
		case <-room:
			stalled.Stop()
		case <-c.ctx.Done():
			stalled.Stop()
			return context.Cause(c.ctx)
		case <-stalled.C:
			err := fmt.Errorf("the client has read nothing for %s", o.Stall)
			c.end(err)
			return err
		}
	}
}

// post takes a message of the client's.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "the content type must be application/json")
		return
	}
	body, err := s.body(w, r)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message has more than %d bytes", s.opts.MaxMessage))
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.Header().Set("Connection", "close")
		fail(w, http.StatusRequestTimeout, fmt.Sprintf("the message has not come within %s", s.opts.Stall))
		return
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "the message was cut off")
		return
	}
	if text := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(text, "[") {
		answer(w, http.StatusBadRequest, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"JSON-RPC batches are not supported"}}`))
		return
	}
	m, ok := parse(body)
	id := r.Header.Get(headerConnection)
	switch {
	case !ok:
		fail(w, http.StatusBadRequest, "the body must be one JSON-RPC message")
	case m.method == "initialize" && id != "":
		fail(w, http.StatusBadRequest, "initialize begins a connection; leave out "+headerConnection)
	case m.method == "initialize" && !m.hasID():
		fail(w, http.StatusBadRequest, "initialize needs an ID")
	case len(m.id) > maxID || len(m.session) > maxID || len(r.Header.Get(headerSession)) > maxID:
		fail(w, http.StatusBadRequest, fmt.Sprintf("an ID has more than %d bytes", maxID))
	case m.method == "initialize":
		s.begin(w, r, body, &m)
	case id == "":
		fail(w, http.StatusBadRequest, "missing "+headerConnection)
	default:
		if c := s.find(r); c == nil {
			fail(w, http.StatusNotFound, "unknown "+headerConnection)
		} else {
			c.take(w, r, body, &m)
		}
	}
}

// paceSize is the size of the parts of a body that a client has the time of a stall for.
const paceSize = 1 << 20

// body reads the body of a request, of a client that may be slow on purpose.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	limited, control := http.MaxBytesReader(w, r.Body, s.opts.MaxMessage), http.NewResponseController(w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // as below
	for {
		if err := control.SetReadDeadline(time.Now().Add(s.opts.Stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, err
		}
		switch _, err := io.CopyN(&body, limited, paceSize); {
		case errors.Is(err, io.EOF):
			return body.Bytes(), nil
		case err != nil:
			return nil, err
		}
	}
}

// answer answers a request with a JSON-RPC message.
func answer(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(message) // the client is gone otherwise
}

// find returns the connection that a request names; nil if its owner has none with this ID.
func (s *Server) find(r *http.Request) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.open[r.Header.Get(headerConnection)]; c != nil && c.owner == s.opts.Owner(r) {
		return c
	}
	return nil
}

// begin begins a connection with its first request, whose answer is that of the HTTP request.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, body []byte, m *message) {
	p := s.enter()
	if p == nil {
		s.full(w)
		return
	}
	id := p.id
	c, in := s.newConnection(r, id)
	first := make(chan []byte, 1)
	c.first, c.firstID = first, string(m.id)
	defer c.use()()
	s.mu.Lock()
	s.open[id] = c
	p.client = c
	s.mu.Unlock()
	go c.run(in, p.leave)
	if _, err := c.in.Write(oneLine(body)); err != nil {
		c.end(errGone)
		fail(w, http.StatusInternalServerError, "the connection has ended")
		return
	}
	late := time.NewTimer(s.opts.Idle)
	defer late.Stop()
	select {
	case <-late.C:
		c.end(errIdle)
		fail(w, http.StatusGatewayTimeout, fmt.Sprintf("no answer within %s", s.opts.Idle))
	case line := <-first:
		w.Header().Set(headerConnection, id)
		s.setAffinity(w, r)
		answer(w, http.StatusOK, line)
	case <-r.Context().Done():
		c.end(errGone)
	case <-c.ctx.Done():
		fail(w, http.StatusInternalServerError, "the connection has ended")
	}
}

// take passes a message of the client's on, if its headers fit.
func (c *connection) take(w http.ResponseWriter, r *http.Request, body []byte, m *message) {
	defer c.use()()
	if wrong := c.route(m, r.Header.Get(headerSession)); wrong != "" {
		fail(w, http.StatusBadRequest, wrong)
		return
	}
	if _, err := c.in.Write(oneLine(body)); err != nil {
		fail(w, http.StatusNotFound, "unknown "+headerConnection)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// route remembers by which stream the client expects the answer to a message. It returns what is wrong with the header of the session; empty
// if nothing is.
func (c *connection) route(m *message, header string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.method == "" {
		session, known := c.asked[string(m.id)]
		switch {
		case known && session != "" && header == "":
			return "missing " + headerSession
		case known && session != header:
			return headerSession + " is not that of the request that this answers"
		}
		delete(c.asked, string(m.id))
		return ""
	}
	session := m.session
	c.name(cmp.Or(header, session))
	switch {
	case header == "" && (session != "" || ofSession(m.method)):
		return "missing " + headerSession
	case header != "" && session != "" && header != session:
		return headerSession + " is not that of the message"
	}
	if m.hasID() {
		answer := way{stream: header}
		if m.method == "session/load" { // the session's stream need not be open yet
			answer = way{after: header}
		}
		c.answers[string(m.id)] = answer
	}
	return ""
}

// remove ends a connection.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerConnection)
	if id == "" {
		fail(w, http.StatusBadRequest, "missing "+headerConnection)
		return
	}
	c := s.find(r)
	if c == nil {
		fail(w, http.StatusNotFound, "unknown "+headerConnection)
		return
	}
	c.end(errGone)
	w.WriteHeader(http.StatusAccepted)
}

// get sends a stream of events until the client, or the connection, ends it.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerConnection)
	c := s.find(r)
	switch {
	case !strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream"):
		fail(w, http.StatusNotAcceptable, "this is a stream of events; accept text/event-stream")
	case id == "":
		fail(w, http.StatusBadRequest, "missing "+headerConnection)
	case c == nil:
		fail(w, http.StatusNotFound, "unknown "+headerConnection)
	case len(r.Header.Get(headerSession)) > maxID:
		fail(w, http.StatusBadRequest, fmt.Sprintf("an ID has more than %d bytes", maxID))
	default:
		c.send(w, r)
	}
}

// send sends the messages of one stream. A message leaves the stream when it is written, so that the next client gets what this one has not.
func (c *connection) send(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.name(r.Header.Get(headerSession))
	st := c.stream(r.Header.Get(headerSession))
	if st == nil {
		c.mu.Unlock()
		fail(w, http.StatusTooManyRequests, "too many streams; close one")
		return
	}
	if st.taken {
		c.mu.Unlock()
		fail(w, http.StatusConflict, "another request receives this stream")
		return
	}
	st.taken = true
	c.mu.Unlock()
	defer c.use()()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		st.taken = false
		kept := st.queue[:0]
		for _, q := range st.queue {
			if q.moves { // what it waits for waits for the next receiver
				c.buffered -= int64(len(q.line))
				_ = c.queue("", q.line) // the connection has ended otherwise
				continue
			}
			kept = append(kept, q)
		}
		clear(st.queue[len(kept):])
		st.queue = kept
	}()
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	write := func(data ...string) error {
		if err := out.SetWriteDeadline(time.Now().Add(c.server.opts.Stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		for _, part := range data {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	alive := time.NewTicker(c.server.opts.KeepAlive)
	defer alive.Stop()
	err := write(": ready\n\n")
	for err == nil {
		if line := c.next(st); line != nil {
			if err = write("data: ", string(line), "\n\n"); err == nil {
				c.sent(st)
			}
			continue
		}
		select {
		case <-st.more:
		case <-alive.C:
			err = write(": alive\n\n")
		case <-r.Context().Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// next returns the first message of a stream; nil if there is none.
func (c *connection) next(st *stream) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(st.queue) > 0 && st.queue[0].moves {
		line := st.queue[0].line
		c.pop(st)
		if c.queue("", line) != nil {
			return nil
		}
	}
	if len(st.queue) == 0 {
		return nil
	}
	return st.queue[0].line
}

// sent removes the first message of a stream, and makes room for others.
func (c *connection) sent(st *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pop(st)
	close(c.room)
	c.room = make(chan struct{})
}

// pop removes the first message of a stream. The caller holds c.mu.
func (c *connection) pop(st *stream) {
	c.buffered -= int64(len(st.queue[0].line))
	st.queue[0] = queued{}
	if st.queue = st.queue[1:]; len(st.queue) == 0 {
		st.queue = nil
	}
}
