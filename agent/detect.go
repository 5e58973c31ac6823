package agent

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Faults of models that no provider reports as an error.
const (
	// ErrorEmptyResponse: the model answered nothing, again and again.
	ErrorEmptyResponse providers.ErrorKind = "empty_response"
	// ErrorRepetition: the model said the same over and over, twice.
	ErrorRepetition providers.ErrorKind = "repetition"
	// ErrorProtocolLeak: the model mixed parts of its provider's protocol into its answers, again and again.
	ErrorProtocolLeak providers.ErrorKind = "protocol_leak"
)

// Limits of the requests for another answer in one turn.
const (
	mostEmpty   = 2
	mostRepeats = 1
	mostLeaks   = 2
)

// odd counts the faulty answers of a turn.
type odd struct {
	empty, repeats, leaks int
	// rejected are the calls of the current answer that must not run.
	rejected map[string]bool
}

const (
	nudgeEmpty   = "Your last answer was empty. Go on with the work: call a tool, or say in a few words what came of it."
	nudgeRepeats = "Your last answer said the same thing over and over and was cut off. Go on without repeating yourself; if you write something long and regular, let a command make it."
	nudgeLeak    = "The end of your last answer was not meant for the user: it was part of how calls are passed on inside. It was cut off. Go on from there; to call a tool, call it."
	whyLeak      = "The call did not run: its arguments had parts in them of how calls are passed on inside, with text that does not belong there. Nothing was changed. Send the call again, with the arguments alone."
)

// checked inspects the result of a request; err is set if the request failed. It reports whether to ask the model
// again, or else returns the error that ends the turn. It may replace msg.
func (t *requester) checked(msg *providers.Message, err error) (again bool, _ error) {
	t.odd.rejected = nil
	if len(t.rules.broke) > 0 && t.ctx.Err() == nil {
		return t.interrupted(msg)
	}
	if e, ok := repetition(err); ok {
		if t.odd.repeats++; t.odd.repeats > mostRepeats || t.last {
			return false, e
		}
		return t.askAgain(msg, "The model repeated itself, so its answer was cut off; asking it again.", nudgeRepeats)
	}
	if err != nil {
		return false, err
	}
	fail := func(kind providers.ErrorKind, message string) error {
		return &providers.Error{Kind: kind, Provider: t.model.Provider, Model: t.model.ID, Message: message}
	}
	if t.cleanse(msg) {
		switch t.odd.leaks++; {
		case t.odd.leaks > mostLeaks:
			return false, fail(ErrorProtocolLeak, "the model keeps mixing parts of its protocol into its answers")
		case len(msg.ToolCalls()) > 0:
			return false, nil // the results say what was wrong
		case t.last:
			return false, nil
		}
		return t.askAgain(msg, "The model's answer had parts of its protocol in it, which were cut off; asking it again.", nudgeLeak)
	}
	if !empty(msg) {
		// A long turn may have some faulty answers, far apart; MaxRequests bounds it.
		t.odd = odd{}
		return false, nil
	}
	if t.odd.empty++; t.odd.empty > mostEmpty || t.last {
		msg.Parts = nil
		return false, fail(ErrorEmptyResponse, "the model answered nothing")
	}
	t.drop(t.model, msg)
	nudge := ""
	if t.odd.empty == mostEmpty {
		nudge = nudgeEmpty
	}
	return t.askAgain(nil, "The model answered nothing; asking it again.", nudge)
}

// askAgain records the good part of an answer, notifies the user, and explains to the model why it is asked again.
func (t *requester) askAgain(msg *providers.Message, notice, nudge string) (bool, error) {
	if msg != nil {
		msg.Parts = withoutCalls(msg.Parts)
		if len(msg.Parts) > 0 {
			if msg.StopReason == "" {
				msg.StopReason, msg.Error = providers.StopError, notice
			}
			if err := t.record(msg); err != nil {
				return false, err
			}
		} else {
			t.drop(t.model, msg)
		}
	}
	t.emit(Noticed{Severity: SeverityWarning, Title: notice})
	if nudge == "" {
		return true, nil
	}
	err := t.do(func(st *state) error {
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "nudge", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: nudge}},
		})
	})
	return err == nil, err
}

