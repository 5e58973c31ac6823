// Package serve has the commands "gjc serve", which serves ACP over the network, and "gjc connect", which connects an editor that only starts
// commands to it.
//
// The server is the only process that holds tokens and keys of TLS. It knows who a client is, counts and records what the client does, and
// passes its messages to the engine of its user, which is a process of its own.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/engines"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/gateway"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/meter"
	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
)

// Env holds the parts of the program that the commands use.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        []string
	Log            zerolog.Logger
	// Store is the address of the database with the sessions; empty for none. UserStore returns the one of a user, who reaches only their own
	// sessions there.
	Store     string
	UserStore func(ctx context.Context, user string) (string, error)
	// AgentDir returns the directory of gjc's own files.
	AgentDir func() (string, error)
	// Engine returns the arguments of the command that serves the clients of one user, as [engines.Listen] does.
	Engine func() ([]string, error)
	// Models returns the client that requests to models are sent with, as the configuration has it.
	Models func() (*http.Client, error)
	// Children returns the owner of the engines.
	Children func() *proc.Group
}

// serveFlags are the flags of "gjc serve".
type serveFlags struct {
	listen, tokenFile string
	providerKeys      string
	dir, auditLog     string
	cert, key         string
	issuer            access.IssuerOptions
	uids              string
	hosts, share      []string
	workspaces        []string
	connections       int
	drain             time.Duration
}

// NewServe returns the command "gjc serve".
func NewServe(env func() *Env, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	f := new(serveFlags)
	cmd := &cobra.Command{
		Use:   "serve --listen address",
		Short: "Serve clients over the network: WebSocket and Streamable HTTP",
		Long: "serve listens for clients of the Agent Client Protocol, by WebSocket and by Streamable HTTP, at the path /acp. The first line of its output has the address. " +
			"Each client sends a token as Authorization: Bearer: that of --token-file, which is for you alone, one that gjc serve token create has made for a user, or one of an OpenID Connect issuer. " +
			"Beyond this machine it needs TLS: --tls-cert and --tls-key.",
		Example: "  head -c 32 /dev/urandom | base64 > token && chmod 600 token\n  gjc serve --listen 127.0.0.1:4100 --token-file token",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "address to listen on, such as 127.0.0.1:4100; port 0 picks one")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with your own token, in one line, which only you can read; its clients work as you do")
	flags.StringVar(&f.providerKeys, "provider-keys", "", "file with keys of providers, which only you can read; users work with these keys and cannot read them")
	flags.StringVar(&f.auditLog, "audit-log", "", "file for the audit log (default: audit.jsonl in --serve-dir)")
	flags.StringVar(&f.cert, "tls-cert", "", "file with the certificate, PEM")
	flags.StringVar(&f.key, "tls-key", "", "file with its key, PEM")
	flags.StringVar(&f.issuer.Issuer, "oidc-issuer", "", "URL of an OpenID Connect issuer whose tokens are accepted")
	flags.StringVar(&f.issuer.Audience, "oidc-audience", "", "audience of these tokens: the ID of the client")
	flags.StringVar(&f.issuer.UserClaim, "oidc-claim", "", "claim with the name of the user (default: email)")
	flags.StringVar(&f.uids, "uids", "", "as root: range of user IDs, such as 200000-200999, for users without an account on this machine")
	flags.StringArrayVar(&f.hosts, "host", nil, "further name under which clients reach the server; can be repeated")
	flags.StringArrayVar(&f.share, "share", nil, "directory that users in bubblewrap see and change, or only see with :ro at its end; can be repeated")
	flags.StringArrayVar(&f.workspaces, "workspace", nil, "directory of this machine in which sessions may work; can be repeated. A session elsewhere uses the files of its client")
	flags.IntVar(&f.connections, "max-connections", 256, "connections at a time, of all users")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "after a signal, how long running turns may take to end")
	cmd.PersistentFlags().StringVar(&f.dir, "serve-dir", "", "directory of the tokens, the audit log and the users' files (default: serve in the agent directory)")
	_ = cmd.MarkFlagRequired("listen") // the flag exists
	cmd.AddCommand(newToken(env, f, args))
	return cmd
}

// trimAfter is the time after which an idle server returns memory to the system.
const trimAfter = 30 * time.Second

// The bounds of the HTTP server, against clients that are slow or say nothing.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 16 << 10
	closeTime   = 10 * time.Second
)

