// Command bench measures gjc from outside: it builds the binary, drives it over pipes as an editor does, with a
// scripted model server, and prints the duration of each step and the memory in use after it. "./task bench" runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if os.Getenv(serverVariable) != "" {
		if err := serveMCP(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	rounds := flag.Int("rounds", 15, "how often to measure; the table has medians")
	binary := flag.String("binary", "", "measure this gjc instead of building one")
	before := flag.String("before", "", "also measure this older gjc, alternating with the other")
	only := flag.String("only", "", "parts to measure, separated by commas: "+strings.Join(partNames(), ", ")+" (default: all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *binary, *before, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part measures some steps, each the given number of times.
type part struct {
	name    string
	measure func(ctx context.Context, binary, dir string, rounds int) ([]measure, error)
	// warm is set if all rounds share one gjc and its servers, so that the part runs once.
	warm bool
}

var parts = []part{
	{name: "round", measure: once(round)},
	{name: "servers", measure: once(servers)},
	{name: "load", measure: once(load)},
	{name: "list", measure: once(list)},
	{name: "cancel", measure: once(cancels)},
	{name: "close", measure: once(closes)},
	{name: "languages", measure: languages, warm: true},
	{name: "debugging", measure: debugging, warm: true},
}

// once adapts a part that measures one round at a time.
func once(f func(ctx context.Context, binary, dir string) ([]measure, error)) func(context.Context, string, string, int) ([]measure, error) {
	return func(ctx context.Context, binary, dir string, _ int) ([]measure, error) { return f(ctx, binary, dir) }
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func run(ctx context.Context, rounds int, binary, before, only string) (err error) {
	chosen := parts
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.Index(partNames(), name)
			if i < 0 {
				return fmt.Errorf("no part %q; there are %s", name, strings.Join(partNames(), ", "))
			}
			chosen = append(chosen, parts[i])
		}
	}
	dir, err := os.MkdirTemp("", "gjc-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if binary == "" {
		binary = filepath.Join(dir, "gjc")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/gjc")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building gjc: %w", err)
		}
	}
	binaries := []string{binary}
	if before != "" {
		binaries = append(binaries, before)
	}
	// By binary and by the name of the step.
	results := make([]map[string][]measure, len(binaries))
	for i := range results {
		results[i] = make(map[string][]measure)
	}
	for n := range rounds {
		for i := range binaries {
			i = (i + n) % len(binaries) // neither binary is always the first
			for _, p := range chosen {
				if p.warm && n > 0 {
					continue
				}
				at := filepath.Join(dir, p.name)
				measured, err := p.measure(ctx, binaries[i], at, rounds)
				if err != nil {
					return fmt.Errorf("round %d of %s: %w", n+1, p.name, err)
				}
				for _, m := range measured {
					results[i][m.step] = append(results[i][m.step], m)
				}
				if err := os.RemoveAll(at); err != nil {
					return err
				}
			}
		}
	}
	return report(os.Stdout, results, rounds)
}

// report prints the table. The first results are the measured binary's, the second, if any, the older binary's.
func report(out io.Writer, results []map[string][]measure, rounds int) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	old := len(results) > 1
	fmt.Fprint(w, "step\t")
	if old {
		fmt.Fprint(w, "before\t")
	}
	fmt.Fprint(w, "median\tfastest\taim\t")
	if old {
		fmt.Fprint(w, "memory before\t")
	}
	fmt.Fprint(w, "memory\taim\tanonymous\taim\t\n")
	took := func(m measure) float64 { return m.took.Seconds() * 1000 }
	pss := func(m measure) float64 { return m.memory.pss }
	anonymous := func(m measure) float64 { return m.memory.anonymous }
	known := 0
	for _, s := range steps {
		all := results[0][s.name]
		if len(all) == 0 {
			continue
		}
		known++
		fmt.Fprintf(w, "%s\t", s.name)
		if old {
			fmt.Fprintf(w, "%s\t", ms(median(results[1][s.name], took)))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t", ms(median(all, took)), ms(fastest(all)), aim(s.aim, "ms"))
		if old {
			fmt.Fprintf(w, "%s\t", mb(median(results[1][s.name], pss)))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", mb(median(all, pss)), aim(s.memory, "MB"), mb(median(all, anonymous)), aim(s.anonymous, "MB"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if known != len(results[0]) {
		return fmt.Errorf("%d of %d measured steps are not in the table", len(results[0])-known, len(results[0]))
	}
	if replay := results[0][replayStep]; len(replay) > 0 {
		fmt.Fprintf(out, "Replay: %.0f MB/s on the wire (aim ≥ %d).\n", median(replay, func(m measure) float64 { return m.rate }), minReplay)
	}
	fmt.Fprintf(out, "\n%d rounds. Memory is proportional (PSS), and of it anonymous, after the step; for ten sessions what each added.\n", rounds)
	return nil
}

// measure is one step of one round.
type measure struct {
	step   string
	took   time.Duration
	memory memoryUse
	// rate is in MB/s, for a step that has one.
	rate float64
}

func median(all []measure, of func(measure) float64) float64 {
	if len(all) == 0 {
		return 0
	}
	values := make([]float64, 0, len(all))
	for _, m := range all {
		values = append(values, of(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func fastest(all []measure) float64 {
	best := all[0].took
	for _, m := range all {
		best = min(best, m.took)
	}
	return best.Seconds() * 1000
}

func ms(v float64) string { return fmt.Sprintf("%.2f ms", v) }

func mb(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MB", v)
}

func aim(v float64, unit string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("≤ %g %s", v, unit)
}
