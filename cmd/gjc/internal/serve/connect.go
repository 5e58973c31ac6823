package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/transport"
)

// NewConnect returns the command "gjc connect".
func NewConnect(env func() *Env, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	var tokenFile string
	cmd := &cobra.Command{
		Use:     "connect url",
		Short:   "Connect an editor to a remote gjc serve",
		Long:    "connect speaks the Agent Client Protocol with an editor on stdin and stdout, and passes it on to a \"gjc serve\" elsewhere. The token is in GJC_TOKEN or in --token-file.",
		Example: "  gjc connect https://gjc.example.com/acp --token-file ~/.config/gjc-token",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connect(cmd.Context(), env(), args[0], tokenFile)
		},
	}
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token, in one line, which only you can read")
	return cmd
}

// connect passes lines on in both directions, until the editor or the server ends.
func connect(ctx context.Context, e *Env, address, tokenFile string) error {
	at, err := socketURL(address)
	if err != nil {
		return err
	}
	token := e.Getenv("GJC_TOKEN")
	if tokenFile != "" {
		if token, err = readToken(tokenFile); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	if token == "" {
		return errors.New("there is no token: set GJC_TOKEN, or use --token-file")
	}
	conn, err := transport.Dial(ctx, at, transport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	sent := make(chan error, 1)
	go func() { // ends with the editor, or with the process
		_, err := io.Copy(conn, e.Stdin)
		sent <- err
		_ = conn.Close()
	}()
	if _, err = io.Copy(e.Stdout, conn); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the connection to %s is lost: %w", at, err)
	}
	select {
	case err := <-sent: // the editor has ended
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("sending to %s: %w", at, err)
		}
		return nil
	default:
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%s has ended the connection", at)
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
