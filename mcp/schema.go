package mcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// maxSchema bounds a tool's schema in bytes: it is part of each request to the model.
	maxSchema = 64 << 10
	// maxSchemaDepth bounds its nesting.
	maxSchemaDepth = 32
)

// anyObject is the schema for a tool whose own schema cannot be used.
const anyObject = `{"type":"object"}`

// modelSchema converts a server's input schema to one that the model APIs accept: an object schema without alternatives at the top
// level and without invalid keywords. A single invalid schema would make them reject the whole request. If it returns an error, the
// schema is [anyObject].
func modelSchema(schema any) (jsonx.Raw, error) {
	object, ok := schema.(map[string]any)
	if !ok {
		if schema == nil {
			return jsonx.Raw(anyObject), errors.New("it has no input schema")
		}
		return jsonx.Raw(anyObject), errors.New("its input schema is not an object")
	}
	if t, ok := object["type"]; ok && t != "object" {
		return jsonx.Raw(anyObject), fmt.Errorf("its input schema is of type %.40v, not object", t)
	}
	clean := cleanSchema(object, 0)
	clean["type"] = "object"
	flattenTop(clean)
	if _, ok := clean["properties"]; !ok {
		clean["properties"] = map[string]any{}
	}
	raw, err := jsonx.Marshal(clean)
	if err != nil {
		return jsonx.Raw(anyObject), fmt.Errorf("cannot encode its input schema: %w", err)
	}
	if len(raw) > maxSchema {
		return jsonx.Raw(anyObject), fmt.Errorf("its input schema of %d bytes is too long", len(raw))
	}
	return raw, nil
}

// flattenTop replaces the alternatives at the top level of a schema, which the model APIs do not accept, by the properties of all
// of them.
func flattenTop(schema map[string]any) {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := schema[keyword].([]any)
		delete(schema, keyword)
		for _, b := range branches {
			branch, _ := b.(map[string]any)
			props, _ := branch["properties"].(map[string]any)
			if len(props) == 0 {
				continue
			}
			all, ok := schema["properties"].(map[string]any)
			if !ok {
				all = make(map[string]any)
				schema["properties"] = all
			}
			for name, p := range props {
				if _, ok := all[name]; !ok {
					all[name] = p
				}
			}
		}
	}
	for _, keyword := range []string{"not", "if", "then", "else", "enum", "const"} {
		delete(schema, keyword)
	}
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// cleanSchema copies a schema without keywords that have invalid values.
func cleanSchema(schema map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(schema))
	if depth > maxSchemaDepth {
		return out
	}
	for keyword, value := range schema {
		if v, ok := cleanKeyword(keyword, value, depth+1); ok {
			out[keyword] = v
		}
	}
	return out
}

func cleanKeyword(keyword string, value any, depth int) (any, bool) {
	switch keyword {
	case "type":
		return value, isSchemaType(value)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return cleanSchemas(value, depth)
	case "items", "additionalProperties", "additionalItems", "propertyNames", "contains", "not", "if", "then", "else",
		"unevaluatedProperties", "unevaluatedItems":
		return cleanSubschema(value, depth)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			return nil, false
		}
		out := make([]any, 0, len(list))
		for _, v := range list {
			sub, ok := cleanSubschema(v, depth)
			if !ok {
				return nil, false
			}
			out = append(out, sub)
		}
		return out, true
	case "required":
		return value, isStrings(value)
	case "enum":
		list, ok := value.([]any)
		return value, ok && len(list) > 0
	case "$ref", "$dynamicRef":
		ref, ok := value.(string)
		return value, ok && strings.HasPrefix(ref, "#") // references to other documents are not supported
	case "title", "description", "pattern", "format", "$id", "$schema", "$anchor":
		_, ok := value.(string)
		return value, ok
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
		"maxItems", "minProperties", "maxProperties":
		_, ok := value.(float64)
		return value, ok
	default:
		return value, true
	}
}

func cleanSchemas(value any, depth int) (any, bool) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if sub, ok := cleanSubschema(members[name], depth); ok {
			out[name] = sub
		} else {
			out[name] = map[string]any{}
		}
	}
	return out, true
}

func cleanSubschema(value any, depth int) (any, bool) {
	switch v := value.(type) {
	case bool:
		return v, true
	case map[string]any:
		return cleanSchema(v, depth), true
	default:
		return nil, false
	}
}

func isSchemaType(value any) bool {
	if name, ok := value.(string); ok {
		return slices.Contains(schemaTypes, name)
	}
	list, ok := value.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool {
		name, ok := v.(string)
		return !ok || !slices.Contains(schemaTypes, name)
	})
}

func isStrings(value any) bool {
	list, ok := value.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}
