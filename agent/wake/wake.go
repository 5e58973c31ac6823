// Package wake decides what happens when a background job or a timer ends while a session is idle: nothing, a notice, or a turn that gjc begins by
// itself.
package wake

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
)

// Auto says what an event does in an idle session.
type Auto string

// The values of [Auto]. If it is empty, Notify.
const (
	// Off reports events to the model with the next prompt.
	Off Auto = "off"
	// Notify also notifies the user at once.
	Notify Auto = "notify"
	// On begins a turn.
	On Auto = "on"
)

// Autos lists the values.
func Autos() []Auto { return []Auto{Off, Notify, On} }

// Settings bound the turns that a session begins by itself.
type Settings struct {
	Auto Auto
	// MaxPerHour and MaxInARow bound the number of turns in an hour, and without a prompt of the user in between. If zero, the defaults.
	MaxPerHour, MaxInARow int
	// MaxCost bounds what the session spends since the answer to the user's last prompt, in US dollars: no further turn begins above it. If
	// zero, there is no bound.
	MaxCost float64
	// Clients lists the names of further clients that show turns without a prompt.
	Clients []string
}

// The defaults of [Settings].
const (
	defaultMaxPerHour = 20
	defaultMaxInARow  = 5
	defaultMaxCost    = 1.0
)

// DefaultSettings returns the settings of a session without a configuration.
func DefaultSettings() Settings {
	return Settings{Auto: Notify, MaxPerHour: defaultMaxPerHour, MaxInARow: defaultMaxInARow, MaxCost: defaultMaxCost}
}

// Events that follow each other within quiet are handled together, at most patience after the first.
const (
	quiet    = time.Second
	patience = 5 * time.Second
)

// Options describe a session and its client.
type Options struct {
	Settings
	// Shows reports whether the client shows turns without a prompt. If not, On is like Notify.
	Shows bool
	// Notice shows the user a notice. It must not wait for the session. Required.
	Notice func(title, detail string)
	// Clock returns the time. If nil, [time.Now].
	Clock agent.Clock
}

// waker waits for events of a session. It is a value of the session, which wakes and closes it. It is safe for concurrent use.
type waker struct {
	opts    Options
	session *agent.Session
	rung    chan struct{}   // holds a token while there may be an event
	ctx     context.Context //nolint:containedctx // bounds the waker's goroutine
	end     context.CancelFunc
	work    sync.WaitGroup // the goroutine, which runs while there are events

	mu      sync.Mutex // guards the fields below
	running bool
	started []time.Time // the turns of the last hour
	inARow  int
	// stopped is set from a cancellation to the next prompt.
	stopped bool
	// base is the cost of the session after the answer to the last prompt; NaN until it is known.
	base float64
	// said has what the user knows to have kept a turn from beginning.
	said map[string]bool
}

