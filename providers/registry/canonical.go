package registry

import (
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/providers"
)

// officialIDs returns the canonical ids of the built-in models. A server's list is not official: a gateway has its own names.
func (l *listing) officialIDs() map[string]bool {
	official := map[string]bool{}
	for i := range l.models {
		if m := &l.models[i]; l.builtIn[m.Provider] {
			official[canonicalOrID(m)] = true
		}
	}
	return official
}

// canonize sets every model's canonical id, the id that its maker gave it: the one of models.yml, the one of the built-in
// catalogue, an official id of which the model's id is another spelling, or else the model's own id. Models with the same
// canonical id are variants of one model.
func (l *listing) canonize(official map[string]bool) {
	for i := range l.models {
		m := &l.models[i]
		switch id, given := l.file.canonical[m.Ref()]; {
		case l.file.excluded[m.Ref()]:
			m.Canonical = ""
		case given:
			m.Canonical = id
		case m.Canonical == "":
			m.Canonical = canonical(m.ID, official)
		}
	}
}

func canonicalOrID(m *providers.ModelInfo) string {
	if m.Canonical != "" {
		return m.Canonical
	}
	return m.ID
}

var (
	dottedVersion = lazyregexp.New(`(\d)\.(\d)`)
	dashedVersion = lazyregexp.New(`(\d)-(\d)`)
)

// canonical returns the official id of which id is another spelling: with a gateway's prefix, or with the version written
// differently. Without one it returns id.
func canonical(id string, official map[string]bool) string {
	if official[id] {
		return id
	}
	names := []string{id}
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		names = append(names, id[at+1:])
	}
	for _, name := range names {
		name, _, _ = strings.Cut(strings.ToLower(name), "@") // the date that Vertex appends
		for _, spelling := range []string{
			name, dottedVersion().ReplaceAllString(name, "$1-$2"), dashedVersion().ReplaceAllString(name, "$1.$2"),
		} {
			if official[spelling] {
				return spelling
			}
		}
	}
	return id
}
