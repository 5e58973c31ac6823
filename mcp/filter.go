package mcp

import (
	"path"
	"slices"
	"strings"
)

// ToolFilter selects tools of a server by the server's own names. Patterns may have *, ? and [].
type ToolFilter struct {
	// Allow has the tools that are allowed; nil for all. Deny has those that are not, even if Allow has them.
	Allow, Deny []string
}

// allows reports whether a tool may be offered and called.
func (f *ToolFilter) allows(name string) bool {
	matches := func(pattern string) bool { return matchGlob(pattern, name) }
	return (f.Allow == nil || slices.ContainsFunc(f.Allow, matches)) && !slices.ContainsFunc(f.Deny, matches)
}

// matchGlob reports whether a name matches a pattern. A slash is a character like any other. An invalid pattern matches itself.
func matchGlob(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok || err != nil && pattern == name
}

// ValidGlob reports whether a pattern of a [ToolFilter] is valid.
func ValidGlob(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}
