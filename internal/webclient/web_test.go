package webclient

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"", "ftp://a/", "file:///etc/passwd", "http://", "https:///x", "http://user:pw@host/", "http://user@host/", "http://[::1", "//host/x", "http://a/" + strings.Repeat("x", 9000), "ht\ntp://a"} {
		if _, err := Parse(text); !errors.Is(err, errAddress) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// client returns a client that does not use the machine's proxies.
func client(opts Options) *Client {
	c := New(opts)
	c.proxy = func(*url.URL) (*url.URL, error) { return nil, nil }
	return c
}

// Addresses of this machine are rejected at the time of the connection, in every notation.
func TestFetch_RefusesPrivate(t *testing.T) {
	testenv.NoLeaks(t)
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := client(Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "[::1]"} {
		if _, err := c.Fetch(own(t), "http://"+host+":"+port+"/"); !errors.Is(err, errPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if asked {
		t.Error("the server was asked")
	}
}

// A proxy receives no request for a forbidden address.
func TestFetch_OverProxy(t *testing.T) {
	testenv.NoLeaks(t)
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = fmt.Fprint(w, "by proxy") // the test checks the response
	}))
	defer s.Close()
	c := New(Options{Proxy: s.URL})
	page, err := c.Fetch(own(t), "http://93.184.216.34/x")
	if err != nil || string(page.Body) != "by proxy" {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, host := range []string{"10.1.2.3", "169.254.169.254", "[fd00::1]", "intranet", "metadata.google.internal", "127.1", "0177.0.0.1", "169.254.43518", "0xa9.0xfe.0xa9.0xfe", "169.254.169.254."} {
		if _, err := c.Fetch(own(t), "http://"+host+"/"); !errors.Is(err, errPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(asked) != 1 {
		t.Errorf("the proxy was asked for %v", asked)
	}
}

func TestFetch(t *testing.T) {
	testenv.NoLeaks(t)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=euc-kr")
		_, _ = w.Write([]byte("<p>\xbe\xc8\xb3\xe7</p>")) // the test checks the response
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"a":1}`)) // the test checks the response
	})
	mux.HandleFunc("/on/", func(w http.ResponseWriter, r *http.Request) {
		n := len(r.URL.Path) - len("/on/")
		to := "/on/" + strings.Repeat("x", n-1)
		if n == 1 {
			to = "/page"
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/x", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(302)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for range 50 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close() // the client has closed the connection
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	defer close(release)
	c := client(Options{AllowPrivate: true})
	get := func(path string) (*Page, error) { return c.Fetch(own(t), s.URL+path) }
	for path, want := range map[string]string{"/page": "안녕\n", "/json": "{\n\t\"a\": 1\n}", "/on/xxxxx": "안녕\n"} {
		page, err := get(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if text, ok := page.Text(false); !ok || text != want {
			t.Errorf("%s: %q", path, text)
		}
	}
	if page, err := get("/none"); err != nil || page.Status != 404 {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err := get("/bomb"); err != nil || !page.Cut || len(page.Body) != MaxBody {
		t.Errorf("%v", err)
	}
	if _, err := get("/on/xxxxxx"); err == nil || !strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("%v", err)
	}
	if _, err := get("/file"); !errors.Is(err, errAddress) {
		t.Errorf("%v", err)
	}
	if e, ok := errors.AsType[*redirectError](func() error { _, err := get("/away"); return err }()); !ok || e.To != "http://other.example/x" {
		t.Errorf("%v", e)
	}
	stop := errors.New("stop now")
	ctx, cancel := context.WithCancelCause(own(t))
	cancel(stop)
	if _, err := c.Fetch(ctx, s.URL+"/page"); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	slow := client(Options{AllowPrivate: true, Timeout: 50 * time.Millisecond})
	if _, err := slow.Fetch(own(t), s.URL+"/hang"); !errors.Is(err, errTimeout) {
		t.Errorf("%v", err)
	}
}
