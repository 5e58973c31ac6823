package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// loginOptions are the options of login.
type loginOptions struct {
	provider string
	store    registry.StoreOptions
	// test sends a request with the key before it is stored. On a terminal gjc asks the user whether to do that.
	test bool
}

func newLogin(h *host, opts *options) *cobra.Command {
	var do loginOptions
	cmd := &cobra.Command{
		Use:   "login [provider]",
		Short: "Store an API key in the agent directory",
		Long: "login asks for the API key of a provider (anthropic, unless another is named) and keeps it in auth.json, readable only by you. " +
			"From a pipe it reads one line. With --add a provider has several keys: requests use the next key when one is refused or rate-limited.",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				do.provider = args[0]
			}
			return login(cmd.Context(), h, opts, do)
		},
	}
	cmd.Flags().BoolVar(&do.store.Add, "add", false, "add this key to the stored ones")
	cmd.Flags().BoolVar(&do.store.Keyring, "keyring", false, "store the key in the system's keyring")
	cmd.Flags().BoolVar(&do.test, "test", false, "test the key with one small request, without asking")
	return cmd
}

// login asks for a key and stores it. On a terminal it first asks for the provider, unless one is named, and offers to
// test the key.
func login(ctx context.Context, h *host, opts *options, do loginOptions) error {
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	models := h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) })
	defer models.Close()
	in := bufio.NewReader(h.stdin)
	terminal := term.IsTerminal(int(h.stdin.Fd()))
	switch {
	case do.provider != "":
	case terminal:
		if do.provider, err = askProvider(h, in, models); err != nil {
			return err
		}
	default:
		do.provider = defaultProvider
	}
	if !slices.Contains(knownProviders(models), do.provider) {
		if err := models.Load(ctx); err != nil { // which may be the cause
			return fmt.Errorf("unknown provider %q: %w", do.provider, err)
		}
		if slices.ContainsFunc(models.All(), func(m providers.ModelInfo) bool { return m.Provider == do.provider }) {
			return fmt.Errorf("the provider %q takes no key; if it does, set auth: apiKey in models.yml first", do.provider)
		}
		return fmt.Errorf("unknown provider %q; the providers are %s. Configure your own in models.yml first", do.provider, strings.Join(knownProviders(models), ", "))
	}
	key, err := readSecret(h, in, fmt.Sprintf("API key for %s: ", do.provider))
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("no key was given; nothing was stored")
	}
	if err := testKey(ctx, h, in, models, &do, key, terminal); err != nil {
		return err
	}
	if err := models.StoreKey(do.provider, key, do.store); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.stdout, "The key for %s is stored.\n", do.provider)
	return err
}

// testKey tries the key if the user agrees. A key that the provider refuses is stored only if the user confirms it.
func testKey(ctx context.Context, h *host, in *bufio.Reader, models *registry.Registry, do *loginOptions, key string, terminal bool) error {
	if !do.test {
		if !terminal {
			return nil
		}
		yes, err := ask(h, in, "Test the key with one small request? [Y/n] ", true)
		if err != nil || !yes {
			return err
		}
	}
	err := models.TestKey(ctx, do.provider, key)
	if err == nil {
		fmt.Fprintln(h.stderr, "The key works.")
		return nil
	}
	fmt.Fprintf(h.stderr, "The test failed: %v\n", err)
	if e, ok := errors.AsType[*providers.Error](err); !terminal && ok && e.Kind != providers.KindAuth {
		return errors.New("the key could not be tested; nothing was stored; without --test it is stored untested")
	} else if !terminal {
		return errors.New("the key does not work; nothing was stored")
	}
	yes, err := ask(h, in, "Store the key anyway? [y/N] ", false)
	if err == nil && !yes {
		err = errors.New("nothing was stored")
	}
	return err
}

// ask asks a yes-or-no question; none is the result of an empty answer.
func ask(h *host, in *bufio.Reader, question string, none bool) (bool, error) {
	fmt.Fprint(h.stderr, question)
	line, err := in.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return false, fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "":
		return none, nil
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// defaultProvider is the provider to log in to if none is named.
const defaultProvider = "anthropic"

// askProvider asks for the provider of the key.
func askProvider(h *host, in *bufio.Reader, models *registry.Registry) (string, error) {
	known := knownProviders(models)
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
		return "", fmt.Errorf("unknown provider %q; the providers are %s", provider, strings.Join(known, ", "))
	default:
		return provider, nil
	}
}

// knownProviders returns the providers that need a key, the default one first.
func knownProviders(models *registry.Registry) []string {
	known := []string{defaultProvider}
	for _, id := range models.KeyProviders() {
		if id != defaultProvider {
			known = append(known, id)
		}
	}
	return known
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
			if !slices.Contains(knownProviders(models), provider) && models.CredentialSource(provider) == "" {
				return fmt.Errorf("unknown provider %q; the providers are %s", provider, strings.Join(knownProviders(models), ", "))
			}
			if err := models.RemoveCredential(provider); err != nil {
				return err
			}
			_, err = fmt.Fprintf(h.stdout, "No key is stored for %s now.\n", provider)
			return err
		},
	}
}

func credentials(h *host, opts *options, args []string) (*registry.Registry, string, error) {
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

// readSecret reads one line, without an echo if stdin is a terminal.
func readSecret(h *host, in *bufio.Reader, prompt string) (string, error) {
	if fd := int(h.stdin.Fd()); term.IsTerminal(fd) && in.Buffered() == 0 {
		// The echo ends before the prompt appears, for users who paste quickly.
		show := system.HideInput(fd)
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
