package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// errorRule is the kind of an answer that was interrupted because it matched a rule. The turn continues and asks the
// model again.
const errorRule providers.ErrorKind = "rule"

// RuleSettings say what happens when a model runs into a rule with a condition while it speaks.
type RuleSettings struct {
	// Stream has answers looked at while they come.
	Stream bool
	// Discard leaves out of the conversation what the model has said of an answer that was broken off. Without it the model sees
	// it, as the user did.
	Discard bool
	// Repeat says whether a rule that the model was given counts again in the same conversation: with [RepeatAfterGap] behind
	// RepeatGap turns, at least one.
	Repeat    RepeatMode
	RepeatGap int
}

// RepeatMode says whether a model can run into the same rule twice.
type RepeatMode string

// The modes. The empty one is [RepeatOnce].
const (
	RepeatOnce     RepeatMode = "once"
	RepeatAfterGap RepeatMode = "after-gap"
)

// RepeatModes lists all modes.
func RepeatModes() []RepeatMode { return []RepeatMode{RepeatOnce, RepeatAfterGap} }

// streamRules holds a turn's state of stream rules.
type streamRules struct {
	watch *rules.Watch
	// broke has the rules that interrupted the current answer, later those that the model is given after it.
	broke, later []rules.Match
}

// watchRules begins to check an answer. It does not interrupt the last answer that a turn may request.
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

// brokenOff is the error of an interrupted answer.
func brokenOff(info *providers.ModelInfo) error {
	return &providers.Error{Kind: errorRule, Provider: info.Provider, Model: info.ID, Message: "the model ran into a rule of the workspace"}
}

// interrupted prepares another request with the rules that the answer matched; msg is the part of the answer that
// arrived.
func (t *requester) interrupted(msg *providers.Message) (again bool, err error) {
	notice := "The answer was broken off, because it ran into " + ruleNames(t.rules.broke) + "; asking the model again."
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
	return true, t.inject(t.rules.broke, "system-interrupt", "Your answer was broken off, because it ran into this rule. Nothing of what you were about to call ran. Go on in keeping with the rule.")
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

// inject gives the model rules as a message of the program's.
func (t *requester) inject(matches []rules.Match, tag, why string) error {
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

// giveMatches notes that the model gets rules, and returns their text.
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

const whyLater = "What you have said or called runs into this rule. Keep to it from here on, and put right what does not."

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
