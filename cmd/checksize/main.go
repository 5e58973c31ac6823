// Command checksize checks the budgets of the built binary: its size, the time of package initialisation, and that the
// linker's dead-code elimination is on. "./task budget" runs it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The budgets; docs/design/budgets.md explains them.
const (
	maxSizeMB = 41
	maxInitMS = 3
	// initRuns is the number of measurements of initialisation. The fastest counts, as the least disturbed one.
	initRuns = 25
	// standardMS is the initialisation time of the standard library's packages on the machine for which the budget
	// holds. On a slower or busy machine they take longer, and the budget grows in proportion.
	standardMS = 0.6
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "checksize:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "gjc-size-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "gjc")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -dumpdep", "-o", binary, "./cmd/gjc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	var deps bytes.Buffer
	build.Stderr = &deps
	if err := build.Run(); err != nil {
		return fmt.Errorf("building gjc: %w\n%s", err, deps.Bytes()[max(0, deps.Len()-2000):])
	}
	return errors.Join(checkSize(binary), checkInit(ctx, binary), checkDeadCode(&deps))
}

func checkSize(binary string) error {
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	size := float64(info.Size()) / (1 << 20)
	fmt.Printf("binary             %5.1f MB  (at most %d)\n", size, maxSizeMB)
	if size > maxSizeMB {
		return fmt.Errorf("the binary has %.1f MB, the budget is %d", size, maxSizeMB)
	}
	return nil
}

// checkInit adds up the times that GODEBUG=inittrace=1 reports for each package.
func checkInit(ctx context.Context, binary string) error {
	type cost struct {
		pkg string
		ms  float64
	}
	best, standard := math.Inf(1), math.Inf(1)
	var worst []cost
	for range initRuns {
		cmd := exec.CommandContext(ctx, binary, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("running gjc version: %w", err)
		}
		total, library := 0.0, 0.0
		var costs []cost
		for s := bufio.NewScanner(&trace); s.Scan(); {
			// init PACKAGE @0.1 ms, 0.02 ms clock, 16 bytes, 1 allocs
			f := strings.Fields(s.Text())
			if len(f) < 7 || f[0] != "init" || f[6] != "clock," {
				continue
			}
			ms, err := strconv.ParseFloat(f[4], 64)
			if err != nil {
				return fmt.Errorf("init trace %q: %w", s.Text(), err)
			}
			total += ms
			if first, _, _ := strings.Cut(f[1], "/"); !strings.Contains(first, ".") && first != "vendor" {
				library += ms
			}
			costs = append(costs, cost{f[1], ms})
		}
		if len(costs) == 0 {
			return errors.New("the init trace names no package; has its format changed?")
		}
		standard = min(standard, library)
		if total < best {
			best, worst = total, costs
		}
	}
	even := best * min(1, standardMS/standard)
	fmt.Printf("initialisation     %5.2f ms  (at most %d; fastest of %d; %.2f ms on this machine, %.2f of them the standard library's)\n", even, maxInitMS, initRuns, best, standard)
	slices.SortFunc(worst, func(a, b cost) int { return int(1e6 * (b.ms - a.ms)) })
	for _, c := range worst[:min(5, len(worst))] {
		fmt.Printf("                   %5.2f ms  %s\n", c.ms, c.pkg)
	}
	if even > maxInitMS {
		return fmt.Errorf("package initialisation takes %.2f ms, the budget is %d", even, maxInitMS)
	}
	return nil
}

// checkDeadCode looks for functions that find methods by a name which the linker cannot know. If one is reachable, the
// linker keeps every exported method of every type.
func checkDeadCode(deps *bytes.Buffer) error {
	var bad []string
	s := bufio.NewScanner(deps)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		from, _, ok := strings.Cut(s.Text(), " -> ")
		if !ok || !strings.Contains(from, "<ReflectMethod>") {
			continue
		}
		if name := strings.TrimSpace(strings.ReplaceAll(from, "<ReflectMethod>", "")); !slices.Contains(bad, name) {
			bad = append(bad, name)
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("dead-code elimination is off because of %s", strings.Join(bad, ", "))
	}
	fmt.Println("dead code           eliminated")
	return nil
}
