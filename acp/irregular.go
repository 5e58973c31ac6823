package acp

import (
	"github.com/gajae-code/gjc/internal/jsonx"
)

// The unions in this file are not objects with a discriminator, so the generator omits them.

// SessionConfigOptionValue is the value of a config option: a [SessionConfigValueID] for a select, a [SessionConfigBoolValue] for a
// switch.
type SessionConfigOptionValue interface {
	inlineVariant
	isSessionConfigOptionValue()
}

// SessionConfigBoolValue is the new state of a switch.
type SessionConfigBoolValue bool

func (SessionConfigValueID) isSessionConfigOptionValue()   {}
func (SessionConfigBoolValue) isSessionConfigOptionValue() {}

func (v SessionConfigValueID) members(w *writer) {
	w.tag("value", string(v))
}

func (v SessionConfigBoolValue) members(w *writer) {
	w.tag("type", "boolean")
	w.name("value")
	putBool(w, bool(v))
}

func decodeSessionConfigOptionValue(raw jsonx.Raw) (SessionConfigOptionValue, error) {
	tag, err := discriminator(raw, "type")
	if err != nil {
		return nil, err
	}
	value := jsonx.Lookup(raw, "value")
	if value == nil {
		return nil, missing("value")
	}
	if tag == "boolean" {
		var b bool
		if value.Kind() != 't' && value.Kind() != 'f' {
			return nil, jsonx.NewMismatch("/value", value.Kind(), "boolean")
		}
		err := jsonx.Unmarshal(value, &b)
		return SessionConfigBoolValue(b), err
	}
	var s string
	if value.Kind() != '"' {
		return nil, jsonx.NewMismatch("/value", value.Kind(), "string")
	}
	err = jsonx.Unmarshal(value, &s)
	return SessionConfigValueID(s), err
}

// ElicitationContentValue is one answer in a form: an [ElicitationString], [ElicitationInteger], [ElicitationNumber],
// [ElicitationBoolean], [ElicitationStrings] or [UnknownElicitationContentValue].
type ElicitationContentValue interface {
	variant
	isElicitationContentValue()
}

type (
	// ElicitationString is the answer to a text or single choice.
	ElicitationString string
	// ElicitationInteger is the answer to an integer or number field. Every whole number is decoded as an ElicitationInteger.
	ElicitationInteger int64
	// ElicitationNumber is the answer to a number field.
	ElicitationNumber float64
	// ElicitationBoolean is the answer to a yes-or-no field.
	ElicitationBoolean bool
	// ElicitationStrings is the answer to a multiple choice.
	ElicitationStrings []string
	// UnknownElicitationContentValue is an answer of another type, unchanged.
	UnknownElicitationContentValue struct{ Raw jsonx.Raw }
)

func (ElicitationString) isElicitationContentValue()               {}
func (ElicitationInteger) isElicitationContentValue()              {}
func (ElicitationNumber) isElicitationContentValue()               {}
func (ElicitationBoolean) isElicitationContentValue()              {}
func (ElicitationStrings) isElicitationContentValue()              {}
func (*UnknownElicitationContentValue) isElicitationContentValue() {}

func (v ElicitationString) put(w *writer)               { putString(w, v) }
func (v ElicitationInteger) put(w *writer)              { putInt(w, v) }
func (v ElicitationNumber) put(w *writer)               { putFloat(w, float64(v)) }
func (v ElicitationBoolean) put(w *writer)              { putBool(w, bool(v)) }
func (v ElicitationStrings) put(w *writer)              { putItems(w, v, putString[string]) }
func (v *UnknownElicitationContentValue) put(w *writer) { putAny(w, v.Raw) }

// MarshalJSON writes the value unchanged.
func (v UnknownElicitationContentValue) MarshalJSON() ([]byte, error) { return v.Raw.MarshalJSON() }

// DecodeElicitationContentValue reads an ElicitationContentValue.
func DecodeElicitationContentValue(raw jsonx.Raw) (ElicitationContentValue, error) {
	switch raw.Kind() {
	case '"':
		var v ElicitationString
		err := jsonx.Unmarshal(raw, &v)
		return v, err
	case 't', 'f':
		var v ElicitationBoolean
		err := jsonx.Unmarshal(raw, &v)
		return v, err
	case '0':
		var f float64
		if err := jsonx.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		const exact = 1 << 53
		if n, ok := wholeNumber(raw); ok && (f > -exact && f < exact || float64(n) == f && isDigits(raw)) {
			return ElicitationInteger(n), nil
		}
		return ElicitationNumber(f), nil
	case '[':
		var v ElicitationStrings
		if err := jsonx.Unmarshal(raw, (*[]string)(&v)); err == nil {
			return v, nil
		}
	}
	return &UnknownElicitationContentValue{Raw: raw.Clone()}, nil
}

func isDigits(raw jsonx.Raw) bool {
	for i, c := range raw {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}

// SessionConfigSelectOptions are the choices of a select: [SessionConfigUngroupedOptions] or [SessionConfigGroupedOptions].
type SessionConfigSelectOptions interface {
	variant
	isSessionConfigSelectOptions()
}

type (
	// SessionConfigUngroupedOptions is a flat list of choices.
	SessionConfigUngroupedOptions []SessionConfigSelectOption
	// SessionConfigGroupedOptions is a list of choices under headings.
	SessionConfigGroupedOptions []SessionConfigSelectGroup
)

func (SessionConfigUngroupedOptions) isSessionConfigSelectOptions() {}
func (SessionConfigGroupedOptions) isSessionConfigSelectOptions()   {}

func (v SessionConfigUngroupedOptions) put(w *writer) {
	putItems(w, v, putObject[SessionConfigSelectOption])
}

func (v SessionConfigGroupedOptions) put(w *writer) {
	putItems(w, v, putObject[SessionConfigSelectGroup])
}

// DecodeSessionConfigSelectOptions reads a SessionConfigSelectOptions. An empty list is ungrouped.
func DecodeSessionConfigSelectOptions(raw jsonx.Raw) (SessionConfigSelectOptions, error) {
	if raw.Kind() != '[' {
		return nil, jsonx.NewMismatch("", raw.Kind(), "array")
	}
	var all []jsonx.Raw
	if err := jsonx.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if len(all) > 0 && jsonx.Lookup(all[0], "group") != nil {
		var v SessionConfigGroupedOptions
		err := jsonx.Unmarshal(raw, (*[]SessionConfigSelectGroup)(&v))
		return v, err
	}
	var v SessionConfigUngroupedOptions
	err := jsonx.Unmarshal(raw, (*[]SessionConfigSelectOption)(&v))
	return v, err
}

func readElicitationContentValue(dec *jsonx.Decoder, p *ElicitationContentValue) error {
	return readVariant(dec, p, DecodeElicitationContentValue)
}

func readSessionConfigSelectOptions(dec *jsonx.Decoder, p *SessionConfigSelectOptions) error {
	return readVariant(dec, p, DecodeSessionConfigSelectOptions)
}
