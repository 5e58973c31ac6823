package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/proxy"

	"github.com/gajae-code/gjc/internal/egress"
	"github.com/gajae-code/gjc/internal/netaddr"
	"github.com/gajae-code/gjc/internal/testenv"
)

var errNotAllowed = errors.New("not on the list")

// start starts a proxy at an address of this machine.
func start(t *testing.T, opts egress.Options) (address string) {
	t.Helper()
	testenv.NoLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := egress.New(opts)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.Serve(c)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		p.Close()
	})
	return l.Addr().String()
}

// only allows one host.
func only(host string) func(string, int) error {
	return func(name string, _ int) error {
		if name != host {
			return errNotAllowed
		}
		return nil
	}
}

// to connects to an address, whatever host is asked for.
func to(address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

func clientOf(t *testing.T, via string) *http.Client {
	t.Helper()
	u, err := url.Parse(via)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(u)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, address string) (status int, body string, err error) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// Programs reach the hosts that are allowed, by each protocol, and no others.
func TestProxy(t *testing.T) {
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Host, r.URL.Path) }))
	defer site.Close()
	plain := httptest.NewServer(site.Config.Handler)
	defer plain.Close()
	for _, via := range []string{"http", "socks5h"} {
		t.Run(via, func(t *testing.T) {
			secure := start(t, egress.Options{Allow: only("example.com"), Dial: to(site.Listener.Addr().String())})
			c := clientOf(t, via+"://"+secure)
			c.Transport.(*http.Transport).TLSClientConfig = site.Client().Transport.(*http.Transport).TLSClientConfig
			if status, body, err := get(t, c, "https://example.com/a"); status != 200 || body != "example.com/a" {
				t.Errorf("%d %q %v", status, body, err)
			}
			if status, body, err := get(t, c, "https://evil.example/a"); err == nil {
				t.Errorf("another host: %d %q", status, body)
			}
			c = clientOf(t, via+"://"+start(t, egress.Options{Allow: only("example.com"), Dial: to(plain.Listener.Addr().String())}))
			for range 2 { // the second request may use the same connection
				if status, body, err := get(t, c, "http://EXAMPLE.com./b"); status != 200 || !strings.HasSuffix(body, "/b") {
					t.Errorf("%d %q %v", status, body, err)
				}
			}
			if status, body, err := get(t, c, "http://evil.example/a"); err == nil && (status != http.StatusForbidden || !strings.Contains(body, "evil.example: not on the list")) {
				t.Errorf("another host: %d %q", status, body)
			}
		})
	}
}

// What is no request for a proxy gets an answer, and no connection.
func TestProxy_BadRequests(t *testing.T) {
	address := start(t, egress.Options{Allow: func(string, int) error { t.Error("asked"); return nil }, Dial: to("127.0.0.1:1")})
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT :80 HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT a:0 HTTP/1.1\r\nHost: a:0\r\n\r\n", "CONNECT a:65536 HTTP/1.1\r\nHost: a\r\n\r\n", "nonsense\r\n\r\n",
		"\x05\x01\x02", "\x05\x00", "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x05\x01\x00\x09", "\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", "\x05\x01\x00\x04\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		if strings.HasPrefix(string(answer), "HTTP/1.1 200") || len(answer) == 12 && answer[3] == 0 {
			t.Errorf("%q: %q", request, answer)
		}
		_ = c.Close()
	}
}