// empty reports whether an answer that ended well says nothing and does nothing. Thinking alone is nothing.
func empty(msg *providers.Message) bool {
	return msg.StopReason == providers.StopEnd && len(msg.ToolCalls()) == 0 && strings.TrimSpace(msg.Text()) == ""
}

func withoutCalls(parts []providers.Part) []providers.Part {
	kept := parts[:0:0]
	for _, p := range parts {
		if _, isCall := p.(providers.ToolCall); !isCall {
			kept = append(kept, p)
		}
	}
	return kept
}

// Limits from which a model's output counts as an endless repetition: the same block again and again, with nothing in
// between. Tables, lists and code are never that regular. A file of zeros can be, so the limit for calls is higher.
const (
	// maxPeriod is the maximum length of a block, in bytes.
	maxPeriod = 2000
	// mostRepeated and mostRepeatedInput are the maximum lengths of repetitions in a text and in a call's input, in
	// bytes. They are many times maxPeriod.
	mostRepeated      = 16 << 10
	mostRepeatedInput = 128 << 10
)

// offlineAPI is the API of the scripted model, whose repetitions are intended.
const offlineAPI = "offline"

// repetitionWatch finds repetitions in a model's stream.
type repetitionWatch struct {
	text, thinking, input streamTail
	call                  string
}

// add processes an event. It returns the length of the repeated block; zero for none.
func (w *repetitionWatch) add(ev providers.Event) int {
	switch ev := ev.(type) {
	case providers.TextDelta:
		return w.text.add(ev.Text, mostRepeated)
	case providers.ThinkingDelta:
		return w.thinking.add(ev.Text, mostRepeated)
	case providers.ToolCallDelta:
		if ev.ID != w.call {
			w.call, w.input = ev.ID, streamTail{}
		}
		return w.input.add(ev.Input, mostRepeatedInput)
	default:
		return 0
	}
}

// streamTail is the end of a stream.
type streamTail struct {
	bytes []byte
	// fresh counts the bytes since the last check.
	fresh   int
	borders []int32
}

// add appends to the stream. It checks the last window bytes whenever a quarter of them is new, so it inspects each
// byte four times.
func (t *streamTail) add(s string, window int) int {
	for len(s) > 0 {
		n := min(len(s), window/4-t.fresh)
		if len(t.bytes)+n > 2*window {
			t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-window:]...)
		}
		t.bytes = append(t.bytes, s[:n]...)
		t.fresh += n
		s = s[n:]
		if t.fresh < window/4 {
			return 0
		}
		t.fresh = 0
		if len(t.bytes) < window {
			continue
		}
		if t.borders == nil {
			t.borders = make([]int32, window)
		}
		if p := period(t.bytes[len(t.bytes)-window:], t.borders); p <= maxPeriod {
			return p
		}
	}
	return 0
}

// period returns the length of the shortest block whose repetitions make up b; the last one may be incomplete.
func period(b []byte, borders []int32) int {
	// borders[i] is the length of the longest proper prefix of b[:i+1] that is its suffix too.
	borders[0] = 0
	for i := 1; i < len(b); i++ {
		k := borders[i-1]
		for k > 0 && b[i] != b[k] {
			k = borders[k-1]
		}
		if b[i] == b[k] {
			k++
		}
		borders[i] = k
	}
	return len(b) - int(borders[len(b)-1])
}

// repetition is the error of a stream that was ended because it repeats itself.
func repetition(err error) (*providers.Error, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	return e, ok && e.Kind == ErrorRepetition
}

