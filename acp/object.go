package acp

import (
	"bytes"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// An object walks the members of one JSON object. It goes on behind a member that does not fit, so that the whole
// object is always consumed, and reports the first fault at the end.
type object struct {
	dec  *jsonx.Decoder
	name []byte // of the member whose value is next; good until the next read
	seen uint64 // which required members were there, one bit each
	err  error
	dead bool // err ends the message; nothing may be read any more
}

// open enters the object that is next. It reports false when there are no members to read; close then says why.
// Where nullable is set, null reads as an object without members.
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

// next moves to the next member and reports whether there is one.
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

// skip passes over a member that no field wants.
func (o *object) skip() {
	if err := o.dec.SkipValue(); err != nil {
		o.fail(err)
	}
}

// must takes the result of reading the required member with the given bit.
func (o *object) must(bit int, err error) {
	o.seen |= 1 << bit
	o.may(err)
}

// may takes the result of reading an optional member.
func (o *object) may(err error) {
	switch {
	case err == nil:
	case misfit(err) == nil:
		o.fail(err)
	case o.err == nil:
		o.err = err
	}
}

// forgive takes the result of reading a member whose faults do not count.
func (o *object) forgive(err error) {
	if err != nil && misfit(err) == nil {
		o.fail(err)
	}
}

// mustForgive is forgive for the required member with the given bit: it has to be there, in whatever form.
func (o *object) mustForgive(bit int, err error) {
	o.seen |= 1 << bit
	o.forgive(err)
}

// close returns the first fault, or that one of the required members, named in the order of their bits, is missing.
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
