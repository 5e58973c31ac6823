package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// client is a user's window on one session. It connects to one server after another, prompts, watches and leaves.
type client struct {
	number  int
	fleet   *fleet
	session *session
	random  *rand.Rand // of the client's goroutine

	mu      sync.Mutex // guards the fields below
	link    *link      // nil between two visits
	at      *server    // that it is or was connected to
	live    bool       // the link has loaded the session
	watches bool       // another server has the session
	reaches bool       // and takes prompts
	turn    bool       // its prompt is not answered
	forgets bool       // it was killed with what it remembered
	view    *view      // nil before the first visit, and for a client that has forgotten
	old     *view      // that another one replaces; nil at other times
	fresh   *view      // collects the updates of a load; nil at other times
}

// bounds of what a client waits for; afterwards it tries elsewhere.
const (
	dialTime   = 5 * time.Second
	loadTime   = 10 * time.Second
	promptTime = 15 * time.Second
	retryTime  = 50 * time.Millisecond
	// acceptTime is more than a server needs until it takes prompts of another one's clients.
	acceptTime = 5 * time.Second
	// staleTime is more than a server that was paused needs until it notices that another one has its sessions.
	staleTime = 5 * leaseTime
)

// run visits the session until ctx ends.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		at := c.fleet.pick(c)
		if err := c.visit(ctx, at); err != nil {
			c.fleet.note(err)
			c.session.happened("client %d: %v", c.number, err)
			c.session.failed(fmt.Sprintf("client %d at server %d: %v", c.number, at.number, err))
		}
		sleep(ctx, retryTime)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// visit is one connection: it loads the session and uses it for a while.
func (c *client) visit(ctx context.Context, at *server) error {
	c.session.happened("client %d connects to server %d", c.number, at.number)
	l, err := c.connect(ctx, at)
	if err != nil {
		return err
	}
	defer c.leave(l)
	c.session.happened("client %d loads", c.number)
	defer c.session.wanted(at)()
	if err := c.load(ctx, l); err != nil {
		return err
	}
	if watches, err := c.watch(ctx, l); watches || err != nil {
		return err
	}
	c.session.loadedAt(at)
	for range 1 + c.random.IntN(4) {
		live, _, _ := c.part()
		switch {
		case ctx.Err() != nil || !live:
			return nil
		case c.random.IntN(10) < 7:
			if err := c.prompt(ctx, l); err != nil {
				return err
			}
		default:
			sleep(ctx, time.Duration(c.random.IntN(500))*time.Millisecond)
		}
	}
	switch c.random.IntN(3) {
	case 0:
		l.abort() // the network is gone
	case 1:
		c.session.happened("client %d closes the session", c.number)
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		_, err = acp.MethodSessionClose.Call(ctx, l.Conn, &acp.CloseSessionRequest{SessionID: acp.SessionID(c.session.id)})
	}
	return err
}

// watch waits while another server has the session, for as long as a lease, and prompts there if it can. It reports whether that server still
// has it.
func (c *client) watch(ctx context.Context, l *link) (bool, error) {
	patience := leaseTime + time.Duration(c.random.IntN(1000))*time.Millisecond
	if c.random.IntN(2) == 0 {
		patience += acceptTime
	}
	for begin := time.Now(); ; sleep(ctx, retryTime) { // the update of another process ends it
		live, watches, reaches := c.part()
		if live && !watches {
			return false, nil
		}
		if l.gone() || !live || ctx.Err() != nil || time.Since(begin) > patience {
			c.fleet.count("watched")
			return true, nil
		}
		if reaches && c.random.IntN(4) > 0 {
			if err := c.prompt(ctx, l); err != nil {
				return true, err
			}
			c.fleet.count("answered elsewhere")
			c.session.usable()
		}
	}
}

