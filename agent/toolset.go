package agent

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// SearchTool is the name of the tool that finds the tools that are held back. Nothing is held back from a model without it.
const SearchTool = "search_tools"

// essentialTools are never held back: the model needs them for most work, or to talk to the user.
var essentialTools = [...]string{
	"read", "write", "edit", "apply_patch", "search", "find", "bash", "job", "todo_write", goal.Tool, "ask", PresentTool, TaskTool,
}

// toolset holds the tools that one request offers to a model.
type toolset struct {
	// active are the tools in the request. The first fixed ones do not depend on what the model has found.
	active []Tool
	fixed  int
	// hidden are the tools that are held back, with those that the model has found. It is nil if none is.
	hidden []Tool
	found  []foundTools
	// catalogue describes hidden to the model.
	catalogue string
	cuts      []discovery.Cut
}

// toolsFor returns the tools for a request. It must not run on the actor.
func toolsFor(s *Session, view *requestState) (*toolset, error) {
	set := new(toolset)
	all := s.offered(&view.model, view.mode)
	finder := find(all, SearchTool)
	all = slices.DeleteFunc(all, func(t Tool) bool { return t.Spec().Name == SearchTool })
	items, room := toolItems(all), roomFor(&view.model)
	held := s.settings.Discovery.Holds(items, room)
	if held == nil || finder == nil {
		keep, cuts := discovery.Fit(items, room)
		set.cuts = cuts
		for i, tool := range all {
			if keep[i] {
				set.active = append(set.active, tool)
			}
		}
		set.fixed = len(set.active)
		return set, nil
	}
	if err := s.do(func(st *state) error {
		set.found = slices.Clone(finds{st}.current().list)
		return nil
	})(); err != nil {
		return nil, err
	}
	for i, tool := range all {
		if held[i] {
			set.hidden = append(set.hidden, tool)
		} else {
			set.active = append(set.active, tool)
		}
	}
	set.active = append(set.active, finder)
	set.fixed = len(set.active)
	set.catalogue = discovery.Catalogue(items, held)
	for _, i := range discovery.Active(items, held, foundNames(set.found), room) {
		set.active = append(set.active, all[i])
	}
	return set, nil
}

func toolItems(tools []Tool) []discovery.Item {
	items := make([]discovery.Item, len(tools))
	for i, tool := range tools {
		spec := tool.Spec()
		items[i] = discovery.Item{
			Name: spec.Name, Origin: spec.Origin, Size: len(spec.Name) + len(spec.Description) + len(spec.Schema),
			Essential: slices.Contains(essentialTools[:], spec.Name),
		}
	}
	return items
}

const (
	// mostTools is the number of tools in a request that OpenAI, Gemini and the servers that imitate them accept.
	mostTools = 128
	// leastRoom and unknownRoom are the bytes of foreign tools for a small window and for one of unknown size.
	leastRoom, unknownRoom = 32 << 10, 256 << 10
)

// roomFor returns the space that a model has for tools: foreign ones get half of its window.
func roomFor(model *providers.ModelInfo) discovery.Room {
	room := discovery.Room{Tools: mostTools, Bytes: unknownRoom}
	if strings.HasPrefix(model.API, "anthropic") || strings.HasPrefix(model.API, "ollama") {
		room.Tools = 0
	}
	if model.ContextWindow > 0 {
		const bytesPerToken = 4
		room.Bytes = max(model.ContextWindow/2*bytesPerToken, leastRoom)
	}
	return room
}

// request adds the tools to a request.
func (set *toolset) request(ctx context.Context, s *Session, req *providers.Request) {
	for _, tool := range set.active {
		spec := tool.Spec()
		description := spec.Description
		switch spec.Name {
		case TaskTool:
			description += prompter{s}.helperList(ctx)
		case SearchTool:
			description += set.catalogue
		}
		req.Tools = append(req.Tools, providers.Tool{Name: spec.Name, Description: description, Schema: spec.Schema})
	}
	if set.hidden == nil {
		return
	}
	req.Search = &providers.ToolSearch{Tool: SearchTool, Found: make(map[string][]string)}
	for _, found := range set.found {
		if found.Call != "" {
			req.Search.Found[found.Call] = append(req.Search.Found[found.Call], found.Tools...)
		}
	}
}

