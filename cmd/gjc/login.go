package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gajae-code/gjc/providers"
)

func newLogin(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "login [provider]",
		Short: "Store an API key in the agent directory",
		Long:  "login asks for the API key of a provider (anthropic, unless another is named) and keeps it in auth.json, readable by you alone. From a pipe it reads one line.",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			provider := ""
			if len(args) > 0 {
				provider = args[0]
			}
			return login(h, opts, provider)
		},
	}
}

// login asks for a key and stores it. On a terminal it asks for the provider first, unless one is named.
func login(h *host, opts *options, provider string) error {
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	models := h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) })
	defer models.Close()
	in := bufio.NewReader(h.stdin)
	switch {
	case provider != "":
	case term.IsTerminal(int(h.stdin.Fd())):
		if provider, err = askProvider(h, in, models); err != nil {
			return err
		}
	default:
		provider = defaultProvider
	}
	key, err := readSecret(h, in, fmt.Sprintf("API key for %s: ", provider))
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("no key was given; nothing was stored")
	}
	if err := models.SetCredential(provider, key); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.stdout, "The key for %s is stored.\n", provider)
	return err
}

// defaultProvider is the one to log in to where none is named.
const defaultProvider = "anthropic"

// askProvider asks for which provider the key is.
func askProvider(h *host, in *bufio.Reader, models *providers.Registry) (string, error) {
	known := []string{defaultProvider}
	for _, p := range models.Providers() {
		if !p.Required && p.ID != defaultProvider {
			known = append(known, p.ID)
		}
	}
	fmt.Fprintf(h.stderr, "Providers: %s\nProvider [%s]: ", strings.Join(known, ", "), defaultProvider)
	line, err := in.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", fmt.Errorf("reading the provider: %w", err)
	}
	provider := strings.TrimSpace(line)
	switch {
	case provider == "":
		return defaultProvider, nil
	case !slices.Contains(known, provider):
		return "", fmt.Errorf("there is no provider %q; there are %s", provider, strings.Join(known, ", "))
	default:
		return provider, nil
	}
}

func newLogout(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [provider]",
		Short: "Forget a stored API key",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			models, provider, err := credentials(h, opts, args)
			if err != nil {
				return err
			}
			defer models.Close()
			if err := models.RemoveCredential(provider); err != nil {
				return err
			}
			_, err = fmt.Fprintf(h.stdout, "There is no stored key for %s now.\n", provider)
			return err
		},
	}
}

func credentials(h *host, opts *options, args []string) (*providers.Registry, string, error) {
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return nil, "", err
	}
	provider := defaultProvider
	if len(args) > 0 {
		provider = args[0]
	}
	return h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) }), provider, nil
}

// readSecret reads one line, without an echo where stdin is a terminal.
func readSecret(h *host, in *bufio.Reader, prompt string) (string, error) {
	if fd := int(h.stdin.Fd()); term.IsTerminal(fd) && in.Buffered() == 0 {
		// Before the prompt: who is quick would see the key otherwise.
		show := hideInput(fd)
		defer show()
		fmt.Fprint(h.stderr, prompt)
		key, err := term.ReadPassword(fd)
		fmt.Fprintln(h.stderr)
		if err != nil {
			return "", fmt.Errorf("reading the key: %w", err)
		}
		return strings.TrimSpace(string(key)), nil
	}
	fmt.Fprint(h.stderr, prompt)
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	return strings.TrimSpace(line), nil
}
