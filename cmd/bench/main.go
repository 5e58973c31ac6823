// Command bench measures gjc from outside: it builds the binary, drives it over pipes as an editor does, with a model
// that is served from here, and prints what each step took and how much memory it left. "./task bench" runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, binary string) (err error) {
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
	results := make([][]measure, len(steps))
	warm, err := languages(ctx, binary, dir, rounds)
	if err != nil {
		return fmt.Errorf("language servers: %w", err)
	}
	debugged, err := debugging(ctx, binary, dir, rounds)
	if err != nil {
		return fmt.Errorf("debug adapters: %w", err)
	}
	for n := range rounds {
		at := filepath.Join(dir, fmt.Sprint(n))
		var one []measure
		for _, part := range []func(context.Context, string, string) ([]measure, error){round, servers, load, cancels} {
			measured, err := part(ctx, binary, at)
			if err != nil {
				return fmt.Errorf("round %d: %w", n+1, err)
			}
			one = append(one, measured...)
		}
		one = append(one, warm[n]...)
		one = append(one, debugged[n]...)
		for i, m := range one {
			results[i] = append(results[i], m)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	defer fmt.Printf("Replay: %.0f MB/s on the wire (aim ≥ %d).\n", median(results[loadStep], func(m measure) float64 { return m.rate }), minReplay)
	fmt.Fprintf(w, "step\tmedian\tfastest\taim\tmemory\taim\t\n")
	for i, s := range steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", s.name, ms(median(results[i], func(m measure) float64 { return m.took.Seconds() * 1000 })),
			ms(fastest(results[i])), aim(s.aim, "ms"), mb(median(results[i], func(m measure) float64 { return m.memory })), aim(s.memory, "MB"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d rounds. Memory is proportional (PSS), behind the step; for ten sessions what each added.\n", rounds)
	return nil
}

// measure is one step of one round. Memory is in MB; zero where the system does not tell.
type measure struct {
	took   time.Duration
	memory float64
	// rate is in MB/s, of a step that is about one.
	rate float64
}

func median(all []measure, of func(measure) float64) float64 {
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
