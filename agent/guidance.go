package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/attempts"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Guidance holds the rules and skills of users and workspaces at one time. The zero value has none.
type Guidance struct {
	Rules  *rules.Book
	Skills []Skill
	// ReadSkill returns a file of a skill: its text for an empty path, or else the file at the slash-separated path
	// below the skill's directory. It is required if there are skills.
	ReadSkill func(name, path string) ([]byte, error)
	// UserDir and Home are the agent directory and the user's home directory, from which instructions are read; empty for none.
	UserDir, Home string
	// CodexHome is like that of [instructions.Options].
	CodexHome string
}

// Skill is a text that explains how to perform a task. A model reads it when needed.
type Skill struct{ Name, Description string }

const (
	skillScheme = "skill://"
	ruleScheme  = "rule://"
)

// guidance returns the current rules and skills.
func (s *Session) guidance(ctx context.Context) *Guidance {
	if s.opts.Guidance == nil {
		return new(Guidance)
	}
	return s.opts.Guidance(ctx)
}

const (
	// maxRulesText is the size limit of the rules in every system prompt, maxListedText that of each list, in bytes.
	maxRulesText  = 32 << 10
	maxListedText = 16 << 10
)

// prompt returns the section of the system prompt with the rules and skills, without rules that are among the instructions. left has the
// rules for every prompt that exceed the limit; the model only receives their names.
func (g *Guidance) prompt(told *instructions.Set) (section string, left []userfiles.Problem) {
	var always, listed strings.Builder
	for _, r := range g.Rules.All() {
		switch {
		case r.Trigger != nil, r.Manual, r.Always && told.Has(r.Path, r.Text):
		case r.Always && always.Len()+len(r.Text) <= maxRulesText:
			always.WriteString("\n" + ruleBlock(r) + "\n")
		default:
			about := ""
			if len(r.Globs) > 0 {
				about = " (files: " + strings.Join(r.Globs, ", ") + ")"
			} else if r.Always {
				about = " (for all work)"
			}
			if r.Always {
				left = append(left, userfiles.Problem{Path: r.Path, Reason: fmt.Sprintf("the rules for every prompt exceed %d KiB; the prompt has only the name of this one", maxRulesText>>10)})
			}
			listLine(&listed, r.Name+about, r.Description)
		}
	}
	var b strings.Builder
	if always.Len() > 0 {
		b.WriteString("\n# Rules\n\nFollow these rules from the user and the workspace.\n" + always.String())
	}
	if listed.Len() > 0 {
		b.WriteString("\n# Rules for some work\n\nBefore work that one of these rules covers, read the rule with the read tool at rule://NAME.\n\n" + listed.String())
	}
	var skills strings.Builder
	for _, skill := range g.Skills {
		listLine(&skills, skill.Name, skill.Description)
	}
	if skills.Len() > 0 {
		b.WriteString("\n# Skills\n\nThese describe how to do certain work here. Before such work, read the skill with the read tool at skill://NAME, and the files that it names at skill://NAME/PATH.\n\n" + skills.String())
	}
	return b.String(), left
}

// listLine adds a line to a list, as long as there is room.
func listLine(b *strings.Builder, name, description string) {
	description = text.Truncate(description, 300)
	line := "- " + strings.Join(strings.Fields(name), " ")
	if description != "" {
		line += ": " + strings.Join(strings.Fields(description), " ")
	}
	if b.Len()+len(line) < maxListedText {
		b.WriteString(line + "\n")
	}
}

// ruleBlock returns a rule in the form that a model receives.
func ruleBlock(r *rules.Rule) string {
	return "<rule name=" + quoted(r.Name) + " path=" + quoted(r.Path) + ">\n" + strings.ReplaceAll(r.Text, "</rule>", "<\\/rule>") + "\n</rule>"
}

// quoted returns the value of an attribute in quotes.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, "'", "\n", " ", "<", "(", ">", ")").Replace(s) + `"`
}

// errUnknownDocument is wrapped by the error for an address without a rule or a skill.
var errUnknownDocument = errors.New("not found")

// reportScheme begins the address of a helper's report.
const reportScheme = "agent://"