// stable returns the tools whose definitions do not depend on what the model has found, for the system prompt.
func (set *toolset) stable() []Tool { return set.active[:set.fixed] }

// notice returns what the user must know about tools that are left out; empty for nothing.
func (set *toolset) notice() Noticed {
	if len(set.cuts) == 0 {
		return Noticed{}
	}
	lines := make([]string, 0, len(set.cuts))
	for _, cut := range set.cuts {
		lines = append(lines, cut.Server+": "+strconv.Itoa(cut.Tools)+" tools")
	}
	return Noticed{
		Severity: SeverityWarning,
		Title:    "The model cannot take all tools, so some are left out. With tools.discovery: auto in config.yml it can search for them.",
		Detail:   strings.Join(lines, "\n"),
	}
}

// customTools is the type of the log entry that records which tools the model has found. Its data is a [foundTools].
const customTools = "gjc.tools"

// foundTools are tools that the model has found.
type foundTools struct {
	// Call is the ID of the call that found them; empty if the model called a tool without a search.
	Call  string   `json:"call,omitzero"`
	Tools []string `json:"tools"`
}

func foundNames(list []foundTools) []string {
	var all []string
	for _, found := range list {
		all = append(all, found.Tools...)
	}
	return all
}

// discovered records what the model of a branch has found.
type discovered struct {
	// loaded reports that list is that of the branch with this number.
	loaded bool
	branch int
	list   []foundTools
	// cuts is the detail of the last notice about tools that were left out.
	cuts string
}

// finds reads and changes what the model of a session has found. The actor uses it.
type finds struct{ *state }

// current returns what the model has found in the current branch.
func (st finds) current() *discovered {
	d := &st.discovered
	if d.loaded && d.branch == st.branch {
		return d
	}
	d.loaded, d.branch, d.list = true, st.branch, nil
	for e, err := range st.session.opts.Log.Walk() {
		if err != nil {
			d.loaded = false // the next append reports the error too
			break
		}
		var found foundTools
		if e, ok := e.(sessions.Custom); ok && e.CustomType == customTools && jsonx.Unmarshal(e.Data, &found) == nil {
			d.list = append(d.list, found)
		}
	}
	return d
}

// add records that the model has found tools.
func (st finds) add(found foundTools) error {
	d := st.current()
	raw, err := jsonx.Marshal(found)
	if err != nil {
		return err
	}
	if _, err := st.session.opts.Log.Append(sessions.Custom{CustomType: customTools, Data: raw}); err != nil {
		return st.unsaved(err)
	}
	d.list = append(d.list, found)
	return nil
}

// noticeCuts notifies the user of tools that are left out, once until they change.
func (st finds) noticeCuts(set *toolset) {
	notice := set.notice()
	if notice.Detail != st.discovered.cuts && notice.Detail != "" {
		st.emit(notice)
	}
	st.discovered.cuts = notice.Detail
}

// callable returns the tool with that name. A tool that is held back joins the next requests, because the model knows it.
func (t *RunningTurn) callable(name string) (Tool, error) {
	if tool := find(t.tools.active, name); tool != nil {
		return tool, nil
	}
	tool := find(t.tools.hidden, name)
	if tool == nil {
		return nil, nil //nolint:nilnil // the call fails
	}
	return tool, t.do(func(st *state) error {
		if slices.Contains(foundNames(finds{st}.current().list), name) {
			return nil // by a call of the same answer
		}
		return finds{st}.add(foundTools{Tools: withCompanions([]string{name}, t.tools.hidden)})
	})
}

// unknownTool returns the error for a call of a tool that does not exist.
func (t *RunningTurn) unknownTool(name string) error {
	more := ""
	if n := len(t.tools.hidden); n > 0 {
		more = fmt.Sprintf("; %s finds %s more", SearchTool, text.Count(n, "tool"))
	}
	return fmt.Errorf("%w: unknown tool %q; the tools are %s%s", ErrBadInput, name, strings.Join(names(t.tools.active), ", "), more)
}

