// Package trust stores which workspaces may run the commands in their own files: language servers, debug adapters, hooks and MCP
// servers. An answer is valid for a directory and for the contents that the user has seen; it becomes invalid when one of the
// files changes. Each file has an answer of its own.
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
	Unknown State = "" // not asked, or asked for other contents
	Trusted State = "trusted"
	Denied  State = "denied"
)

// File is a file of the workspace that names commands.
type File struct {
	// Name is the path relative to the workspace, with slashes.
	Name string
	// Sum is the SHA-256 of the contents, in hex.
	Sum string
	// Runs describes the commands and settings in the file that would run something, for the user, one each. It may be empty.
	Runs []string
}

// NewFile returns a file with the given contents.
func NewFile(name string, data []byte, runs ...string) File {
	sum := sha256.Sum256(data)
	return File{Name: filepath.ToSlash(name), Sum: hex.EncodeToString(sum[:]), Runs: runs}
}

// A Subject is the object of a question about trust: a workspace in its present state.
type Subject struct {
	// Path is the workspace's directory, absolute. Paths are compared in the form that [Canonical] returns.
	Path string
	// Files are the files that contain commands.
	Files []File
	// Programs lists the programs in the workspace, and code there that other programs would load, as relative paths. They are
	// trusted together, including future ones.
	Programs []string
	// Changed describes what has changed since the user's last answer. It is for display only.
	Changed []string
}

// Empty reports whether there is nothing to trust.
func (s *Subject) Empty() bool { return len(s.Files) == 0 && len(s.Programs) == 0 }

// Merge returns a subject with the contents of both, for one question about the same workspace. Either may be nil.
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

// Describe returns lines of plain text about what trust would allow. It escapes control characters and line breaks.
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
			lines = append(lines, Programs+" (new since you were asked):")
		} else {
			lines = append(lines, Programs+":")
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

// changedPrograms is the entry of Changed for programs that the answer does not include.
const changedPrograms = "programs"

// Printable returns s with unprintable characters as Go escapes, so that a file cannot forge what the user reads. It removes the
// middle of a long s.
func Printable(s string) string {
	const most = 400
	if r := []rune(s); len(r) > most {
		s = string(r[:most/2]) + " … " + string(r[len(r)-most/2:])
	}
	var b strings.Builder
	for _, r := range s {
		// Control characters, line separators and characters that change the direction of writing are not printable.
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Entry holds the stored answers for a workspace.
type Entry struct {
	// Path is the canonical path of the workspace.
	Path string `json:"path"`
	// State is the last answer, from When. It holds for all files and programs without a state of their own.
	State State     `json:"state"`
	When  time.Time `json:"when"`
	Files []Sum     `json:"files"`
	// Programs says that there is an answer about the programs in the workspace, and ProgramsState is that answer if it is not State.
	Programs      bool  `json:"programs,omitempty"`
	ProgramsState State `json:"programsState,omitempty"`
}

// Sum is the checksum of a file at the time of the answer.
type Sum struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	// State is the answer for this file if it is not that of the entry.
	State State `json:"state,omitempty"`
}

// Covers returns the names of the files that have an answer, and [Programs] if the programs in the workspace have it.
func (e *Entry) Covers(state State) []string {
	var all []string
	for _, f := range e.Files {
		if cmp.Or(f.State, e.State) == state {
			all = append(all, f.Name)
		}
	}
	if e.Programs && cmp.Or(e.ProgramsState, e.State) == state {
		all = append(all, Programs)
	}
	return all
}

// Programs stands for the programs in a workspace among the names of files.
const Programs = "programs in the workspace"

// mixed reports whether the entry has both answers.
func (e *Entry) mixed() bool {
	return e.ProgramsState != Unknown || slices.ContainsFunc(e.Files, func(f Sum) bool { return f.State != Unknown })
}

// Verdict is the answer for a subject, if it is valid.
type Verdict struct {
	State State
	// Changed describes what has changed since the user's answer. It is set only for Unknown, and empty without an answer.
	Changed []string
}

// judge compares the answers with the present workspace. They must include everything in the subject, and may include more: files
// that were deleted, or that other parts of the program use. A subject is trusted if all of it is; it is denied if a part of it is.
func (e *Entry) judge(s *Subject) Verdict {
	var changed []string
	var states []State
	unasked := false
	for _, f := range s.Files {
		i := slices.IndexFunc(e.Files, func(old Sum) bool { return old.Name == f.Name })
		if i < 0 {
			unasked = true
			continue
		}
		if e.Files[i].SHA256 != f.Sum {
			changed = append(changed, f.Name)
			continue
		}
		states = append(states, cmp.Or(e.Files[i].State, e.State))
	}
	switch {
	case len(s.Programs) > 0 && !e.Programs:
		changed = append(changed, changedPrograms)
	case len(s.Programs) > 0:
		states = append(states, cmp.Or(e.ProgramsState, e.State))
	}
	switch {
	case unasked || len(changed) > 0:
		return Verdict{Changed: changed}
	case len(states) == 0:
		return Verdict{State: e.State}
	case slices.Contains(states, Denied):
		return Verdict{State: Denied}
	}
	return Verdict{State: Trusted}
}

// record adds an answer for a subject to an entry. It replaces earlier answers for the same files and programs, and no others.
func (e *Entry) record(s *Subject, state State, now time.Time) {
	own := func(old State) State { // what the answer is relative to the new state
		if old = cmp.Or(old, e.State); old == state {
			return Unknown
		}
		return old
	}
	for i := range e.Files {
		e.Files[i].State = own(e.Files[i].State)
	}
	if e.Programs {
		e.ProgramsState = own(e.ProgramsState)
	}
	e.State, e.When = state, now.UTC().Truncate(time.Second)
	for _, f := range s.Files {
		e.Files = slices.DeleteFunc(e.Files, func(old Sum) bool { return old.Name == f.Name })
		e.Files = append(e.Files, Sum{Name: f.Name, SHA256: f.Sum})
	}
	if len(s.Programs) > 0 {
		e.Programs, e.ProgramsState = true, Unknown
	}
}

// Canonical returns the path of a workspace with symbolic links resolved. If the path does not exist, it is only cleaned.
func Canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// samePath compares canonical paths by the rules of an operating system (GOOS).
func samePath(a, b, goos string) bool {
	if goos == "windows" {
		return strings.EqualFold(strings.ReplaceAll(a, "/", `\`), strings.ReplaceAll(b, "/", `\`))
	}
	return a == b
}
