package ipynb

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Action is the kind of an [Edit].
type Action string

// The actions.
const (
	// Replace replaces a cell's source. A code cell loses its outputs, which belong to the old source.
	Replace Action = "replace"
	// Insert inserts a new cell before another, or at the end.
	Insert Action = "insert"
	// Delete removes a cell.
	Delete Action = "delete"
)

// Edit is one change of a notebook.
type Edit struct {
	Action Action
	// Cell is its number, starting at 0. For Insert it may be the number of cells.
	Cell int
	// Source is the text for Replace and Insert.
	Source string
	// Type is the type of a cell to insert: code, markdown or raw; code if empty. For Replace it must be empty or the
	// type of the cell.
	Type string
}

// errEdit is wrapped by the error for an edit that the notebook does not permit.
var errEdit = errors.New("the notebook cannot be changed")

// Edited returns a notebook with an edit applied, and the number of its cells after it. All bytes that the edit does
// not concern are unchanged.
func Edited(data []byte, e *Edit) (now []byte, cells int, err error) {
	var n notebook
	if err := jsonx.Unmarshal(data, &n); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errNotNotebook, err)
	}
	if n.Cells == nil {
		return nil, 0, fmt.Errorf("%w: it has no list of cells", errNotNotebook)
	}
	top := object(data, space(data, 0))
	list, _ := find(top, "cells")
	l := &layout{data: data, cells: array(data, list.start), list: list, ids: n.Format == 4 && minor(data, top) >= 5 || n.Format > 4}
	l.measure()
	count, most := len(l.cells), len(l.cells)-1
	if e.Action == Insert {
		most = count
	}
	switch {
	case e.Cell < 0 || e.Cell > most:
		return nil, 0, fmt.Errorf("%w: there is no cell %d; %s", errEdit, e.Cell, bounds(e.Action, count))
	case e.Action == Replace:
		now, err = l.replace(e, (*n.Cells)[e.Cell].Type)
	case e.Action == Insert:
		now, err = l.insert(e)
		count++
	case e.Action == Delete:
		now = l.remove(e.Cell)
		count--
	default:
		return nil, 0, fmt.Errorf("%w: unknown action %q; the actions are replace, insert and delete", errEdit, e.Action)
	}
	if err != nil {
		return nil, 0, err
	}
	if !jsonx.Valid(now) {
		return nil, 0, fmt.Errorf("%w: the result is not valid JSON", errEdit)
	}
	return now, count, nil
}

func bounds(a Action, count int) string {
	switch {
	case a == Insert:
		return fmt.Sprintf("a new one can go before cells 0 to %d, or at %d, the end", max(count-1, 0), count)
	case count == 0:
		return "the notebook has no cells"
	default:
		return fmt.Sprintf("the notebook has cells 0 to %d", count-1)
	}
}

func minor(data []byte, top []pair) int {
	var n int
	if at, ok := find(top, "nbformat_minor"); ok {
		_ = jsonx.Unmarshal(data[at.start:at.end], &n) // invalid version numbers have no IDs
	}
	return n
}

// layout is the formatting of a notebook.
type layout struct {
	data  []byte
	list  span
	cells []span
	// ids reports whether cells have IDs.
	ids bool
	// compact reports that there are no newlines between values. Otherwise nl is the newline, cell the indentation of a
	// cell, and unit that of each level.
	compact        bool
	nl, cell, unit string
}

// measure determines the indentation of cells.
func (l *layout) measure() {
	l.nl, l.cell, l.unit = "\n", "  ", " "
	if bytes.Contains(l.data, []byte("\r\n")) {
		l.nl = "\r\n"
	}
	if len(l.cells) == 0 {
		top := string(l.data[1:space(l.data, 1)])
		l.compact = !strings.Contains(top, "\n")
		l.unit = indent(top)
		l.cell = l.unit + l.unit
		return
	}
	first := l.cells[0]
	before := string(l.data[l.list.start+1 : first.start])
	l.compact = !strings.Contains(before, "\n")
	l.cell = indent(before)
	if members := object(l.data, first.start); len(members) > 0 {
		in := indent(string(l.data[first.start+1 : members[0].name.start]))
		if rest, ok := strings.CutPrefix(in, l.cell); ok && rest != "" {
			l.unit = rest
		}
	}
}

// indent returns the white space after the last newline.
func indent(blank string) string { return blank[strings.LastIndexByte(blank, '\n')+1:] }

// source encodes a text as a list of lines, or as one string.
func (l *layout) source(text string, asList bool) string {
	quote := func(s string) string { return string(jsonx.AppendString(nil, s)) }
	if !asList {
		return quote(text)
	}
	if text == "" {
		return "[]"
	}
	parts := strings.SplitAfter(text, "\n")
	if parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		parts[i] = quote(p)
	}
	if l.compact {
		return "[" + strings.Join(parts, ",") + "]"
	}
	in := l.nl + l.cell + l.unit
	return "[" + in + l.unit + strings.Join(parts, ","+in+l.unit) + in + "]"
}

