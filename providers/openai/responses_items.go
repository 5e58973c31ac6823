package openai

import (
	"cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/internal/dialect"
)

// The kinds of items.
const (
	kindMessage   = "message"
	kindReasoning = "reasoning"
	kindCall      = "function_call"
	kindSearch    = "tool_search_call"
)

// An item is an item of the output that is being received.
type item struct {
	kind    string
	index   int
	given   string // the server's id of a function call; call is its id in the conversation
	call    string
	summary int  // the current part of the summary
	named   bool // it has an id
	begun   bool // its beginning was reported
	said    bool // it has output
	ended   bool
}

// A place identifies the item of an event.
type place struct {
	id    string
	index int
	kind  string
	given string // the id of a function call, if the event has it
}

func (ev *responsesEvent) place(kind string) place {
	return place{id: string(ev.ItemID), index: ev.OutputIndex.Value, kind: kind}
}

func (out *outputItem) place(index int) place {
	return place{id: string(out.ID), index: index, kind: out.Type, given: string(out.CallID)}
}

// placeOf returns the place of an item of any type.
func placeOf(raw jsonx.Raw, index int) place {
	p := place{index: index}
	for name, to := range map[string]*string{"id": &p.id, "type": &p.kind, "call_id": &p.given} {
		var id dialect.ID
		if jsonx.Unmarshal(jsonx.Lookup(raw, name), &id) == nil {
			*to = string(id)
		}
	}
	return p
}

// items holds the items of one response. Some servers send no ids, some no indexes, and some another id with every event. So a
// known id identifies its item; any other event belongs to the item at its index, if that has the same kind and has not ended.
type items struct {
	byID map[string]*item // an item may have several ids
	all  []*item
}

// find returns the item at p, or nil.
func (l *items) find(p place) *item {
	if it := l.byID[p.id]; it != nil {
		return it
	}
	for i := len(l.all) - 1; i >= 0; i-- {
		it := l.all[i]
		if it.index == p.index && it.kind == p.kind && !it.ended && (it.given == "" || p.given == "" || it.given == p.given) {
			l.take(it, p)
			return it
		}
	}
	return nil
}

// known reports whether p, from the whole response, belongs to a known item. An unknown id does not.
func (l *items) known(p place) bool {
	if p.id != "" {
		return l.byID[p.id] != nil
	}
	return l.find(p) != nil
}

// of returns the item at p, creating it if necessary.
func (l *items) of(p place) *item {
	if it := l.find(p); it != nil {
		return it
	}
	return l.open(p)
}

// begin returns the item that begins at p: a new one, unless some of it arrived before its beginning.
func (l *items) begin(p place) *item {
	it := l.byID[p.id]
	for i := 0; it == nil && i < len(l.all); i++ {
		if old := l.all[i]; old.index == p.index && old.kind == p.kind && !old.ended && !old.begun && !old.named {
			it = old
			l.take(it, p)
		}
	}
	if it == nil {
		it = l.open(p)
	}
	it.begun = true
	return it
}

func (l *items) open(p place) *item {
	it := &item{kind: p.kind, index: p.index}
	l.all = append(l.all, it)
	l.take(it, p)
	return it
}

// take records the ids in p for it.
func (l *items) take(it *item, p place) {
	it.given = cmp.Or(it.given, p.given)
	if p.id == "" {
		return
	}
	if l.byID == nil {
		l.byID = make(map[string]*item)
	}
	l.byID[p.id] = it
	it.named = true
}
