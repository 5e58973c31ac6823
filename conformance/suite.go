package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configures a run.
type Options struct {
	// Command is the agent's command; its first part is an absolute path. Required.
	Command []string
	// Env is the agents' environment, as "NAME=value". HOME and the XDG directories are replaced.
	Env []string
	// Home is a home directory for all agents. If empty, each check has its own empty one. Set it for an agent that
	// keeps its credentials there.
	Home string
	// Prompts are the prompts for the agent's model. If nil, [defaultPrompts].
	Prompts Prompts
	// Select selects checks by ID. If nil, all.
	Select *regexp.Regexp
	// Parallel is the number of concurrent checks. If zero, one for each processor.
	Parallel int
	// Timeout is the maximum time of each check. If zero, 60 seconds, which suits a real model.
	Timeout time.Duration
	// Patience is the maximum time for what should happen at once, such as ending or cancelling. If zero, 2 seconds.
	Patience time.Duration
	// Quiet is the time for which a check waits to verify that no message arrives. If zero, 150 milliseconds.
	Quiet time.Duration
	// Strict makes a check fail if it was skipped because its subject did not happen.
	Strict bool
	// Progress, if not nil, is called for each result, one at a time.
	Progress func(Result)
}

func (o *Options) setDefaults() {
	if o.Prompts == nil {
		o.Prompts = defaultPrompts()
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	setDefault(&o.Timeout, 60*time.Second)
	setDefault(&o.Patience, 2*time.Second)
	setDefault(&o.Quiet, 150*time.Millisecond)
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// A suite is one run against one agent.
type suite struct {
	ctx   context.Context //nolint:containedctx // bounds the run: a tour outlives the check that starts it
	opts  Options
	start startFunc
	dir   string // the directory of the run
	tours map[string]*tour
	name  string // the name in the agent's initialize result; set before the first check
}

// ErrNoChecks reports that Options.Select selects no check.
var ErrNoChecks = errors.New("no check has this ID")

// Run checks an agent. It returns an error only if the agent could not be checked; the agent's faults are in the
// report. If ctx ends first, Run returns its cause.
func Run(ctx context.Context, opts Options) (*Report, error) {
	if len(opts.Command) == 0 || !filepath.IsAbs(opts.Command[0]) {
		return nil, errors.New("no agent to check: Options.Command must begin with an absolute path")
	}
	return run(ctx, opts, processStarter(opts.Command))
}

func run(ctx context.Context, opts Options, start startFunc) (_ *Report, err error) {
	opts.setDefaults()
	checks := Checks()
	if opts.Select != nil {
		checks = slices.DeleteFunc(checks, func(c Check) bool { return !opts.Select.MatchString(c.ID) })
	}
	if len(checks) == 0 {
		return nil, ErrNoChecks
	}
	dir, err := os.MkdirTemp("", "acp-conformance-")
	if err == nil {
		// Resolve symlinks: the path of the system's temporary directory must not affect an agent.
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("making a directory for the agents: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &suite{ctx: ctx, opts: opts, start: start, dir: dir, tours: newTours()}
	report := &Report{Command: opts.Command, Results: make([]Result, len(checks))}
	mute, err := s.mute(ctx)
	switch {
	case err != nil:
	case mute != nil:
		for i, c := range checks {
			report.Results[i] = Result{Check: c, Status: StatusSkipped, Reason: ReasonNotPossible, Detail: "the agent does not answer initialize"}
		}
		mute.Check, mute.Tier = checks[0], TierMust // a must, regardless of the tier of the first check
		report.Results[0] = *mute
	default:
		err = s.all(ctx, checks, report.Results)
	}
	if err != nil {
		return nil, err
	}
	report.Agent = s.name
	report.count()
	return report, nil
}

// mute detects an agent that does not answer initialize, so that it has one failure and not hundreds. Any answer
// suffices.
func (s *suite) mute(ctx context.Context) (*Result, error) {
	t, err := s.try(ctx, s.opts.Timeout, "first", func(t *trial) {
		p := t.start()
		s.named(p.response(p.request("initialize", initializeParams(1, bare))).result)
	})
	if err != nil || t.result.Status == StatusPassed {
		return nil, err
	}
	return &t.result, nil
}

// all runs the checks concurrently and keeps their order.
func (s *suite) all(ctx context.Context, checks []Check, results []Result) error {
	var wg sync.WaitGroup
	var progress sync.Mutex
	errs := make([]error, len(checks))
	slots := make(chan struct{}, s.opts.Parallel)
	for i := range checks {
		slots <- struct{}{}
		if ctx.Err() != nil {
			errs[i] = context.Cause(ctx)
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i], errs[i] = s.one(ctx, &checks[i])
			if s.opts.Progress != nil {
				progress.Lock()
				defer progress.Unlock()
				s.opts.Progress(results[i])
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

func (s *suite) one(ctx context.Context, c *Check) (Result, error) {
	t, err := s.try(ctx, s.opts.Timeout, c.ID, c.run)
	if err != nil {
		return Result{}, err
	}
	r := t.result
	r.Check = *c
	if s.opts.Strict && r.Reason == ReasonNotSeen {
		r.Status, r.Detail = StatusFailed, "could not be tried: "+r.Detail
	}
	return r, nil
}

// named records the agent's name.
func (s *suite) named(result any) {
	s.name = strings.TrimSpace(str(result, "agentInfo", "name") + " " + str(result, "agentInfo", "version"))
}

// markVariable is set in the environment of an agent, and inherited by its processes.
const markVariable = "ACP_CONFORMANCE_MARK"

// environment returns the environment of a trial's agents.
func (s *suite) environment(dir, home string) []string {
	own := map[string]string{
		"HOME": home, "USERPROFILE": home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_DATA_HOME": filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME": filepath.Join(home, ".local", "state"), "XDG_CACHE_HOME": filepath.Join(home, ".cache"),
	}
	if s.opts.Home != "" {
		clear(own)
		own["HOME"], own["USERPROFILE"] = s.opts.Home, s.opts.Home
	}
	own["TMPDIR"], own[markVariable] = filepath.Join(dir, "tmp"), filepath.Base(dir)
	env := slices.DeleteFunc(slices.Clone(s.opts.Env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, ok := own[name]
		return ok
	})
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}