func (l *layout) replace(e *Edit, kind string) ([]byte, error) {
	if e.Type != "" && e.Type != kind {
		return nil, fmt.Errorf("%w: cell %d is of type %s; to change that, delete it and insert another", errEdit, e.Cell, oneLine(kind))
	}
	members := object(l.data, l.cells[e.Cell].start)
	at, ok := find(members, "source")
	if !ok {
		return nil, fmt.Errorf("%w: cell %d has no source", errEdit, e.Cell)
	}
	if joined(l.data[at.start:at.end]) == e.Source {
		return l.data, nil
	}
	type change struct {
		at   span
		text string
	}
	changes := []change{{at, l.source(e.Source, l.data[at.start] != '"')}}
	if kind == "code" {
		for name, empty := range map[string]string{"outputs": "[]", "execution_count": "null"} {
			if at, ok := find(members, name); ok {
				changes = append(changes, change{at, empty})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.start - b.at.start })
	var out []byte
	done := 0
	for _, c := range changes {
		out = append(append(out, l.data[done:c.at.start]...), c.text...)
		done = c.at.end
	}
	return append(out, l.data[done:]...), nil
}

func (l *layout) insert(e *Edit) ([]byte, error) {
	kind := e.Type
	if kind == "" {
		kind = "code"
	}
	var members []string
	add := func(name, value string) {
		gap := " "
		if l.compact {
			gap = ""
		}
		members = append(members, `"`+name+`":`+gap+value)
	}
	switch kind {
	case "code", "markdown", "raw":
		add("cell_type", `"`+kind+`"`)
	default:
		return nil, fmt.Errorf("%w: unknown cell type %q; the types are code, markdown and raw", errEdit, kind)
	}
	if kind == "code" {
		add("execution_count", "null")
	}
	if l.ids {
		add("id", `"`+l.newID()+`"`)
	}
	add("metadata", "{}")
	if kind == "code" {
		add("outputs", "[]")
	}
	add("source", l.source(e.Source, true))
	text := "{" + strings.Join(members, ",") + "}"
	before := "" // the separator between cells
	if !l.compact {
		in := l.nl + l.cell
		text = "{" + in + l.unit + strings.Join(members, ","+in+l.unit) + in + "}"
		before = in
	}
	at := l.list.start + 1
	switch {
	case len(l.cells) == 0:
		after := ""
		if !l.compact {
			after = l.nl + strings.TrimSuffix(l.cell, l.unit)
		}
		return slices.Concat(l.data[:at], []byte(before+text+after), l.data[l.list.end-1:]), nil
	case e.Cell == len(l.cells):
		at = l.cells[e.Cell-1].end
		return slices.Concat(l.data[:at], []byte(","+before+text), l.data[at:]), nil
	default:
		at = l.cells[e.Cell].start
		return slices.Concat(l.data[:at], []byte(text+","+before), l.data[at:]), nil
	}
}

// newID returns an ID that no cell has.
func (l *layout) newID() string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		if id := hex.EncodeToString(b[:]); !bytes.Contains(l.data, []byte(id)) {
			return id
		}
	}
}

func (l *layout) remove(i int) []byte {
	switch {
	case len(l.cells) == 1:
		return slices.Concat(l.data[:l.list.start+1], l.data[l.list.end-1:])
	case i == len(l.cells)-1:
		return slices.Concat(l.data[:l.cells[i-1].end], l.data[l.cells[i].end:])
	default:
		return slices.Concat(l.data[:l.cells[i].start], l.data[l.cells[i+1].start:])
	}
}

// span is the position of a value in the text. The functions below expect valid JSON.
type span struct{ start, end int }

// pair is a member of an object.
type pair struct {
	name, value span
	key         string
}

func find(members []pair, key string) (span, bool) {
	for _, m := range members {
		if m.key == key {
			return m.value, true
		}
	}
	return span{}, false
}

func space(data []byte, i int) int {
	for i < len(data) && strings.IndexByte(" \t\r\n", data[i]) >= 0 {
		i++
	}
	return i
}

// end returns the end of the value at i.
func end(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}

// array returns the positions of the elements of the list at i.
func array(data []byte, i int) []span {
	var all []span
	for i = space(data, i+1); i < len(data) && data[i] != ']'; {
		s := span{i, end(data, i)}
		all = append(all, s)
		if i = space(data, s.end); i < len(data) && data[i] == ',' {
			i = space(data, i+1)
		}
	}
	return all
}

// object returns the members of the object at i.
func object(data []byte, i int) []pair {
	var all []pair
	for i = space(data, i+1); i < len(data) && data[i] == '"'; {
		m := pair{name: span{i, end(data, i)}}
		m.key, _ = jsonx.Text(data[m.name.start:m.name.end])
		colon := space(data, m.name.end)
		m.value.start = space(data, colon+1)
		m.value.end = end(data, m.value.start)
		all = append(all, m)
		if i = space(data, m.value.end); i < len(data) && data[i] == ',' {
			i = space(data, i+1)
		}
	}
	return all
}
