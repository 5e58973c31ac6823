// Package roster names the helper agents of a session and keeps their conversations and reports, in the session's store or in memory.
package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/memorylog"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// maxReport bounds a stored report, in bytes.
const maxReport = 500_000

// customHelper is the type of the first entry of a stored conversation. Its data is an [About].
const customHelper = "gjc.helper"

// About describes a helper.
type About struct {
	// Kind names its kind.
	Kind string `json:"kind"`
	// Title describes its first task.
	Title string `json:"title,omitzero"`
	// Isolated reports that it works in a worktree.
	Isolated bool `json:"isolated,omitzero"`
}

// Roster holds the helpers of a session and of their helpers. It is safe for concurrent use.
type Roster struct {
	stored *sessions.Children // nil for conversations in memory

	mu      sync.Mutex
	read    bool               // the stored names are in members
	members map[string]*Member // by name in lower case, because file systems may ignore the case
}

// New returns the roster of a session. Its helpers' conversations are kept in memory if stored is nil. New does no I/O.
func New(stored *sessions.Children) *Roster {
	return &Roster{stored: stored, members: make(map[string]*Member)}
}

// Member is a helper at work.
type Member struct {
	// Name is unique in the session: "Scout", or "Scout.Reader" for a helper of the helper Scout.
	Name string
	// ID is the session ID.
	ID string
	About
	// Stored is the open conversation, or nil if it is in memory; Memory is that in memory.
	Stored *sessions.Log
	Memory *memorylog.Log

	roster *Roster
	// The mutex of the roster guards the fields below.
	works   bool
	created time.Time
	parent  string
	report  *string
}

// New adds a helper of the session with the given header, whose parent is the helper above; empty for the session itself. wanted is
// its preferred name, without that of its parent; empty for any name. The caller must call [Member.End].
func (r *Roster) New(ctx context.Context, above, wanted string, about *About, h sessions.Header) (*Member, error) {
	m := &Member{ID: h.ID, About: *about, roster: r, works: true, created: h.Time, parent: h.ParentSession}
	if err := r.add(m, above, wanted); err != nil {
		return nil, err
	}
	if r.stored == nil {
		m.Memory = memorylog.New()
		return m, nil
	}
	h.Title, h.TitleSource = about.Title, "auto"
	data, err := jsonx.Marshal(about)
	if err == nil {
		if m.Stored, err = r.stored.Create(ctx, m.Name, h); err == nil {
			if _, err = m.Stored.Append(sessions.Custom{CustomType: customHelper, Data: data}); err != nil {
				_ = m.Stored.Close() // report the first error
			}
		}
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		m.works = false // its name stays in use
		return nil, fmt.Errorf("storing the helper's conversation: %w", err)
	}
	return m, nil
}

// add gives a member a name.
func (r *Roster) add(m *Member, above, wanted string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return err
	}
	if wanted = clean(wanted); wanted == "" {
		wanted = word(len(r.members))
	}
	if above != "" {
		wanted = above + "." + wanted
	}
	m.Name = wanted
	for i := 2; r.members[strings.ToLower(m.Name)] != nil; i++ {
		m.Name = fmt.Sprintf("%s-%d", wanted, i)
	}
	r.members[strings.ToLower(m.Name)] = m
	return nil
}

// load reads the stored names once.
func (r *Roster) load() error {
	if r.read || r.stored == nil {
		return nil
	}
	names, err := r.stored.Names()
	if err != nil {
		return fmt.Errorf("reading the session's helpers: %w", err)
	}
	for _, name := range names {
		if key := strings.ToLower(name); r.members[key] == nil {
			r.members[key] = &Member{Name: name, roster: r}
		}
	}
	r.read = true
	return nil
}

// ErrUnknown is wrapped by the error for a name that no helper has.
var ErrUnknown = errors.New("not found")

// find returns the member with a name.
func (r *Roster) find(name string) (*Member, error) {
	if err := r.load(); err != nil {
		return nil, err
	}
	if m := r.members[strings.ToLower(name)]; m != nil {
		return m, nil
	}
	var known []string
	for _, m := range r.members {
		known = append(known, m.Name)
	}
	slices.Sort(known)
	if len(known) == 0 {
		return nil, fmt.Errorf("%w: no helper %q; this session has started none", ErrUnknown, text.Truncate(name, maxName))
	}
	return nil, fmt.Errorf("%w: no helper %q; the helpers of this session are %s", ErrUnknown, text.Truncate(name, maxName), strings.Join(known, ", "))
}

