package registry

import (
	"regexp"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/providers"
)

// canonize gives every model its canonical id, the one that its maker gave it: what models.yml says, what the catalogue
// says, what is left without a gateway's prefix or with the other way to write a version, and else the model's own id.
// Models with one canonical id are variants of one model. The first listed models are those that no server has told: what a
// gateway calls a model is nobody's official id.
func (r *Registry) canonize(file *modelsFile, listed int) {
	official := map[string]bool{}
	for i := range r.models[:listed] {
		if m := &r.models[i]; r.builtIn[m.Provider] {
			official[orID(m)] = true
		}
	}
	for i := range r.models {
		m := &r.models[i]
		switch id, given := file.canonical[m.Ref()]; {
		case file.excluded[m.Ref()]:
			m.Canonical = ""
		case given:
			m.Canonical = id
		case m.Canonical == "":
			m.Canonical = canonical(m.ID, official)
		}
	}
}

func orID(m *providers.ModelInfo) string {
	if m.Canonical != "" {
		return m.Canonical
	}
	return m.ID
}

var (
	dottedVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d)\.(\d)`) })
	dashedVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d)-(\d)`) })
)

// canonical finds the official id that id is another spelling of. One that fits no official id is its own.
func canonical(id string, official map[string]bool) string {
	if official[id] {
		return id
	}
	names := []string{id}
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		names = append(names, id[at+1:])
	}
	for _, name := range names {
		name, _, _ = strings.Cut(strings.ToLower(name), "@") // a date, as Vertex writes it
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
