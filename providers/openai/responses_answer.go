package openai

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// responsesEvent is one event of the stream, reduced to the members that are used. A server that does not stream sends only the
// response, whose members are included.
type responsesEvent struct {
	Type         string         `json:"type"`
	ItemID       dialect.ID     `json:"item_id"`
	OutputIndex  dialect.Number `json:"output_index"`
	SummaryIndex dialect.Number `json:"summary_index"`
	Delta        string         `json:"delta"`
	Text         string         `json:"text"`
	Refusal      string         `json:"refusal"`
	Arguments    string         `json:"arguments"`
	Item         jsonx.Raw      `json:"item"`
	Response     *responded     `json:"response"`
	Error        jsonx.Raw      `json:"error"`

	Object            string                         `json:"object"`
	ID                dialect.ID                     `json:"id"`
	Status            string                         `json:"status"`
	Output            []jsonx.Raw                    `json:"output"`
	Usage             dialect.Object[responsesUsage] `json:"usage"`
	IncompleteDetails *incomplete                    `json:"incomplete_details"`
}

// responsesEvents holds the types of the events that are processed.
var responsesEvents = []string{
	"response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta", "response.reasoning_text.delta",
	"response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.added",
	"response.output_item.done", "response.created", "response.in_progress", "response.completed", "response.incomplete",
	"response.failed", "response.cancelled", "response.done", "error",
}