// IsDocument reports whether a path is the address of a rule, a skill, a helper's report or an attempt, for [Call.Document].
func IsDocument(path string) bool {
	return slices.ContainsFunc([]string{skillScheme, ruleScheme, reportScheme, attempts.Scheme}, func(scheme string) bool { return strings.HasPrefix(path, scheme) })
}

// document implements [Call.Document].
func (s *Session) document(ctx context.Context, address string) ([]byte, error) {
	if name, ok := strings.CutPrefix(address, reportScheme); ok {
		return s.tree.roster.Report(ctx, name)
	}
	if number, ok := strings.CutPrefix(address, attempts.Scheme); ok {
		a, err := Value(s.opts.Values.Root(), func() *attempts.Set { return new(attempts.Set) }).Find(number)
		if err != nil {
			return nil, err
		}
		return []byte(a.Markdown()), nil
	}
	g := s.guidance(ctx)
	if name, ok := strings.CutPrefix(address, ruleScheme); ok {
		name = strings.TrimSuffix(unescaped(name), "/")
		if r := g.Rules.Find(name); r != nil {
			return []byte(r.Text), nil
		}
		return nil, fmt.Errorf("%w: rule://%s; the rules are: %s", errUnknownDocument, name, orNone(g.Rules.Names()))
	}
	rest, ok := strings.CutPrefix(address, skillScheme)
	if !ok {
		return nil, fmt.Errorf("%w: %s; the addresses begin with rule:// or skill://", errUnknownDocument, address)
	}
	// The name comes first, in the form that the prompt shows. It must not be a path.
	name, path, _ := strings.Cut(rest, "/")
	name, path = unescaped(name), unescaped(path)
	var known []string
	for _, skill := range g.Skills {
		if skill.Name == name {
			return g.ReadSkill(name, path)
		}
		known = append(known, skill.Name)
	}
	return nil, fmt.Errorf("%w: skill://%s; the skills are: %s", errUnknownDocument, name, orNone(known))
}

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// customRule is the type of the log entry that records that a model received a rule.
const customRule = "gjc.rule"

// givenRule is the data of a customRule entry.
type givenRule struct {
	Name string `json:"name"`
	// Stream reports whether the model broke the rule in an answer.
	Stream bool `json:"stream,omitzero"`
}

// givenRules records the rules that the model of a branch has received.
type givenRules struct {
	// branch is the state's branch number when the rules were collected.
	branch int
	// byPath holds the rules for files that the model still sees; stream holds the turn in which each other rule was given.
	byPath map[string]bool
	stream map[string]int
	turns  int
}

// given returns the rules that the model was given in the current branch.
func (st *state) given() *givenRules {
	s := st.session
	if st.rules != nil && st.rules.branch == st.branch {
		return st.rules
	}
	g := &givenRules{branch: st.branch, byPath: make(map[string]bool), stream: make(map[string]int)}
	branch, err := s.opts.Log.Branch()
	if err != nil {
		return g // the next append reports the error too
	}
	for _, e := range branch {
		switch e := e.(type) {
		case sessions.Compaction:
			clear(g.byPath) // a summary does not include the rules
		case sessions.MessageEntry:
			if e.Message.Role == providers.RoleUser {
				g.turns++
			}
		case sessions.RuleInjection:
			for _, name := range e.InjectedRules {
				g.stream[name] = g.turns
			}
		case sessions.Custom:
			var given givenRule
			switch {
			case e.CustomType == customClear:
				clear(g.byPath)
			case e.CustomType != customRule || jsonx.Unmarshal(e.Data, &given) != nil:
			case given.Stream:
				g.stream[given.Name] = g.turns
			default:
				g.byPath[given.Name] = true
			}
		}
	}
	st.rules = g
	return g
}

// give records that the model receives a rule.
func (st *state) give(name string, stream bool) error {
	s := st.session
	raw, err := jsonx.Marshal(givenRule{name, stream})
	if err != nil {
		return err
	}
	g := st.given()
	if _, err := s.opts.Log.Append(sessions.Custom{CustomType: customRule, Data: raw}); err != nil {
		return st.unsaved(err)
	}
	if stream {
		g.stream[name] = g.turns
	} else {
		g.byPath[name] = true
	}
	return nil
}

