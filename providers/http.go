package providers

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// HTTPOptions configures connections to model servers. The zero value suits most users.
type HTTPOptions struct {
	// Proxy is the URL of a proxy for all requests: http, https or socks5. If empty, the environment variables HTTPS_PROXY,
	// HTTP_PROXY and NO_PROXY apply.
	Proxy string
	// NoProxy lists the hosts that are reached without Proxy, in the syntax of NO_PROXY. The loopback interface is always one.
	NoProxy []string
	// CAFiles are PEM files with certificates that are trusted in addition to those of the system.
	CAFiles []string
	// CertFile and KeyFile are the PEM files of a client certificate and its key.
	CertFile, KeyFile string
	// ConnectTimeout bounds connecting and the TLS handshake separately. If zero, 15 seconds.
	ConnectTimeout time.Duration
	// Unknown, if not empty, says why the settings are unknown. All connections fail then.
	Unknown string
}

// ErrHTTPOptions is wrapped by the errors of invalid [HTTPOptions].
var ErrHTTPOptions = errors.New("network settings")

// NewHTTPClient returns a client with the zero [HTTPOptions].
func NewHTTPClient() *http.Client {
	client, err := HTTPOptions{}.Client()
	if err != nil {
		return &http.Client{} // the zero options are valid
	}
	return client
}

// Client returns a client for model calls. A process should share one client, so that connections are reused. The client bounds
// the time to connect, but not the time of an answer, which the timeouts of [Config] bound.
func (o HTTPOptions) Client() (*http.Client, error) {
	if o.Unknown != "" {
		return nil, fmt.Errorf("%w: %s", ErrHTTPOptions, o.Unknown)
	}
	connect := cmp.Or(o.ConnectTimeout, 15*time.Second)
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   connect,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		// Pings find a connection that a network has dropped silently.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		// Compression delays the events of a stream.
		DisableCompression: true,
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return nil, fmt.Errorf("%w: the proxy must be a URL with http, https or socks5", ErrHTTPOptions)
		}
		proxy := (&httpproxy.Config{HTTPProxy: o.Proxy, HTTPSProxy: o.Proxy, NoProxy: strings.Join(o.NoProxy, ",")}).ProxyFunc()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	if len(o.CAFiles) == 0 && o.CertFile == "" {
		return &http.Client{Transport: t}, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, cmp.Or(o.KeyFile, o.CertFile))
		if err != nil {
			return nil, fmt.Errorf("%w: reading the client certificate: %w", ErrHTTPOptions, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	authorities, err := o.authorities()
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &trusting{Transport: t, begin: func() *http.Transport {
		secure := t.Clone()
		secure.TLSClientConfig = config
		if len(authorities) > 0 {
			pool, err := x509.SystemCertPool()
			if err != nil {
				pool = x509.NewCertPool()
			}
			for _, data := range authorities {
				pool.AppendCertsFromPEM(data)
			}
			config.RootCAs = pool
		}
		return secure
	}}}, nil
}

// authorities reads CAFiles. Each must contain a certificate.
func (o HTTPOptions) authorities() (files [][]byte, err error) {
	for _, file := range o.CAFiles {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: reading certificates: %w", ErrHTTPOptions, err)
		}
		if !hasCertificate(data) {
			return nil, fmt.Errorf("%w: %s contains no PEM certificate", ErrHTTPOptions, file)
		}
		files = append(files, data)
	}
	return files, nil
}

// HasCertificate reports whether a file can be read and contains a PEM certificate, as the files of [HTTPOptions.CAFiles] must.
func HasCertificate(file string) bool {
	data, err := os.ReadFile(file)
	return err == nil && hasCertificate(data)
}

// hasCertificate stops at the first certificate: parsing a system's set takes milliseconds.
func hasCertificate(data []byte) bool {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			return true
		}
	}
	return false
}

// trusting is a transport that loads its certificates for the first request that needs them: the system's take 20 milliseconds,
// and a server on this machine needs none.
type trusting struct {
	*http.Transport // for addresses without TLS
	begin           func() *http.Transport

	once   sync.Once
	secure atomic.Pointer[http.Transport]
}

// RoundTrip implements [http.RoundTripper].
func (t *trusting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" {
		if proxy, err := t.Proxy(req); err == nil && (proxy == nil || proxy.Scheme != "https") {
			return t.Transport.RoundTrip(req)
		}
	}
	t.once.Do(func() { t.secure.Store(t.begin()) })
	return t.secure.Load().RoundTrip(req)
}

// CloseIdleConnections implements the interface that [http.Client.CloseIdleConnections] uses.
func (t *trusting) CloseIdleConnections() {
	t.Transport.CloseIdleConnections()
	if secure := t.secure.Load(); secure != nil {
		secure.CloseIdleConnections()
	}
}

// SameOrigin reports whether two URLs have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if strings.EqualFold(u.Scheme, "https") {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}