// responded is a whole response.
type responded struct {
	ID                dialect.ID                     `json:"id"`
	Status            string                         `json:"status"`
	Output            []jsonx.Raw                    `json:"output"`
	Usage             dialect.Object[responsesUsage] `json:"usage"`
	IncompleteDetails *incomplete                    `json:"incomplete_details"`
	Error             jsonx.Raw                      `json:"error"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type responsesUsage struct {
	Input         dialect.Number                `json:"input_tokens"`
	Output        dialect.Number                `json:"output_tokens"`
	InputDetails  dialect.Object[inputDetails]  `json:"input_tokens_details"`
	OutputDetails dialect.Object[outputDetails] `json:"output_tokens_details"`
}

// outputItem is one item of the output: a message, reasoning or a function call.
type outputItem struct {
	Type             string     `json:"type"`
	ID               dialect.ID `json:"id"`
	Phase            string     `json:"phase"`
	Content          []said     `json:"content"`
	Summary          []said     `json:"summary"`
	CallID           dialect.ID `json:"call_id"`
	Name             string     `json:"name"`
	Arguments        string     `json:"arguments"`
	EncryptedContent string     `json:"encrypted_content"`
}

type said struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// A response reads one response.
type response struct {
	dialect.Answer

	stream *wire.Stream

	items   items
	last    *item  // the last item with output
	name    string // the id of the response
	refused bool
}

// event processes one event. It reports whether to continue.
func (r *response) event(raw wire.Event) (more bool, err error) {
	if bytes.Equal(bytes.TrimSpace(raw.Data), []byte("[DONE]")) {
		return false, r.stream.CutOff()
	}
	if text, key, ok := plainDelta(raw.Data); ok {
		if it := r.items.byID[string(key)]; it != nil && text != "" {
			r.speak(it)
			return r.Send(providers.TextDelta{Text: text}), nil
		}
	}
	var ev responsesEvent
	if err := jsonx.Unmarshal(raw.Data, &ev); err != nil {
		switch kind := dialect.EventType(raw.Data); {
		case kind == "error":
			return false, r.stream.EventError(bytes.Clone(raw.Data))
		case kind != "" && !slices.Contains(responsesEvents, kind):
			return true, nil
		}
		return false, r.stream.BadEvent(err)
	}
	kind := ev.Type
	if kind == "" {
		kind = raw.Name
	}
	switch kind { // responsesEvents has all of them
	case "response.output_text.delta":
		return r.text(&ev, ev.Delta), nil
	case "response.refusal.delta":
		r.refused = true
		return r.text(&ev, ev.Delta), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return r.think(&ev, ev.Delta), nil
	case "response.function_call_arguments.delta":
		return r.input(r.items.of(ev.place(kindCall)), ev.Delta), nil
	case "response.function_call_arguments.done":
		return r.inputDone(r.items.of(ev.place(kindCall)), ev.Arguments), nil
	case "response.output_item.added", "response.output_item.done":
		return r.outputItem(ev.Item, ev.OutputIndex.Value, kind == "response.output_item.done")
	case "response.created", "response.in_progress":
		if ev.Response != nil {
			r.name = string(ev.Response.ID)
			r.count(&ev.Response.Usage)
		}
		return r.Report(), nil
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		if ev.Response == nil {
			return false, r.stream.BadEvent(errors.New(kind + " has no response"))
		}
		return false, r.done(ev.Response)
	case "error":
		if jsonx.IsNull(ev.Error) {
			ev.Error = bytes.Clone(raw.Data)
		}
		return false, r.stream.EventError(ev.Error)
	case "":
		return false, r.untyped(&ev)
	}
	return true, nil // redundant, or newer than this client
}

// untyped processes a whole response or an error, from a server that does not stream.
func (r *response) untyped(ev *responsesEvent) error {
	whole := ev.Object == "response" || ev.Output != nil
	switch {
	case dialect.IsError(ev.Error, whole):
		return r.stream.EventError(ev.Error)
	case whole:
		return r.done(&responded{
			ID: ev.ID, Status: ev.Status, Output: ev.Output, Usage: ev.Usage, IncompleteDetails: ev.IncompleteDetails,
		})
	}
	return r.stream.BadEvent(errors.New("no type"))
}

// plainDelta returns the text of an event that contains nothing else, and the key of its item. Such events are the most frequent
// kind, and decoding them completely takes three times as long.
func plainDelta(data []byte) (text string, key []byte, ok bool) {
	if !jsonx.Valid(data) {
		return "", nil, false
	}
	plain, typed := true, false
	jsonx.EachMember(data, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "type":
			typed = string(value) == `"response.output_text.delta"`
			plain = typed
		case "delta":
			text, plain = jsonx.Text(value)
		case "item_id":
			plain = len(value) > 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0
			if plain {
				key = value[1 : len(value)-1]
			}
		case "sequence_number", "output_index", "content_index", "logprobs", "obfuscation":
		default:
			plain = false
		}
		return plain
	})
	return text, key, plain && typed && key != nil
}

// speak makes it the current item and marks it as having output.
func (r *response) speak(it *item) {
	if r.last != it {
		r.Build.Break()
		r.last = it
	}
	it.said = true
}

func (r *response) text(ev *responsesEvent, s string) bool {
	if s == "" {
		return true
	}
	r.speak(r.items.of(ev.place(kindMessage)))
	return r.Send(providers.TextDelta{Text: s})
}

func (r *response) think(ev *responsesEvent, s string) bool {
	if s == "" {
		return true
	}
	it := r.items.of(ev.place(kindReasoning))
	if it.said && ev.SummaryIndex.Value != it.summary {
		s = "\n\n" + s
	}
	it.summary = ev.SummaryIndex.Value
	r.speak(it)
	return r.Send(providers.ThinkingDelta{Text: s})
}

func (r *response) input(it *item, s string) bool {
	return s == "" || it.call == "" || r.Send(providers.ToolCallDelta{ID: it.call, Input: s})
}

// inputDone processes the whole input of a call, of which all, some or nothing has arrived before.
func (r *response) inputDone(it *item, whole string) bool {
	if it.call == "" {
		return true
	}
	rest, ok := strings.CutPrefix(whole, r.Build.Input(it.call))
	return !ok || r.input(it, rest)
}

// outputItem processes the beginning or the end of an item.
func (r *response) outputItem(raw jsonx.Raw, index int, ended bool) (more bool, err error) {
	var out outputItem
	if len(raw) == 0 {
		return true, nil
	}
	// Items of unknown types may have other members.
	switch kind := string(jsonx.Lookup(raw, "type")); kind {
	case `"` + kindMessage + `"`, `"` + kindReasoning + `"`, `"` + kindCall + `"`:
		if err := jsonx.Unmarshal(raw, &out); err != nil {
			return false, r.stream.BadEvent(err)
		}
	case `"` + kindSearch + `"`:
		return r.searchItem(raw, index, ended)
	default:
		return true, nil
	}
	at := r.items.begin
	if ended {
		at = r.items.of
	}
	it := at(out.place(index))
	if it.ended {
		return true, nil
	}
	it.ended = ended
	switch out.Type {
	case kindMessage:
		return !ended || r.messageDone(it, &out), nil
	case kindReasoning:
		return !ended || r.reasoningDone(it, &out, raw), nil
	}
	if it.call == "" && (out.Name != "" || ended) {
		// A call without a name fails, and the model sees why.
		r.speak(it)
		if it.call, more = r.StartCall(string(out.CallID), r.name, out.Name); !more {
			return false, nil
		}
		r.Build.SignCall(it.call, string(out.ID))
	}
	return r.inputDone(it, out.Arguments), nil
}

// searchItem processes the beginning or the end of a call that searches for tools, which becomes a call of the caller's tool. Its input is
// an object, which is complete at the end. A search by the server itself needs no answer.
func (r *response) searchItem(raw jsonx.Raw, index int, ended bool) (more bool, err error) {
	if r.Req.Search == nil || string(jsonx.Lookup(raw, "execution")) == `"server"` {
		return true, nil
	}
	at := r.items.begin
	if ended {
		at = r.items.of
	}
	it := at(placeOf(raw, index))
	if it.ended || !ended {
		return true, nil
	}
	it.ended = true
	r.speak(it)
	if it.call, more = r.StartCall(it.given, r.name, r.Req.Search.Tool); !more {
		return false, nil
	}
	input := jsonx.Lookup(raw, "arguments")
	if text, ok := jsonx.Text(input); ok {
		return r.input(it, text), nil
	}
	if input.Kind() != '{' {
		return true, nil
	}
	return r.input(it, string(input)), nil
}

// messageDone ends a message. Servers that do not stream send the text only here.
func (r *response) messageDone(it *item, out *outputItem) bool {
	if !it.said {
		for _, part := range out.Content {
			s := part.Text
			if part.Refusal != "" {
				r.refused = true
				s = part.Refusal
			}
			if s == "" {
				continue
			}
			r.speak(it)
			if !r.Send(providers.TextDelta{Text: s}) {
				return false
			}
		}
	}
	if it.said && out.ID != "" && r.last == it {
		r.Build.SignText(textSignature(string(out.ID), out.Phase))
	}
	return true
}

// reasoningDone ends reasoning. It keeps an encrypted item whole, even without text. Of an unencrypted item it keeps only the text:
// the item proves nothing, and secrets in the text can be hidden from the server.
func (r *response) reasoningDone(it *item, out *outputItem, raw jsonx.Raw) bool {
	if !it.said {
		parts := out.Summary
		if len(parts) == 0 {
			parts = out.Content
		}
		var all []string
		for _, part := range parts {
			if part.Text != "" {
				all = append(all, part.Text)
			}
		}
		if len(all) > 0 {
			r.speak(it)
			if !r.Send(providers.ThinkingDelta{Text: strings.Join(all, "\n\n")}) {
				return false
			}
		}
	}
	if out.EncryptedContent == "" && (len(out.Content) == 0 || !it.said) {
		return true
	}
	if r.last != it {
		r.Build.Break()
		r.last = it
	}
	if out.EncryptedContent == "" {
		r.Build.ThinkingField(memberOfItem)
	} else {
		kept := raw.Clone()
		_ = kept.Compact() // cannot fail: it was decoded before
		r.Build.SignThinking(string(kept))
	}
	return true
}

func (r *response) done(res *responded) error {
	if res.ID != "" {
		r.name = string(res.ID)
	}
	r.count(&res.Usage)
	failed := dialect.IsError(res.Error, true) || res.Status == "failed" || res.Status == "cancelled"
	// An error alone, without usage, does not begin an answer.
	if (!failed || res.Usage.Known) && !r.Report() {
		return nil
	}
	if failed {
		return r.stream.EventError(res.Error)
	}
	// Output that was not streamed. Some servers give an item another id here than in the stream.
	spoken := r.last != nil
	for i, raw := range res.Output {
		if spoken && !r.items.known(placeOf(raw, i)) {
			continue
		}
		if more, err := r.outputItem(raw, i, true); err != nil || !more {
			return err
		}
	}
	r.stream.End()
	r.Done(r.stopReason(res), nil)
	return nil
}

// count adds the usage, if the API reports it.
func (r *response) count(reported *dialect.Object[responsesUsage]) {
	if !reported.Known {
		return
	}
	u := &reported.Value
	cached, written := u.InputDetails.Value.Cached.Count(), u.InputDetails.Value.CacheWrite.Count()
	r.Usage = providers.Usage{
		Input: max(0, u.Input.Count()-cached-written), Output: u.Output.Count(), CacheRead: cached, CacheWrite: written,
		Thinking: u.OutputDetails.Value.Reasoning.Count(),
	}
}

func (r *response) stopReason(res *responded) providers.StopReason {
	reason := ""
	if res.IncompleteDetails != nil {
		reason = res.IncompleteDetails.Reason
	}
	switch {
	case reason == "content_filter" || r.refused:
		return providers.StopRefusal
	case reason == "max_output_tokens" || res.Status == "incomplete" && reason == "":
		return providers.StopLength
	case r.Build.Calls() > 0:
		return providers.StopTools
	}
	return providers.StopEnd
}
