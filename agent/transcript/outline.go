package transcript

import (
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
)

// maxTitle is the maximum number of characters of a prompt in the contents.
const maxTitle = 90

// outline holds the parts of a conversation that precede it on a page. The numbers of its turns and diffs are those
// of the conversation.
type outline struct {
	// turns begin with their prompts. The first one is what precedes the first prompt, and has number 0.
	turns []turn
	files []*fileChange
	diffs []diffSize
}

// turn is a prompt with all that follows until the next one.
type turn struct {
	number      int
	title       string
	begin, end  time.Time
	answers     int
	usage       usage
	cost        float64
	compactions int
	// context is the size of the context after the last answer; zero if unknown.
	context int
}

// fileChange is a file that the session's calls have changed.
type fileChange struct {
	path string
	diffSize
	created bool
	diffs   []int // numbers of diffs, from 1
}

// outline reads the conversation once, without keeping it.
func (d *document) outline() *outline {
	o := &outline{turns: []turn{{}}}
	files := make(map[string]*fileChange)
	d.each(func(it *item) bool {
		o.item(it)
		for i := range it.Content {
			if call := &it.Content[i]; call.Type == blockCall {
				o.call(call, files)
			}
		}
		return true
	})
	return o
}

func (o *outline) item(it *item) {
	if it.Type == itemUser {
		o.turns = append(o.turns, turn{number: len(o.turns), title: it.heading(), begin: it.Time})
	}
	t := &o.turns[len(o.turns)-1]
	if it.Time.After(t.end) {
		t.end = it.Time
	}
	switch it.Type {
	case itemCompaction:
		t.compactions++
	case itemAssistant:
		t.answers++
		t.cost += it.CostUSD
		if u := it.Usage; u != nil {
			t.usage.Input += u.Input
			t.usage.Output += u.Output
			t.usage.CacheRead += u.CacheRead
			t.usage.CacheWrite += u.CacheWrite
			if u.Context > 0 && it.Error == "" {
				t.context = u.Context
			}
		}
	}
}

func (o *outline) call(call *block, files map[string]*fileChange) {
	for i := range call.Content {
		b := &call.Content[i]
		if b.Type != blockDiff {
			continue
		}
		size := sizeOf(b)
		o.diffs = append(o.diffs, size)
		if call.Status != "completed" {
			continue
		}
		f := files[b.Path]
		if f == nil {
			f = &fileChange{path: b.Path, created: b.OldText == nil}
			files[b.Path] = f
			o.files = append(o.files, f)
		}
		f.add(size)
		f.diffs = append(f.diffs, len(o.diffs))
	}
}

// heading returns the first words of a prompt, without marks of Markdown.
func (it *item) heading() string {
	for line := range strings.SplitSeq(it.text(), "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#>-*` "))
		if line != "" {
			return text.Truncate(text.OneLine(strings.NewReplacer("**", "", "`", "").Replace(line)), maxTitle)
		}
	}
	if slices.ContainsFunc(it.Content, func(b block) bool { return b.Type == blockImage }) {
		return "An image"
	}
	return "An empty prompt"
}

// display returns a path relative to the session's directory, if it is in it.
func (d *document) display(path string) string {
	w := agent.Workspace{Cwd: d.Cwd}
	if d.Cwd == "" {
		return path
	}
	return w.Display(path)
}