// withCompanions adds the hidden tools that are needed with those of the names.
func withCompanions(names []string, hidden []Tool) []string {
	for i := 0; i < len(names); i++ {
		for _, name := range companions[names[i]] {
			if !slices.Contains(names, name) && find(hidden, name) != nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// Discovered is the result of a search for tools.
type Discovered struct {
	// Found are the tools that join the next request, best first. Known are matches that are in the request already.
	Found, Known []DiscoveredTool
	// Matches is the number of other tools that match, Found included, and Total the number of tools that are held back.
	Matches, Total int
}

// DiscoveredTool is a tool that a search has found.
type DiscoveredTool struct{ Name, Description string }

// search returns the function for [Call.Search]; nil if no tool is held back.
func (r *toolRun) search() func(query string, limit int) (Discovered, error) {
	set := r.turn.tools
	if set.hidden == nil {
		return nil
	}
	return func(query string, limit int) (Discovered, error) {
		x := Value(r.turn.session.opts.Values, func() *toolIndex { return new(toolIndex) }).of(set.hidden)
		active := make(map[string]bool)
		for _, tool := range set.active[set.fixed:] {
			active[tool.Spec().Name] = true
		}
		d := Discovered{Total: x.Len()}
		best, matches, err := x.Search(query, limit, func(doc int) bool { return active[x.Doc(doc).Name] })
		if err != nil {
			return d, err
		}
		known, _, err := x.Search(query, limit, func(doc int) bool { return !active[x.Doc(doc).Name] })
		if err != nil {
			return d, err
		}
		d.Found, d.Known, d.Matches = describeMatches(x, best), describeMatches(x, known), matches
		if len(d.Found) == 0 {
			return d, nil
		}
		names := make([]string, 0, len(d.Found))
		for _, tool := range d.Found {
			names = append(names, tool.Name)
		}
		return d, r.turn.do(func(st *state) error {
			return finds{st}.add(foundTools{Call: r.call.ID, Tools: withCompanions(names, set.hidden)})
		})
	}
}

func describeMatches(x *discovery.Index, matches []discovery.Match) []DiscoveredTool {
	tools := make([]DiscoveredTool, 0, len(matches))
	for _, m := range matches {
		doc := x.Doc(m.Doc)
		tools = append(tools, DiscoveredTool{doc.Name, doc.Summary})
	}
	return tools
}

// toolIndex caches the index of the tools that are held back.
type toolIndex struct {
	mu    sync.Mutex // guards the fields below
	seed  maphash.Seed
	sum   uint64 // of the tools in index
	index *discovery.Index
}

// of returns the index of tools. It makes a new one only if they have changed.
func (c *toolIndex) of(tools []Tool) *discovery.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index == nil {
		c.seed = maphash.MakeSeed()
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, tool := range tools {
		spec := tool.Spec()
		for _, part := range [...]string{spec.Name, spec.Origin.Server, spec.Origin.Remote, spec.Origin.Title, spec.Description} {
			_, _ = h.WriteString(part)
			_ = h.WriteByte(0)
		}
		_, _ = h.Write(spec.Schema)
	}
	if sum := h.Sum64(); c.index == nil || c.sum != sum {
		docs := make([]discovery.Document, 0, len(tools))
		for _, tool := range tools {
			spec := tool.Spec()
			docs = append(docs, discovery.Document{
				Name: spec.Name, Origin: spec.Origin, Summary: discovery.Summary(spec.Description), Members: schemaMembers(spec.Schema),
			})
		}
		c.sum, c.index = sum, discovery.NewIndex(docs)
	}
	return c.index
}

// maxIndexedMembers bounds the members of an input that are indexed.
const maxIndexedMembers = 256

// schemaMembers returns the names of the members of an input.
func schemaMembers(schema jsonx.Raw) []string {
	var names []string
	jsonx.EachMember(jsonx.Lookup(schema, "properties"), func(name []byte, _ jsonx.Raw) bool {
		names = append(names, text.TruncateBytes(string(name), maxMemberName))
		return len(names) < maxIndexedMembers
	})
	return names
}

// maxMemberName bounds the indexed part of such a name, in bytes.
const maxMemberName = 128

// Preview is work that a tool has shown but not done. A call of another tool applies or discards it.
type Preview struct {
	// Tool is the name of the tool that applies or discards the work.
	Tool string
	// Title describes the work to the user.
	Title string
	// Reminder explains to the model that the work is pending, and how to call Tool.
	Reminder string
}

// A previewHolder is one of a session's [Values] that may hold a pending preview. Preview returns nil for none, and the
// same pointer for the same preview. It must not block.
type previewHolder interface{ Preview() *Preview }

// PreviewOf returns the pending preview of the newest value that holds one; nil for none.
func PreviewOf(v *Values) *Preview {
	for _, value := range slices.Backward(v.all()) {
		if h, ok := value.(previewHolder); ok {
			if p := h.Preview(); p != nil {
				return p
			}
		}
	}
	return nil
}

// maxPreviewReminders bounds how often the model is asked again because of the same preview.
const maxPreviewReminders = 2

// previewState holds the session's record of its pending preview.
type previewState struct {
	pending *Preview
	// free reports whether requests no longer force the call: a model has answered a request that forced it, or the turn that
	// created the preview is over.
	free bool
	// reminders is the number of reminders that the model has received.
	reminders int
	// noticed reports whether the user was notified; left reports whether the next turn begins with a reminder.
	noticed, left bool
}

// previews is the part of the actor that handles previews.
type previews struct{ *state }

// pendingPreview returns the pending preview. If it differs from that of the last call, st.preview is reset.
func (st previews) pendingPreview() *Preview {
	s := st.session
	p := PreviewOf(s.opts.Values)
	if p != st.preview.pending {
		st.preview = previewState{pending: p}
	}
	return p
}

// forcedTool returns the name of the tool that the next answer must call; empty for none.
func (st previews) forcedTool(tools []Tool) string {
	p := st.pendingPreview()
	if p == nil || st.preview.free || find(tools, p.Tool) == nil {
		return ""
	}
	return p.Tool
}

// remindLeft reminds the model of a preview that an earlier turn left pending.
func (st previews) remindLeft() error {
	p := st.pendingPreview()
	if p == nil || !st.preview.left {
		return nil
	}
	st.preview.left = false
	return st.remindPreview(p)
}

// remindPreview adds a reminder of p to the conversation.
func (st previews) remindPreview(p *Preview) error {
	s := st.session
	st.preview.reminders++
	return st.remind(p.Tool+"-reminder", s.opts.Secrets.Hide(p.Reminder))
}

// checkPreview reminds the model of a preview that was pending before its answer and still is, unless one of the answer's calls
// tried to apply or discard it. It reports whether it added a reminder and the model must be asked again.
func (t *RunningTurn) checkPreview(calls []providers.ToolCall) (again bool, err error) {
	if t.ctx.Err() != nil {
		return false, nil
	}
	err = t.do(func(st *state) error {
		before := st.preview.pending
		p := previews{st}.pendingPreview()
		if p == nil || p != before {
			return nil
		}
		st.preview.free = true
		tried := slices.ContainsFunc(calls, func(c providers.ToolCall) bool { return c.Name == p.Tool })
		if tried || t.last || st.turn.ending || find(t.tools.active, p.Tool) == nil || st.preview.reminders >= maxPreviewReminders {
			return nil
		}
		again = true
		return previews{st}.remindPreview(p)
	})
	return again && err == nil, err
}

// leavePreview notifies the user of a preview that is pending at the end of a turn, once. The preview stays pending, and the
// next turn begins with a reminder.
func (st previews) leavePreview() {
	s := st.session
	p := st.pendingPreview()
	if p == nil || st.preview.noticed {
		return
	}
	st.preview.free, st.preview.noticed, st.preview.left = true, true, true
	st.emit(Noticed{
		Severity: SeverityWarning, Title: s.opts.Secrets.Hide("Neither applied nor discarded: " + p.Title),
		Detail: "Nothing was changed. Say in the next prompt whether to apply or to discard it.",
	})
}
