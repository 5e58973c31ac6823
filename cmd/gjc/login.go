package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			models, provider, err := credentials(h, opts, args)
			if err != nil {
				return err
			}
			defer models.Close()
			fmt.Fprintf(h.stderr, "API key for %s: ", provider)
			key, err := readSecret(h)
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
		},
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
	provider := "anthropic"
	if len(args) > 0 {
		provider = args[0]
	}
	return h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) }), provider, nil
}

// readSecret reads one line, without an echo where stdin is a terminal.
func readSecret(h *host) (string, error) {
	if fd := int(h.stdin.Fd()); term.IsTerminal(fd) {
		key, err := term.ReadPassword(fd)
		fmt.Fprintln(h.stderr)
		if err != nil {
			return "", fmt.Errorf("reading the key: %w", err)
		}
		return strings.TrimSpace(string(key)), nil
	}
	line, err := bufio.NewReader(h.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	return strings.TrimSpace(line), nil
}
