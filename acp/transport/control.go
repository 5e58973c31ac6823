package transport

import (
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
)

// The extension for connections that survive their socket. A client asks for it in the request of the upgrade, and a server that knows it
// answers with the key:
//
//	Gjc-Resume: new          → Acp-Connection-Id: ID, Gjc-Resume: KEY
//
// The client comes back with both, and the number of messages that it has received. The server answers with its own number:
//
//	Acp-Connection-Id: ID
//	Gjc-Resume: KEY
//	Gjc-Received: 17         → Gjc-Received: 12
//
// Each end numbers its messages from 1, without a number on the wire: text messages, and the binary message that ends its direction. It sends
// the ones that the other end has not received again, in order. Binary messages are the extension's own, and their first byte is the kind:
//
//	'a' and 8 bytes, big-endian: the sender has received this many messages
//	'e': the sender sends no more messages
const (
	headerResume   = "Gjc-Resume"
	headerReceived = "Gjc-Received"
	resumeNew      = "new"
)

// control is a message of the extension's own.
type control struct {
	count uint64 // of the messages that the sender has received
	end   bool   // the sender sends no more
}

var errControl = errors.New("this is no message of the extension")

func parseControl(data []byte) (c control, err error) {
	switch {
	case len(data) == 1 && data[0] == 'e':
		return control{end: true}, nil
	case len(data) == 9 && data[0] == 'a':
		return control{count: binary.BigEndian.Uint64(data[1:])}, nil
	default:
		return c, errControl
	}
}

// append appends the message to b.
func (c control) append(b []byte) []byte {
	if c.end {
		return append(b, 'e')
	}
	return binary.BigEndian.AppendUint64(append(b, 'a'), c.count)
}

// parseReceived returns the number of messages that the other end has received.
func parseReceived(h http.Header) (uint64, error) {
	n, err := strconv.ParseUint(h.Get(headerReceived), 10, 64)
	if err != nil {
		return 0, errors.New(headerReceived + " must be a number")
	}
	return n, nil
}

func formatReceived(n uint64) string { return strconv.FormatUint(n, 10) }
