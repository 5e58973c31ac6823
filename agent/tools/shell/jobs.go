package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of background jobs.
const (
	maxJobs = 15 // of running jobs
	// maxEndedJobs bounds the number of ended jobs that are kept.
	maxEndedJobs = 30
	// maxReported bounds the output in the report on an ended job, in bytes.
	maxReported = 2 << 10
	// maxJobWait bounds how long a poll waits, in seconds.
	maxJobWait = 300.0
	// maxMatchTitle bounds the output in the notice about a watched job, in characters.
	maxMatchTitle = 120
)

// jobs holds the background jobs of a session, which end with it.
type jobs struct {
	values *agent.Values // of the session
	mu     sync.Mutex    // guards the list, and the jobs in it
	list   []*job
	made   int
	runs   sync.WaitGroup
	over   bool
	lost   []string // reports on jobs of an earlier process, for the model
	// watch is called for jobs that begin and end; nil if they are not watched.
	watch func(JobChange)
}

// job is a command that continues to run after its call.
type job struct {
	id    string
	title string
	// callID is the call that started the job. It can start several helpers, but only one command.
	callID string
	helper bool // whether it is a helper's work
	// output returns the output so far; nil for a job without.
	output func(context.Context) (toolkit.BashOutput, error)
	// whole bounds the part of the output in the report on the end of the job, in bytes.
	whole int
	began time.Time
	end   context.CancelCauseFunc
	done  chan struct{} // closed after the result is set

	// timer says that the job only waits.
	timer bool

	// Guarded by jobs.mu.
	result *agent.Result
	took   time.Duration
	// byUser says that the user has ended it, so that its end is no news.
	byUser bool
	// notified says that the user knows of the end, and reported that the model does, too.
	notified, reported bool
	// match is the output that the job was watched for, found of what follows; nil until it comes.
	match *match
}

// match is output that a job was watched for.
type match struct {
	line               string
	notified, reported bool
}

// title returns the sentence about the output for the user.
func (m *match) title(b *job) string {
	return fmt.Sprintf("%s has printed what it is watched for: %s", b.id, text.Truncate(text.OneLine(m.line), maxMatchTitle))
}

var (
	errJobCancelled = errors.New("the job was cancelled")
	errTooManyJobs  = fmt.Errorf("%d jobs are running already; cancel one with the job tool, or wait for one to end", maxJobs)
)

// JobChange describes a background job that has begun or ended, to those outside the session's tools.
type JobChange struct {
	// ID identifies the job to those outside: the ID of the call for a command, which has no other job.
	ID string
	// CallID is the tool call that started the job.
	CallID string
	// Helper reports that a helper agent works, not a command.
	Helper bool
	Title  string
	State  JobState
}

// JobState says how far a job is.
type JobState uint8

// The states. JobCancelled is for a job that the model or the user has ended, or the session's end.
const (
	JobRunning JobState = iota
	JobCompleted
	JobFailed
	JobCancelled
)

// WatchJobs makes watch learn of each background job of a session when it begins and when it ends. It is called before the session's first
// turn. watch must not block.
func WatchJobs(k *agent.Values, watch func(JobChange)) { keptJobs(k).watch = watch }

// JobsRunning reports whether a session has background jobs, besides timers, that have not ended.
func JobsRunning(k *agent.Values) bool {
	all := keptJobs(k)
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.ContainsFunc(all.list, func(b *job) bool { return b.result == nil && !b.timer })
}

// ErrNoJob is wrapped by the error for an ID of no background job.
var ErrNoJob = errors.New("no such background job")

// StopJob ends the background job with the ID of a [JobChange] for the session's user and waits for its end. It reports false for one
// that has ended already.
func StopJob(ctx context.Context, k *agent.Values, id string) (stopped bool, err error) {
	all := keptJobs(k)
	all.mu.Lock()
	i := slices.IndexFunc(all.list, func(b *job) bool { return b.outside() == id })
	if i < 0 {
		all.mu.Unlock()
		return false, ErrNoJob
	}
	found := all.list[i]
	running := found.result == nil
	found.byUser = running
	all.mu.Unlock()
	if !running {
		return false, nil
	}
	return true, endJobs(ctx, []*job{found})
}

