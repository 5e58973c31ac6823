package configfile

// JSONSchema is a JSON Schema (draft 2020-12) of a value in a configuration file. It is for editors: it may accept a value that gjc
// refuses, and never refuses one that gjc accepts.
type JSONSchema map[string]any

// Draft is the value of "$schema" in a whole schema.
const Draft = "https://json-schema.org/draft/2020-12/schema"

// About returns the schema with a description.
func (s JSONSchema) About(text string) JSONSchema {
	if text != "" {
		s["description"] = text
	}
	return s
}

// OfKind returns the schema of all values of a kind.
func OfKind(k Kind) JSONSchema {
	return JSONSchema{"type": [...]string{"null", "boolean", "number", "string", "array", "object"}[k]}
}

// OfNumbers returns the schema of the numbers from least to most.
func OfNumbers(whole bool, least, most float64) JSONSchema {
	kind := "number"
	if whole {
		kind = "integer"
	}
	return JSONSchema{"type": kind, "minimum": least, "maximum": most}
}

// OneOf returns the schema of some strings.
func OneOf[T ~string](values []T) JSONSchema {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return JSONSchema{"enum": texts}
}

// ListOf returns the schema of lists.
func ListOf(item JSONSchema) JSONSchema { return JSONSchema{"type": "array", "items": item} }

// MapOf returns the schema of mappings with names that the user chooses.
func MapOf(value JSONSchema) JSONSchema {
	return JSONSchema{"type": "object", "additionalProperties": value}
}

// Fields returns the schema of mappings that have no other fields.
func Fields(fields map[string]JSONSchema, required ...string) JSONSchema {
	s := JSONSchema{"type": "object", "properties": fields, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// AnyOf returns the schema of the values of some schemas.
func AnyOf(schemas ...JSONSchema) JSONSchema { return JSONSchema{"anyOf": schemas} }

// schema returns the schema of values of the type.
func (t FieldType) schema() JSONSchema {
	switch t {
	case AString:
		return JSONSchema{"type": "string", "minLength": 1}
	case ABoolean:
		return OfKind(Boolean)
	case ADuration:
		return JSONSchema{"type": "number", "exclusiveMinimum": 0, "maximum": 366 * 24 * 3600 * 1000}
	case StringList:
		return ListOf(OfKind(Text))
	case SomeStrings:
		return JSONSchema{"type": "array", "minItems": 1, "items": JSONSchema{"type": "string", "minLength": 1}}
	case Booleans:
		return MapOf(OfKind(Boolean))
	case Texts:
		return MapOf(OfKind(Text))
	default:
		return OfKind(Object)
	}
}
