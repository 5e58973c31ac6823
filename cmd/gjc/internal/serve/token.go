package serve

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// tokensName is the name of the file with the tokens.
const tokensName = "tokens.json"

// newToken returns the command "gjc serve token".
func newToken(env func() *Env, f *serveFlags, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of users",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	open := func() (*access.Tokens, *Env, error) {
		e := env()
		dir, err := f.directory(e)
		return access.OpenTokens(filepath.Join(dir, tokensName), time.Now), e, err
	}
	cmd.AddCommand(newTokenCreate(open, args), newTokenList(open, args), newTokenRevoke(open, args))
	return cmd
}

type openTokens func() (*access.Tokens, *Env, error)

func newTokenCreate(open openTokens, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	var t access.Token
	var scopes, expires string
	cmd := &cobra.Command{
		Use:     "create --user name",
		Short:   "Make a token for a user and print it: it is shown only now",
		Example: "  gjc serve token create --user ann --expires 2160h --cost-per-day 20",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens, e, err := open()
			if err != nil {
				return err
			}
			if t.Scopes, err = access.ParseScopes(scopes); err != nil {
				return fmt.Errorf("--scopes: %w", err)
			}
			if t.Expires, err = parseExpiry(expires, time.Now()); err != nil {
				return fmt.Errorf("--expires: %w", err)
			}
			l := &t.Limits
			if l.Connections < 0 || l.Sessions < 0 || l.Requests < 0 || l.Bytes < 0 || l.Cost < 0 {
				return errors.New("a limit is a positive number; leave it out for none")
			}
			secret, _, err := tokens.Create(cmd.Context(), t)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.Stdout, secret)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.User, "user", "", "name of the user")
	flags.StringVar(&t.Note, "note", "", "what the token is for, for the list")
	flags.StringVar(&scopes, "scopes", "read,prompt,control", "what it is good for: read, prompt, control, admin")
	flags.StringVar(&expires, "expires", "", "end of its validity: a time such as 2027-01-31, or a duration such as 720h; without it the token is valid until it is revoked")
	flags.IntVar(&t.Limits.Connections, "max-connections", 0, "connections at the same time")
	flags.IntVar(&t.Limits.Sessions, "max-sessions", 0, "open sessions at the same time")
	flags.IntVar(&t.Limits.Requests, "requests-per-minute", 0, "requests within a minute")
	flags.Int64Var(&t.Limits.Bytes, "bytes-per-minute", 0, "bytes that clients send within a minute; more of them wait")
	flags.Float64Var(&t.Limits.Cost, "cost-per-day", 0, "price of the requests to models within a day (UTC), in dollars")
	_ = cmd.MarkFlagRequired("user") // the flag exists
	return cmd
}

// parseExpiry parses the end of a validity.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		var in time.Duration
		if in, err = time.ParseDuration(text); err != nil {
			return time.Time{}, fmt.Errorf("%q is neither a date such as 2027-01-31 nor a duration such as 720h", text)
		}
		end = now.Add(in)
	}
	if !end.After(now) {
		return time.Time{}, fmt.Errorf("%q is in the past", text)
	}
	return end.UTC().Truncate(time.Second), nil
}

// shownToken is a token in the list for programs. It has no hash.
type shownToken struct {
	ID      string         `json:"id"`
	User    string         `json:"user"`
	Note    string         `json:"note,omitzero"`
	Scopes  []access.Scope `json:"scopes"`
	Limits  access.Limits  `json:"limits,omitzero"`
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"`
	Revoked time.Time      `json:"revoked,omitzero"`
}

func newTokenList(open openTokens, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			tokens, e, err := open()
			if err != nil {
				return err
			}
			all, err := tokens.List()
			if err != nil {
				return err
			}
			if asJSON {
				shown := make([]shownToken, len(all))
				for i := range all {
					t := &all[i]
					shown[i] = shownToken{t.ID, t.User, t.Note, t.Scopes, t.Limits, t.Created, t.Expires, t.Revoked}
				}
				text, err := jsonx.Marshal(shown)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(e.Stdout, "%s\n", text)
				return err
			}
			w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tUSER\tSCOPES\tCREATED\tVALID\tNOTE")
			for i := range all {
				t := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.User, scopeList(t.Scopes), t.Created.Format(time.DateOnly), validity(t, time.Now()), t.Note)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return cmd
}

func scopeList(scopes []access.Scope) string {
	var b strings.Builder
	for i, s := range scopes {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// validity describes until when a token is valid.
func validity(t *access.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + t.Revoked.Format(time.DateOnly)
	case t.Expires.IsZero():
		return "yes"
	case !t.Expires.After(now):
		return "expired " + t.Expires.Format(time.DateOnly)
	}
	return "until " + t.Expires.Format(time.DateOnly)
}

func newTokenRevoke(open openTokens, args func(cobra.PositionalArgs) cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke token|user",
		Short:   "End the validity of a token, or of all tokens of a user; connections end within ten seconds",
		Example: "  gjc serve token revoke 3f6a0c1b2d4e",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			tokens, e, err := open()
			if err != nil {
				return err
			}
			revoked, err := tokens.Revoke(cmd.Context(), names[0])
			if err != nil {
				return err
			}
			for i := range revoked {
				if _, err := fmt.Fprintf(e.Stdout, "revoked %s of %s\n", revoked[i].ID, revoked[i].User); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
