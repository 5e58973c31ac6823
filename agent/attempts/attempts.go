// Package attempts compares the results of several helpers that did the same task, each in a worktree of its own.
package attempts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/text"
)

// Scheme begins the address of an attempt, such as "attempt://2".
const Scheme = "attempt://"

// File counts the changed lines of a file.
type File struct {
	// Path is slash-separated and relative to the top of the repository.
	Path           string
	Kind           string // "added", "modified" or "deleted"
	Added, Removed int
}

// Attempt is the result of one helper.
type Attempt struct {
	// Number is the one of its address; [Set.Add] sets it.
	Number int
	// Task describes the task in one line. Helper is the name of the helper, and Model that of its model.
	Task, Helper, Model string
	// Report is the helper's last answer.
	Report string
	// Failed says why there is no result; empty if the helper has done its work.
	Failed string
	Files  []File
	// Diff has the changes, as a unified diff.
	Diff string
	// Command is the one that judged the attempt; empty for none. Passed reports that it succeeded, Output is what it printed.
	Command string
	Passed  bool
	Output  string
	Took    time.Duration
}

// lines returns the number of changed lines.
func (a *Attempt) lines() int {
	n := 0
	for _, f := range a.Files {
		n += f.Added + f.Removed
	}
	return n
}

// Wins reports whether an attempt can be the winner: it has changes, and the command that judges it has passed.
func (a *Attempt) Wins() bool {
	return a.Failed == "" && len(a.Files) > 0 && (a.Command == "" || a.Passed)
}

// Outcome describes the result in a few words.
func (a *Attempt) Outcome() string {
	switch {
	case a.Failed != "":
		return "failed: " + text.Truncate(text.OneLine(a.Failed), 200)
	case len(a.Files) == 0:
		return "changed nothing"
	}
	size := fmt.Sprintf("%s, %s", text.Count(len(a.Files), "file"), text.Count(a.lines(), "line"))
	switch {
	case a.Command == "":
		return size
	case a.Passed:
		return "passed, " + size
	default:
		return "did not pass, " + size
	}
}

// Rank sorts attempts, the best first: those that can win before the others, the smaller change first, then in the order in which they
// were started.
func Rank(all []*Attempt) {
	slices.SortStableFunc(all, func(a, b *Attempt) int {
		if a.Wins() != b.Wins() {
			if a.Wins() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.lines(), b.lines()), cmp.Compare(len(a.Files), len(b.Files)), cmp.Compare(a.Number, b.Number))
	})
}

// Set holds the attempts of a session until it ends, as one of its values. It is safe for concurrent use.
type Set struct {
	mu  sync.Mutex // guards all
	all []*Attempt // by number, from 1
}

// Add numbers an attempt and adds it.
func (s *Set) Add(a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Number = len(s.all) + 1
	s.all = append(s.all, a)
}

// All returns the attempts in the order of their numbers.
func (s *Set) All() []*Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// errNone reports that there is no attempt with a number.
var errNone = errors.New("there is no such attempt")

// Find returns the attempt with a number. The error lists what there is.
func (s *Set) Find(number string) (*Attempt, error) {
	all := s.All()
	if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(all) {
		return all[n-1], nil
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s; the session has none", errNone, text.Truncate(number, 60))
	}
	return nil, fmt.Errorf("%w: %s; there are 1 to %d", errNone, text.Truncate(number, 60), len(all))
}

// Markdown describes an attempt with its report, its changes, and what the command has printed.
func (a *Attempt) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Attempt %d: %s\n\n", a.Number, a.Task)
	fmt.Fprintf(&b, "Helper %s, model %s, %s: %s.\n", a.Helper, a.Model, a.Took.Round(100*time.Millisecond), a.Outcome())
	section := func(title, content, language string) {
		if content = strings.TrimSpace(content); content == "" {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if language == "" {
			b.WriteString(content + "\n")
			return
		}
		marks := fence(content)
		b.WriteString(marks + language + "\n" + content + "\n" + marks + "\n")
	}
	section("Report", a.Report, "")
	section("Changes", a.Diff, "diff")
	if a.Command != "" {
		section("Output of `"+text.OneLine(a.Command)+"`", cmp.Or(strings.TrimSpace(a.Output), "(nothing)"), "text")
	}
	return b.String()
}

// fence returns backticks that enclose a text, more than it has in a row.
func fence(s string) string {
	longest, run := 2, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// Table lists attempts as Markdown, in their order.
func Table(all []*Attempt) string {
	var b strings.Builder
	b.WriteString("| Attempt | Model | Result | Took |\n|---|---|---|---|\n")
	cell := func(s string) string { return strings.ReplaceAll(text.VisibleLine(s), "|", `\|`) }
	for _, a := range all {
		fmt.Fprintf(&b, "| `%s%d` | %s | %s | %s |\n", Scheme, a.Number, cell(a.Model), cell(a.Outcome()), a.Took.Round(100*time.Millisecond))
	}
	return b.String()
}