// addRules adds the rules about the files that calls have touched to the conversation, and the instructions of their directories, each
// once.
func (t *RunningTurn) addRules(ctx context.Context, runs []*toolRun) error {
	s := t.session
	var g *Guidance
	roots := append([]string{s.opts.Workspace.Cwd}, s.opts.Workspace.Additional...)
	for _, r := range runs {
		if r.result == nil || r.result.IsError {
			continue
		}
		for _, path := range r.touched() {
			if g == nil {
				g = s.guidance(ctx)
			}
			about := append(nestedRules(ctx, s, g, path), g.Rules.About(path, roots)...)
			if len(about) == 0 {
				continue
			}
			if err := t.do(func(st *state) error { return st.giveAbout(about, path) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// nestedRules returns the instructions of the directories between a root and a file as rules.
func nestedRules(ctx context.Context, s *Session, g *Guidance, path string) []*rules.Rule {
	opts := prompter{s}.promptFiles(g)
	items := instructions.Nested(ctx, opts, path)
	if len(items) == 0 {
		return nil
	}
	told := instructions.Load(ctx, opts)
	var all []*rules.Rule
	for _, it := range items {
		if !told.Has(it.Path, it.Text) {
			all = append(all, &rules.Rule{Name: s.opts.Workspace.Display(it.Path), Path: it.Path, Text: it.Text})
		}
	}
	return all
}

// giveAbout adds rules about a file to the conversation, unless the model still has them.
func (st *state) giveAbout(about []*rules.Rule, path string) error {
	s := st.session
	var blocks []string
	for _, rule := range about {
		if st.given().byPath[rule.Name] {
			continue
		}
		if err := st.give(rule.Name, false); err != nil {
			return err
		}
		blocks = append(blocks, "This workspace rule applies to "+s.opts.Workspace.Display(path)+":\n"+ruleBlock(rule))
	}
	if len(blocks) == 0 {
		return nil
	}
	return st.remind("rule", strings.Join(blocks, "\n\n"))
}

// touched returns the files that a call has read or changed.
func (r *toolRun) touched() []string {
	if r.plan == nil || r.tool == nil {
		return nil
	}
	switch kind := r.details.Kind; kind {
	case KindRead, KindEdit, KindMove:
	default:
		return nil
	}
	var paths []string
	for i := range r.plan.Effects {
		e := &r.plan.Effects[i]
		if e.Action == approval.ActionRead || e.Action == approval.ActionEdit {
			paths = append(paths, e.Path)
			paths = append(paths, e.Paths...)
		}
	}
	for _, l := range r.plan.Locations {
		paths = append(paths, l.Path)
	}
	return paths
}

// errorRule is the kind of an answer that was interrupted because it matched a rule. The turn continues and asks the
// model again.
const errorRule providers.ErrorKind = "rule"

// RuleSettings configures how answers are checked against rules that have a condition.
type RuleSettings struct {
	// Stream enables checking answers while they arrive.
	Stream bool
	// Discard removes the received part of an interrupted answer from the conversation. Without it the model sees that part, as the
	// user did.
	Discard bool
	// Repeat selects whether a rule that the model has received applies again in the same conversation. With [RepeatAfterGap] it
	// applies again after RepeatGap turns, at least one.
	Repeat    RepeatMode
	RepeatGap int
}

// RepeatMode determines whether the same rule can apply to a model twice.
type RepeatMode string

// The repeat modes. The empty mode means [RepeatOnce].
const (
	RepeatOnce     RepeatMode = "once"
	RepeatAfterGap RepeatMode = "after-gap"
)

// RepeatModes lists all modes.
func RepeatModes() []RepeatMode { return []RepeatMode{RepeatOnce, RepeatAfterGap} }

// streamRules holds a turn's state of stream rules.
type streamRules struct {
	watch *rules.Watch
	// broke holds the rules that interrupted the current answer; later holds those that the model receives after it.
	broke, later []rules.Match
}

// watchRules starts checking an answer. It does not check the last answer that a turn may request.
func (t *requester) watchRules(ctx context.Context) {
	t.rules = streamRules{}
	s := t.session
	if !s.settings.Rules.Stream || t.last {
		return
	}
	book := s.guidance(ctx).Rules
	if !slices.ContainsFunc(book.All(), func(r *rules.Rule) bool { return r.Trigger != nil }) {
		return
	}
	gap := 0
	if s.settings.Rules.Repeat == RepeatAfterGap {
		gap = max(s.settings.Rules.RepeatGap, 1)
	}
	_ = t.do(func(st *state) error { // a turn that is over asks no model
		g := st.given()
		t.rules.watch = rules.NewWatch(book, func(r *rules.Rule) bool {
			at, was := g.stream[r.Name]
			return !was || gap > 0 && g.turns-at >= gap
		})
		return nil
	})
}

// look inspects an event of the answer. It reports whether to interrupt the answer.
func (r *streamRules) look(ev providers.Event) bool {
	if r.watch == nil {
		return false
	}
	var found []rules.Match
	switch ev := ev.(type) {
	case providers.TextDelta:
		found = r.watch.Prose(rules.Text, ev.Text)
	case providers.ThinkingDelta:
		found = r.watch.Prose(rules.Thinking, ev.Text)
	case providers.ToolCallStart:
		r.watch.Begin(ev.ID, ev.Name)
	case providers.ToolCallDelta:
		found = r.watch.Input(ev.ID, ev.Input)
	case providers.Done:
		found = r.watch.End()
	default:
	}
	for _, m := range found {
		if m.Trigger.Interrupts(m.From) {
			r.broke = append(r.broke, m)
		} else {
			r.later = append(r.later, m)
		}
	}
	return len(r.broke) > 0
}

// brokenOff returns the error for an interrupted answer.
func brokenOff(info *providers.ModelInfo) error {
	return &providers.Error{Kind: errorRule, Provider: info.Provider, Model: info.ID, Message: "the model violated a workspace rule"}
}

// interrupted prepares another request with the rules that the answer matched; msg is the part of the answer that
// arrived.
func (t *requester) interrupted(msg *providers.Message) (again bool, err error) {
	notice := "The answer was interrupted because it violates " + ruleNames(t.rules.broke) + "; asking the model again."
	if msg != nil {
		msg.Parts = withoutCalls(msg.Parts)
		if t.session.settings.Rules.Discard || len(msg.Parts) == 0 {
			t.drop(t.model, msg)
		} else {
			msg.StopReason, msg.Error = providers.StopError, notice
			if err := t.record(msg); err != nil {
				return false, err
			}
			t.unanswered = nil
		}
	}
	t.emit(Noticed{Severity: SeverityInfo, Title: t.session.opts.Secrets.Hide(notice)})
	return true, t.inject(t.rules.broke, "system-interrupt", "Your answer was interrupted because it violates this rule. None of the calls that you were about to make ran. Continue, and follow the rule.")
}

func ruleNames(matches []rules.Match) string {
	var names []string
	for _, m := range matches {
		names = append(names, m.Name)
	}
	if len(names) == 1 {
		return "the rule " + names[0]
	}
	return "the rules " + strings.Join(names, ", ")
}

// inject adds rules to the conversation, as a message from gjc.
func (t *requester) inject(matches []rules.Match, tag, why string) error {
	t.hooks.observe(hooks.Rule, func(in *hooks.Input) {
		for _, m := range matches {
			in.Rules = append(in.Rules, m.Name)
		}
	})
	return t.do(func(st *state) error {
		text, err := st.giveMatches(matches, tag, why)
		if err != nil {
			return err
		}
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "ttsr-injection", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: text}},
		})
	})
}

// giveMatches records that the model receives rules, and returns their text.
func (st *state) giveMatches(matches []rules.Match, tag, why string) (string, error) {
	var texts []string
	for _, m := range matches {
		if err := st.give(m.Name, true); err != nil {
			return "", err
		}
		text := strings.ReplaceAll(m.Text, "</"+tag+">", "<\\/"+tag+">")
		texts = append(texts, "<"+tag+` reason="rule_violation" rule=`+quoted(m.Name)+" path="+quoted(m.Path)+">\n"+why+"\n\n"+text+"\n</"+tag+">")
	}
	return strings.Join(texts, "\n\n"), nil
}

const whyLater = "Your answer or one of your calls violates this rule. Follow it from now on, and fix what violates it."

// addMatches adds the rules that did not interrupt the answer to the conversation. It reports whether there were any, so that
// the model is asked again.
func (t *requester) addMatches() (again bool, err error) {
	later := t.rules.later
	t.rules.later = nil
	if len(later) == 0 || t.ctx.Err() != nil {
		return false, nil
	}
	return true, t.inject(later, "system-reminder", whyLater)
}
