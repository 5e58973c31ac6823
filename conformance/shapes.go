package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A shape is what the protocol's schema says about one value: the parts of a JSON schema that the schema uses. The
// tables in shapes_gen.go are made from the official schema files.
type shape struct {
	ref      string            // the definition that this value has
	kinds    string            // what it may be: s(tring), i(nteger), n(umber), b(oolean), 0 (null), a(rray), o(bject)
	literal  string            // the only string that it may be
	number   *float64          // the only number that it may be
	least    *float64          // the smallest number
	members  map[string]*shape // of an object
	required []string          // members that must be there
	items    *shape            // of an array
	extra    *shape            // any further member of an object
	all      []*shape          // each of these holds
	any      []*shape          // at least one of these holds
	not      *shape            // this does not hold
	open     bool              // further members are fine, whatever they are
}

// A schema is one version of the protocol's schema. Its objects are closed: a member that the schema does not know is
// a fault, since nothing may be added but in _meta, and strict clients refuse it.
type schema struct{ tables []map[string]*shape }

// stableSchema is what every agent may send; fullSchema has the unstable parts too.
func stableSchema() schema { return schema{[]map[string]*shape{stableShapes, allShapes}} }
func fullSchema() schema   { return schema{[]map[string]*shape{allShapes}} }

func (s schema) find(name string) *shape {
	for _, t := range s.tables {
		if d := t[name]; d != nil {
			return d
		}
	}
	return nil
}

// check holds a value, as jsonx decodes it, against a definition.
func (s schema) check(name string, v any) error {
	if s.find(name) == nil {
		return fmt.Errorf("the protocol has no %s", name)
	}
	return s.closed(&shape{ref: name}, v, "")
}

// closed checks a value at a place of its own, where an object has the members that the shape names and no others.
func (s schema) closed(d *shape, v any, at string) error {
	seen, err := s.eval(d, v, at)
	if err != nil {
		return err
	}
	members, ok := v.(map[string]any)
	if !ok || seen == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !seen[name] {
			return fmt.Errorf("%s: the protocol knows no such member", at+"/"+name)
		}
	}
	return nil
}

// eval checks a value and returns the members that the shape has looked at; nil where it takes any.
func (s schema) eval(d *shape, v any, at string) (map[string]bool, error) {
	if d.ref != "" {
		def := s.find(d.ref)
		if def == nil {
			return nil, fmt.Errorf("%s: the protocol has no %s", at, d.ref)
		}
		return s.eval(def, v, at)
	}
	if err := s.plain(d, v, at); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	open := d.open
	take := func(more map[string]bool) {
		open = open || more == nil
		maps.Copy(seen, more)
	}
	for _, part := range d.all {
		more, err := s.eval(part, v, at)
		if err != nil {
			return nil, err
		}
		take(more)
	}
	if len(d.any) > 0 {
		more, err := s.oneOf(d.any, v, at)
		if err != nil {
			return nil, err
		}
		take(more)
	}
	if d.not != nil {
		if _, err := s.eval(d.not, v, at); err == nil {
			return nil, fmt.Errorf("%s: fits what it must not", place(at))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if d.members == nil && d.extra == nil && len(d.all) == 0 && len(d.any) == 0 {
			open = true
		}
		for _, name := range d.required {
			if _, ok := v[name]; !ok {
				return nil, fmt.Errorf("%s: the member is missing", at+"/"+name)
			}
		}
		for name, value := range v {
			member := d.members[name]
			if member == nil {
				member = d.extra
			}
			if member == nil {
				continue
			}
			seen[name] = true
			if err := s.closed(member, value, at+"/"+name); err != nil {
				return nil, err
			}
		}
	case []any:
		if d.items == nil {
			break
		}
		for i, e := range v {
			if err := s.closed(d.items, e, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return nil, err
			}
		}
	}
	if open {
		return nil, nil //nolint:nilnil // nil says: any member
	}
	return seen, nil
}

// oneOf evaluates alternatives. When none fits it tells the fault of the one that the value means to be: the one whose
// discriminator fits, or the only one.
func (s schema) oneOf(alternatives []*shape, v any, at string) (map[string]bool, error) {
	var first error
	seen, fits := map[string]bool{}, false
	for _, a := range alternatives {
		// Closed where it stands alone: two alternatives may differ only in what they leave out.
		more, err := s.eval(a, v, at)
		if err == nil {
			if more == nil {
				return nil, nil //nolint:nilnil // as in eval
			}
			fits = true
			maps.Copy(seen, more)
			continue
		}
		if first == nil || s.meant(a, v) {
			first = err
		}
	}
	if !fits {
		if len(alternatives) > 1 && !slices.ContainsFunc(alternatives, func(a *shape) bool { return s.meant(a, v) }) {
			return nil, fmt.Errorf("%s: %s is none of what it may be", place(at), excerpt(v))
		}
		return nil, first
	}
	return seen, nil
}

// meant reports that a value has an alternative's discriminator.
func (s schema) meant(d *shape, v any) bool {
	members, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, m := range d.members {
		if m.literal != "" && members[name] == any(m.literal) {
			return true
		}
	}
	return false
}

// plain checks what is not about members.
func (s schema) plain(d *shape, v any, at string) error {
	if d.kinds != "" && !strings.ContainsRune(d.kinds, kindOf(v)) && (kindOf(v) != 'i' || !strings.Contains(d.kinds, "n")) {
		return fmt.Errorf("%s: %s has the wrong type", place(at), excerpt(v))
	}
	if d.literal != "" && v != any(d.literal) {
		return fmt.Errorf("%s: %s is not %q", place(at), excerpt(v), d.literal)
	}
	n, isNumber := v.(float64)
	if d.number != nil && (!isNumber || n != *d.number) {
		return fmt.Errorf("%s: %s is not %v", place(at), excerpt(v), *d.number)
	}
	if d.least != nil && isNumber && n < *d.least {
		return fmt.Errorf("%s: %v is below %v", place(at), n, *d.least)
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return "the value"
	}
	return at
}

func kindOf(v any) rune {
	switch v := v.(type) {
	case nil:
		return '0'
	case bool:
		return 'b'
	case string:
		return 's'
	case float64:
		if v == math.Trunc(v) {
			return 'i'
		}
		return 'n'
	case []any:
		return 'a'
	default:
		return 'o'
	}
}
