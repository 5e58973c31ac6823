package linematch

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// A Scanner looks for lines with a [Pattern]. It remembers what it has found out about the pattern, so one should be used for
// many texts; it is not safe for concurrent use.
type Scanner struct {
	pattern *Pattern
	prog    *program
	// stop is asked now and then while a pattern is costly; stopped says that it said yes.
	stop    func() bool
	stopped bool

	// table has the next state by state and class of byte. A state is the place of its row.
	table  []int32
	states map[string]int32
	sets   []stateSet // by row
	// starts are the states at the start of a line.
	start int32

	closed, next sparseSet
	stack        []int32
	key          []byte
	slow         int
}

// stateSet is what the automaton can be at: nodes, and what the byte before was.
type stateSet struct {
	nodes  []int32
	before before
}

type before uint8

const (
	beforeOther before = iota
	beforeWord
	beforeLine
)

// What stands in a table in the place of a state.
const (
	unknownState int32 = iota
	matchState
	// firstState is the first row that is one.
	firstState
)

const (
	// maxTable bounds a scanner's table, in entries; a full one is begun anew.
	maxTable = 1 << 19
	// slowSteps is how many states are worked out between two looks at stop.
	slowSteps = 512
)

// NewScanner returns a scanner. It gives up, as if there were no more lines, once stop says so; nil for never.
func (p *Pattern) NewScanner(stop func() bool) *Scanner {
	s := &Scanner{pattern: p, prog: p.prog, stop: stop}
	s.closed.grow(len(p.prog.nodes))
	s.next.grow(len(p.prog.nodes))
	return s
}

// Next returns the first line of text that matches, from at on, which must be the start of a line: where it starts, and where
// it ends, without the line feed. start is -1 if there is none. In text a line ends with LF.
func (s *Scanner) Next(text []byte, at int) (start, end int) {
	for at < len(text) && !s.stopped {
		if len(s.pattern.literal) == 0 && s.pattern.any == nil {
			i := s.find(text[at:])
			if i < 0 {
				return -1, -1
			}
			start, end = lineAround(text, at, at+i)
			if start >= len(text) { // behind the last line feed
				return -1, -1
			}
			return start, end
		}
		i := s.candidate(text[at:])
		if i < 0 {
			return -1, -1
		}
		start, end = lineAround(text, at, at+i)
		if s.pattern.pure || s.find(text[start:end]) >= 0 {
			return start, end
		}
		at = end + 1
	}
	return -1, -1
}

// Possible reports whether text, whose lines may end with CRLF, can have a line that matches. It costs next to nothing.
func (s *Scanner) Possible(text []byte) bool { return s.candidate(text) >= 0 }

// candidate returns a place in text, which is not behind the end of the first match; -1 if there is no match. It is 0 where
// nothing is known.
func (s *Scanner) candidate(text []byte) int {
	switch p := s.pattern; {
	case len(p.literal) > 0:
		return bytes.Index(text, p.literal)
	case p.any != nil:
		return p.any.index(text, s.stops)
	default:
		return 0
	}
}

// stops asks stop.
func (s *Scanner) stops() bool {
	s.stopped = s.stopped || s.stop != nil && s.stop()
	return s.stopped
}

// lineAround returns the line around i in text, of which all before from is of no interest.
func lineAround(text []byte, from, i int) (start, end int) {
	start, end = from+bytes.LastIndexByte(text[from:i], '\n')+1, len(text)
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		end = i + n
	}
	return start, end
}

// find returns where a match ends in text, the first of all; -1 if there is none. text starts a line.
func (s *Scanner) find(text []byte) int {
	if s.table == nil {
		s.reset()
	}
	class, table, at := &s.prog.class, s.table, s.start
	for i := range text {
		next := table[int(at)+int(class[text[i]])]
		if next < firstState {
			if next == unknownState {
				if s.slow++; s.slow%slowSteps == 0 && s.stops() {
					return -1
				}
				next = s.step(at, int(class[text[i]]))
				table = s.table
			}
			if next == matchState {
				return i
			}
		}
		at = next
	}
	next := table[int(at)+s.prog.classes-1]
	if next == unknownState {
		next = s.step(at, s.prog.classes-1)
	}
	if next == matchState {
		return len(text)
	}
	return -1
}

