// Package secrets hides secret values from models: passwords, keys, tokens. Texts for a model have placeholders in
// their place, and a tool receives the values when it runs.
//
// A [Set] belongs to one session. Its placeholders depend only on the values and a key of the installation, so they are
// the same in every request and process: prompt caches and stored sessions stay valid.
package secrets

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Mode selects how a secret is hidden.
type Mode string

// The modes.
const (
	// Obfuscate replaces a secret with a placeholder. The placeholder is replaced with the value when a tool runs.
	Obfuscate Mode = "obfuscate"
	// Replace replaces a secret permanently.
	Replace Mode = "replace"
)

// Entry is one secret, or all matches of an expression.
type Entry struct {
	// Content is the value or, for Expression, unused.
	Content string
	Regexp  *regexp.Regexp
	// Mode is [Obfuscate] if empty.
	Mode Mode
	// Replacement replaces a secret of mode [Replace]. If empty, random letters and digits of the same length are used.
	Replacement string
	// Source describes the origin of the secret in words, without its value: "the environment variable GITHUB_TOKEN".
	Source string
}

// minLength is the minimum length of a value, in bytes. Shorter ones are too common.
const minLength = 4

// A Set holds the secrets of a session. It is safe for concurrent use.
type Set struct {
	entries []Entry
	find    *finder
	key     []byte

	mu sync.Mutex // guards the fields below
	// places maps values to placeholders, values the reverse. sources maps values to their entries.
	places, values map[string]string
	sources        map[string]int
	// literal holds texts that have the form of a placeholder and were seen as ordinary text; they are never used as
	// placeholders.
	literal map[string]bool
	cached  map[cacheKey]*conversation
	turns   int
}

// New returns the set of entries. Of several with the same content the first wins. Placeholders are derived from key; without the
// key they reveal nothing about the values. Errors name an entry by its source and quote no content.
func New(entries []Entry, key []byte) (*Set, error) {
	s := &Set{
		key: slices.Clone(key), places: make(map[string]string), values: make(map[string]string), sources: make(map[string]int),
		literal: make(map[string]bool), cached: make(map[cacheKey]*conversation),
	}
	for _, e := range entries {
		if e.Regexp == nil && slices.ContainsFunc(s.entries, func(have Entry) bool { return have.Regexp == nil && have.Content == e.Content }) {
			continue
		}
		if e.Regexp == nil && len(e.Content) < minLength {
			return nil, fmt.Errorf("%s: %w", e.Source, errShort)
		}
		if e.Regexp != nil && e.Regexp.MatchString("") {
			return nil, fmt.Errorf("%s: %w", e.Source, errEmptyMatch)
		}
		if e.Mode == "" {
			e.Mode = Obfuscate
		}
		s.entries = append(s.entries, e)
	}
	s.find = newFinder(s.entries)
	for i := range s.entries {
		if e := &s.entries[i]; e.Mode == Replace && (s.find.any(e.Replacement) || hasPlaceholder(e.Replacement)) {
			return nil, fmt.Errorf("%s: %w", e.Source, errReplacement)
		}
	}
	// A fixed order gives colliding values the same placeholders in every process.
	forms := slices.Clone(s.find.forms)
	slices.SortFunc(forms, func(a, b form) int { return strings.Compare(a.text, b.text) })
	for _, f := range forms {
		if s.entries[f.entry].Mode == Obfuscate {
			s.placeLocked(f.text, f.entry)
		}
	}
	return s, nil
}

var (
	errShort       = fmt.Errorf("a secret must have at least %d bytes; shorter ones are too common", minLength)
	errEmptyMatch  = errors.New("the expression matches the empty text; make it match at least one character")
	errReplacement = errors.New("the replacement must contain neither a secret nor text such as #AB12#")
)

// tokenSize is the length of a placeholder: #AB12#.
const tokenSize = 6

