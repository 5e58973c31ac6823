package secrets

import (
	"regexp"
)

// Removed stands for a secret in a text that goes to others. It reveals neither the value nor its length.
const Removed = "▒▒▒▒▒▒▒▒"

// tokens match the keys and tokens of well-known services, and private keys.
const tokens = `-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-[^-])*-----END [A-Z ]*PRIVATE KEY-----` +
	`|\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}` +
	`|xox[abeoprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})`

// LoadRemoved returns a set that replaces secrets with [Removed] for good: those of [Load], and what looks like a key of a well-known
// service. It needs no key for placeholders.
func LoadRemoved(opts *Options) (*Set, error) {
	entries, err := ReadFiles(filesOf(opts)...)
	if err != nil {
		return nil, err
	}
	entries = append(FromEnv(opts.Environ), entries...)
	entries = append(entries, Entry{Regexp: regexp.MustCompile(tokens), Source: "the form of a key"})
	for i := range entries {
		entries[i].Mode, entries[i].Replacement = Replace, Removed
	}
	return New(entries, nil)
}
