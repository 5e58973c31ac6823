package extensions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/sessions"
)

const (
	// maxRestarts bounds how often an extension that has ended is started again.
	maxRestarts = 3
	// firstBackoff is the time before the first of these starts. It doubles each time.
	firstBackoff = time.Second
	// maxSlow is the number of timeouts in a row after which an extension receives no more events.
	maxSlow = 3
	// maxState bounds one entry, in bytes; maxEntries and maxStates bound the entries of an extension in one session, and their bytes.
	maxState, maxEntries, maxStates = 64 << 10, 1000, 4 << 20
	// maxWords bounds a text for the user, in bytes.
	maxWords = 4 << 10
)

// errSlow is the cause of the end of an event that took too long.
var errSlow = errors.New("the extension took too long")

// extension is one extension of a session. It is safe for concurrent use.
type extension struct {
	m   *Manager
	def *definition
	// first is closed when the first start has succeeded or failed.
	first chan struct{}

	mu       sync.Mutex // guards the fields below
	process  *process   // nil if it does not run
	events   []hooks.Event
	tools    []*tool
	commands []commandRegistered
	slow     int // timeouts in a row
	entries  int // in the log, and kept is their size in bytes, once counted
	kept     int
	counted  bool
}

var _ hooks.Handler = (*extension)(nil)

func (e *extension) notice(severity agent.Severity, title, detail string) {
	session := e.m.opts.Session()
	e.m.opts.Notice(severity, session.Hide(title), session.Hide(detail))
}

