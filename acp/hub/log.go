package hub

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// updateLog holds the parameters of a session's updates, in order, in memory. Blocks that are full are compressed: the pieces of a streamed
// answer consist of little else than their envelopes. If the log exceeds its limit, it drops its oldest block.
//
// Every entry has a place, which counts all entries, and a number, which the clients see. The entries of a replay share the number of the
// update before it: a client that has all updates up to that number has seen what they contain.
type updateLog struct {
	limit int // of packed and open together, in bytes
	// complete reports whether the entries contain the whole conversation.
	complete bool
	// floor is the number up to which updates can only be had with the whole conversation.
	floor int64

	first  int // the place of the first entry
	next   int // the place after the last entry
	packed []block
	size   int    // of packed
	open   []byte // entries that are not compressed
	last   int64  // the number of the last entry in open
	begin  int    // the place of the first entry in open
	begun  bool   // the first block is packed
	packer *packer
}

// packer compresses blocks. The logs of a hub share one, since it needs much memory. The hub's mutex guards it.
type packer struct{ writer *flate.Writer }

// pack returns the data compressed.
func (p *packer) pack(data []byte) []byte {
	var buf bytes.Buffer
	if p.writer == nil {
		p.writer, _ = flate.NewWriter(&buf, flate.BestSpeed) // the level is valid
	} else {
		p.writer.Reset(&buf)
	}
	_, _ = p.writer.Write(data) // a buffer takes everything
	_ = p.writer.Close()
	return bytes.Clone(buf.Bytes())
}

// block holds compressed entries.
type block struct {
	begin, end int   // the places of its first entry, and after its last one
	last       int64 // the number of its last entry
	data       []byte
}

// entry is the parameters of one update.
type entry struct {
	seq    int64
	params jsonx.Raw
}

// blockSize is the size of a block before it is compressed. The first block is smaller: most sessions are idle after their first updates, of
// which the commands alone have several KiB.
const (
	blockSize  = 64 << 10
	firstBlock = 2 << 10
)

func newLog(limit int, floor int64, p *packer) *updateLog {
	return &updateLog{limit: limit, floor: floor, packer: p}
}

// reset removes all entries, because a replay of the whole conversation follows.
func (l *updateLog) reset(seq int64) {
	l.complete, l.floor = true, seq
	l.packed, l.size, l.open = nil, 0, nil
	l.first, l.begin = l.next, l.next
}

// add adds an entry, of which it makes a copy.
func (l *updateLog) add(seq int64, params jsonx.Raw) {
	l.open = binary.AppendVarint(l.open, seq)
	l.open = binary.AppendUvarint(l.open, uint64(len(params)))
	l.open = append(l.open, params...)
	l.last = seq
	l.next++
	if len(l.open) >= blockSize || !l.begun && l.limit > blockSize && len(l.open) >= firstBlock {
		l.pack()
	}
}

// pack compresses the open entries, and drops the oldest blocks if the log is too large.
func (l *updateLog) pack() {
	l.begun = true
	data := l.packer.pack(l.open)
	l.packed = append(l.packed, block{begin: l.begin, end: l.next, last: l.last, data: data})
	l.size += len(data)
	l.open, l.begin = nil, l.next // most sessions are idle now and then
	for len(l.packed) > 0 && l.size > l.limit {
		old := l.packed[0]
		l.size -= len(old.data)
		l.packed = l.packed[1:]
		l.complete, l.floor, l.first = false, old.last, old.end
	}
}

var errDropped = errors.New("the updates are no longer kept")

// read returns the entries of one block from a place on, and the place after them. It returns none at the end of the log.
func (l *updateLog) read(place int) (entries []entry, next int, err error) {
	if place < l.first {
		return nil, place, errDropped
	}
	if place >= l.next {
		return nil, place, nil
	}
	begin, end, data := l.begin, l.next, l.open
	for i := range l.packed {
		if b := &l.packed[i]; place < b.end {
			begin, end = b.begin, b.end
			if data, err = io.ReadAll(flate.NewReader(bytes.NewReader(b.data))); err != nil {
				return nil, place, err
			}
			break
		}
	}
	for at := begin; at < end; at++ {
		seq, n := binary.Varint(data)
		size, m := binary.Uvarint(data[n:])
		data = data[n+m:]
		if at >= place {
			entries = append(entries, entry{seq, bytes.Clone(data[:size])})
		}
		data = data[size:]
	}
	return entries, end, nil
}

// after returns the place of the first update with a number above seq. The caller has compared seq with the floor.
func (l *updateLog) after(seq int64) (int, error) {
	place := l.begin
	if n := len(l.packed); n > 0 && seq < l.packed[n-1].last {
		for _, b := range l.packed {
			if seq < b.last {
				place = b.begin
				break
			}
		}
	}
	for {
		entries, next, err := l.read(place)
		if err != nil || len(entries) == 0 {
			return place, err
		}
		for i := range entries {
			if entries[i].seq > seq {
				return place + i, nil
			}
		}
		place = next
	}
}
