// Package trust keeps which workspaces may run commands that their own files name: language servers today, adapters,
// hooks and MCP servers by the same rule. An answer holds for a directory and for the contents that the user was shown;
// it is gone as soon as one of the files says something else.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the user's answer for a workspace.
type State string

// The states.
const (
	Unknown State = "" // not asked, or not for these contents
	Trusted State = "trusted"
	Denied  State = "denied"
)

// File is a file of the workspace that names commands.
type File struct {
	// Name is the path below the workspace, with slashes.
	Name string
	// Sum is the SHA-256 of the contents, in hex.
	Sum string
	// Runs says for people what the file would have run, one command or setting each. It may be empty.
	Runs []string
}

// NewFile returns a file by its contents.
func NewFile(name string, data []byte, runs ...string) File {
	sum := sha256.Sum256(data)
	return File{Name: filepath.ToSlash(name), Sum: hex.EncodeToString(sum[:]), Runs: runs}
}

// Subject is what is to be trusted: a workspace, as it is now.
type Subject struct {
	// Path is the workspace's directory, absolute. It is compared by [Canonical].
	Path string
	// Files name commands.
	Files []File
	// Programs are programs that lie in the workspace itself, and code there that programs from elsewhere would load, as
	// paths below it; they are trusted all together, present and future ones.
	Programs []string
	// Changed names what is not as it was when the user last answered. It is for people; nobody compares it.
	Changed []string
}

// Empty reports that there is nothing to trust.
func (s *Subject) Empty() bool { return len(s.Files) == 0 && len(s.Programs) == 0 }

// Merge returns a subject with what both have, for one question about the same workspace. Either may be nil.
func Merge(a, b *Subject) *Subject {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	merged := *a
	merged.Files = slices.Concat(a.Files, b.Files)
	merged.Programs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Programs, b.Programs))))
	merged.Changed = slices.Concat(a.Changed, b.Changed)
	return &merged
}

// Describe says in lines of plain text what trust would allow. Nothing in it can move a terminal's cursor or begin a line
// of its own.
func (s *Subject) Describe() []string {
	var lines []string
	for _, f := range s.Files {
		name := Printable(f.Name)
		if slices.Contains(s.Changed, f.Name) {
			name += " (changed since you were asked)"
		}
		lines = append(lines, name)
		for _, run := range f.Runs {
			lines = append(lines, "  "+Printable(run))
		}
	}
	if len(s.Programs) > 0 {
		if slices.Contains(s.Changed, changedPrograms) {
			lines = append(lines, "programs in the workspace (new since you were asked):")
		} else {
			lines = append(lines, "programs in the workspace:")
		}
		const most = 20
		for i, p := range s.Programs {
			if i == most {
				lines = append(lines, "  and more")
				break
			}
			lines = append(lines, "  "+Printable(p))
		}
	}
	return lines
}

// changedPrograms stands in Changed for programs that there were none of.
const changedPrograms = "programs"

// Printable returns s with each character that is not printable as its Go escape, so that a file can not forge what a
// person reads, and with its middle left out where it is long.
func Printable(s string) string {
	const most = 400
	if r := []rune(s); len(r) > most {
		s = string(r[:most/2]) + " … " + string(r[len(r)-most/2:])
	}
	var b strings.Builder
	for _, r := range s {
		// No control character is printable, no line separator, and nothing that turns the direction of writing.
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Entry is an answer that is kept.
type Entry struct {
	// Path is the canonical path of the workspace.
	Path  string    `json:"path"`
	State State     `json:"state"`
	When  time.Time `json:"when"`
	Files []Sum     `json:"files"`
	// Programs says that the answer is for programs in the workspace too.
	Programs bool `json:"programs,omitempty"`
}

// Sum is a file as it was when the user answered.
type Sum struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Verdict is what is known of a subject.
type Verdict struct {
	State State
	// Changed says what is not as it was when the user answered; only for Unknown. Empty where the user was never asked.
	Changed []string
}

// judge compares an answer with the workspace as it is. Everything in the subject must have been answered for; what has
// gone from the workspace since does not matter, so that one answer can be for files that different parts of the
// program look at.
func (e *Entry) judge(s *Subject) Verdict {
	var changed []string
	for _, f := range s.Files {
		if !slices.Contains(e.Files, Sum{f.Name, f.Sum}) {
			changed = append(changed, f.Name)
		}
	}
	if len(s.Programs) > 0 && !e.Programs {
		changed = append(changed, changedPrograms)
	}
	if len(changed) > 0 {
		return Verdict{Changed: changed}
	}
	return Verdict{State: e.State}
}

// record puts an answer for a subject over what an entry holds. A second answer of the same kind adds to the first.
func (e *Entry) record(s *Subject, state State, now time.Time) {
	if e.State != state {
		e.Files, e.Programs = nil, false
	}
	e.State, e.When = state, now.UTC().Truncate(time.Second)
	for _, f := range s.Files {
		i := slices.IndexFunc(e.Files, func(old Sum) bool { return old.Name == f.Name })
		if i < 0 {
			e.Files = append(e.Files, Sum{f.Name, f.Sum})
		} else {
			e.Files[i].SHA256 = f.Sum
		}
	}
	e.Programs = e.Programs || len(s.Programs) > 0
}

// Canonical returns the path by which a workspace is known: without symbolic links. Where it does not exist it is only
// cleaned.
func Canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// samePath compares canonical paths of the operating system called goos.
func samePath(a, b, goos string) bool {
	if goos == "windows" {
		return strings.EqualFold(strings.ReplaceAll(a, "/", `\`), strings.ReplaceAll(b, "/", `\`))
	}
	return a == b
}