// supervise runs the extension until the session ends, it has ended too often, or it cannot be used.
func (e *extension) supervise(ctx context.Context) {
	begun := sync.OnceFunc(func() { close(e.first) })
	defer begun()
	for attempt := 0; ; attempt++ {
		p, reg, err := e.start(ctx)
		if err == nil {
			e.register(p, reg)
			begun()
			e.m.changed()
			<-p.program.Done()
			e.unregister()
			e.m.changed()
			_ = p.conn.Close()
			err = p.reason(p.conn.Err())
		}
		if e.m.ending() {
			return
		}
		name := e.def.name
		switch {
		case errors.Is(err, errUnusable):
			e.notice(agent.SeverityWarning, "The extension "+name+" does not run in this session: "+err.Error(), e.def.path)
			return
		case attempt == maxRestarts:
			e.notice(agent.SeverityWarning, fmt.Sprintf("The extension %s has ended %d times and does not run any more in this session.", name, attempt+1), e.def.path+": "+err.Error())
			return
		case attempt == 0:
			e.notice(agent.SeverityWarning, "The extension "+name+" has ended unexpectedly; gjc starts it again.", e.def.path+": "+err.Error())
		}
		begun()
		timer := time.NewTimer(firstBackoff << attempt)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// register takes over what the program offers. What cannot be used is named, once, and left out.
func (e *extension) register(p *process, reg *registration) {
	var problems []string
	var events []hooks.Event
	for _, name := range reg.Events {
		ev := hooks.Event(name)
		switch {
		case !slices.Contains(hooks.Events(), ev):
			problems = append(problems, fmt.Sprintf("there is no event %q", text.Truncate(name, maxName)))
		case e.def.events == nil || slices.Contains(e.def.events, ev):
			events = append(events, ev)
		}
	}
	var tools []*tool
	for i := range reg.Tools {
		t, err := newTool(e, &reg.Tools[i])
		if err == nil && slices.ContainsFunc(tools, func(o *tool) bool { return o.spec.Name == t.spec.Name }) {
			err = fmt.Errorf("there are two tools with the name %q", t.spec.Name)
		}
		if err == nil {
			err = e.m.free(e, t.spec.Name)
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		tools = append(tools, t)
	}
	var commands []commandRegistered
	for _, c := range reg.Commands {
		if !validName(c.Name) {
			problems = append(problems, fmt.Sprintf("the command name %q must have 1 to %d letters, digits, - and _, the first a letter", text.Truncate(c.Name, maxName), maxName))
			continue
		}
		commands = append(commands, c)
	}
	e.mu.Lock()
	e.process, e.events, e.tools, e.commands, e.slow = p, events, tools, commands, 0
	e.mu.Unlock()
	for _, problem := range problems {
		e.m.once(e, "The extension "+e.def.name+" offers something that cannot be used.", problem)
	}
}

func (e *extension) unregister() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process, e.tools, e.commands = nil, nil, nil
}

// running returns the process; nil if there is none.
func (e *extension) running() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.process
}

// About implements [hooks.Handler].
func (e *extension) About() hooks.About {
	return hooks.About{Kind: "extension", Name: e.def.name, At: e.def.path, Blocking: e.def.blocking}
}

// For implements [hooks.Handler]. An extension that must approve calls is asked even if it does not run.
func (e *extension) For(ev hooks.Event, _ string) bool {
	if e.def.blocking && ev == hooks.ToolCall {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.process != nil && e.slow < maxSlow && slices.Contains(e.events, ev)
}

// Run implements [hooks.Handler].
func (e *extension) Run(ctx context.Context, _ hooks.Runner, in hooks.Input) (hooks.Answer, error) {
	e.mu.Lock()
	p, slow, subscribed := e.process, e.slow, slices.Contains(e.events, in.Event)
	e.mu.Unlock()
	switch {
	case p == nil:
		return hooks.Answer{}, fmt.Errorf("%w: %s", errNotRunning, e.def.name)
	case slow >= maxSlow:
		return hooks.Answer{}, fmt.Errorf("it was too slow %d times in a row, so it receives no more events in this session", slow)
	case !subscribed:
		return hooks.Answer{}, nil
	}
	in.Hook = e.def.name
	limited, cancel := context.WithTimeoutCause(ctx, e.def.timeout, errSlow)
	defer cancel()
	var raw jsonx.Raw
	err := p.call(limited, "event", &in, &raw)
	switch {
	case ctx.Err() != nil:
		return hooks.Answer{}, context.Cause(ctx)
	case errors.Is(err, errSlow):
		return hooks.Answer{}, e.wasSlow(in.Event)
	case err != nil:
		return hooks.Answer{}, fmt.Errorf("at %s: %w", in.Event, err)
	}
	e.mu.Lock()
	e.slow = 0
	e.mu.Unlock()
	return hooks.ParseResult(raw)
}

// wasSlow counts a timeout and returns its error.
func (e *extension) wasSlow(ev hooks.Event) error {
	e.mu.Lock()
	e.slow++
	last := e.slow == maxSlow
	e.mu.Unlock()
	if last {
		e.notice(agent.SeverityWarning, fmt.Sprintf("The extension %s was too slow %d times in a row, so it receives no more events in this session.", e.def.name, maxSlow), e.def.path)
	}
	return fmt.Errorf("it did not answer %s within %v", ev, e.def.timeout)
}

// prefix is the beginning of the kinds of the extension's entries in the log.
func (e *extension) prefix() string { return "extension:" + e.def.name + ":" }

// state returns the extension's entries on the current branch.
func (e *extension) state() ([]stateEntry, error) {
	branch, err := e.m.opts.Session().Branch()
	if err != nil {
		return nil, err
	}
	entries := []stateEntry{}
	for _, entry := range branch {
		if c, ok := entry.(sessions.Custom); ok {
			if kind, ok := strings.CutPrefix(c.CustomType, e.prefix()); ok {
				data := c.Data
				if len(data) == 0 {
					data = jsonx.Raw("null")
				}
				entries = append(entries, stateEntry{kind, data})
			}
		}
	}
	return entries, nil
}

// append adds an entry to the session's log.
func (e *extension) append(entry *stateEntry) error {
	switch {
	case !validName(entry.Type):
		return fmt.Errorf("the type must have 1 to %d letters, digits, - and _, the first a letter", maxName)
	case len(entry.Data) > maxState:
		return fmt.Errorf("an entry may have at most %s", toolkit.Size(maxState))
	}
	e.mu.Lock()
	counted := e.counted
	e.mu.Unlock()
	if !counted {
		entries, err := e.state()
		if err != nil {
			return err
		}
		e.mu.Lock()
		if !e.counted {
			e.counted, e.entries = true, len(entries)
			for i := range entries {
				e.kept += len(entries[i].Data)
			}
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	full := e.entries >= maxEntries || e.kept+len(entry.Data) > maxStates
	if !full {
		e.entries++
		e.kept += len(entry.Data)
	}
	e.mu.Unlock()
	if full {
		return fmt.Errorf("a session keeps at most %d entries of an extension, with %s together", maxEntries, toolkit.Size(maxStates))
	}
	return agent.AppendCustom(e.m.opts.Session(), e.prefix()+entry.Type, entry.Data)
}

// words bounds a text for the user.
func words(s string) string {
	return text.TruncateBytes(strings.TrimSpace(toolkit.PlainOutput(strings.ToValidUTF8(s, "\uFFFD"))), maxWords)
}