// repeats returns that error, and removes the repetitions from the answer except for one block.
func repeats(msg *providers.Message, p int) *providers.Error {
	if n := len(msg.Parts); n > 0 {
		switch last := msg.Parts[n-1].(type) {
		case providers.Text:
			last.Text = unrepeated(last.Text, p)
			msg.Parts[n-1] = last
		case providers.Thinking:
			last.Text = unrepeated(last.Text, p)
			msg.Parts[n-1] = last
		default: // a call that did not come to its end is not kept
		}
	}
	return &providers.Error{
		Kind: ErrorRepetition, Provider: msg.Provider, Model: msg.Model, Message: "the model said the same over and over, so its answer was cut off",
	}
}

// unrepeated returns a text without the repetitions of a block of p bytes at its end.
func unrepeated(s string, p int) string {
	from := len(s) - p
	for from > 0 && s[from-1] == s[from-1+p] {
		from--
	}
	if from < 0 {
		return s
	}
	return cleanCut(s, from+p) + "…"
}

// cleanCut cuts s at a place, or before the character that stands across it.
func cleanCut(s string, at int) string {
	for back := 0; back < 3 && at-back > 0 && at < len(s) && s[at-back]&0xC0 == 0x80; back++ {
		if s[at-back-1]&0xC0 != 0x80 {
			return s[:at-back-1]
		}
	}
	return s[:at]
}

// OpenAI's models address a call with control words that the servers remove. Sometimes a model writes these words as
// text, in the middle of a call's arguments or of an answer, followed by unrelated text: "analysis to=functions.edit
// code …". The text that follows is never trusted.

// leakMarker precedes the name of a tool in a leak.
const leakMarker = "to=functions."

const (
	// channelWords stand right before a marker, bare.
	channelWords = "analysis assistant commentary user"
	// glitchTokens are words without a meaning that stand before it.
	glitchTokens = "Japgolly Jsii changedFiles RTLU"
	// Quotes before the words show that a text is about them.
	quotes = "`\"'>|(“‘«"
)

// leaks reports whether a model can have such leaks.
func leaks(info *providers.ModelInfo) bool {
	id := strings.ToLower(info.ID)
	return strings.HasPrefix(info.Provider, "openai") || strings.HasPrefix(info.Provider, "azure") ||
		strings.Contains(id, "gpt") || strings.Contains(id, "codex")
}

// leakIn returns the start of the first leak in a text. One sign alone proves nothing: it takes the name of an existing
// tool and two more signs.
func leakIn(text string, isTool func(name string) bool) (at int, found bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], leakMarker)
		if i < 0 {
			return 0, false
		}
		i += from
		from = i + len(leakMarker)
		end := from
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if !isTool(text[from:end]) {
			continue
		}
		before := strings.TrimRight(text[max(0, i-64):i], " \t\r\n")
		signs := 0
		for word := range strings.FieldsSeq(channelWords) {
			if rest, ok := strings.CutSuffix(before, word); ok {
				signs++
				before = rest
				break
			}
		}
		if last, _ := utf8.DecodeLastRuneInString(before); strings.ContainsRune(quotes, last) && !strings.HasSuffix(before, "】【\"") {
			continue
		}
		for word := range strings.FieldsSeq(glitchTokens) {
			if strings.Contains(before, word) {
				signs += 2
				break
			}
		}
		if strings.Contains(before, "】【") {
			signs++
		}
		behind := text[end:min(len(text), end+96)]
		if foreign(before) || foreign(behind) {
			signs++
		}
		if rest := strings.TrimLeft(behind, " \t\r\n"); rest != behind && strings.HasPrefix(rest, "code") && (len(rest) == 4 || !isNameByte(rest[4])) {
			signs++
		}
		if strings.Contains(behind, leakMarker) {
			signs++
		}
		if signs >= 2 {
			return junkStart(text, i), true
		}
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// foreign reports whether a text has a run of letters that are neither Latin nor Greek.
func foreign(text string) bool {
	run := 0
	for _, r := range text {
		if r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Common) {
			if run++; run >= 2 {
				return true
			}
			continue
		}
		if !unicode.IsMark(r) {
			run = 0
		}
	}
	return false
}

