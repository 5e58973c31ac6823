package registry

import (
	"cmp"
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// addBuiltIn adds the built-in providers, and the models of those whose API has a factory.
func (l *listing) addBuiltIn(c *builtInCatalogue) {
	for i := range c.Providers {
		p := &c.Providers[i]
		l.providers[p.Name] = &provider{
			builtIn: *p, keyEnv: slices.Clone(p.KeyEnv), api: p.API, discovery: p.Discovery, keyless: p.Keyless,
		}
		l.builtIn[p.Name] = true
		l.order = append(l.order, p.Name)
		if l.opts.Factories[p.API] == nil {
			continue
		}
		models := p.Models
		if from := c.provider(p.ModelsOf); from != nil {
			models = from.Models
		}
		for j := range models {
			l.models = append(l.models, models[j].info(p))
		}
	}
}

// addFileProvider adds a provider of models.yml, or applies its fields to a built-in one.
func (l *listing) addFileProvider(f *fileProvider) {
	p := l.providers[f.name]
	if p == nil {
		p = new(provider)
		l.providers[f.name] = p
		l.order = append(l.order, f.name)
	}
	p.configure(f)
	if f.api != "" {
		p.api = f.api
		for i := range l.models {
			if l.models[i].Provider == f.name {
				l.models[i].API = f.api
			}
		}
	}
	p.models, p.overrides = map[string]*fileModel{}, f.overrides
	for i := range f.overrides {
		l.override(f.name, &f.overrides[i])
	}
	for i := range f.models {
		m := &f.models[i]
		p.models[m.id] = m
		if at := l.index(f.name, m.id); at >= 0 {
			l.models[at] = m.merge(l.models[at])
		} else {
			l.models = append(l.models, m.merge(l.infer(f.name, p.api, m)))
		}
	}
}

// configure applies the fields of models.yml that are not about models.
func (p *provider) configure(f *fileProvider) {
	p.fileURL = cmp.Or(f.baseURL, p.fileURL)
	p.headers = f.headers
	switch {
	case f.auth != "":
		p.keyless = f.auth == "none"
	case f.apiKey+f.apiKeyEnv != "":
		p.keyless = false
	case len(p.keyEnv) == 0:
		p.keyless = f.keyless()
	}
	p.authHeader = f.authHeader != nil && *f.authHeader
	p.noStrictTools = f.noStrictTools != nil && *f.noStrictTools
	p.cacheRetention, p.structured, p.toolSearch = f.cacheRetention, f.structured, f.toolSearch
	p.compat, p.transform = f.compat, f.transform
	p.discovery = cmp.Or(f.discovery, p.discovery)
	if f.apiKeyEnv != "" {
		p.keyEnv = append([]string{f.apiKeyEnv}, p.keyEnv...)
	}
	switch {
	case f.apiKey == "":
	case isVariableName(f.apiKey):
		p.keyEnv = append([]string{f.apiKey}, p.keyEnv...)
	default:
		p.key = f.apiKey
	}
}

// isVariableName reports whether s looks like the name of an environment variable rather than a key: upper-case letters, digits and
// underscores.
func isVariableName(s string) bool {
	for i, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// override applies m to a model, if the listing has it.
func (l *listing) override(provider string, m *fileModel) {
	if at := l.index(provider, m.id); at >= 0 {
		l.models[at] = m.merge(l.models[at])
		l.providers[provider].models[m.id] = m
	}
}

// infer returns what other models imply about a model that is not in the catalogue: the provider's API, and the thinking mode and
// levels of a model with the same id and API.
func (l *listing) infer(provider, api string, m *fileModel) providers.ModelInfo {
	info := providers.ModelInfo{Provider: provider, ID: m.id, API: api}
	want := cmp.Or(m.api, api)
	for i := range l.models {
		switch known := &l.models[i]; {
		case info.API == "" && known.Provider == provider:
			info.API = known.API
		case known.ID == m.id && known.API == want && known.Provider != provider:
			info.ThinkingMode = known.ThinkingMode
			if m.reasoning != nil && *m.reasoning {
				info.Thinking = known.Thinking
			}
		}
	}
	return info
}

// merge returns known with the fields that m sets.
func (m *fileModel) merge(known providers.ModelInfo) providers.ModelInfo {
	known.Name = cmp.Or(m.name, known.Name)
	known.API = cmp.Or(m.api, known.API)
	if m.contextWindow != nil {
		known.ContextWindow = *m.contextWindow
	}
	if m.maxTokens != nil {
		known.MaxOutput = *m.maxTokens
	}
	if m.input != nil {
		known.Images = slices.Contains(m.input, "image")
	}
	if m.cost != nil {
		known.Cost = m.mergeCost(known.Cost)
	}
	known.ContextPromotionTarget = cmp.Or(m.promotion, known.ContextPromotionTarget)
	if m.reasoning != nil {
		if !*m.reasoning {
			known.Thinking = nil
		} else if len(known.Thinking) == 0 && (m.thinking == nil || m.thinking.minimum == "" && m.thinking.maximum == "") {
			known.Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingHigh}
		}
	}
	if m.thinking != nil {
		known = m.thinking.merge(known)
	}
	return known
}

// mergeCost returns the prices from the file. If they lack input or output, they are applied on top of the known prices.
func (m *fileModel) mergeCost(known providers.Cost) providers.Cost {
	if m.wholeCost() {
		return *m.cost
	}
	if known == (providers.Cost{}) {
		return known // an incomplete price is useless
	}
	for _, name := range m.costFields {
		switch name {
		case "input":
			known.Input = m.cost.Input
		case "output":
			known.Output = m.cost.Output
		case "cacheRead":
			known.CacheRead = m.cost.CacheRead
		case "cacheWrite":
			known.CacheWrite = m.cost.CacheWrite
		case "long":
			known.Long = m.cost.Long
		}
	}
	return known
}

// merge returns known with the thinking levels and mode that t sets.
func (t *fileThinking) merge(known providers.ModelInfo) providers.ModelInfo {
	if t.levelsGiven {
		known.Thinking = t.levels
	}
	levels := providers.ThinkingLevels()
	if t.minimum != "" || t.maximum != "" {
		low, high := cmp.Or(t.minimum, providers.ThinkingMinimal), cmp.Or(t.maximum, providers.ThinkingMax)
		if !t.levelsGiven && len(known.Thinking) == 0 {
			if t.maximum == "" {
				high = providers.ThinkingHigh
			}
			known.Thinking = levels[1:]
		}
		from, to := slices.Index(levels, low), slices.Index(levels, high)
		known.Thinking = slices.DeleteFunc(slices.Clone(known.Thinking), func(l providers.ThinkingLevel) bool {
			at := slices.Index(levels, l)
			return at < from || at > to
		})
	}
	known.ThinkingMode = cmp.Or(t.mode, known.ThinkingMode)
	if t.standard != "" {
		known.DefaultThinking = known.ClampThinking(t.standard)
	}
	return known
}
