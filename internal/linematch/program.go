package linematch

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// program is a pattern as an automaton over bytes, with many states at a time.
type program struct {
	nodes []node
	start int32
	// class has the bytes that no node tells apart under one number; example is one byte of each. The last class is the end
	// of the text.
	class   [256]uint8
	example []byte
	classes int
}

type nodeKind uint8

const (
	// fail goes nowhere, match is the end.
	failNode nodeKind = iota
	matchNode
	// splitNode goes to out and out1.
	splitNode
	// emptyNode goes to out where its condition holds.
	emptyNode
	// byteNode goes on by one byte.
	byteNode
)

type node struct {
	kind      nodeKind
	when      syntax.EmptyOp
	out, out1 int32
	ranges    []byteRange
}

// byteRange leads from a byte to a node. A node's do not overlap and are in order.
type byteRange struct {
	lo, hi byte
	out    int32
}

type compiler struct {
	nodes []node
	// tries has the nodes for parts of characters, by what they hold.
	tries map[string]int32
}

// The first nodes of each program.
const (
	failAt int32 = iota
	matchAt
)

func compile(tree *syntax.Regexp) *program {
	c := &compiler{nodes: []node{{kind: failNode}, {kind: matchNode}}, tries: make(map[string]int32)}
	p := &program{start: c.regexp(tree, matchAt)}
	p.nodes = c.nodes
	p.classify()
	return p
}

func (c *compiler) add(n node) int32 {
	c.nodes = append(c.nodes, n)
	return int32(len(c.nodes) - 1)
}

// regexp returns the node where re begins that goes on with next.
func (c *compiler) regexp(re *syntax.Regexp, next int32) int32 {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		for _, r := range slices.Backward(re.Rune) {
			next = c.rune(r, re.Flags&syntax.FoldCase != 0, next)
		}
		return next
	case syntax.OpCharClass:
		return c.class(re.Rune, next)
	case syntax.OpBeginLine:
		return c.add(node{kind: emptyNode, when: syntax.EmptyBeginLine, out: next})
	case syntax.OpEndLine:
		return c.add(node{kind: emptyNode, when: syntax.EmptyEndLine, out: next})
	case syntax.OpWordBoundary:
		return c.add(node{kind: emptyNode, when: syntax.EmptyWordBoundary, out: next})
	case syntax.OpNoWordBoundary:
		return c.add(node{kind: emptyNode, when: syntax.EmptyNoWordBoundary, out: next})
	case syntax.OpStar:
		loop := c.add(node{kind: splitNode, out1: next})
		c.nodes[loop].out = c.regexp(re.Sub[0], loop)
		return loop
	case syntax.OpPlus:
		loop := c.add(node{kind: splitNode, out1: next})
		first := c.regexp(re.Sub[0], loop)
		c.nodes[loop].out = first
		return first
	case syntax.OpQuest:
		return c.add(node{kind: splitNode, out: c.regexp(re.Sub[0], next), out1: next})
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			next = c.regexp(sub, next)
		}
		return next
	case syntax.OpAlternate:
		at := failAt
		for _, sub := range slices.Backward(re.Sub) {
			at = c.add(node{kind: splitNode, out: c.regexp(sub, next), out1: at})
		}
		return at
	default:
		return failAt
	}
}

func (c *compiler) rune(r rune, fold bool, next int32) int32 {
	if !fold {
		return c.class([]rune{r, r}, next)
	}
	runes := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		runes = append(runes, f)
	}
	slices.Sort(runes)
	var ranges []rune
	for _, f := range runes {
		ranges = append(ranges, f, f)
	}
	return c.class(ranges, next)
}

// class returns the node where a character of the ranges begins.
func (c *compiler) class(ranges []rune, next int32) int32 {
	var all [][]byteRange
	for i := 0; i < len(ranges); i += 2 {
		for _, r := range withoutSurrogates(ranges[i], ranges[i+1]) {
			all = sequences(all, r[0], r[1])
		}
	}
	if len(all) == 0 {
		return failAt
	}
	return c.trie(all, next)
}

// trie returns the node where all of the sequences begin. Those are in order, and the first ranges of any two are the same or
// do not overlap.
func (c *compiler) trie(all [][]byteRange, next int32) int32 {
	var ranges []byteRange
	for len(all) > 0 {
		first := all[0][0]
		n := 1
		for n < len(all) && all[n][0] == first {
			n++
		}
		first.out = next
		if len(all[0]) > 1 {
			rest := make([][]byteRange, n)
			for i := range rest {
				rest[i] = all[i][1:]
			}
			first.out = c.trie(rest, next)
		}
		if last := len(ranges) - 1; last >= 0 && ranges[last].out == first.out && ranges[last].hi+1 == first.lo {
			ranges[last].hi = first.hi
		} else {
			ranges = append(ranges, first)
		}
		all = all[n:]
	}
	var key []byte
	for _, r := range ranges {
		key = binary.LittleEndian.AppendUint32(append(key, r.lo, r.hi), uint32(r.out))
	}
	if at, ok := c.tries[string(key)]; ok {
		return at
	}
	at := c.add(node{kind: byteNode, ranges: ranges})
	c.tries[string(key)] = at
	return at
}

// withoutSurrogates are the parts of a range that a text can hold.
func withoutSurrogates(lo, hi rune) [][2]rune {
	var parts [][2]rune
	if lo < 0xD800 {
		parts = append(parts, [2]rune{lo, min(hi, 0xD7FF)})
	}
	if hi > 0xDFFF {
		parts = append(parts, [2]rune{max(lo, 0xE000), hi})
	}
	return parts
}

// sequences appends what the characters from lo to hi are in bytes.
func sequences(all [][]byteRange, lo, hi rune) [][]byteRange {
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= last && last < hi {
			return sequences(sequences(all, lo, last), last+1, hi)
		}
	}
	if hi > 0x7F {
		for bits := 6; bits <= 18; bits += 6 {
			m := rune(1)<<bits - 1
			if lo&^m == hi&^m {
				break
			}
			if lo&m != 0 {
				return sequences(sequences(all, lo, lo|m), lo|m+1, hi)
			}
			if hi&m != m {
				return sequences(sequences(all, lo, hi&^m-1), hi&^m, hi)
			}
		}
	}
	var from, to [utf8.UTFMax]byte
	n := utf8.EncodeRune(from[:], lo)
	utf8.EncodeRune(to[:], hi)
	seq := make([]byteRange, n)
	for i := range seq {
		seq[i] = byteRange{lo: from[i], hi: to[i]}
	}
	return append(all, seq)
}

// classify finds out which bytes the program tells apart.
func (p *program) classify() {
	var starts [257]bool
	mark := func(lo, hi byte) { starts[lo], starts[int(hi)+1] = true, true }
	mark('\n', '\n')
	words := false
	for i := range p.nodes {
		n := &p.nodes[i]
		words = words || n.kind == emptyNode && n.when&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		for _, r := range n.ranges {
			mark(r.lo, r.hi)
		}
	}
	if words {
		mark('0', '9')
		mark('A', 'Z')
		mark('_', '_')
		mark('a', 'z')
	}
	at := -1
	for b := range 256 {
		if starts[b] || b == 0 {
			at++
			p.example = append(p.example, byte(b))
		}
		p.class[b] = uint8(at)
	}
	p.classes = at + 2 // and the end of the text
}
