//go:build unix

// Command stress runs the tests several times in surroundings that a developer's machine does not have: with all
// processors busy, in random order, without some of the tools, and under one condition at a time. "./task stress" runs
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == enterCommand {
		fmt.Fprintln(os.Stderr, "stress:", enter(os.Args[2:]))
		os.Exit(126)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// options are the flags.
type options struct {
	runs      int
	seed      uint64
	condition string
	packages  []string
	pattern   string
	user      string
	load      int
	timeout   time.Duration
}

func parse(args []string) (*options, error) {
	o := new(options)
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.IntVar(&o.runs, "n", 3, "how many runs")
	flags.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "seed of the first run; the next one adds 1")
	flags.StringVar(&o.condition, "condition", "", "condition of all runs: "+strings.Join(conditionNames(), ", ")+" (default: one for each run, by its seed)")
	packages := flags.String("packages", "./...", "packages to test, separated by blanks or commas")
	flags.StringVar(&o.pattern, "run", "", "tests to run, as for go test")
	flags.StringVar(&o.user, "user", "nobody", "account that runs the tests under the condition user")
	flags.IntVar(&o.load, "load", runtime.NumCPU(), "how many processors to keep busy")
	flags.DurationVar(&o.timeout, "timeout", time.Hour, "how long one run may take")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.packages = strings.FieldsFunc(*packages, func(r rune) bool { return r == ' ' || r == ',' })
	if o.condition != "" && findCondition(o.condition) == nil {
		return nil, fmt.Errorf("no condition %q; there are %s", o.condition, strings.Join(conditionNames(), ", "))
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	stopLoad := keepBusy(o.load)
	defer stopLoad()
	var summary []string
	failed := 0
	for i := range o.runs {
		r := &round{options: o, seed: o.seed + uint64(i), out: out}
		begin := time.Now()
		err := r.do(ctx)
		line := fmt.Sprintf("run %d of %d: seed %d, condition %s, hidden: %s: %s in %s", i+1, o.runs, r.seed, r.condition, strings.Join(r.hidden, " "),
			outcome(err), time.Since(begin).Round(time.Second))
		fmt.Fprintln(out, line)
		summary = append(summary, line)
		if err != nil {
			failed++
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(summary, "\n"))
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed; repeat one with -n 1 -seed SEED", failed, o.runs)
	}
	return nil
}

func outcome(err error) string {
	if err != nil {
		return "FAILED (" + err.Error() + ")"
	}
	return "passed"
}

// keepBusy keeps n processors busy until stop is called. It starts no process, so the load ends with this process at
// the latest.
func keepBusy(n int) (stop func()) {
	done := make(chan struct{})
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), n+2))
	for range n {
		go func() {
			for x := uint64(1); ; x = x*6364136223846793005 + 1 {
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	return func() { close(done) }
}

// round is one run of the tests.
type round struct {
	*options
	seed      uint64
	condition string
	hidden    []string
	out       io.Writer
}

func (r *round) do(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("not done within %s", r.timeout))
	defer cancel()
	random := rand.New(rand.NewPCG(r.seed, 0))
	s, err := newSurroundings(ctx, r.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	c := findCondition(r.options.condition)
	if c == nil {
		c = anyCondition(random)
	}
	r.condition = c.name
	if why := c.missing(); why != "" {
		return fmt.Errorf("the condition %s needs %s", c.name, why)
	}
	if r.hidden, err = s.hideTools(random); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "seed %d, condition %s, hidden: %s\n", r.seed, c.name, strings.Join(r.hidden, " "))
	if err := c.apply(s); err != nil {
		return fmt.Errorf("condition %s: %w", c.name, err)
	}

	mark := fmt.Sprintf("GJC_STRESS_RUN=%d-%d;", os.Getpid(), r.seed)
	s.env = append(s.env, mark)
	args := []string{"go", "test", "-count=1", "-shuffle=" + strconv.FormatUint(r.seed, 10), "-timeout=" + r.timeout.String()}
	if r.pattern != "" {
		args = append(args, "-run="+r.pattern)
	}
	cmd, err := s.command(ctx, append(args, r.packages...))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = r.out, r.out
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, wantNothingLeft(mark))
}

// wantNothingLeft kills the processes that a run has left, and names them in its error. Processes killed at the end of
// the run get some time to disappear.
func wantNothingLeft(mark string) error {
	var found map[int]string
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		var err error
		if found, err = testenv.Processes(mark); err != nil || len(found) == 0 {
			return err
		}
	}
	testenv.KillProcesses(mark)
	var lines []string
	for pid, line := range found {
		lines = append(lines, fmt.Sprintf("%d: %s", pid, line))
	}
	return fmt.Errorf("processes left: %s", strings.Join(lines, "; "))
}