// directory returns the directory of the server's files.
func (f *serveFlags) directory(e *Env) (string, error) {
	if f.dir != "" {
		return filepath.Abs(f.dir)
	}
	agent, err := e.AgentDir()
	return filepath.Join(agent, "serve"), err
}

// run serves until ctx ends, and then until the turns that run have ended.
func (f *serveFlags) run(ctx context.Context, e *Env) (err error) {
	dir, err := f.directory(e)
	if err != nil {
		return err
	}
	if f.connections < 1 {
		return fmt.Errorf("--max-connections: %d are too few", f.connections)
	}
	who, err := f.authenticators(dir)
	if err != nil {
		return err
	}
	pair, err := openKeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	listener, err := f.open(ctx, pair)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // the server has closed it
	if f.auditLog == "" {
		f.auditLog = filepath.Join(dir, "audit.jsonl")
	}
	audit, err := openLog(f.auditLog)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, audit.Close()) }()
	children := e.Children()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, children.Close(ctx))
	}()
	counters := meter.NewCounters()
	d := &desk{who: who, log: e.Log, hubs: make(map[string]*hub.Hub), meter: meter.New(meter.Options{
		Audit: audit, Log: e.Log, Counters: counters, Clock: time.Now, Ledger: meter.OpenLedger(filepath.Join(dir, "costs.json"), time.Now),
	})}
	keys, err := f.gateway(e, d.meter, counters)
	if err != nil {
		return err
	}
	go system.TrimMemory(ctx, trimAfter) // ends with ctx
	if d.pool, err = f.engines(ctx, e, dir, children, keys); err != nil {
		return err
	}
	counters.Watch("gjc_engines", func() float64 { return float64(d.pool.Running()) })
	d.endpoint = transport.NewServer(transport.Options{Serve: d.serve, Owner: owner, MaxConnections: f.connections})
	g := &guard{desk: d, pair: pair, hosts: f.hosts}
	scheme, reload := "http", append([]func() error{audit.reload}, keys.reload...)
	if pair != nil {
		scheme, reload = "https", append(reload, pair.reload)
	}
	defer reloading(&e.Log, reload...)()
	err = announce(e.Stdout, scheme, listener.Addr())
	if err == nil {
		server := &http.Server{Handler: g.routes(counters.Handler()), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes}
		err = f.until(ctx, d, server, listener)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return errors.Join(err, d.close(ctx))
}

