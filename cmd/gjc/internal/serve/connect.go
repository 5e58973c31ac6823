package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/acp/transport/reconnect"
)

// connectFlags are the flags of "gjc connect".
type connectFlags struct {
	tokenFile string
	retry     time.Duration
}

// NewConnect returns the command "gjc connect".
func NewConnect(env func() *Env, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	f := new(connectFlags)
	cmd := &cobra.Command{
		Use:     "connect url",
		Short:   "Connect an editor to a remote gjc serve",
		Long:    "connect speaks the Agent Client Protocol with an editor on stdin and stdout, and passes it on to a \"gjc serve\" elsewhere. It connects again when the connection is lost. The token is in GJC_TOKEN or in --token-file.",
		Example: "  gjc connect https://gjc.example.com/acp --token-file ~/.config/gjc-token",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token, in one line, which only you can read")
	flags.DurationVar(&f.retry, "retry", 5*time.Minute, "how long to try to connect again after the connection was lost")
	return cmd
}

// connect passes messages on in both directions, until the editor or the server ends.
func (f *connectFlags) run(ctx context.Context, e *Env, address string) error {
	at, err := socketURL(address)
	if err != nil {
		return err
	}
	token := e.Getenv("GJC_TOKEN")
	if f.tokenFile != "" {
		if token, err = readToken(f.tokenFile); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	if token == "" {
		return errors.New("there is no token: set GJC_TOKEN, or use --token-file")
	}
	if f.retry <= 0 {
		return fmt.Errorf("--retry: %s is no time to wait for; use a duration such as 5m", f.retry)
	}
	report := func(line string) { _, _ = fmt.Fprintf(e.Stderr, "gjc connect: %s\n", line) } // the editor's log, if it has one
	dial := transport.DialOptions{
		Header: http.Header{"Authorization": {"Bearer " + token}}, Retry: f.retry,
		OnBreak: func(err error) {
			report(fmt.Sprintf("the connection to %s is interrupted (%v); trying to resume it for %s", at, err, f.retry))
		},
		OnReturn: func() { report("the connection is back; nothing is lost") },
	}
	return reconnect.Run(ctx, e.Stdin, e.Stdout, reconnect.Options{
		Name: at, Report: report,
		Dial: func(ctx context.Context, again bool) (reconnect.Conn, error) {
			if again {
				return connected(transport.Redial(ctx, at, dial))
			}
			return connected(transport.Dial(ctx, at, dial))
		},
	})
}

// connected returns a connection as the package reconnect uses it: nil with an error.
func connected(conn *transport.Conn, err error) (reconnect.Conn, error) {
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// socketURL returns the address of a WebSocket for that of an endpoint.
func socketURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%q is no address: %w", address, err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("%q is no address; it begins with https://, http://, wss:// or ws://", address)
	}
	if u.Host == "" || u.User != nil {
		return "", fmt.Errorf("%q is no address such as https://gjc.example.com/acp", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = transport.Path
	}
	return u.String(), nil
}