// connect connects to a server and initializes.
func (c *client) connect(ctx context.Context, at *server) (l *link, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	url, f := at.address(), c.fleet
	if url == "" {
		return nil, errDown
	}
	life := context.WithoutCancel(ctx)
	if c.number%2 == 0 {
		l, err = dialProcess(life, f.program, url, f.tokenFile, f.dir, c.update)
	} else {
		l, err = dialSocket(ctx, url, f.token, c.update)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.link, c.at = l, at
	c.mu.Unlock()
	if _, err := l.Initialize(ctx); err != nil {
		c.leave(l)
		return nil, err
	}
	return l, nil
}

var errDown = errors.New("the server is down")

// leave ends a connection.
func (c *client) leave(l *link) {
	c.session.happened("client %d leaves", c.number)
	_ = l.Close() // it may have been killed
	time.AfterFunc(dialTime, l.abort)
	l.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link, c.live, c.turn, c.watches, c.reaches = nil, false, false, false, false
	c.settle()
}

// settle ends what the connection has begun. The caller holds c.mu.
func (c *client) settle() {
	c.fresh = nil
	if c.view != nil {
		c.view.own = "" // the server sends it, if it is there
		c.fleet.violations(c.view.errs...)
		c.view.errs = nil
		for id, status := range c.view.calls() {
			c.session.shown(id, status)
		}
	}
	if c.forgets {
		c.view, c.forgets = nil, false
	}
}

// kill kills the client. forget reports whether it loses what it has shown.
func (c *client) kill(forget bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return false
	}
	c.forgets = forget
	c.session.happened("client %d is killed", c.number)
	c.link.abort()
	return true
}

// busy reports whether the client waits for the answer to a prompt.
func (c *client) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link != nil && c.turn
}

// seq returns the number of the last update.
func (c *client) seq() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.seq
}

// update receives an update of the client's connection.
func (c *client) update(n *acp.SessionNotification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, ok := n.Update.(*acp.SessionInfoUpdate); ok {
		if part, ok := partOf(info); ok {
			c.learn(part)
			return
		}
	}
	var seq int64
	_, err := n.Meta.Get("gjc/seq", &seq)
	if string(n.SessionID) != c.session.id || err != nil {
		c.fleet.violations(fmt.Sprintf("client %d: an update of session %s, %v", c.number, n.SessionID, err))
		return
	}
	switch {
	case c.fresh != nil:
		c.fresh.add(seq, n.Update, c.view == nil)
	case c.live:
		placed := c.view.own == ""
		c.view.add(seq, n.Update, false)
		if !placed && c.view.own == "" {
			c.session.happened("the prompt of client %d gets its place", c.number)
		}
	}
}