// Start makes a session begin turns by itself, or notify its user, until it is closed.
func Start(s *agent.Session, opts Options) {
	if opts.Auto == Off {
		return
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	opts.MaxPerHour, opts.MaxInARow = cmp.Or(opts.MaxPerHour, defaultMaxPerHour), cmp.Or(opts.MaxInARow, defaultMaxInARow)
	w := &waker{opts: opts, session: s, rung: make(chan struct{}, 1), base: math.NaN(), said: make(map[string]bool)}
	w.ctx, w.end = context.WithCancel(context.Background())
	agent.SetValue(s.Values(), w)
}

// Prompted records that the user has prompted the session, so that turns may begin again.
func Prompted(s *agent.Session) {
	w, ok := agent.LookupValue[*waker](s.Values())
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inARow, w.stopped, w.base = 0, false, math.NaN()
	for bound := range w.said {
		w.said[bound] = bound == byClient
	}
}

// Cancelled records that the user has cancelled what the session does: no turn begins until the next prompt. It must be called before the
// session is cancelled, so that a turn that begins meanwhile is cancelled too.
func Cancelled(s *agent.Session) {
	if w, ok := agent.LookupValue[*waker](s.Values()); ok {
		w.stop()
	}
}

func (w *waker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// Wake makes the waker check for events. It does not block.
func (w *waker) Wake() {
	select {
	case w.rung <- struct{}{}:
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.running && w.ctx.Err() == nil {
		w.running = true
		w.work.Go(w.run)
	}
}

// Close ends the waker. The session has ended its turns before.
func (w *waker) Close(context.Context) {
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	w.work.Wait() // it waits for nothing that does not end with ctx or with the session
}

// next reports whether there may be an event. If not, the goroutine ends: an idle session has none.
func (w *waker) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil {
		select {
		case <-w.rung:
			return true
		default:
		}
	}
	w.running = false
	return false
}

func (w *waker) run() {
	for w.next() {
		w.measure()
		if !w.session.Values().Waits() {
			continue
		}
		if w.gather() {
			w.act()
		}
	}
}

// gather waits until no more events arrive. It reports false if the waker ends.
func (w *waker) gather() bool {
	latest := time.NewTimer(patience)
	defer latest.Stop()
	for {
		next := time.NewTimer(quiet)
		select {
		case <-w.rung:
			next.Stop()
		case <-next.C:
			return true
		case <-latest.C:
			next.Stop()
			return true
		case <-w.ctx.Done():
			next.Stop()
			return false
		}
	}
}

// measure sets the base of the costs when the user's turn is over, and returns what the session has cost since then.
func (w *waker) measure() float64 {
	spent, err := w.session.Spending()
	if err != nil {
		return 0 // the session is closed
	}
	cost, _, _ := agent.Cost(spent.Models)
	snap, err := w.session.Snapshot()
	w.mu.Lock()
	defer w.mu.Unlock()
	if math.IsNaN(w.base) {
		if err != nil || snap.Busy {
			return 0
		}
		w.base = cost
	}
	return cost - w.base
}

// act begins a turn, or notifies the user. If a turn runs, it does nothing: the turn gives the model the reports, and the end of the turn
// wakes the waker.
func (w *waker) act() {
	cost := w.measure()
	turn, err := agent.WhenIdle(w.session, func() bool {
		bound, reason := w.admit(cost)
		if bound == "" {
			return true
		}
		w.notify(bound, reason)
		return false
	})
	if err != nil || turn == nil {
		return
	}
	if r := turn.Wait(w.ctx); r.Stop == agent.StopCancelled {
		w.stop()
	}
}

// What keeps a turn from beginning, besides the settings of a bound.
const (
	bySetting = "turns.auto"
	byClient  = "client"
	byUser    = "cancelled"
)

// admit returns what keeps a turn from beginning, with a sentence for the user; empty if one begins, which it counts.
func (w *waker) admit(cost float64) (bound, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.opts.Clock()
	w.started = slices.DeleteFunc(w.started, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	const waits = "so the next one waits for your prompt"
	switch o := &w.opts; {
	case o.Auto != On:
		return bySetting, ""
	case !o.Shows:
		return byClient, "This client does not show turns that begin without a prompt, so turns.auto: on only notifies you here."
	case w.stopped:
		return byUser, "You have cancelled, so no turn begins by itself until your next prompt."
	case w.inARow >= o.MaxInARow:
		return "turns.maxInARow", fmt.Sprintf("%s begun since your last prompt (turns.maxInARow), %s.", turns(w.inARow), waits)
	case len(w.started) >= o.MaxPerHour:
		return "turns.maxPerHour", fmt.Sprintf("%s begun without a prompt in the last hour (turns.maxPerHour), %s.", turns(len(w.started)), waits)
	case o.MaxCost > 0 && cost >= o.MaxCost:
		return "turns.maxCost", fmt.Sprintf("The session has spent $%.2f since it answered your last prompt (turns.maxCost is %g), so no turn begins until your next one.", cost, o.MaxCost)
	}
	w.inARow++
	w.started = append(w.started, now)
	return "", ""
}

func turns(n int) string {
	if n == 1 {
		return "1 turn has"
	}
	return fmt.Sprintf("%d turns have", n)
}

// notify notifies the user of the events that wait, and once of what keeps a turn from beginning.
func (w *waker) notify(bound, reason string) {
	titles := w.session.Values().Notify()
	if len(titles) == 0 {
		return
	}
	detail := "The agent learns of it with your next prompt."
	w.mu.Lock()
	if reason != "" && !w.said[bound] {
		w.said[bound] = true
		detail += " " + reason
	}
	w.mu.Unlock()
	w.opts.Notice(w.session.Hide(strings.Join(titles, "; ")), detail)
}
