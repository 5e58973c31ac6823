package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

func newModels(h *host, opts *options) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be used, and why the others cannot",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return err
			}
			models := h.registry(dir, opts, func(note string) { fmt.Fprintln(h.stderr, "note:", note) })
			defer models.Close()
			_, configErr := h.modelSettings(dir, opts)
			loadErr := models.Load(cmd.Context())
			if _, err := models.Discover(cmd.Context()); err != nil {
				fmt.Fprintln(h.stderr, "note:", err)
			}
			if err := listModels(h.stdout, models, all); err != nil {
				return err
			}
			if err := errors.Join(loadErr, configErr, models.CheckProfile(models.Profile()), errors.Join(models.Warnings()...)); err != nil {
				return fmt.Errorf("the models above work, but: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list the models that cannot be used")
	return cmd
}

// listModels writes the usable models, then why the others cannot be used, then roles and profiles.
func listModels(out io.Writer, models *registry.Registry, all bool) error {
	list := models.Models()
	if all {
		list = models.All()
	}
	preferred, _ := models.Default()
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tNAME\tCONTEXT\tTHINKING\tIMAGES\tPRICE\tKEY")
	for _, m := range list {
		mark := ""
		if m.Ref() == preferred.Ref() {
			mark = " (default)"
		}
		key, problem := models.Availability(m)
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Ref(), mark, m.DisplayName(), tokens(m.ContextWindow), levels(&m), yes(m.Images), prices(m.Cost), cmp.Or(key, problem))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !all {
		listUnusable(out, models)
	}
	listRoles(out, models)
	_, err := fmt.Fprintf(out, "\nPrices are US dollars per million tokens, for input and output; + marks models with higher prices for long prompts. Prices of built-in models are as of %s.\n", registry.CatalogueDate())
	return err
}

// listUnusable writes why each provider's models cannot be used.
func listUnusable(out io.Writer, models *registry.Registry) {
	type reason struct{ provider, text string }
	counts := map[reason]int{}
	var order []reason
	for _, m := range models.All() {
		if source, problem := models.Availability(m); source == "" {
			r := reason{m.Provider, problem}
			if counts[r]++; counts[r] == 1 {
				order = append(order, r)
			}
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(out, "\nNot usable (--all lists them):")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range order {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r.provider, text.Count(counts[r], "model"), r.text)
	}
	_ = w.Flush() // the next write to out returns its error
}

func listRoles(out io.Writer, models *registry.Registry) {
	roles := models.Roles()
	if len(roles) > 0 {
		fmt.Fprintln(out, "\nRoles:")
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		for _, name := range slices.Sorted(maps.Keys(roles)) {
			problem := ""
			if _, _, err := models.Role(name); err != nil {
				problem = err.Error()
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\n", name, roles[name], problem)
		}
		_ = w.Flush()
	}
	var names []string
	for _, p := range models.Profiles() {
		name := p.Name
		if models.CheckProfile(p.Name) != nil {
			continue
		}
		if name == models.Profile() {
			name += " (in use)"
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "\nProfiles that can be used (--mpreset): %s\n", strings.Join(names, ", "))
	}
}

func levels(m *providers.ModelInfo) string {
	if len(m.Thinking) == 0 {
		return "no"
	}
	if len(m.Thinking) == 1 {
		return string(m.Thinking[0])
	}
	return string(m.Thinking[0]) + "-" + string(m.Thinking[len(m.Thinking)-1])
}

func prices(c providers.Cost) string {
	if c == (providers.Cost{}) {
		return "?"
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	text := number(c.Input) + "/" + number(c.Output)
	if c.Long.Above > 0 {
		text += "+"
	}
	return text
}

func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000 && n%100_000 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	case n%1024 == 0:
		return strconv.Itoa(n/1024) + "Ki"
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
