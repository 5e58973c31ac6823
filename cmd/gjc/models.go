package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newModels(h *host, opts *options) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be used",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return err
			}
			models := h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) })
			defer models.Close()
			loadErr := models.Load(cmd.Context())
			list := models.Models()
			if all {
				list = models.All()
			}
			preferred, _ := models.Default()
			w := tabwriter.NewWriter(h.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "MODEL\tNAME\tCONTEXT\tTHINKING\tIMAGES\tKEY")
			for _, m := range list {
				mark := ""
				if m.Ref() == preferred.Ref() {
					mark = " (default)"
				}
				key := models.CredentialSource(m.Provider)
				if key == "" {
					key = "missing"
				}
				fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\n", m.Ref(), mark, m.DisplayName(), tokens(m.ContextWindow), yes(len(m.Thinking) > 0), yes(m.Images), key)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if loadErr != nil {
				return fmt.Errorf("the built-in models work, but: %w", loadErr)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list the models that lack a key")
	return cmd
}

func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	default:
		return strconv.Itoa(n)
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
