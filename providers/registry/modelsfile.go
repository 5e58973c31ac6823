package registry

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
)

// A modelsFile is the content of models.yml.
type modelsFile struct {
	providers []fileProvider
	// canonical holds canonical ids, by "provider/id"; excluded has the models without one.
	canonical map[string]string
	excluded  map[string]bool
	profiles  []Profile
	// roles and agentModels hold models, by role and by helper agent.
	roles, agentModels map[string]string
	// fallbacks holds lists of models; each model replaces those before it.
	fallbacks [][]string
	// path is the path of the file, lines the line numbers of its fields.
	path  string
	lines map[string]int
	// suspects are words of a malformed file that may name variables with keys.
	suspects []string
}

// fileProvider is one provider of models.yml.
type fileProvider struct {
	name string
	line int
	// configured reports that the provider has any fields.
	configured bool

	baseURL        string
	apiKey         string
	apiKeyEnv      string
	auth           string
	authHeader     *bool
	api            string
	headers        map[string]string
	noStrictTools  *bool
	structured     *bool
	toolSearch     *bool
	cacheRetention providers.CacheRetention
	discovery      providers.DiscoveryType
	compat         providers.Compat
	transform      fileTransform
	overrides      []fileModel
	models         []fileModel
}

// A fileModel is a model of models.yml, or an override of one.
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
	// costFields lists the fields that the file sets in cost. If it lacks input or output, the known prices apply to the rest.
	costFields     []string
	headers        map[string]string
	structured     *bool
	toolSearch     *bool
	cacheRetention providers.CacheRetention
	compat         providers.Compat
	transform      fileTransform
	// promotion is the contextPromotionTarget: "provider/id", or the id of a model of the same provider.
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

// parseModelsFile parses models.yml or models.json. It rejects unknown fields and preserves the order of the providers. A model
// must use one of apis. A provider for which builtIn returns true needs neither an address nor models.
func parseModelsFile(path string, data []byte, apis []string, builtIn func(string) bool) (*modelsFile, error) {
	read := configfile.ParseYAML
	if filepath.Ext(path) == ".json" {
		read = configfile.ParseJSON
	}
	top, err := read(data)
	if err != nil {
		line := 1
		reason := err.Error()
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line, reason = e.Line, e.Text
		}
		return nil, &ConfigError{File: path, Line: line, Reason: reason}
	}
	f := &modelsFile{canonical: map[string]string{}, excluded: map[string]bool{}, path: path}
	if top == nil || top.Kind == configfile.Null {
		return f, nil
	}
	r := &fileReader{path: path, lines: map[string]int{}}
	f.lines = r.lines
	r.object(top, "", f.fields())
	for i := range f.providers {
		f.providers[i].check(r, apis, builtIn(f.providers[i].name))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// fields returns the readers of the fields at the top.
func (f *modelsFile) fields() map[string]field {
	return map[string]field{
		"providers":     about("by name, without a slash, colon or blank", f.readProviders),
		"equivalence":   about("which models are the same: overrides {provider/id: the maker's id}, exclude [provider/id]", f.readEquivalence),
		"profiles":      about("by name: required_providers, model_mapping by role, extends", f.readProfiles),
		"modelBindings": about("modelRoles: models by role, which count last; agentModelOverrides: models by helper agent, which count first", f.readBindings),
		"fallbacks":     about("lists of models that replace each other, each provider/id or provider/id:level", f.readFallbacks),
	}
}

// FileSchema returns the schema of models.yml.
func FileSchema() configfile.JSONSchema {
	f := &modelsFile{canonical: map[string]string{}, excluded: map[string]bool{}}
	return describe(func(r *fileReader, n *configfile.Node) { r.object(n, "", f.fields()) })
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
		p := Profile{Name: m.Name}
		r.object(m.Value, path, map[string]field{
			"extends":            stringField(&p.Extends),
			"required_providers": texts(&p.RequiredProviders),
			"model_mapping":      roleMap(&p.Models),
		})
		if p.Models == nil && p.Extends == "" {
			r.fault(m.Line, path+".model_mapping", "is missing; set a model for at least one role")
		}
		f.profiles = append(f.profiles, p)
	})
	for i := range f.profiles {
		f.checkExtends(r, &f.profiles[i], path)
	}
}

// checkExtends reports a profile that extends itself, directly or through others.
func (f *modelsFile) checkExtends(r *fileReader, p *Profile, path string) {
	seen := map[string]bool{p.Name: true}
	for at := p; at.Extends != ""; {
		if seen[at.Extends] {
			field := path + "." + p.Name + ".extends"
			r.fault(r.line(field), field, "the profile extends %q again: profiles must not extend each other in a circle", at.Extends)
			return
		}
		seen[at.Extends] = true
		next := f.profile(at.Extends)
		if next == nil {
			return // built in, or unknown; Warnings reports the latter
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
	r.each(n, path, func(v *configfile.Node, path string) {
		var chain []string
		refList(&chain)(r, v, path)
		if v.Kind == configfile.List && len(v.List) < 2 {
			r.fault(v.Line, path, "must be a list of two models or more, the preferred one first")
		}
		f.fallbacks = append(f.fallbacks, chain)
	})
}

// roleMap reads a mapping from roles to one model each.
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

// refList reads a list of models as provider/id.
func refList(to *[]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		r.each(n, path, func(v *configfile.Node, path string) {
			r.lines[path] = v.Line
			switch {
			case !r.is(v, path, configfile.Text):
			case !isRef(v.Text):
				r.fault(v.Line, path, "must be a model, as provider/id")
			default:
				*to = append(*to, v.Text)
			}
		})
	}
}

func isRef(s string) bool {
	provider, id, ok := strings.Cut(s, "/")
	return ok && provider != "" && id != "" && !strings.ContainsAny(s, " \t\n")
}
