package acp

import (
	"bytes"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// An object iterates over the members of one JSON object. It continues after a member that does not fit, so that it always consumes
// the whole object, and returns the first error at the end.
type object struct {
	dec  *jsonx.Decoder
	name []byte // the name of the current member; valid until the next read
	seen uint64 // a bit set of the required members that were present
	err  error
	dead bool // set after an error that ends the message; nothing more may be read
}

// open enters the next value. It returns false if there are no members to read; close then returns the reason. If nullable is set,
// null is read as an empty object.
func (o *object) open(dec *jsonx.Decoder, nullable bool) bool {
	o.dec = dec
	switch kind := dec.PeekKind(); {
	case kind == '{':
		_, o.err = dec.ReadToken()
		o.dead = o.err != nil
		return !o.dead
	case kind == 'n' && nullable:
		o.err = dec.SkipValue()
	default:
		o.err = mismatch(dec, kind, "object")
	}
	o.dead = true
	return false
}

// next advances to the next member and reports whether there is one.
func (o *object) next() bool {
	if o.dead {
		return false
	}
	if o.dec.PeekKind() == '}' {
		if _, err := o.dec.ReadToken(); err != nil {
			o.fail(err)
		}
		return false
	}
	quoted, err := o.dec.ReadValue()
	if err != nil {
		o.fail(err)
		return false
	}
	o.name = quoted[1 : len(quoted)-1]
	if bytes.IndexByte(o.name, '\\') >= 0 {
		var name string
		if err := jsonx.Unmarshal(quoted, &name); err != nil {
			o.fail(err)
			return false
		}
		o.name = []byte(name)
	}
	return true
}

func (o *object) fail(err error) { o.err, o.dead = err, true }

// skip skips the value of an unknown member.
func (o *object) skip() {
	if err := o.dec.SkipValue(); err != nil {
		o.fail(err)
	}
}

// must records the result of reading the required member with the given bit.
func (o *object) must(bit int, err error) {
	o.seen |= 1 << bit
	o.may(err)
}

// may records the result of reading an optional member.
func (o *object) may(err error) {
	switch {
	case err == nil:
	case misfit(err) == nil:
		o.fail(err)
	case o.err == nil:
		o.err = err
	}
}

// forgive records the result of reading a forgiving member. It ignores values that do not fit.
func (o *object) forgive(err error) {
	if err != nil && misfit(err) == nil {
		o.fail(err)
	}
}

// mustForgive is like forgive, for the required member with the given bit, which must be present but may have any value.
func (o *object) mustForgive(bit int, err error) {
	o.seen |= 1 << bit
	o.forgive(err)
}

// close returns the first error, or an error for a required member that is missing. required lists the names in the order of the
// bits.
func (o *object) close(required ...string) error {
	if o.err != nil || o.dead {
		return o.err
	}
	for bit, name := range required {
		if o.seen&(1<<bit) == 0 {
			return jsonx.Within(string(o.dec.StackPointer()), missing(name))
		}
	}
	return nil
}
