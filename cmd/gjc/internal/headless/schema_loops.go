package headless

import (
	"fmt"
	"strconv"
	"strings"
)

// loopFinder looks for schemas that are applied to the same value endlessly: checking a value against one would not end.
type loopFinder struct {
	doc   any
	state map[string]loopState // of the schemas, by JSON Pointer
}

type loopState int

const (
	entered loopState = iota + 1
	left
)

// maxSchemaDepth bounds the nesting of schemas.
const maxSchemaDepth = 200

// sameValue are the keywords whose schemas are applied to the value itself; those of other keywords are for parts of it.
var sameValue = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}

// check looks at all objects of a document below a JSON Pointer, as if each were a schema.
func (l *loopFinder) check(pointer string, at any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema at #%s is nested too deeply", pointer)
	}
	switch at := at.(type) {
	case []any:
		for i, item := range at {
			if err := l.check(pointer+"/"+strconv.Itoa(i), item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := l.enter(pointer, 0); err != nil {
			return err
		}
		for name, member := range at {
			if err := l.check(pointer+"/"+escape(name), member, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter follows what is applied to the same value as the schema at a pointer.
func (l *loopFinder) enter(pointer string, depth int) error {
	switch {
	case l.state[pointer] == left:
		return nil
	case l.state[pointer] == entered:
		return fmt.Errorf("the schema at #%s refers to itself without looking at a part of the value", pointer)
	case depth > maxSchemaDepth:
		return fmt.Errorf("the schema at #%s refers too far", pointer)
	}
	object, ok := lookUp(l.doc, pointer).(map[string]any)
	if !ok {
		return nil
	}
	l.state[pointer] = entered
	if ref, ok := object["$ref"].(string); ok {
		target, local := strings.CutPrefix(ref, "#")
		if !local || target != "" && target[0] != '/' {
			return fmt.Errorf("the reference %q is not a JSON Pointer in the same file, such as \"#/$defs/name\"", ref)
		}
		if err := l.enter(target, depth+1); err != nil {
			return err
		}
	}
	for _, name := range sameValue {
		if err := l.each(pointer+"/"+name, object[name], depth+1); err != nil {
			return err
		}
	}
	l.state[pointer] = left
	return nil
}

// each enters the schema, or the list of schemas, of a keyword.
func (l *loopFinder) each(pointer string, value any, depth int) error {
	list, ok := value.([]any)
	if !ok {
		return l.enter(pointer, depth)
	}
	for i := range list {
		if err := l.enter(pointer+"/"+strconv.Itoa(i), depth); err != nil {
			return err
		}
	}
	return nil
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// lookUp returns the value at a JSON Pointer; nil for none.
func lookUp(doc any, pointer string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			return doc
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch at := doc.(type) {
		case map[string]any:
			doc = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			doc = at[i]
		default:
			return nil
		}
	}
	return doc
}
