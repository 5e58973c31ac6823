package fleet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// session has what the clients know of a session.
type session struct {
	fleet  *fleet
	number int
	id     string
	dir    string
	all    []*client // at the end

	mu      sync.Mutex // guards the fields below
	home    *server    // that a client has loaded it from last
	prompts []*prompt  // in the order in which they were sent
	calls   map[string]string
	loads   []time.Time // since when clients could prompt
	errors  []string    // of the last visits
	history []event
	visits  []visit // that have loaded the session, or tried
	// takeovers are the moments at which a client that watched learned that its server has the session now.
	takeovers []takeover
}

// visit is a time in which a client wanted the session at a server; end is zero if it goes on.
type visit struct {
	at         *server
	begin, end time.Time
}

// event describes what a client has done or learned.
type event struct {
	at   time.Time
	what string
}

// prompt is one prompt of a client. Its text is unique.
type prompt struct {
	word, text     string
	sent, answered time.Time // answered is zero without an answer
}

// takeover describes what a client shows when its server has taken the session over.
type takeover struct {
	at, sent    time.Time // sent is the time of the last prompt
	cut         bool      // that has no answer, or an open call
	interrupted bool      // the client shows that the turn was interrupted
	shown       string    // the conversation
}

// callsFile is the file to which each prompt's command adds a line.
const callsFile = "calls"

func (s *session) newPrompt(r *rand.Rand) *prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := fmt.Sprintf("w%d-%d.", s.number, len(s.prompts))
	p := &prompt{word: word, sent: time.Now()}
	p.text = fmt.Sprintf("!say begin-%s %s\n!sleep %d\n!bash echo %s >>%s; sleep 0.0%d\n!sleep %d\n!say end-%s\n",
		word, strings.Repeat("x ", r.IntN(20)), r.IntN(100), word, callsFile, r.IntN(10), r.IntN(100), word)
	s.prompts = append(s.prompts, p)
	return p
}

func (s *session) answered(p *prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.answered = time.Now()
	s.fleet.count("answered")
}

// shown records the end of a call, which a client has shown.
func (s *session) shown(id, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = status
}

// usable records that a client can prompt.
func (s *session) usable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads = append(s.loads, time.Now())
}

func (s *session) takenOver(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := takeover{at: time.Now(), cut: v.cut(), interrupted: v.interrupted, shown: v.String()}
	words := wordPattern.FindAllStringSubmatch(v.String(), -1)
	for _, p := range s.prompts {
		if n := len(words); n > 0 && words[n-1][1] == p.word {
			one.sent = p.sent
		}
	}
	s.takeovers = append(s.takeovers, one)
}

// firstTakeover returns the first one after t.
func (s *session) firstTakeover(t time.Time) (takeover, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.takeovers {
		if !one.at.Before(t) {
			return one, true
		}
	}
	return takeover{}, false
}

// wanted records that a client wants the session at a server, until the returned function is called.
func (s *session) wanted(at *server) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.visits)
	s.visits = append(s.visits, visit{at: at, begin: time.Now()})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.visits[n].end = time.Now()
	}
}

// wantedFor returns how long, between begin and end, at least one client wanted the session at a server that worked until end: the time in which
// a server could have taken it over.
func (s *session) wantedFor(begin, end time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []visit
	for _, v := range s.visits {
		if v.begin.Before(begin) {
			v.begin = begin
		}
		if v.end.IsZero() || v.end.After(end) {
			v.end = end
		}
		if v.begin = v.at.worksFrom(v.begin, end); v.begin.Before(v.end) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b visit) int { return a.begin.Compare(b.begin) })
	for _, v := range all {
		if v.begin.Before(begin) {
			v.begin = begin
		}
		if v.begin.Before(v.end) {
			sum += v.end.Sub(v.begin)
			begin = v.end
		}
	}
	return sum
}

// happened records an event.
func (s *session) happened(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, event{time.Now(), fmt.Sprintf(format, args...)})
}

// between returns the events of a time, in lines.
func (s *session) between(begin, end time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, e := range s.history {
		if e.at.After(begin) && e.at.Before(end) {
			fmt.Fprintf(&text, "\n  %s %s", e.at.Format("15:04:05.000"), e.what)
		}
	}
	return text.String()
}

func (s *session) loadedAt(at *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = at
}

// failed records why a visit has ended.
func (s *session) failed(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors[max(0, len(s.errors)-9):], why)
}

// lastErrors returns why the last visits have ended.
func (s *session) lastErrors() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.errors, "\n")
}

func (s *session) lastHome() *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.home
}

// firstLoad returns the time from which a client could prompt after t; zero for none.
func (s *session) firstLoad(t time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.loads {
		if !at.Before(t) {
			return at
		}
	}
	return time.Time{}
}

var wordPattern = regexp.MustCompile(`!say begin-(w\d+-\d+\.)`)

// check compares the stored conversation, and the file to which the commands have written, with what was sent, answered and shown.
func (s *session) check(stored *view, ran []byte) (errs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Sprintf("session %d: ", s.number)+fmt.Sprintf(format, args...))
	}
	known := make(map[string]*prompt)
	for _, p := range s.prompts {
		known[p.word] = p
	}
	text := stored.String()
	var order []*prompt
	count := make(map[string]int)
	for _, found := range wordPattern.FindAllStringSubmatch(text, -1) {
		p := known[found[1]]
		if p == nil {
			fail("no client has sent %s", found[1])
			continue
		}
		if count[p.word]++; count[p.word] > 1 {
			fail("the prompt %s is there %d times", p.word, count[p.word])
		}
		order = append(order, p)
	}
	var sent time.Time // of the last prompt that was sent so far
	for _, p := range order {
		if !p.answered.IsZero() && p.answered.Before(sent) {
			fail("the prompt %s was answered before one was sent that stands in front of it", p.word)
		}
		if p.sent.After(sent) {
			sent = p.sent
		}
	}
	for _, p := range s.prompts {
		runs := bytes.Count(ran, []byte(p.word+"\n"))
		if runs > 1 {
			fail("the command of the prompt %s ran %d times: %q", p.word, runs, ran)
		}
		if p.answered.IsZero() {
			continue
		}
		if count[p.word] != 1 || runs != 1 {
			fail("the answered prompt %s is there %d times, and its command ran %d times", p.word, count[p.word], runs)
		}
		rest := text
		for _, want := range []string{"!say begin-" + p.word, `agent "begin-` + p.word, `"completed"`, `agent "end-` + p.word} {
			_, after, ok := strings.Cut(rest, want)
			if rest = after; !ok {
				fail("%q of the answered prompt %s is not there, or out of order", want, p.word)
				break
			}
		}
		if n := strings.Count(text, `agent "end-`+p.word); n > 1 {
			fail("the end of the answer to %s is there %d times", p.word, n)
		}
	}
	calls := stored.calls()
	for id, status := range s.calls {
		if calls[id] != status {
			fail("the call %s was shown as %s, and is stored as %q", id, status, calls[id])
		}
	}
	return errs
}