// A name that is allowed leads to no address of this machine, whatever it is resolved to at the time of the connection.
func TestProxy_Rebinding(t *testing.T) {
	reached := make(chan struct{}, 1)
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer inner.Close()
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, addrs := range map[string][][4]byte{"private": {{127, 0, 0, 1}}, "then private": {{203, 0, 113, 1}, {127, 0, 0, 1}}, "metadata": {{169, 254, 169, 254}}} {
		t.Run(name, func(t *testing.T) {
			resolver := &net.Resolver{PreferGo: true, Dial: nameserver(t, addrs)}
			address := start(t, egress.Options{
				Allow: only("example.com"), Dial: (&net.Dialer{Resolver: resolver, ControlContext: netaddr.Control}).DialContext,
			})
			for _, via := range []string{"http", "socks5h"} {
				for range 2 {
					status, body, err := get(t, clientOf(t, via+"://"+address), "http://example.com:"+port+"/")
					if err == nil && (via != "http" || status != http.StatusForbidden || !strings.Contains(body, "private network")) {
						t.Errorf("%s: %d %q", via, status, body)
					}
				}
			}
			select {
			case <-reached:
				t.Error("a server of this machine was reached")
			default:
			}
		})
	}
	for _, literal := range []string{"127.0.0.1", "[::1]", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		address := start(t, egress.Options{Allow: func(string, int) error { return nil }})
		if status, body, err := get(t, clientOf(t, "http://"+address), "http://"+literal+":"+port+"/"); err == nil && status != http.StatusForbidden {
			t.Errorf("%s: %d %q", literal, status, body)
		}
	}
	if len(reached) > 0 {
		t.Error("a server of this machine was reached by its address")
	}
}

// nameserver answers each question with the next of the addresses.
func nameserver(t *testing.T, addrs [][4]byte) func(context.Context, string, string) (net.Conn, error) {
	var mu sync.Mutex
	asked := 0
	return func(context.Context, string, string) (net.Conn, error) {
		a, b := net.Pipe()
		go func() { // ends with the connection
			defer func() { _ = b.Close() }()
			r := bufio.NewReader(b)
			var size [2]byte
			if _, err := io.ReadFull(r, size[:]); err != nil {
				return
			}
			query := make([]byte, int(size[0])<<8|int(size[1]))
			if _, err := io.ReadFull(r, query); err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(query); err != nil {
				t.Error(err)
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				mu.Lock()
				addr := addrs[min(asked, len(addrs)-1)]
				asked++
				mu.Unlock()
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: addr},
				}}
			}
			packed, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = b.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
		}()
		return a, nil
	}
}

// Behind a proxy of the machine, the proxy connects.
func TestProxy_Upstream(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "site ", r.Host) }))
	defer site.Close()
	machine := start(t, egress.Options{Allow: func(string, int) error { return nil }, Dial: to(site.Listener.Addr().String())})
	for _, scheme := range []string{"http", "socks5"} {
		up := &url.URL{Scheme: scheme, Host: machine}
		address := start(t, egress.Options{
			Allow: only("example.com"), Upstream: func(*url.URL) (*url.URL, error) { return up, nil },
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("without the proxy") },
		})
		if status, body, err := get(t, clientOf(t, "http://"+address), "http://example.com/"); status != 200 || body != "site example.com" {
			t.Errorf("%s: %d %q %v", scheme, status, body, err)
		}
		d, err := proxy.SOCKS5("tcp", address, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) { return d.Dial(network, address) }, DisableKeepAlives: true}}
		if status, body, err := get(t, c, "http://example.com/"); status != 200 || body != "site example.com" {
			t.Errorf("%s: a tunnel: %d %q %v", scheme, status, body, err)
		}
		if _, _, err := get(t, c, "http://evil.example/"); err == nil {
			t.Errorf("%s: another host was reached", scheme)
		}
	}
}

func TestDomains(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM.": "example.com", "*.example.com": "*.example.com", "localhost": "localhost", "192.0.2.1": "192.0.2.1", "[2001:DB8::1]": "2001:db8::1",
		"": "", "*": "", "*.": "", "a..b": "", "http://a": "", "a/b": "", "a:80": "", "*.*.a": "", "a.*": "", "ä.de": "", strings.Repeat("a", 64) + ".de": "",
	} {
		got, err := egress.ParseDomain(text)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, egress.ErrDomain) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	list := egress.Domains{"example.com", "*.example.org"}
	for host, want := range map[string]bool{
		"example.com": true, "www.example.com": false, "example.org": false, "a.example.org": true, "a.b.example.org": true, "xexample.org": false, ".example.org": false, "example.org.evil": false, "": false,
	} {
		if got := list.Contain(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
