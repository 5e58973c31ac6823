package discovery

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/text"
)

// The parameters of BM25+: k1 bounds the effect of repetition, b is the effect of length, and delta is the least that one word adds.
const (
	k1    = 1.2
	b     = 0.75
	delta = 1.0
)

// The weights of a document's fields: how often one occurrence counts.
const (
	weightName    = 6
	weightTitle   = 4
	weightRemote  = 4
	weightServer  = 2
	weightSummary = 2
	weightMember  = 1
)

// A Document describes a tool to an [Index].
type Document struct {
	Name string
	Origin
	// Summary is the description or its beginning.
	Summary string
	// Members are the names of the input's members.
	Members []string
}

// An Index finds documents by words. It does not change after [NewIndex] and is safe for concurrent use.
type Index struct {
	docs  []Document
	words map[string]int32 // the index in posted
	// posted holds, for each word, the documents that contain it, in order.
	posted [][]posting
	// length is the part of a document's score that depends on its length.
	length []float64
}

// posting is the weighted number of times that a word occurs in a document.
type posting struct {
	doc    int32
	weight float32
}

// NewIndex returns an index of docs, which must not change afterwards.
func NewIndex(docs []Document) *Index {
	x := &Index{docs: docs, words: make(map[string]int32), length: make([]float64, len(docs))}
	total := 0.0
	for i := range docs {
		doc := &docs[i]
		x.add(i, doc.Name, weightName)
		x.add(i, doc.Title, weightTitle)
		x.add(i, doc.Remote, weightRemote)
		x.add(i, doc.Server, weightServer)
		x.add(i, doc.Summary, weightSummary)
		for _, member := range doc.Members {
			x.add(i, member, weightMember)
		}
		total += x.length[i]
	}
	mean := max(total/float64(max(len(docs), 1)), 1)
	for i, n := range x.length {
		x.length[i] = k1 * (1 - b + b*n/mean)
	}
	return x
}

// add adds the words of a field to a document, which is the last one so far.
func (x *Index) add(doc int, field string, weight float32) {
	eachToken(field, func(word []byte) bool {
		x.length[doc] += float64(weight)
		id, known := x.words[string(word)]
		if !known {
			id = int32(len(x.posted)) //nolint:gosec // there are fewer words than bytes in memory
			x.words[string(word)] = id
			x.posted = append(x.posted, nil)
		}
		list := x.posted[id]
		if n := len(list); n > 0 && int(list[n-1].doc) == doc {
			list[n-1].weight += weight
			return true
		}
		x.posted[id] = append(list, posting{int32(doc), weight}) //nolint:gosec // as above
		return true
	})
}

// ErrNoWords is the error of [Index.Search] for a query without a word.
var ErrNoWords = errors.New("the query must contain at least one letter or number")

// A Match is a document that a search has found.
type Match struct {
	// Doc is the index of the document.
	Doc   int
	Score float64
}

// Search returns the best matches of a query, best first, at most limit, and the number of all matches. A document whose name, or
// whose server's name for it, is the query comes first. Documents with the same score are ordered by name. It ignores the documents for
// which skip returns true; nil is none.
func (x *Index) Search(query string, limit int, skip func(doc int) bool) (best []Match, matches int, err error) {
	scores, asked := make([]float64, len(x.docs)), make([]int32, 0, 8)
	words := 0
	eachToken(query, func(word []byte) bool {
		words++
		if id, ok := x.words[string(word)]; ok && !slices.Contains(asked, id) {
			asked = append(asked, id)
			x.score(scores, x.posted[id])
		}
		return words < maxQueryWords
	})
	if words == 0 {
		return nil, 0, ErrNoWords
	}
	query = strings.TrimSpace(query)
	for i := range x.docs {
		if doc := &x.docs[i]; strings.EqualFold(doc.Name, query) || doc.Remote != "" && strings.EqualFold(doc.Remote, query) {
			scores[i] += exact
		}
		if scores[i] <= 0 || skip != nil && skip(i) {
			continue
		}
		matches++
		best = x.insert(best, Match{i, scores[i]}, limit)
	}
	return best, matches, nil
}

const (
	// maxQueryWords bounds the words of a query that count.
	maxQueryWords = 64
	// exact exceeds the score that words can add up to.
	exact = 1e6
)

// score adds what one word contributes to each document with it.
func (x *Index) score(scores []float64, list []posting) {
	n, df := float64(len(x.docs)), float64(len(list))
	rarity := math.Log(1 + (n-df+0.5)/(df+0.5))
	for _, p := range list {
		tf := float64(p.weight)
		scores[p.doc] += rarity * (tf*(k1+1)/(tf+x.length[p.doc]) + delta)
	}
}

// insert adds a match to the best ones, of which it keeps limit.
func (x *Index) insert(best []Match, m Match, limit int) []Match {
	at, _ := slices.BinarySearchFunc(best, m, func(p, q Match) int {
		return cmp.Or(cmp.Compare(q.Score, p.Score), strings.Compare(x.docs[p.Doc].Name, x.docs[q.Doc].Name))
	})
	if at >= limit {
		return best
	}
	return slices.Insert(best[:min(len(best), limit-1)], at, m)
}

// Doc returns a document.
func (x *Index) Doc(i int) *Document { return &x.docs[i] }

// Len returns the number of documents.
func (x *Index) Len() int { return len(x.docs) }

// maxSummary is the length of a document's summary, in characters.
const maxSummary = 200

// Summary returns the beginning of a description, on one line.
func Summary(description string) string {
	return text.Truncate(text.OneLine(text.TruncateBytes(description, 2*utf8.UTFMax*maxSummary)), maxSummary)
}