// junkStart returns the start of the leak's words and text before a marker, within its line.
func junkStart(text string, marker int) int {
	at := marker
	line := strings.LastIndexByte(text[:marker], '\n') + 1
	for at > line {
		rest := strings.TrimRight(text[line:at], " \t")
		n := len(rest)
		for word := range strings.FieldsSeq(channelWords + " " + glitchTokens) {
			rest = strings.TrimSuffix(rest, word)
		}
		if r, size := utf8.DecodeLastRuneInString(rest); len(rest) == n && r >= utf8.RuneSelf && !unicode.In(r, unicode.Latin) {
			rest = rest[:len(rest)-size]
		} else if len(rest) == n && strings.HasSuffix(rest, "】【\"") {
			rest = rest[:len(rest)-1]
		}
		if len(rest) == n {
			return line + n
		}
		at = line + len(rest)
	}
	return at
}

// cleanse removes leaks from an answer: it cuts texts before them and rejects calls that have one. It reports whether
// there were any. It does nothing if the conversation has shown the model a marker, because then the model may write
// about it.
func (t *requester) cleanse(msg *providers.Message) bool {
	suspect := slices.ContainsFunc(msg.Parts, func(p providers.Part) bool {
		switch p := p.(type) {
		case providers.Text:
			return strings.Contains(p.Text, leakMarker)
		case providers.Thinking:
			return strings.Contains(p.Text, leakMarker)
		case providers.ToolCall:
			return strings.Contains(string(p.Input), leakMarker)
		default:
			return false
		}
	})
	if !suspect || !leaks(&t.model) || t.markerShown() {
		return false
	}
	isTool := func(name string) bool { return name != "" && find(t.tools, name) != nil }
	found := false
	parts := slices.Clone(msg.Parts)
	for i, p := range parts {
		switch p := p.(type) {
		case providers.Text:
			if at, leaked := leakIn(p.Text, isTool); leaked {
				p.Text, found = strings.TrimRight(p.Text[:at], " \t\r\n"), true
				parts[i] = p
			}
		case providers.Thinking:
			if at, leaked := leakIn(p.Text, isTool); leaked && p.Signature == "" {
				p.Text = p.Text[:at]
				parts[i] = p
			}
		case providers.ToolCall:
			if inputLeaks(p.Input, isTool) {
				if t.odd.rejected == nil {
					t.odd.rejected = make(map[string]bool)
				}
				t.odd.rejected[p.ID] = true
				// The model must not see it again: it would go on with it.
				p.Input, found = jsonx.Raw("{}"), true
				parts[i] = p
			}
		default:
		}
	}
	msg.Parts = slices.DeleteFunc(parts, func(p providers.Part) bool {
		text, ok := p.(providers.Text)
		return ok && text.Text == ""
	})
	return found
}

// inputLeaks reports whether a string of a call's input has a leak in it.
func inputLeaks(input jsonx.Raw, isTool func(string) bool) bool {
	var v any
	if jsonx.Unmarshal(input, &v) != nil {
		_, leaked := leakIn(string(input), isTool)
		return leaked
	}
	var within func(any) bool
	within = func(v any) bool {
		switch v := v.(type) {
		case string:
			_, leaked := leakIn(v, isTool)
			return leaked
		case []any:
			return slices.ContainsFunc(v, within)
		case map[string]any:
			for name := range v {
				if within(name) || within(v[name]) {
					return true
				}
			}
		}
		return false
	}
	return within(v)
}

// markerShown reports whether the user or a tool has shown the model a marker.
func (t *requester) markerShown() bool {
	found := false
	_ = t.do(func(st *state) error { // a turn that is over runs no calls
		for i := range st.window.Messages {
			if m := &st.window.Messages[i]; m.Role != providers.RoleAssistant && strings.Contains(m.Text(), leakMarker) {
				found = true
				return nil
			}
		}
		return nil
	})
	return found
}
