package dap

import (
	"slices"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// event takes an event of the adapter. It runs in the client's reader and must not wait for anything. An event whose body
// can not be understood counts as far as it can be.
func (l *life) event(name string, body jsonx.Raw) {
	s := l.session
	if name == "output" { // there may be very many
		var b struct {
			Category string `json:"category"`
			Output   string `json:"output"`
		}
		if err := jsonx.Unmarshal(body, &b); err != nil {
			l.dropped(err)
			return
		}
		if b.Category == "" {
			b.Category = "console"
		}
		l.print(b.Category, b.Output)
		return
	}
	t := s.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	switch name {
	case "initialized":
		l.once.Do(func() { close(l.initialized) })
		// Behind a restart, all is to be said again.
		if l.configured && !l.configuring && (l.restarting || s.state == StateRunning) {
			l.restarting, l.configuring, s.exitCode = false, true, nil
			s.state = StateConfiguring
			s.debugger.work.start(l.configureAgain)
		}
	case "stopped":
		var b godap.StoppedEventBody
		l.decode(body, &b)
		s.stoppedLocked(l, &b)
	case "continued":
		var b godap.ContinuedEventBody
		l.decode(body, &b)
		s.continuedLocked(l, &b)
	case "exited":
		var b godap.ExitedEventBody
		l.decode(body, &b)
		s.exitCode = &b.ExitCode
		if l.exit == nil && !l.restarting {
			l.exit = time.AfterFunc(terminatedAfter, l.quitAfterExit)
		}
	case "terminated":
		var b struct {
			Restart jsonx.Raw `json:"restart"`
		}
		l.decode(body, &b)
		if l.over {
			return
		}
		l.over = true
		if !jsonx.IsNull(b.Restart) && string(b.Restart) != "false" {
			l.again = b.Restart.Clone()
		}
		close(l.terminated)
		l.left.Do(func() { close(l.leave) })
	case "thread":
		var b godap.ThreadEventBody
		l.decode(body, &b)
		switch {
		case b.Reason == "exited":
			delete(s.threads, b.ThreadId)
		case len(s.threads) < maxThreads:
			if _, known := s.threads[b.ThreadId]; !known {
				s.threads[b.ThreadId] = false
			}
		}
	case "process":
		var b godap.ProcessEventBody
		l.decode(body, &b)
		s.pid = b.SystemProcessId
	case "breakpoint":
		var b godap.BreakpointEventBody
		l.decode(body, &b)
		t.breakpointLocked(&b)
	case "capabilities":
		if caps := jsonx.Lookup(body, "capabilities"); caps != nil {
			s.caps = s.caps.with(caps.Clone())
		}
	case "invalidated":
		if s.shot != nil {
			s.shot.drop()
		}
	case "module", "loadedSource", "memory", "progressStart", "progressUpdate", "progressEnd":
	default:
		text := string(body[:min(len(body), maxEventBody)])
		if len(s.events) >= maxEvents {
			s.events = slices.Delete(s.events, 0, 1)
		}
		s.events = append(s.events, Event{Name: cut(name), Body: valid(text)})
	}
}

// maxThreads bounds the threads that are remembered.
const maxThreads = 1 << 16

func (l *life) decode(body jsonx.Raw, v any) {
	if jsonx.IsNull(body) {
		return
	}
	if err := jsonx.Unmarshal(body, v); err != nil {
		l.dropped(err)
	}
}

// quitAfterExit ends a life whose adapter has told of the program's exit and not that it is done.
func (l *life) quitAfterExit() {
	t := l.session.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.exit = nil; l.over || l.restarting {
		return
	}
	l.over = true
	close(l.terminated)
	l.left.Do(func() { close(l.leave) })
}

func (s *Session) stoppedLocked(l *life, b *godap.StoppedEventBody) {
	if s.state == StateTerminated || s.life != nil && s.life != l {
		return
	}
	if b.ThreadId != 0 && (len(s.threads) < maxThreads) {
		s.threads[b.ThreadId] = true
	}
	if b.AllThreadsStopped {
		for id := range s.threads {
			s.threads[id] = true
		}
	}
	if s.state == StateStopped && s.stop != nil {
		// Another thread stopped by itself. What is known of the first stays as it is.
		if b.ThreadId != s.stop.Thread && !slices.Contains(s.stop.Others, b.ThreadId) && len(s.stop.Others) < maxOthers {
			s.stop.Others = append(s.stop.Others, b.ThreadId)
		}
		return
	}
	l.restarting = false
	s.state = StateStopped
	s.stop = &Stop{
		Reason: b.Reason, Description: valid(b.Description), Text: valid(b.Text), Thread: b.ThreadId, Breakpoints: b.HitBreakpointIds,
	}
	s.handles.reset()
	s.shot = newShot(s.stop)
	s.tree.stops++
	s.stopSeq = s.tree.stops
	s.tree.focus = s
	s.tree.announceLocked()
}

// maxOthers bounds the further threads of a stop.
const maxOthers = 64

func (s *Session) continuedLocked(l *life, b *godap.ContinuedEventBody) {
	if s.state != StateStopped || s.stop == nil || s.life != nil && s.life != l {
		return
	}
	if !b.AllThreadsContinued && b.ThreadId != s.stop.Thread {
		s.threads[b.ThreadId] = false
		return
	}
	s.runsLocked(b.ThreadId, true)
	s.tree.announceLocked()
}

// runsLocked takes note that the program runs on. tree.mu is held.
func (s *Session) runsLocked(thread int, all bool) {
	s.state, s.stop, s.shot = StateRunning, nil, nil
	s.handles.reset()
	if all {
		for id := range s.threads {
			s.threads[id] = false
		}
	} else {
		s.threads[thread] = false
	}
}