// attachment describes the client's part in a session.
type attachment struct {
	Role      string `json:"role"`
	Elsewhere bool   `json:"elsewhere"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Seq       int64  `json:"seq"`
}

// watches reports whether another server has the session, or none, and reaches whether the client can prompt there.
func (a *attachment) watches() bool { return a.Elsewhere || a.Role == "observer" }
func (a *attachment) reaches() bool { return a.Elsewhere && a.Role == "controller" }

// partOf returns the client's part in a session, if an update is about that.
func partOf(u *acp.SessionInfoUpdate) (a attachment, ok bool) {
	ok, err := u.Meta.Get("gjc/attach", &a)
	return a, ok && err == nil
}

// learn records the client's part in the session. The caller holds c.mu.
func (c *client) learn(a attachment) {
	switch {
	case a.State == "detached":
		c.live = false
		c.session.happened("client %d is detached: %s", c.number, a.Reason)
		if since, ok := c.at.sincePause(); ok && strings.Contains(a.Reason, "taken the session over") {
			c.fleet.noticed(since)
		}
	case a.watches():
		c.reaches = a.reaches()
		c.session.happened("client %d watches and prompts there: %t", c.number, c.reaches)
	case c.watches && a.Role == "controller":
		c.watches, c.reaches = false, false
		c.session.happened("client %d controls the session now", c.number)
		c.session.usable()
		c.session.takenOver(c.view)
	}
}

// part reports whether the connection has the session, whether another server has it open, and whether that one takes prompts.
func (c *client) part() (live, watches, reaches bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live, c.watches, c.reaches
}

// load loads the session: what is new, if the client remembers the rest.
func (c *client) load(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	req := &acp.LoadSessionRequest{SessionID: acp.SessionID(c.session.id), Cwd: c.session.dir, MCPServers: []acp.MCPServer{}}
	c.mu.Lock()
	c.fresh = new(view)
	if c.view != nil {
		c.fresh.seq = c.view.seq
		_ = req.Meta.Set("gjc/attach", map[string]int64{"after": c.view.seq}) // a map can be encoded
	}
	c.mu.Unlock()
	resp, err := acp.MethodSessionLoad.Call(ctx, l.Conn, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.fresh
	c.fresh = nil
	if e, ok := errors.AsType[*acp.Error](err); ok && e.Code == acp.ErrorCodeInvalidParams && c.view != nil {
		c.old, c.view = c.view, nil // its updates are not kept
		c.fleet.count("replaced by error")
		c.mu.Unlock()
		err = c.load(ctx, l)
		c.mu.Lock()
		return err
	}
	if err != nil {
		return err
	}
	var a attachment
	attached, err := resp.Meta.Get("gjc/attach", &a)
	if err != nil {
		return err
	}
	c.live, c.watches, c.reaches = true, a.watches(), a.reaches()
	c.session.happened("client %d has loaded and watches: %t", c.number, c.watches)
	if !c.watches {
		c.session.usable()
	}
	c.take(fresh, attached, a)
	return nil
}

// take shows what a load has brought. The caller holds c.mu.
func (c *client) take(fresh *view, attached bool, a attachment) {
	if c.view == nil || !attached {
		if c.view != nil {
			c.old, fresh.errs = c.view, nil // the numbers are those of another life
			c.fleet.count("replaced")
		}
		if c.old != nil {
			c.compare(c.old.differences(fresh), fresh)
		}
		if c.view, c.old = fresh, nil; fresh.seq == 0 {
			fresh.seq = a.Seq // the conversation is empty
		}
		return
	}
	c.fleet.count("continued")
	c.fleet.violations(fresh.errs...)
	for _, it := range fresh.items {
		c.view.append(it)
	}
	c.view.seq, c.view.interrupted = fresh.seq, fresh.interrupted
	if a.Seq > c.view.seq { // less, if the next updates have come meanwhile
		c.fleet.violations(fmt.Sprintf("client %d has the updates up to %d, and the answer says %d", c.number, c.view.seq, a.Seq))
	}
}

// compare records what differs from what the client has shown before. A server that was paused until a moment ago may not have noticed yet that
// another one has the session: it shows what there was, and detaches its clients soon. The caller holds c.mu.
func (c *client) compare(differences []string, fresh *view) {
	now := time.Now()
	switch {
	case len(differences) == 0:
	case c.at.wasAway(span{now.Add(-staleTime), now, true}):
		c.fleet.count("stale after a pause")
		if since, ok := c.at.sincePause(); ok {
			c.fleet.wasStale(since)
		}
	default:
		c.fleet.violations(fmt.Sprintf("client %d at server %d, which was away %v (it watches: %t): %s\nThe conversation was\n%sand is\n%s", c.number, c.at.number, c.at.lastAway(), c.watches, differences[0], c.old, fresh) + c.session.between(now.Add(-2*leaseTime), now))
	}
}

// prompt sends a prompt and waits for the answer.
func (c *client) prompt(ctx context.Context, l *link) error {
	p := c.session.newPrompt(c.random)
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	c.mu.Lock()
	c.view.own, c.turn = p.text, true
	c.mu.Unlock()
	c.session.happened("client %d sends %s", c.number, p.word)
	resp, err := l.Prompt(ctx, acp.SessionID(c.session.id), p.text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = false
	if err != nil {
		return err
	}
	if resp.StopReason != acp.StopReasonEndTurn {
		c.fleet.violations(fmt.Sprintf("the turn of %s, which nothing cancels, ends with %s%s", p.word, resp.StopReason, c.session.between(p.sent.Add(-leaseTime), time.Now())))
		return nil
	}
	var seq int64
	if _, err := resp.Meta.Get("gjc/seq", &seq); err != nil || seq == 0 {
		c.fleet.violations(fmt.Sprintf("client %d: the answer to a prompt has no number: %v", c.number, err))
	}
	c.view.answered(seq)
	c.session.answered(p)
	c.session.happened("client %d receives the answer to %s", c.number, p.word)
	return nil
}

// kindOf returns the kind of an error response, or "".
func kindOf(err error) string {
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return ""
	}
	var data struct {
		Kind string `json:"kind"`
	}
	if jsonx.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.Kind
}
