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

// Options says what to check and how.
type Options struct {
	// Command starts the agent; its first part is an absolute path. Required.
	Command []string
	// Env is the environment of the agents, as "NAME=value". HOME and the XDG directories are replaced.
	Env []string
	// Home is a home directory for all agents. If empty, each check has an empty one of its own; give one to an agent
	// that keeps its credentials there.
	Home string
	// Prompts are what makes the agent's model do things. If nil, [defaultPrompts].
	Prompts Prompts
	// Select picks checks by their ids. If nil, all.
	Select *regexp.Regexp
	// Parallel is how many checks run at once. If zero, one for each processor.
	Parallel int
	// Timeout bounds each check. If zero, 60 seconds, which is meant for a real model.
	Timeout time.Duration
	// Patience is how long an agent may take for what should happen at once: to end, to cancel. If zero, 2 seconds.
	Patience time.Duration
	// Quiet is how long silence is waited for where something must not come. If zero, 150 milliseconds.
	Quiet time.Duration
	// Strict makes a failure of a check that was skipped because what it is about did not happen.
	Strict bool
	// Progress, if not nil, is told of each result as it comes, one at a time.
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

// A suite is one run over one agent.
type suite struct {
	ctx   context.Context // of the run
	opts  Options
	start startFunc
	dir   string // for everything
	tours map[string]*tour
	name  string // of the agent; set before the first check
}

// ErrNoChecks says that Options.Select picks nothing.
var ErrNoChecks = errors.New("no check has such an id")

// Run checks an agent. An error means that nothing is known about the agent; what the agent does wrong is in the
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
		// What an agent makes of a path must not hang on how the system names its temporary directory.
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
		mute.Check, mute.Tier = checks[0], TierMust // whatever the first check is about
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

// mute finds out that an agent does not answer initialize, so that it has one failure and not hundreds. Any answer
// will do.
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

// all runs the checks, some at a time, and keeps their order.
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

// named notes what the agent calls itself.
func (s *suite) named(result any) {
	s.name = strings.TrimSpace(str(result, "agentInfo", "name") + " " + str(result, "agentInfo", "version"))
}

// markVariable is in the environment of an agent, and so in that of what it leaves behind.
const markVariable = "ACP_CONFORMANCE_MARK"

// environment returns the environment of the agents of one trial.
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