// report reports a job to the one who watches.
func (j *jobs) report(b *job, state JobState) {
	if j.watch != nil {
		j.watch(JobChange{b.outside(), b.callID, b.helper, b.title, state})
	}
}

// outside returns [JobChange.ID].
func (b *job) outside() string {
	if b.helper {
		return b.callID + "/" + b.id
	}
	return b.callID
}

func jobsOf(call *agent.Call) *jobs { return keptJobs(call.Values) }

func keptJobs(k *agent.Values) *jobs {
	return agent.Value(k, func() *jobs { return &jobs{values: k} })
}

// DescribeJobs returns the background jobs of a session for people, one on each line.
func DescribeJobs(k *agent.Values) string { return keptJobs(k).listing() }

// CancelJobs ends background jobs of a session for its user, and returns their descriptions. The next request reports them to the model,
// like all jobs that end.
func CancelJobs(ctx context.Context, k *agent.Values, ids []string) (string, error) {
	all := keptJobs(k)
	ending, err := all.find(ids)
	if err != nil {
		return "", err
	}
	all.mu.Lock()
	for _, b := range ending {
		b.byUser = b.result == nil
	}
	all.mu.Unlock()
	if err := endJobs(ctx, ending); err != nil {
		return "", err
	}
	return all.listing(), nil
}

// endJobs ends jobs and waits until they have ended.
func endJobs(ctx context.Context, ending []*job) error {
	for _, b := range ending {
		b.end(errJobCancelled)
	}
	for _, b := range ending {
		select {
		case <-b.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// room returns an error if no further job can start.
func (j *jobs) room() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.runningLocked() >= maxJobs {
		return errTooManyJobs
	}
	return nil
}

func (j *jobs) runningLocked() int {
	n := 0
	for _, b := range j.list {
		if b.result == nil {
			n++
		}
	}
	return n
}

// maxHelperReport bounds the report of a helper in the report on the end of its job, in bytes.
const maxHelperReport = 16 << 10

// StartJob starts a background job for a helper agent, and returns its ID. wait is its work; it gets a context that ends with the job.
func StartJob(ctx context.Context, call *agent.Call, title string, wait func(ctx context.Context) *agent.Result) (id string, err error) {
	all := jobsOf(call)
	if err := all.room(); err != nil {
		return "", err
	}
	return all.adopt(ctx, &job{title: title, callID: call.ID, helper: true, whole: maxHelperReport}, wait).id, nil
}

// adopt makes a job of what runs already. It calls wait on a goroutine of the job, with a context that ends with the job.
func (j *jobs) adopt(ctx context.Context, b *job, wait func(ctx context.Context) *agent.Result) *job {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	j.mu.Lock()
	j.made++
	b.id, b.began, b.end, b.done = fmt.Sprintf("job-%d", j.made), time.Now(), end, make(chan struct{})
	j.list = append(j.list, b)
	j.pruneLocked()
	if j.over {
		end(errJobCancelled)
	}
	j.mu.Unlock()
	j.report(b, JobRunning)
	j.runs.Go(func() {
		result := wait(ctx)
		state := JobCompleted
		switch {
		case errors.Is(context.Cause(ctx), errJobCancelled):
			state = JobCancelled
		case result.IsError:
			state = JobFailed
		}
		end(nil)
		j.mu.Lock()
		b.result, b.took = result, time.Since(b.began)
		over := j.over
		j.mu.Unlock()
		j.report(b, state)
		close(b.done)
		if !over {
			j.values.Wake()
		}
	})
	return b
}

// pruneLocked removes the oldest jobs that have ended.
func (j *jobs) pruneLocked() {
	over := len(j.list) - j.runningLocked() - maxEndedJobs
	j.list = slices.DeleteFunc(j.list, func(b *job) bool {
		if over > 0 && b.result != nil {
			over--
			return true
		}
		return false
	})
}

// Close ends all jobs.
func (j *jobs) Close(ctx context.Context) {
	j.mu.Lock()
	j.over = true
	for _, b := range j.list {
		b.end(errJobCancelled)
	}
	j.mu.Unlock()
	ended := make(chan struct{})
	go func() { // it ends with the jobs, whose commands have been killed
		j.runs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// Report returns the jobs that have ended and those that have printed what they are watched for.
func (j *jobs) Report() agent.Report {
	j.mu.Lock()
	defer j.mu.Unlock()
	titles := j.notifyLocked(true)
	texts := j.lost
	j.lost = nil
	for _, b := range j.list {
		if m := b.match; m != nil && !m.reported {
			m.reported = true
			texts = append(texts, fmt.Sprintf("Background job %s has printed what you watch it for: %s\n%s", b.id, b.title, m.line))
		}
		if b.result != nil && !b.reported {
			b.reported = true
			texts = append(texts, b.describeLocked(max(maxReported, b.whole)))
		}
	}
	return agent.Report{Title: strings.Join(titles, "; "), Text: strings.Join(texts, "\n\n")}
}

// Waits reports whether Report would return more than jobs that the user has ended.
func (j *jobs) Waits() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.list, func(b *job) bool {
		return b.result != nil && !b.reported && !b.byUser || b.match != nil && !b.match.reported
	})
}

// Notify returns a title for what Report returns and the user does not know.
func (j *jobs) Notify() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.notifyLocked(false), "; ")
}