// Continue returns a helper that has ended, with its open conversation. The caller must call [Member.End].
func (r *Roster) Continue(ctx context.Context, name string) (*Member, error) {
	m, err := r.claim(name)
	if err != nil || r.stored == nil {
		return m, err
	}
	if err = m.open(ctx); err != nil {
		r.mu.Lock()
		m.works = false
		r.mu.Unlock()
		return nil, fmt.Errorf("opening the conversation of the helper %s: %w", m.Name, err)
	}
	return m, nil
}

// claim marks a member as working.
func (r *Roster) claim(name string) (*Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.find(name)
	if err != nil {
		return nil, err
	}
	if m.works {
		return nil, fmt.Errorf("the helper %s is still working; wait for its report", m.Name)
	}
	m.works = true
	return m, nil
}

// open opens the stored conversation.
func (m *Member) open(ctx context.Context) error {
	log, err := m.roster.stored.Open(ctx, m.Name)
	if err != nil {
		return err
	}
	var about About
	entries, err := log.Entries()
	for _, e := range entries {
		if c, ok := e.(sessions.Custom); ok && c.CustomType == customHelper {
			err = jsonx.Unmarshal(c.Data, &about)
			break
		}
	}
	if err != nil {
		_ = log.Close() // report the first error
		return err
	}
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	m.Stored, m.ID, m.About = log, log.ID(), about
	return nil
}

// End records the end of a helper's work and its report, unless that is empty. The caller has closed the conversation.
func (m *Member) End(ctx context.Context, report string) error {
	if len(report) > maxReport {
		report = text.TruncateBytes(report, maxReport)
	}
	r := m.roster
	var err error
	if report != "" && r.stored != nil {
		err = r.stored.PutReport(ctx, m.Name, []byte(report))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.works = false; report != "" {
		m.report = &report
	}
	return err
}

// Report returns the report at the address of a helper: "NAME", "NAME/a/0" or "NAME?q=.a[0]". The latter two select a part of a report
// in JSON.
func (r *Roster) Report(ctx context.Context, address string) ([]byte, error) {
	name, path, err := split(address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	m, err := r.find(name)
	var works bool
	var report []byte
	if err == nil {
		if name, works = m.Name, m.works; m.report != nil {
			report = []byte(*m.report)
		}
	}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if report == nil && r.stored != nil {
		if report, err = r.stored.Report(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	switch {
	case report == nil && works:
		return nil, fmt.Errorf("the helper %s is still working and has no report yet; history://%s has its conversation", name, name)
	case report == nil:
		return nil, fmt.Errorf("the helper %s has no report; history://%s has its conversation", name, name)
	case len(path) == 0:
		return report, nil
	}
	return pick(name, report, path)
}

// Conversation is the conversation of a helper.
type Conversation struct {
	Name, ID, Title, Parent string
	Created                 time.Time
	Branch                  []sessions.Entry
}

// Conversation returns the conversation of a helper, which may be at work.
func (r *Roster) Conversation(ctx context.Context, name string) (*Conversation, error) {
	r.mu.Lock()
	m, err := r.find(name)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	c := &Conversation{Name: m.Name, ID: m.ID, Title: m.Title, Parent: m.parent, Created: m.created}
	r.mu.Unlock()
	if r.stored == nil {
		c.Branch, err = m.Memory.Branch()
		return c, err
	}
	log, err := r.stored.View(ctx, c.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the conversation of the helper %s: %w", c.Name, err)
	}
	h := log.Header()
	c.ID, c.Title, c.Parent, c.Created = h.ID, h.Title, h.ParentSession, h.Time
	c.Branch, err = log.Branch()
	return c, err
}

// Messages returns the conversation for a model.
func (m *Member) Messages() ([]providers.Message, error) {
	if m.Stored != nil {
		return m.Stored.Messages()
	}
	return m.Memory.Messages()
}
