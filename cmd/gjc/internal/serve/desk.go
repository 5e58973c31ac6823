package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/engines"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/meter"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// engineOperator is the user of the token of --token-file.
const engineOperator = engines.Operator

// desk leads clients to the engines of their users.
type desk struct {
	who   *authenticators
	pool  *engines.Pool
	meter *meter.Meter
	log   zerolog.Logger

	mu       sync.Mutex // guards hubs and draining
	hubs     map[string]*hub.Hub
	draining bool
	endpoint *transport.Server
}

// admit passes a request of a visitor to the endpoint.
func (d *desk) admit(w http.ResponseWriter, r *http.Request) { d.endpoint.ServeHTTP(w, r) }

// cancelTime bounds the end of turns that are cancelled.
const cancelTime = 2 * time.Second

// drain lets nothing new begin, and gives up each session when it is idle, so that another server can open it: it waits until the turns that
// run have ended, also those whose clients are gone, or ctx ends. Then it cancels them.
func (d *desk) drain(ctx context.Context) {
	d.meter.Drain()
	d.endpoint.Drain()
	d.mu.Lock()
	d.draining = true
	hubs := slices.Collect(maps.Values(d.hubs))
	d.mu.Unlock()
	turns := 0
	for _, h := range hubs {
		turns += h.Turns()
	}
	if turns > 0 {
		d.log.Warn().Int("turns", turns).Msg("waiting for turns to end; a second signal ends them")
	}
	for _, h := range hubs {
		h.Drain()
	}
	for _, h := range hubs {
		if err := h.Drained(ctx); err != nil {
			d.log.Warn().Err(err).Int("turns", h.Turns()).Msg("cancelling turns")
			h.Cancel()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	for _, h := range hubs {
		_ = h.Drained(ctx) // what is left ends with the connections
	}
	d.endpoint.Drained(ctx)
}

// owner names the sender of a request, so that requests of others never join its connections.
func owner(r *http.Request) string {
	v, ok := r.Context().Value(identityKey{}).(*visitor)
	if !ok {
		return ""
	}
	return v.User + "\x00" + v.Token
}

// refusals gives those errors their words for the client that are about its token, or about the end of the server.
func refusals(err error) error {
	if errors.Is(err, hub.ErrDrained) {
		return fmt.Errorf("%w: %w", transport.ErrRestart, err)
	}
	for _, known := range []error{access.ErrUnknown, access.ErrExpired, access.ErrRevoked, meter.ErrLimit} {
		if errors.Is(err, known) {
			return &transport.DeniedError{Err: err}
		}
	}
	return err
}

// checkTime is the time between two checks whether the token of a connection is still valid.
const checkTime = 10 * time.Second

// serve serves one connection.
func (d *desk) serve(ctx context.Context, r io.Reader, w io.Writer) (err error) {
	v, ok := ctx.Value(identityKey{}).(*visitor)
	if !ok {
		return errors.New("a connection without an identity")
	}
	parent := ctx
	defer func() {
		if err != nil && parent.Err() == nil && !errors.Is(err, hub.ErrDrained) {
			d.log.Warn().Str("user", v.User).Str("token", v.Token).Str("remote", v.remote).Err(err).Msg("a connection has failed")
		}
	}()
	conn, err := d.meter.Connect(v.Identity, v.remote)
	if err != nil {
		return refusals(errors.Join(err, d.meter.Refused(v.Identity, v.remote, err)))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go d.watch(ctx, v, cancel) // ends with the connection
	err = conn.Serve(ctx, r, w, func(ctx context.Context, r io.Reader, w io.Writer) error {
		err := d.hub(v.User).Serve(ctx, r, w, hub.Client{Name: d.author(v), Scopes: scopes(v.Identity)})
		if errors.Is(err, hub.ErrStart) {
			err = errors.Join(err, explain(r, w, err))
		}
		return err
	})
	return refusals(errors.Join(err, context.Cause(ctx)))
}

// explain answers the first request of a client that has no engine.
func explain(r io.Reader, w io.Writer, reason error) error {
	words := "the agent could not be started; the log of the server says why"
	if errors.Is(reason, engines.ErrAnotherUser) {
		words = reason.Error()
	}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var request struct {
			ID     jsonx.Raw `json:"id,omitzero"`
			Method any       `json:"method,omitzero"`
		}
		if jsonx.Unmarshal(line, &request) == nil && len(request.ID) > 0 && request.Method != nil {
			answer, err := jsonx.Marshal(failure{"2.0", request.ID, failureError{-32603, words}})
			if err == nil {
				_, err = w.Write(append(answer, '\n'))
			}
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
}

type failure struct {
	JSONRPC string       `json:"jsonrpc"`
	ID      jsonx.Raw    `json:"id"`
	Error   failureError `json:"error"`
}

type failureError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// watch ends a connection whose token is not valid any more.
func (d *desk) watch(ctx context.Context, v *visitor, end context.CancelCauseFunc) {
	tick := time.NewTicker(checkTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := d.who.verify(ctx, v.secret)
		if errors.Is(err, access.ErrExpired) || errors.Is(err, access.ErrRevoked) || errors.Is(err, access.ErrUnknown) {
			end(err)
			return
		}
	}
}

// hub returns the hub of a user.
func (d *desk) hub(user string) *hub.Hub {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hubs[user] == nil {
		d.hubs[user] = hub.New(hub.Options{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) { return d.pool.Connect(ctx, user) }})
		if d.draining {
			d.hubs[user].Drain()
		}
	}
	return d.hubs[user]
}

// author names the sender of a prompt to the other clients of a session.
func (d *desk) author(v *visitor) string {
	if v.User == engines.Operator {
		return "owner"
	}
	return v.User
}

func scopes(id *access.Identity) []string {
	all := make([]string, len(id.Scopes))
	for i, s := range id.Scopes {
		all[i] = string(s)
	}
	return all
}

// close ends all connections and engines.
func (d *desk) close(ctx context.Context) error {
	err := d.endpoint.Close(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.hubs {
		err = errors.Join(err, h.Close(ctx))
	}
	return errors.Join(err, d.pool.Close(ctx))
}