// announce writes the first line of the output.
func announce(w io.Writer, scheme string, addr net.Addr) error {
	line, err := jsonx.Marshal(map[string]string{"listening": (&url.URL{Scheme: scheme, Host: addr.String(), Path: transport.Path}).String()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

// until serves HTTP until ctx ends, and then while turns run, for a bounded time.
func (f *serveFlags) until(ctx context.Context, d *desk, server *http.Server, listener net.Listener) error {
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() { // ends with the drain
		ctx, cancel := context.WithTimeoutCause(serving, f.drain, fmt.Errorf("they did not end within %s", f.drain))
		defer cancel()
		d.drain(ctx)
		_ = server.Close()
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// open opens the listener. Without TLS it is one of this machine alone.
func (f *serveFlags) open(ctx context.Context, pair *keyPair) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok || pair == nil && !addr.IP.IsLoopback() {
		_ = listener.Close()
		return nil, fmt.Errorf("--listen: %s is reachable from other machines, and without TLS everyone in between could read the token; use --tls-cert and --tls-key, or an address such as 127.0.0.1:%d", listener.Addr(), addr.Port)
	}
	if pair != nil {
		listener = tls.NewListener(listener, pair.config())
	}
	return listener, nil
}

// authenticators returns who accepts tokens. There is at least one.
func (f *serveFlags) authenticators(dir string) (*authenticators, error) {
	who := &authenticators{tokens: access.OpenTokens(filepath.Join(dir, tokensName), time.Now)}
	if f.tokenFile != "" {
		token, err := readToken(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		who.own = token
	}
	if f.issuer.Issuer != "" || f.issuer.Audience != "" || f.issuer.UserClaim != "" {
		f.issuer.Clock = time.Now
		issuer, err := access.NewIssuer(f.issuer)
		if err != nil {
			return nil, fmt.Errorf("--oidc-issuer: %w", err)
		}
		who.issuer = issuer
	}
	known, err := who.tokens.List()
	if err != nil {
		return nil, err
	}
	if who.own == "" && who.issuer == nil && len(known) == 0 {
		return nil, errors.New("no client could use the server: there is no token. Use --token-file, gjc serve token create, or --oidc-issuer")
	}
	return who, nil
}

// providerKeys are the operator's keys for the users' engines; the zero value has none.
type providerKeys struct {
	open   func(user, dir string) (env []string, end func(), err error)
	reload []func() error
}

// gateway returns the keys of --provider-keys.
func (f *serveFlags) gateway(e *Env, m *meter.Meter, counters *meter.Counters) (providerKeys, error) {
	if f.providerKeys == "" {
		return providerKeys{}, nil
	}
	keys, err := gateway.OpenKeys(f.providerKeys)
	if err != nil {
		return providerKeys{}, err
	}
	client, err := e.Models()
	if err != nil {
		return providerKeys{}, err
	}
	g := gateway.New(gateway.Options{
		Keys: keys, Transport: client.Transport, Count: counters.ProviderRequest, Log: e.Log,
		Refused: func(user string, reason error) {
			if err := m.KeyRefused(user, reason); err != nil {
				e.Log.Error().Err(err).Msg("recording a refused key")
			}
		},
	})
	return providerKeys{g.Open, []func() error{keys.Reload}}, nil
}

// engines returns the pool of engines.
func (f *serveFlags) engines(ctx context.Context, e *Env, dir string, children *proc.Group, keys providerKeys) (*engines.Pool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args, err := e.Engine()
	if err != nil {
		return nil, err
	}
	share, err := parseShare(f.share)
	if err != nil {
		return nil, err
	}
	places, err := f.places()
	if err != nil {
		return nil, err
	}
	for _, dir := range f.workspaces {
		share = append(share, engines.Share{Path: dir, Writable: true})
	}
	hidden := []string{dir}
	for _, path := range []string{f.tokenFile, f.key, f.auditLog, f.providerKeys} {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		hidden = append(hidden, path)
	}
	boundary, why, err := engines.FindBoundary(ctx, &engines.FindOptions{
		UIDs: f.uids, File: filepath.Join(dir, "uids.json"), Env: e.Environ, Children: children, Hidden: hidden, Share: share,
	})
	if err != nil {
		return nil, fmt.Errorf("--uids: %w", err)
	}
	if boundary.None() && keys.open != nil {
		return nil, fmt.Errorf("--provider-keys: users could read the keys, because nothing keeps their engines from this server's files: %s", why)
	}
	if boundary.None() {
		fmt.Fprintf(e.Stderr, "gjc serve: only one user is served, because several could not be kept apart: %s\n", why)
	}
	env, secrets := e.Environ, (func(context.Context, string) ([]string, error))(nil)
	if e.Store != "" {
		env = append(env[:len(env):len(env)], storeVariable+"="+e.Store)
		secrets = func(ctx context.Context, user string) ([]string, error) {
			address, err := e.UserStore(ctx, user)
			return []string{storeVariable + "=" + address}, err
		}
	}
	return engines.New(engines.Options{
		Program: program, Args: args, Dir: dir, Env: env, Places: places, Secrets: secrets, Open: keys.open, Boundary: boundary, Children: children, Stderr: e.Stderr,
	})
}

// places returns where the sessions of a user may work: in the workspaces, and in the user's own directory. The operator's clients are taken to
// be on this machine as long as no option says otherwise.
func (f *serveFlags) places() (func(home string) []string, error) {
	for i, dir := range f.workspaces {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--workspace: %s is not a directory", path)
		}
		f.workspaces[i] = path
	}
	return func(home string) []string {
		if home == "" && len(f.workspaces) == 0 && f.cert == "" {
			return nil
		}
		args := []string{"--remote"}
		for _, dir := range f.workspaces {
			args = append(args, "--workspace", dir)
		}
		if home != "" {
			args = append(args, "--workspace", home)
		}
		return args
	}, nil
}

// storeVariable is the variable with the address of the store. Its password is in no list of processes there.
const storeVariable = "GJC_STORE"

// parseShare parses the values of --share.
func parseShare(values []string) ([]engines.Share, error) {
	var all []engines.Share
	for _, v := range values {
		s := engines.Share{Path: v, Writable: true}
		if path, ok := strings.CutSuffix(v, ":ro"); ok {
			s = engines.Share{Path: path}
		}
		path, err := filepath.Abs(s.Path)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--share: %s is not a directory", path)
		}
		s.Path = path
		all = append(all, s)
	}
	return all, nil
}
