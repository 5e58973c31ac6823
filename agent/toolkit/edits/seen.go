package edits

import (
	"container/list"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// Limits of the texts that a session keeps.
const (
	maxSeenFiles = 30
	maxSeenBytes = 8 << 20
)

// seenTexts holds the texts of files as the model of a session knows them: what it has read, and the results of its changes. An
// edit applies to the text that the model knows. If the file's text differs, the model must read it first.
type seenTexts struct {
	mu    sync.Mutex // guards the fields below
	files map[string]*list.Element
	order *list.List // of *seenText, most recent first
	size  int
}

type seenText struct{ path, text string }

func seenOf(call *agent.Call) *seenTexts {
	if call.Values == nil {
		return newSeenTexts()
	}
	return agent.Value(call.Values, newSeenTexts)
}

func newSeenTexts() *seenTexts {
	return &seenTexts{files: make(map[string]*list.Element), order: list.New()}
}

// put records a file's text.
func (s *seenTexts) put(path, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(path)
	if len(text) > maxSeenBytes/2 {
		return
	}
	s.files[path] = s.order.PushFront(&seenText{path, text})
	s.size += len(text)
	for s.size > maxSeenBytes || s.order.Len() > maxSeenFiles {
		s.drop(s.order.Back().Value.(*seenText).path)
	}
}

func (s *seenTexts) drop(path string) {
	if e := s.files[path]; e != nil {
		s.size -= len(s.order.Remove(e).(*seenText).text)
		delete(s.files, path)
	}
}

// get returns the text of a file as the model knows it.
func (s *seenTexts) get(path string) (text string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.files[path]; e != nil {
		return e.Value.(*seenText).text, true
	}
	return "", false
}

// moved records that a file or a directory was moved to to, or removed if to is empty.
func (s *seenTexts) moved(path, to string) {
	var moved []seenText // oldest first
	s.mu.Lock()
	for e := s.order.Back(); e != nil; {
		t := e.Value.(*seenText)
		e = e.Prev()
		if rest, ok := strings.CutPrefix(t.path, path); ok && (rest == "" || rest[0] == filepath.Separator) {
			moved = append(moved, seenText{to + rest, t.text})
			s.drop(t.path)
		}
	}
	s.mu.Unlock()
	for _, t := range moved {
		if to != "" {
			s.put(t.path, t.text)
		}
	}
}

// knownTexts provides access to the [seenTexts] of a call's session by path. It resolves the path, because a file may have several
// names.
type knownTexts struct {
	seen  *seenTexts
	files agent.FS
}

// KnownOf returns the texts of files that the session of call has shown to the model or written.
func KnownOf(call *agent.Call) knownTexts { return knownTexts{seenOf(call), call.FS} }

func (k knownTexts) Put(path, text string) { k.seen.put(k.files.RealPath(path), text) }

func (k knownTexts) Get(path string) (text string, known bool) {
	return k.seen.get(k.files.RealPath(path))
}

func (k knownTexts) moved(path, to string) {
	if to != "" {
		to = k.files.RealPath(to)
	}
	k.seen.moved(k.files.RealPath(path), to)
}

// Saw records the content of a file that is shown to the model.
func Saw(call *agent.Call, path string, data []byte) {
	if len(data) > maxSeenBytes/2 {
		return
	}
	if text, _, err := toolkit.DecodeText(data); err == nil {
		KnownOf(call).Put(path, text)
	}
}

// ErrChanged is wrapped by the error for an edit of text that the file no longer contains.
var ErrChanged = errors.New("the file has changed since you read it")

// staleLines is the number of lines around an edit that must match what the model knows.
const staleLines = 3

// Parts of messages about a text that changed.
const (
	ByOthers         = "by another program or a command"
	RightThere       = "right where the edit goes"
	ChangedElsewhere = "The file has changed since you read it, but not where the edit goes."
)

// StaleRegions returns the regions of a text that the model does not know. It returns nil if the model knows no different text of
// the file.
func StaleRegions(call *agent.Call, path, text string) []lines.Region {
	known, isKnown := KnownOf(call).Get(path)
	if !isKnown || known == text {
		return nil
	}
	return lines.Changed(lines.Parse(known), lines.Parse(text))
}

// AsSplices returns the differences between text and now as splices.
func AsSplices(text, now string) []lines.Splice {
	var all []lines.Splice
	for _, r := range lines.Changed(lines.Parse(text), lines.Parse(now)) {
		all = append(all, lines.Splice{Start: r.OldStart, End: r.OldEnd})
	}
	return all
}

// Touched returns the regions that lie in, or next to, the lines that splices change.
func Touched(regions []lines.Region, splices []lines.Splice) []lines.Region {
	var hit []lines.Region
	for _, r := range regions {
		for _, s := range splices {
			if r.Start < s.End+staleLines && r.End > s.Start-staleLines || r.Start == s.Start {
				hit = append(hit, r)
				break
			}
		}
	}
	return hit
}

// maxFresh bounds the lines in an error.
const maxFresh = 60

// FreshLines returns the lines in and around regions of a text, in the format of read.
func FreshLines(text string, regions []lines.Region, anchors bool) string {
	all := lines.Parse(text)
	var ranges []toolkit.LineRange
	for _, r := range regions {
		ranges = append(ranges, toolkit.LineRange{First: max(1, r.Start+1-staleLines), Last: min(all.Len(), max(r.End, r.Start+1)+staleLines)})
	}
	var b strings.Builder
	shown, last := 0, 0
	for _, r := range ranges {
		r.First = max(r.First, last+1)
		if last > 0 && r.First > last+1 && r.First <= r.Last {
			b.WriteString("  ...\n")
		}
		for n := r.First; n <= r.Last; n++ {
			if shown == maxFresh {
				b.WriteString("  ... and more; read the file")
				return b.String()
			}
			b.WriteString(numberedLine(n, all.Line(n-1), anchors) + "\n")
			shown++
		}
		last = max(last, r.Last)
	}
	if all.Len() == 0 {
		return "(the file is empty)"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// numberedLine returns line n, from 1, in the format of read: with its number, or its anchor.
func numberedLine(n int, line string, anchors bool) string {
	if anchors {
		return fmt.Sprintf("%7s|%s", hashline.Anchor(n, line), toolkit.CutLine(line, toolkit.MaxColumns))
	}
	return fmt.Sprintf("%5d|%s", n, toolkit.CutLine(line, toolkit.MaxColumns))
}
