package places

import (
	"path/filepath"
	"slices"
	"strings"
)

// Index says by a name alone that a path is not protected and holds no secrets, as most do. A scan of a large directory asks it first.
type Index struct {
	names map[string]bool
	wild  []string // with a *
}

// Index returns the index for the paths' patterns.
func (p *Paths) Index() *Index {
	x := &Index{names: map[string]bool{"head": true, "config": true, "hooks": true}} // a repository without a .git
	add := func(name string) {
		switch name = strings.ToLower(name); {
		case strings.Contains(name, "*"):
			if !slices.Contains(x.wild, name) {
				x.wild = append(x.wild, name)
			}
		default:
			x.names[name] = true
		}
	}
	known, _ := protected()
	secret, _ := secretPatterns()
	for _, patterns := range [][]pattern{known, secret} {
		for _, pattern := range patterns {
			add(pattern.names[len(pattern.names)-1])
		}
	}
	for _, loaded := range p.Loaded {
		add(filepath.Base(filepath.FromSlash(strings.TrimSuffix(loaded, "/"))))
	}
	for _, own := range p.Own {
		add(filepath.Base(own))
		add(filepath.Base(p.Resolve(own)))
	}
	if p.Followed != nil {
		for _, followed := range p.Followed() {
			add(filepath.Base(followed))
			add(filepath.Base(p.Resolve(followed)))
		}
	}
	return x
}

// Candidate reports whether a path with a name may be protected or hold secrets, in a directory in which none of its parents does. It does
// not follow links.
func (x *Index) Candidate(name string) bool {
	if !plainName(name) {
		name = Names(name)[0]
	}
	if x.names[name] || strings.HasPrefix(name, "git~") {
		return true
	}
	for _, pattern := range x.wild {
		if matchName(pattern, name) {
			return true
		}
	}
	for _, end := range backups {
		if short, ok := strings.CutSuffix(name, end); ok && short != "" {
			return x.Candidate(short)
		}
	}
	return false
}

// plainName reports whether every file system sees a name as it stands there.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, " ")
}