// reset empties the table.
func (s *Scanner) reset() {
	s.table = append(s.table[:0], make([]int32, firstState)...)
	s.states, s.sets = make(map[string]int32), s.sets[:0]
	s.start = s.state(nil, beforeLine)
}

// step works out the state behind at and a byte of a class.
func (s *Scanner) step(at int32, class int) int32 {
	set := &s.sets[(at-firstState)/int32(s.prog.classes)]
	end := class == s.prog.classes-1
	var b byte
	if !end {
		b = s.prog.example[class]
	}
	if s.close(set, b, end) {
		s.table[int(at)+class] = matchState
		return matchState
	}
	s.next.clear()
	if !end {
		for _, i := range s.closed.all {
			if n := &s.prog.nodes[i]; n.kind == byteNode {
				if out := n.step(b); out != failAt {
					s.next.add(out)
				}
			}
		}
	}
	prev := beforeOther
	switch {
	case b == '\n':
		prev = beforeLine
	case isWord(b):
		prev = beforeWord
	}
	full := len(s.table) > maxTable
	nodes := slices.Clone(s.next.all)
	if full {
		s.reset()
	}
	next := s.state(nodes, prev)
	if !full {
		s.table[int(at)+class] = next
	}
	return next
}

// close follows all that needs no byte, from a set and from the program's start, before the byte b or the end. It reports
// whether that is a match.
func (s *Scanner) close(set *stateSet, b byte, end bool) bool {
	var holds syntax.EmptyOp
	if set.before == beforeLine {
		holds |= syntax.EmptyBeginLine
	}
	if end || b == '\n' {
		holds |= syntax.EmptyEndLine
	}
	if (set.before == beforeWord) != (!end && isWord(b)) {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	s.closed.clear()
	s.stack = append(append(s.stack[:0], set.nodes...), s.prog.start)
	for len(s.stack) > 0 {
		i := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if !s.closed.add(i) {
			continue
		}
		switch n := &s.prog.nodes[i]; n.kind {
		case matchNode:
			return true
		case splitNode:
			s.stack = append(s.stack, n.out, n.out1)
		case emptyNode:
			if n.when&holds != 0 {
				s.stack = append(s.stack, n.out)
			}
		default:
		}
	}
	return false
}

// step returns the node behind a byte.
func (n *node) step(b byte) int32 {
	ranges := n.ranges
	for len(ranges) > 8 {
		if half := len(ranges) / 2; ranges[half].lo <= b {
			ranges = ranges[half:]
		} else {
			ranges = ranges[:half]
		}
	}
	for i := range ranges {
		if r := &ranges[i]; r.lo <= b && b <= r.hi {
			return r.out
		}
	}
	return failAt
}

// state returns the row of a set of nodes, which it may keep.
func (s *Scanner) state(nodes []int32, prev before) int32 {
	slices.Sort(nodes)
	s.key = append(s.key[:0], byte(prev))
	for _, n := range nodes {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(n))
	}
	if at, ok := s.states[string(s.key)]; ok {
		return at
	}
	at := int32(len(s.table))
	s.table = append(s.table, make([]int32, s.prog.classes)...)
	s.states[string(s.key)] = at
	s.sets = append(s.sets, stateSet{nodes, prev})
	return at
}

func isWord(b byte) bool {
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || b == '_' || 'a' <= b && b <= 'z'
}

// sparseSet is a set of numbers below some number, which is emptied at once.
type sparseSet struct {
	all   []int32
	place []int32
}

func (s *sparseSet) grow(n int) { s.place, s.all = make([]int32, n), make([]int32, 0, n) }

func (s *sparseSet) clear() { s.all = s.all[:0] }

func (s *sparseSet) add(n int32) bool {
	if at := s.place[n]; int(at) < len(s.all) && s.all[at] == n {
		return false
	}
	s.place[n] = int32(len(s.all))
	s.all = append(s.all, n)
	return true
}
