package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Programs inside a box are started by its keeper, to which the starters connect by a Unix socket. A message on such a connection is
// its length in four bytes, big-endian, and a JSON object. Files travel as control messages with the first bytes.

// request opens a connection to the keeper.
type request struct {
	// Run starts a program. Its standard files come along, except those that are to be a terminal.
	Run *runRequest `json:"run,omitzero"`
	// Dial connects to an address inside the box; the answer comes with the connection.
	Dial string `json:"dial,omitzero"`
	// Listen opens a port. The first answer has its address, and each further one a connection to it.
	Listen bool `json:"listen,omitzero"`
	// EndRest kills the processes that ended programs have left, and answers once they have ended.
	EndRest bool `json:"endRest,omitzero"`
	// Look asks about the box.
	Look *lookRequest `json:"look,omitzero"`
}

// lookRequest asks about a process or a port; if it is zero, whether any program runs.
type lookRequest struct {
	Process int `json:"process,omitzero"`
	Port    int `json:"port,omitzero"`
}

// runRequest describes a program.
type runRequest struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Terminal are those of the descriptors 0, 1 and 2 that are a new terminal of the given size.
	Terminal   []int `json:"terminal,omitzero"`
	Cols, Rows uint16
}

// signalMessage asks the keeper to signal the program of a connection.
type signalMessage struct {
	Signal int `json:"signal"`
}

// answer comes from the keeper: the first one of a connection reports the start, for a program a second one its end.
type answer struct {
	Error   string `json:"error,omitzero"`
	Address string `json:"address,omitzero"`
	// Code and Signal say how the program ended; Signal is zero if it exited.
	Code   int `json:"code,omitzero"`
	Signal int `json:"signal,omitzero"`
	// Found, Path and Text answer a lookRequest.
	Found bool   `json:"found,omitzero"`
	Path  string `json:"path,omitzero"`
	Text  string `json:"text,omitzero"`
}

// maxMessage bounds a message: the kernel bounds arguments and environments to two megabytes, JSON may need six bytes for one.
const maxMessage = 16 << 20

var errMessage = errors.New("the message to the box is too long")

// encode returns a message with its length.
func encode(v any) ([]byte, error) {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > maxMessage {
		return nil, errMessage
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), nil
}

// decode reads a message into v.
func decode(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxMessage || n > math.MaxInt32 {
		return errMessage
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return fmt.Errorf("the message ends early: %w", err)
	}
	return jsonx.Unmarshal(data, v)
}
