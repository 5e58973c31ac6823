package jsonx

import jsonv1 "github.com/go-json-experiment/json/v1"

// LegacyOmitEmpty gives the tag option omitempty the meaning that it has in encoding/json: false, 0 and nil are left out too.
// It is for types of other modules that were written for that package.
func LegacyOmitEmpty() Options { return jsonv1.OmitEmptyWithLegacySemantics(true) }
