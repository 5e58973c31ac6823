package registry

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
)

// modelsFile is what models.yml says.
type modelsFile struct {
	providers []fileProvider
	// canonical are the canonical ids of models, by "provider/id"; excluded are the models that have none.
	canonical map[string]string
	excluded  map[string]bool
	profiles  []Profile
	// roles and agentModels are models by role and by the name of a helper agent.
	roles, agentModels map[string]string
	// fallbacks are lists of models; each stands in for those before it.
	fallbacks [][]string
	// file is the path, lines are where its fields stand.
	file  string
	lines map[string]int
	// suspects are what may be names of variables with keys, where the file has a mistake.
	suspects []string
}

// fileProvider is one provider of models.yml.
type fileProvider struct {
	name string
	line int
	// says reports that the file says anything of the provider.
	says bool

	baseURL        string
	apiKey         string
	apiKeyEnv      string
	auth           string
	authHeader     *bool
	api            string
	headers        map[string]string
	noStrictTools  *bool
	cacheRetention providers.CacheRetention
	discovery      providers.DiscoveryType
	compat         providers.Compat
	transform      fileTransform
	overrides      []fileModel
	models         []fileModel
}

// fileModel is one model, or what is put over one.
type fileModel struct {
	line int

	id            string
	name          string
	api           string
	wireModelID   string
	contextWindow *int
	maxTokens     *int
	reasoning     *bool
	thinking      *fileThinking
	input         []string
	cost          *providers.Cost
	// costFields are those that the file gives of cost. If input or output is missing, the rest is that of the known model.
	costFields     []string
	headers        map[string]string
	cacheRetention providers.CacheRetention
	compat         providers.Compat
	transform      fileTransform
	// promotion is "provider/id", or the id of a model of the same provider.
	promotion string
}

type fileThinking struct {
	levels           []providers.ThinkingLevel
	minimum, maximum providers.ThinkingLevel
	standard         providers.ThinkingLevel
	mode             providers.ThinkingMode
	levelsGiven      bool
}

type fileTransform struct {
	profile string
	providers.RequestTransform
	stripGiven bool
}

// A Profile is a set of models for roles.
type Profile struct {
	Name string
	// Extends names the profile that has what this one leaves out; empty for none.
	Extends string
	// RequiredProviders need a key before the profile can be used.
	RequiredProviders []string
	// Models are "provider/id" or "provider/id:level", by role.
	Models map[string]string
	line   int
}

// parseModelsFile reads models.yml or models.json, strictly. Providers come in the order of the file. The apis are those
// that a model may name; builtIn tells the providers that need no address and no list of models.
func parseModelsFile(file string, data []byte, apis []string, builtIn func(string) bool) (*modelsFile, error) {
	read := configfile.ParseYAML
	if filepath.Ext(file) == ".json" {
		read = configfile.ParseJSON
	}
	top, err := read(data)
	if err != nil {
		line := 1
		reason := err.Error()
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line, reason = e.Line, e.Text
		}
		return nil, &ConfigError{File: file, Line: line, Reason: reason}
	}
	f := &modelsFile{canonical: map[string]string{}, excluded: map[string]bool{}, file: file}
	if top == nil || top.Kind == configfile.Null {
		return f, nil
	}
	r := &fileReader{file: file, lines: map[string]int{}}
	f.lines = r.lines
	r.object(top, "", map[string]field{
		"providers":     func(r *fileReader, n *configfile.Node, path string) { f.readProviders(r, n, path) },
		"equivalence":   func(r *fileReader, n *configfile.Node, path string) { f.readEquivalence(r, n, path) },
		"profiles":      func(r *fileReader, n *configfile.Node, path string) { f.readProfiles(r, n, path) },
		"modelBindings": func(r *fileReader, n *configfile.Node, path string) { f.readBindings(r, n, path) },
		"fallbacks":     func(r *fileReader, n *configfile.Node, path string) { f.readFallbacks(r, n, path) },
	})
	for i := range f.providers {
		f.providers[i].check(r, apis, builtIn(f.providers[i].name))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *modelsFile) readProviders(r *fileReader, n *configfile.Node, path string) {
	r.named(n, path, func(m *configfile.Member, path string) {
		f.providers = append(f.providers, fileProvider{name: m.Name, line: m.Line})
		if m.Value.Kind == configfile.Null {
			r.fault(m.Line, path, "must be a mapping, not null")
			return
		}
		f.providers[len(f.providers)-1].read(r, m.Value, path)
	})
}