// tokenAt reports whether s has the form of a placeholder at i.
func tokenAt(s string, i int) bool {
	if i+tokenSize > len(s) || s[i] != '#' || s[i+tokenSize-1] != '#' {
		return false
	}
	for _, c := range []byte(s[i+1 : i+tokenSize-1]) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func hasPlaceholder(s string) bool {
	for i := nextHash(s, 0); i >= 0; i = nextHash(s, i+1) {
		if tokenAt(s, i) {
			return true
		}
	}
	return false
}

// maxTries is the maximum number of attempts to find an unused placeholder.
const maxTries = 1 << 12

// placeLocked returns the placeholder of a value.
func (s *Set) placeLocked(value string, entry int) string {
	if p, ok := s.places[value]; ok {
		return p
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for try := range maxTries {
		sum := s.digest(value, try)
		n := binary.BigEndian.Uint64(sum)
		p := []byte("#....#")
		digit, letter := false, false
		for i := 1; i <= 4; i++ {
			c := letters[n%36]
			p[i], n = c, n/36
			digit, letter = digit || c <= '9', letter || c >= 'A'
		}
		// A placeholder with a letter and a digit is less likely to occur in text.
		token := string(p)
		if _, taken := s.values[token]; taken || !digit || !letter || s.literal[token] || s.find.any(token) {
			continue
		}
		s.places[value], s.values[token], s.sources[value] = token, value, entry
		return token
	}
	return s.replacement(value, "") // there are more than a million others
}

// digest returns a keyed hash of the value.
func (s *Set) digest(value string, try int) []byte {
	mac := hmac.New(sha256.New, s.key)
	_, _ = fmt.Fprintf(mac, "%d:%s", try, value) // never returns an error
	return mac.Sum(nil)
}

// replacement returns the permanent replacement of a value.
func (s *Set) replacement(value, given string) string {
	if given != "" {
		return given
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	n := utf8.RuneCountInString(value)
	out := make([]byte, 0, n)
	for try := range maxTries {
		out = out[:0]
		for part := 0; len(out) < n; part++ {
			for _, b := range s.digest(value, -1-try-part*maxTries) {
				if len(out) < n {
					out = append(out, letters[int(b)%len(letters)])
				}
			}
		}
		if !s.find.any(string(out)) {
			break
		}
	}
	return string(out)
}

// Hide returns text for a model. Placeholders in it are kept, since the text may come from a model.
func (s *Set) Hide(text string) string { return s.hide(text, true) }

// HideForeign is like [Set.Hide], for text that does not come from a model, such as a file. Text in it that looks like a
// placeholder is literal, and [Set.Restore] returns it unchanged.
func (s *Set) HideForeign(text string) string { return s.hide(text, false) }

// Restore replaces placeholders in a text with their values.
func (s *Set) Restore(text string) string {
	if strings.IndexByte(text, '#') < 0 {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restoreLocked(text)
}

func (s *Set) restoreLocked(text string) string {
	var out strings.Builder
	done := 0
	for i := nextHash(text, 0); i >= 0; i = nextHash(text, i+1) {
		if !tokenAt(text, i) {
			continue
		}
		if value, ok := s.values[text[i:i+tokenSize]]; ok {
			out.WriteString(text[done:i])
			out.WriteString(value)
			done = i + tokenSize
			i = done - 1
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// RestoreInput replaces placeholders in all strings of a tool call's input. Input that is not JSON is unchanged.
func (s *Set) RestoreInput(input jsonx.Raw) jsonx.Raw { return eachString(input, s.Restore) }

// Explain describes the placeholders in a text for users, one per line, without their values. It returns "" if there are none.
func (s *Set) Explain(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for i := nextHash(text, 0); i >= 0; i = nextHash(text, i+1) {
		if !tokenAt(text, i) {
			continue
		}
		token := text[i : i+tokenSize]
		value, ok := s.values[token]
		if !ok {
			continue
		}
		source := s.entries[s.sources[value]].Source
		if line := token + " stands for " + source + "."; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
