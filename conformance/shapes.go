package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A shape is a JSON schema, limited to the keywords that the protocol's schema uses. The tables in shapes_gen.go are generated from
// the official schema files.
type shape struct {
	ref      string            // a reference to a definition
	kinds    string            // permitted types: s(tring), i(nteger), n(umber), b(oolean), 0 (null), a(rray), o(bject)
	literal  string            // the only permitted string
	number   *float64          // the only permitted number
	least    *float64          // the minimum
	members  map[string]*shape // members of an object
	required []string          // required members
	items    *shape            // elements of an array
	extra    *shape            // additional members of an object
	all      []*shape          // all of these
	any      []*shape          // at least one of these
	not      *shape            // not this
	open     bool              // additional members are permitted
}

// A schema is one version of the protocol's schema. Its objects are closed: an unknown member is an error, because
// extensions belong in _meta and strict clients reject others.
type schema struct{ tables []map[string]*shape }

// stableSchema is the schema of the stable protocol; fullSchema includes the unstable parts.
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

// check validates a value, decoded by jsonx, against a definition.
func (s schema) check(name string, v any) error {
	if s.find(name) == nil {
		return fmt.Errorf("the protocol has no %s", name)
	}
	return s.closed(&shape{ref: name}, v, "")
}

// closed validates a value whose objects may have only the members that the shape names.
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

// eval validates a value and returns the members that the shape has evaluated; nil if all.
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
			return nil, fmt.Errorf("%s: matches a schema that it must not match", place(at))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if d.members == nil && d.extra == nil && len(d.all) == 0 && len(d.any) == 0 {
			open = true
		}
		if err := s.object(d, v, seen, at); err != nil {
			return nil, err
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

// object checks the members of an object and adds the names that the shape declares to seen.
func (s schema) object(d *shape, v map[string]any, seen map[string]bool, at string) error {
	for _, name := range d.required {
		if _, ok := v[name]; !ok {
			return fmt.Errorf("%s: missing member", at+"/"+name)
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
			return err
		}
	}
	return nil
}

// oneOf evaluates alternatives. If none matches, it returns the error of the intended one: the one whose discriminator
// matches, or the only one.
func (s schema) oneOf(alternatives []*shape, v any, at string) (map[string]bool, error) {
	var first error
	seen, fits := map[string]bool{}, false
	for _, a := range alternatives {
		// Closed: two alternatives may differ only in missing members.
		more, err := s.eval(a, v, at)
		if err == nil {
			if more == nil {
				return nil, nil //nolint:nilnil // as in eval
			}
			fits = true
			maps.Copy(seen, more)
			continue
		}
		if first == nil || s.discriminates(a, v) {
			first = err
		}
	}
	if !fits {
		if len(alternatives) > 1 && !slices.ContainsFunc(alternatives, func(a *shape) bool { return s.discriminates(a, v) }) {
			return nil, fmt.Errorf("%s: %s matches none of the alternatives", place(at), excerpt(v))
		}
		return nil, first
	}
	return seen, nil
}

// discriminates reports whether a value has an alternative's discriminator.
func (s schema) discriminates(d *shape, v any) bool {
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

// plain validates everything except members.
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
