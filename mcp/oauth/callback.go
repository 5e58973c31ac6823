package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// callback is the address that the browser returns to.
type callback struct {
	url     string
	server  *http.Server
	served  chan struct{} // closed when the server has ended
	results chan result   // has room for one
	state   chan string   // has the state of the sign-in, once it is known
}

// result reports the end of a sign-in in the browser.
type result struct {
	code *auth.AuthorizationResult
	err  error
}

const callbackPath = "/callback"

// listen opens a callback on a port of the loopback interface; zero for any. The caller must close it.
func listen(ctx context.Context, port int) (*callback, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("opening a port for the sign-in: %w", err)
	}
	c := &callback{
		url: "http://" + l.Addr().String() + callbackPath, served: make(chan struct{}), results: make(chan result, 1), state: make(chan string, 1),
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(l)
	}()
	return c, nil
}

// close ends the callback. It lets an answer that is under way reach the browser.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	<-c.served
}

// ServeHTTP implements [http.Handler].
func (c *callback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	query := req.URL.Query()
	if req.Method != http.MethodGet || req.URL.Path != callbackPath || !c.expects(query.Get("state")) {
		// Any page can send a browser here, so a request without the state of the sign-in has no effect.
		w.WriteHeader(http.StatusNotFound)
		page(w, "Nothing to do here", "This address belongs to a sign-in of gjc, and the request does not.")
		return
	}
	if code := query.Get("error"); code != "" {
		c.finish(result{err: errors.New("the authorization server refused: " + describe(code, query.Get("error_description")))})
		page(w, "Not signed in", "The sign-in was refused. You can close this window; gjc says why.")
		return
	}
	c.finish(result{code: &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}})
	page(w, "Signed in", "You can close this window and go on in your editor.")
}

// expects reports whether state is that of the sign-in.
func (c *callback) expects(state string) bool {
	select {
	case want := <-c.state:
		c.state <- want
		return state != "" && state == want
	default:
		return false
	}
}

func (c *callback) finish(r result) {
	select {
	case c.results <- r:
	default: // the browser has loaded the address twice
	}
}

func page(w http.ResponseWriter, title, text string) {
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<title>%s</title><style>body{font:1.1rem system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style><h1>%s</h1><p>%s</p></html>`, title, title, text)
}

// await asks the user to visit the address of the authorization server, and waits until the browser has returned.
func (c *callback) await(ctx context.Context, address string, visit Visit) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the authorization server is invalid")
	}
	c.state <- u.Query().Get("state")
	ctx, cancel := context.WithTimeoutCause(ctx, signInTimeout, fmt.Errorf("nothing came back from the browser within %s", signInTimeout))
	defer cancel()
	asking, end := context.WithCancel(ctx)
	visited := make(chan error, 1)
	go func() { visited <- visit(asking, address) }()
	waiting := visited
	for {
		select {
		case r := <-c.results:
			end()
			if waiting != nil {
				<-visited
			}
			return r.code, r.err
		case err := <-waiting:
			if err != nil {
				end()
				return nil, err
			}
			waiting = nil // the browser is still to come
		case <-ctx.Done():
			end()
			if waiting != nil {
				<-visited
			}
			return nil, context.Cause(ctx)
		}
	}
}

// describe returns an error of an authorization server in one line.
func describe(code, description string) string {
	clean := func(s string, most int) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s, ""))
		if runes := []rune(s); len(runes) > most {
			s = string(runes[:most]) + "…"
		}
		return strings.TrimSpace(s)
	}
	if description = clean(description, 300); description != "" {
		return clean(code, 60) + " (" + description + ")"
	}
	return clean(code, 60)
}
