package jsonx

import "github.com/go-json-experiment/json/jsontext"

// Token is one piece of JSON as a [Decoder] reads it and an [Encoder] writes it. A token that was read is valid
// until the next read.
type Token = jsontext.Token

// The tokens that have no value. They must not be assigned to.
var (
	Null        = jsontext.Null
	BeginObject = jsontext.BeginObject
	EndObject   = jsontext.EndObject
	BeginArray  = jsontext.BeginArray
	EndArray    = jsontext.EndArray
)

// String returns the token of a JSON string or of a member name.
func String(s string) Token { return jsontext.String(s) }

// Int returns the token of an integer.
func Int(n int64) Token { return jsontext.Int(n) }

// Float returns the token of a number. NaN and the infinities become strings.
func Float(n float64) Token { return jsontext.Float(n) }

// Bool returns the token of a boolean.
func Bool(b bool) Token { return jsontext.Bool(b) }
