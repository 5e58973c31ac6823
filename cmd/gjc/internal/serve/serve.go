// Package serve has the commands "gjc serve", which serves ACP over the network, and "gjc connect", which connects an editor that only starts
// commands to it.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Env holds the parts of the program that the commands use.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Serve serves one client, as over stdio.
	Serve func(ctx context.Context, r io.Reader, w io.Writer) error
}

// serveFlags are the flags of "gjc serve".
type serveFlags struct {
	listen, tokenFile string
	cert, key         string
}

// NewServe returns the command "gjc serve".
func NewServe(env func() *Env, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	f := new(serveFlags)
	cmd := &cobra.Command{
		Use:   "serve --listen address --token-file file",
		Short: "Serve clients over the network: WebSocket and Streamable HTTP",
		Long: "serve listens for clients of the Agent Client Protocol, by WebSocket and by Streamable HTTP, at the path /acp. The first line of its output has the address. " +
			"Each client sends the token as Authorization: Bearer. Beyond this machine it needs TLS: --tls-cert and --tls-key.",
		Example: "  head -c 32 /dev/urandom | base64 > token && chmod 600 token\n  gjc serve --listen 127.0.0.1:4100 --token-file token",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "address to listen on, such as 127.0.0.1:4100; port 0 picks one")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token of the clients, in one line, which only you can read")
	flags.StringVar(&f.cert, "tls-cert", "", "file with the certificate, PEM")
	flags.StringVar(&f.key, "tls-key", "", "file with its key, PEM")
	_ = cmd.MarkFlagRequired("listen")     // the flag exists
	_ = cmd.MarkFlagRequired("token-file") // likewise
	return cmd
}

// The bounds of the HTTP server, against clients that are slow or say nothing.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 16 << 10
	closeTime   = 10 * time.Second
)

// run serves until ctx ends.
func (f *serveFlags) run(ctx context.Context, e *Env) error {
	token, err := readToken(f.tokenFile)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	config, err := f.tls()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer func() { _ = listener.Close() }() // the server has closed it
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok || config == nil && !addr.IP.IsLoopback() {
		return fmt.Errorf("--listen: %s is reachable from other machines, and without TLS everyone in between could read the token; use --tls-cert and --tls-key, or an address such as 127.0.0.1:%d", listener.Addr(), addr.Port)
	}
	scheme := "http"
	if config != nil {
		scheme = "https"
		listener = tls.NewListener(listener, config)
	}
	endpoint := transport.NewServer(transport.Options{Serve: e.Serve})
	mux := http.NewServeMux()
	mux.Handle(transport.Path, guard{token: token, config: config, next: endpoint})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes}
	line, err := jsonx.Marshal(map[string]string{"listening": (&url.URL{Scheme: scheme, Host: addr.String(), Path: transport.Path}).String()})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s\n", line); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { // ends with the server
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = endpoint.Close(ctx) // what is left ends with the process
		_ = server.Close()
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return endpoint.Close(ctx)
}

// tls returns the configuration of TLS; nil for none.
func (f *serveFlags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if f.cert == "" || f.key == "" {
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// minToken is the least length of a token, in bytes.
const minToken = 16

// readToken reads the one line of a file.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := private(info); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(data), "\r\n")
	switch {
	case len(token) < minToken:
		return "", fmt.Errorf("%s: the token has fewer than %d characters", path, minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s: the token is one line of ASCII without spaces", path)
	}
	return token, nil
}

// guard lets requests through that have the token, and that come from no page of another site.
type guard struct {
	token  string
	config *tls.Config // nil for plain text on the loopback interface
	next   http.Handler
}

// ServeHTTP implements [http.Handler].
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := hostOf(r.Host)
	if !g.own(host) { // a page whose name is made to lead here
		http.Error(w, "this server is not "+strings.ToValidUTF8(host, ""), http.StatusMisdirectedRequest)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			http.Error(w, "requests of web pages are refused", http.StatusForbidden)
			return
		}
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, have := sha256.Sum256([]byte(g.token)), sha256.Sum256([]byte(got))
	if !ok || subtle.ConstantTimeCompare(want[:], have[:]) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		return
	}
	g.next.ServeHTTP(w, r)
}

// own reports whether a name is one of this server's.
func (g guard) own(host string) bool {
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	if g.config == nil {
		return false
	}
	leaf := g.config.Certificates[0].Leaf
	return leaf != nil && leaf.VerifyHostname(host) == nil
}

// hostOf returns the name of a Host header.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return strings.ToLower(host)
	}
	return strings.ToLower(strings.Trim(header, "[]"))
}