func (f *modelsFile) readEquivalence(r *fileReader, n *configfile.Node, path string) {
	var excluded []string
	r.object(n, path, map[string]field{
		"overrides": func(r *fileReader, n *configfile.Node, path string) {
			r.named(n, path, func(m *configfile.Member, path string) {
				switch {
				case !r.is(m.Value, path, configfile.Text):
				case !isRef(m.Name):
					r.fault(m.Line, path, "the name must be a model, as provider/id")
				case m.Value.Text == "":
					r.fault(m.Line, path, "must be the canonical id of the model")
				default:
					f.canonical[m.Name] = m.Value.Text
				}
			})
		},
		"exclude": refList(&excluded),
	})
	for _, ref := range excluded {
		f.excluded[ref] = true
	}
}

func (f *modelsFile) readProfiles(r *fileReader, n *configfile.Node, path string) {
	r.named(n, path, func(m *configfile.Member, path string) {
		p := Profile{Name: m.Name, line: m.Line}
		r.object(m.Value, path, map[string]field{
			"extends":            text(&p.Extends),
			"required_providers": texts(&p.RequiredProviders),
			"model_mapping":      roleMap(&p.Models),
		})
		if p.Models == nil && p.Extends == "" {
			r.fault(m.Line, path+".model_mapping", "is missing: give a model for at least one role")
		}
		f.profiles = append(f.profiles, p)
	})
	for i := range f.profiles {
		f.checkExtends(r, &f.profiles[i], path)
	}
}

// checkExtends finds profiles that extend each other in a circle.
func (f *modelsFile) checkExtends(r *fileReader, p *Profile, path string) {
	seen := map[string]bool{p.Name: true}
	for at := p; at.Extends != ""; {
		if seen[at.Extends] {
			field := path + "." + p.Name + ".extends"
			r.fault(r.line(field), field, "the profile comes back to %q: profiles must not extend each other in a circle", at.Extends)
			return
		}
		seen[at.Extends] = true
		next := f.profile(at.Extends)
		if next == nil {
			return // a built-in one, or none: that is told when it is used
		}
		at = next
	}
}

func (f *modelsFile) profile(name string) *Profile {
	for i := range f.profiles {
		if f.profiles[i].Name == name {
			return &f.profiles[i]
		}
	}
	return nil
}

func (f *modelsFile) readBindings(r *fileReader, n *configfile.Node, path string) {
	r.object(n, path, map[string]field{
		"modelRoles":          roleMap(&f.roles),
		"agentModelOverrides": roleMap(&f.agentModels),
	})
}

func (f *modelsFile) readFallbacks(r *fileReader, n *configfile.Node, path string) {
	if !r.is(n, path, configfile.List) {
		return
	}
	for i, v := range n.List {
		var chain []string
		refList(&chain)(r, v, at(path, i))
		if v.Kind == configfile.List && len(v.List) < 2 {
			r.fault(v.Line, at(path, i), "must be a list of two models or more, the preferred one first")
		}
		f.fallbacks = append(f.fallbacks, chain)
	}
}

// roleMap reads models by role: one model each, no list.
func roleMap(to *map[string]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		*to = map[string]string{}
		r.named(n, path, func(m *configfile.Member, path string) {
			switch {
			case !r.is(m.Value, path, configfile.Text):
			case m.Value.Text == "" || strings.ContainsAny(m.Value.Text, ", \t\n"):
				r.fault(m.Line, path, "must be one model, as provider/id or provider/id:level")
			default:
				(*to)[m.Name] = m.Value.Text
			}
		})
	}
}

// refList reads models as provider/id.
func refList(to *[]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if !r.is(n, path, configfile.List) {
			return
		}
		for i, v := range n.List {
			r.lines[at(path, i)] = v.Line
			switch {
			case !r.is(v, at(path, i), configfile.Text):
			case !isRef(v.Text):
				r.fault(v.Line, at(path, i), "must be a model, as provider/id")
			default:
				*to = append(*to, v.Text)
			}
		}
	}
}

func isRef(s string) bool {
	provider, id, ok := strings.Cut(s, "/")
	return ok && provider != "" && id != "" && !strings.ContainsAny(s, " \t\n")
}
