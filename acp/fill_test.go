package acp_test

import (
	"reflect"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func decodeAny[T any](decode func(jsonx.Raw) (T, error)) func(jsonx.Raw) (any, error) {
	return func(raw jsonx.Raw) (any, error) { return decode(raw) }
}

// irregularVariants are examples of the hand-written unions.
var irregularVariants = map[reflect.Type][]any{
	reflect.TypeFor[acp.SessionConfigOptionValue](): {acp.SessionConfigValueID("v"), acp.SessionConfigBoolValue(true)},
	reflect.TypeFor[acp.ElicitationContentValue](): {
		acp.ElicitationString("s"), acp.ElicitationInteger(7), acp.ElicitationNumber(1.5), acp.ElicitationBoolean(true),
		acp.ElicitationStrings{"a", "b"},
	},
	reflect.TypeFor[acp.SessionConfigSelectOptions](): {
		acp.SessionConfigUngroupedOptions{{Value: "v", Name: "n"}},
		acp.SessionConfigGroupedOptions{{Group: "g", Name: "n", Options: []acp.SessionConfigSelectOption{{Value: "v", Name: "n"}}}},
	},
}

// fill sets every field of v to a non-zero value. round selects the variants of unions, so that enough rounds cover all of them.
// words are the values of named string types.
func fill(t testing.TB, v reflect.Value, round int, words map[reflect.Type]string) {
	t.Helper()
	if n, ok := v.Addr().Interface().(interface{ SetPresent() any }); ok {
		fill(t, reflect.ValueOf(n.SetPresent()).Elem(), round, words)
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *jsonx.Raw:
		*p = jsonx.Raw(`{"kept":[1,null,"x"]}`)
		return
	case *acp.Meta:
		*p = acp.Meta{"example.com/k": jsonx.Raw(`{"z":1,"a":[null]}`)}
		return
	case *acp.RequestID:
		*p = []acp.RequestID{acp.NumberRequestID(7), acp.StringRequestID("id"), {}}[round%3]
		return
	case *acp.ProtocolVersion:
		*p = 1
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field, round, words)
		}
		if r, ok := v.Addr().Interface().(*acp.MessageMCPResponse); ok { // has only one of the two
			if round%2 == 0 {
				r.Result = nil
			} else {
				r.Error = nil
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), round, words)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), round+i, words)
		}
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(t, item, round, words)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), item)
	case reflect.Interface:
		fillUnion(t, v, round, words)
	case reflect.String:
		word := words[v.Type()]
		if word == "" {
			word = "text <&> \u2028 é"
		}
		v.SetString(word)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("no rule to fill a %v", v.Type())
	}
}

func fillUnion(t testing.TB, v reflect.Value, round int, words map[reflect.Type]string) {
	t.Helper()
	if examples := irregularVariants[v.Type()]; examples != nil {
		v.Set(reflect.ValueOf(examples[round%len(examples)]))
		return
	}
	variants := unionVariants[v.Type()]
	if len(variants) == 0 {
		t.Fatalf("no variants of %v", v.Type())
	}
	p := reflect.ValueOf(variants[round%len(variants)]())
	fill(t, p.Elem(), round, words)
	v.Set(p)
}
