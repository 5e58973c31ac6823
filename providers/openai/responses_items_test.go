package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
)

// An answer is read correctly however the server identifies its items.
func TestResponses_Items(t *testing.T) {
	// In the events of each item, # stands for its id, and @ for its index.
	const (
		thinks   = `{"type":"response.output_item.added","output_index":@,"item":{"id":"#rs","type":"reasoning","summary":[]}}`
		thought  = `{"type":"response.reasoning_summary_text.delta","item_id":"#rs","output_index":@,"summary_index":0,"delta":"h"}`
		thought2 = `{"type":"response.reasoning_summary_text.delta","item_id":"#rs","output_index":@,"summary_index":0,"delta":"m"}`
		thinksNo = `{"type":"response.output_item.done","output_index":@,"item":{"id":"#rs","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}`
		speaks   = `{"type":"response.output_item.added","output_index":@,"item":{"id":"#m","type":"message","content":[]}}`
		says     = `{"type":"response.output_text.delta","item_id":"#m","output_index":@,"delta":"x"}`
		says2    = `{"type":"response.output_text.delta","item_id":"#m","output_index":@,"delta":"y"}`
		message  = `{"id":"#m","type":"message","content":[{"type":"output_text","text":"xy"}]}`
		said     = `{"type":"response.output_item.done","output_index":@,"item":` + message + `}`
	)
	call := func(event, name, arguments string) string {
		return `{"type":"response.output_item.` + event + `","output_index":@,"item":{"id":"#f` + name + `","type":"function_call","call_id":"c` + name +
			`","name":"` + name + `","arguments":"` + arguments + `"}}`
	}
	input := func(name, event, arguments string) string {
		return `{"type":"response.function_call_arguments.` + event + `","item_id":"#f` + name + `","output_index":@,` + arguments + `}`
	}
	// Items in sequence, and two calls at once.
	type itemEvent struct {
		index int
		event string
	}
	inSequence := []itemEvent{
		{0, thinks},
		{0, thought},
		{0, thought2},
		{0, thinksNo},
		{1, speaks},
		{1, says},
		{1, says2},
		{1, said},
		{2, call("added", "a", "")},
		{2, input("a", "delta", `"delta":"{\"k\""`)},
		{2, input("a", "delta", `"delta":":1}"`)},
		{2, input("a", "done", `"arguments":"{\"k\":1}"`)},
		{2, call("done", "a", `{\"k\":1}`)},
		{3, call("added", "b", "")},
		{3, input("b", "delta", `"delta":"{\"k\":2}"`)},
		{3, input("b", "done", `"arguments":"{\"k\":2}"`)},
		{3, call("done", "b", `{\"k\":2}`)},
	}
	atOnce := []itemEvent{
		{0, thinks},
		{1, speaks},
		{0, thought},
		{0, thought2},
		{1, says},
		{1, says2},
		{2, call("added", "a", "")},
		{3, call("added", "b", "")},
		{0, thinksNo},
		{1, said},
		{3, input("b", "delta", `"delta":"{\"k\""`)},
		{2, input("a", "delta", `"delta":"{\"k\""`)},
		{3, input("b", "delta", `"delta":":2}"`)},
		{2, input("a", "delta", `"delta":":1}"`)},
		{2, input("a", "done", `"arguments":"{\"k\":1}"`)},
		{3, input("b", "done", `"arguments":"{\"k\":2}"`)},
		{3, call("done", "b", `{\"k\":2}`)},
		{2, call("done", "a", `{\"k\":1}`)},
	}
	want := []providers.Part{
		providers.Thinking{Text: "hm"},
		providers.Text{Text: "xy"},
		providers.ToolCall{ID: "ca", Name: "a", Input: jsonx.Raw(`{"k":1}`)},
		providers.ToolCall{ID: "cb", Name: "b", Input: jsonx.Raw(`{"k":2}`)},
	}
	begun := func(event string) bool {
		return strings.Contains(event, "output_item.added") && !strings.Contains(event, "function_call")
	}
	for _, test := range []struct {
		name           string
		rotated        bool // every event has a different id
		nameless       bool
		uncounted      bool // the index is always 0
		absent         bool // events have neither an index nor an id
		noBegin, noEnd bool
		order          []itemEvent
	}{
		{name: "as it should be", order: inSequence},
		{name: "at once", order: atOnce},
		{name: "rotated", rotated: true, order: inSequence},
		{name: "rotated, at once", rotated: true, order: atOnce},
		{name: "rotated, not counted", rotated: true, uncounted: true, order: inSequence},
		{name: "rotated, no begins", rotated: true, noBegin: true, order: inSequence},
		{name: "rotated, no ends", rotated: true, noEnd: true, order: inSequence},
		{name: "no ids", nameless: true, order: inSequence},
		{name: "no ids, at once", nameless: true, order: atOnce},
		{name: "no ids, no begins", nameless: true, noBegin: true, order: atOnce},
		{name: "no ids, not counted", nameless: true, uncounted: true, order: inSequence},
		{name: "not counted", uncounted: true, order: inSequence},
		{name: "not counted, at once", uncounted: true, order: atOnce},
		{name: "not counted, no begins", uncounted: true, noBegin: true, order: inSequence},
		{name: "not counted, no ends", uncounted: true, noEnd: true, order: inSequence},
		{name: "nothing but what it is", absent: true, order: inSequence},
		{name: "no ends, no ids, not counted", nameless: true, uncounted: true, noEnd: true, order: inSequence},
	} {
		var events []string
		n := 0
		put := func(index int, event string) string {
			n++
			id := "id-"
			switch {
			case test.nameless:
				id = ""
			case test.rotated:
				id = fmt.Sprintf("%d-", n)
			}
			if test.uncounted {
				index = 0
			}
			if test.nameless {
				for _, kind := range []string{"rs", "m", "fa", "fb"} {
					event = strings.ReplaceAll(event, `"#`+kind+`"`, `""`)
				}
			}
			if test.absent {
				for _, kind := range []string{"rs", "m", "fa", "fb"} {
					event = strings.NewReplacer(`"item_id":"#`+kind+`",`, ``, `"id":"#`+kind+`",`, ``).Replace(event)
				}
				event = strings.ReplaceAll(event, `"output_index":@,`, ``)
			}
			return strings.NewReplacer("#", id, "@", fmt.Sprint(index)).Replace(event)
		}
		for _, itemEvent := range test.order {
			if test.noBegin && begun(itemEvent.event) || test.noEnd && strings.Contains(itemEvent.event, "output_item.done") {
				continue
			}
			events = append(events, put(itemEvent.index, itemEvent.event))
		}
		// The final event repeats every item.
		var output []string
		for i, event := range []string{thinksNo, said, call("done", "a", `{\"k\":1}`), call("done", "b", `{\"k\":2}`)} {
			output = append(output, string(jsonx.Lookup(jsonx.Raw(put(i, event)), "item")))
		}
		events = append(events, `{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+strings.Join(output, ",")+`]}}`)

		got := respond(t, openai.OpenResponses, providers.Config{}, hello(), sse(events...))
		if got.err != nil {
			t.Errorf("%s: %v", test.name, got.err)
			continue
		}
		if diff := cmp.Diff(want, got.message.Parts, cmpopts.IgnoreFields(providers.Text{}, "Signature"), cmpopts.IgnoreFields(providers.ToolCall{}, "Signature")); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", test.name, diff)
		}
	}
}