// notifyLocked returns a title for each event of which the user has not been notified; all includes the end of jobs that the user has ended.
func (j *jobs) notifyLocked(all bool) (titles []string) {
	for _, b := range j.list {
		if m := b.match; m != nil && !m.notified && !m.reported {
			m.notified = true
			titles = append(titles, m.title(b))
		}
		if b.result != nil && !b.notified && !b.reported && (all || !b.byUser) {
			b.notified = true
			titles = append(titles, fmt.Sprintf("%s has ended: %s", b.id, b.title))
		}
	}
	return titles
}

// matched records that a job has printed what it is watched for.
func (j *jobs) matched(b *job, line string) {
	j.mu.Lock()
	first := b.match == nil && b.result == nil
	if first {
		b.match = &match{line: line}
	}
	j.mu.Unlock()
	if first {
		j.values.Wake()
	}
}

// find returns the jobs with the given IDs, which must exist.
func (j *jobs) find(ids []string) ([]*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*job
	for _, id := range ids {
		i := slices.IndexFunc(j.list, func(b *job) bool { return b.id == id })
		if i < 0 {
			var all []string
			for _, b := range j.list {
				all = append(all, b.id)
			}
			if len(all) == 0 {
				return nil, fmt.Errorf("unknown job %q; there are no jobs", id)
			}
			return nil, fmt.Errorf("unknown job %q; the jobs are %s", id, strings.Join(all, ", "))
		}
		found = append(found, j.list[i])
	}
	return found, nil
}

// describe describes a job, including up to most bytes from the end of its output. It marks a job that has ended as reported.
func (j *jobs) describe(ctx context.Context, b *job, most int) string {
	j.mu.Lock()
	if b.match != nil {
		b.match.reported = true // it is in the output
	}
	if b.result != nil {
		b.reported = true
		defer j.mu.Unlock()
		return b.describeLocked(most)
	}
	j.mu.Unlock()
	text := fmt.Sprintf("%s has been running for %s: %s", b.id, time.Since(b.began).Round(time.Second), b.title)
	if b.output == nil {
		return text
	}
	out, err := b.output(ctx)
	if err != nil {
		return text + fmt.Sprintf("\n[Its output cannot be read: %v]", err)
	}
	return toolkit.JoinNotes(text+"\n"+lastBytes(out.Text, most), out.Notes)
}

func (b *job) describeLocked(most int) string {
	how := "has ended"
	if b.result.IsError {
		how = "has failed"
	}
	return fmt.Sprintf("Background job %s %s after %s: %s\n%s", b.id, how, b.took.Round(100*time.Millisecond), b.title, lastBytes(b.result.Text, most))
}

// lastBytes returns up to most bytes from the end of text. If they contain a line break, the result begins after the first one.
func lastBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := text[len(text)-most:]
	if _, rest, ok := strings.Cut(cut, "\n"); ok {
		cut = rest
	} else {
		cut = strings.ToValidUTF8(cut, "")
	}
	return "…\n" + cut
}
