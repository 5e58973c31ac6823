package registry

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// access is how one provider is reached.
type access struct {
	label string
	// baseURL is the catalogue's, fileURL that of models.yml, which counts more; baseURLEnv names the variables in between.
	baseURL, fileURL string
	baseURLEnv       []string
	headers          map[string]string
	// keyEnv names the variables that may hold the key, in order.
	keyEnv []string
	// key is the literal of models.yml.
	key     string
	keyless bool
	// unsure says that models.yml cannot be used and may have an address of the provider.
	unsure bool
	// needsURL says that there is no address that all customers share.
	needsURL      bool
	authHeader    bool
	noStrictTools bool
	// cacheRetention is the file's, cacheDefault the catalogue's.
	cacheRetention providers.CacheRetention
	cacheDefault   providers.CacheRetention
	compat         providers.Compat
	transform      fileTransform
	// ownAPI is the catalogue's, api that of the provider's models, discovery how they are found out.
	ownAPI    string
	api       string
	discovery providers.DiscoveryType
	// models is what the file says of single models, by id, beyond their description.
	models map[string]*fileModel
	// overrides are put over models that are discovered later.
	overrides []fileModel
}

// addBuiltIn adds the models of the catalogue that the build can speak to.
func (r *Registry) addBuiltIn(c *catalogue) {
	for i := range c.Providers {
		p := &c.Providers[i]
		a := &access{
			label: p.Label, baseURL: p.BaseURL, needsURL: p.NeedsURL, keyEnv: slices.Clone(p.KeyEnv), baseURLEnv: p.BaseURLEnv,
			ownAPI: p.API, api: p.API, discovery: p.Discovery, cacheDefault: p.CacheRetention, keyless: p.Keyless,
		}
		r.access[p.Name] = a
		r.builtIn[p.Name] = true
		r.order = append(r.order, p.Name)
		if r.opts.Factories[p.API] == nil {
			continue
		}
		if p.ModelsOf != "" {
			if from := c.provider(p.ModelsOf); from != nil {
				p.Models = from.Models
			}
		}
		for j := range p.Models {
			r.models = append(r.models, p.Models[j].info(p))
		}
	}
}

// variableName tells the name of an environment variable from a key.
func variableName(s string) bool {
	for i, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func (r *Registry) addFileProvider(p *fileProvider) {
	a := r.access[p.name]
	if a == nil {
		a = new(access)
		r.access[p.name] = a
		r.order = append(r.order, p.name)
	}
	if p.baseURL != "" {
		a.fileURL = p.baseURL
	}
	a.headers = p.headers
	switch {
	case p.auth != "":
		a.keyless = p.auth == "none"
	case p.apiKey+p.apiKeyEnv != "":
		a.keyless = false
	case len(a.keyEnv) == 0:
		a.keyless = p.keyless()
	}
	a.authHeader = p.authHeader != nil && *p.authHeader
	a.noStrictTools = p.noStrictTools != nil && *p.noStrictTools
	a.cacheRetention = p.cacheRetention
	a.compat, a.transform = p.compat, p.transform
	a.discovery = cmp.Or(p.discovery, a.discovery)
	if p.api != "" {
		a.api = p.api
		for i := range r.models {
			if r.models[i].Provider == p.name {
				r.models[i].API = p.api
			}
		}
	}
	if p.apiKeyEnv != "" {
		a.keyEnv = append([]string{p.apiKeyEnv}, a.keyEnv...)
	}
	switch {
	case p.apiKey == "":
	case variableName(p.apiKey):
		a.keyEnv = append([]string{p.apiKey}, a.keyEnv...)
	default:
		a.key = p.apiKey
	}
	a.models, a.overrides = map[string]*fileModel{}, p.overrides
	for i := range p.overrides {
		r.override(p.name, &p.overrides[i])
	}
	for i := range p.models {
		m := &p.models[i]
		a.models[m.id] = m
		at := r.indexLocked(p.name, m.id)
		if at >= 0 {
			r.models[at] = m.merge(r.models[at])
			continue
		}
		r.models = append(r.models, m.merge(r.guess(p.name, a.api, m)))
	}
}

// override puts what the file says over a model, if it is there.
func (r *Registry) override(provider string, m *fileModel) {
	if at := r.indexLocked(provider, m.id); at >= 0 {
		r.models[at] = m.merge(r.models[at])
		r.access[provider].models[m.id] = m
	}
}

func (r *Registry) indexLocked(provider, id string) int {
	return slices.IndexFunc(r.models, func(k providers.ModelInfo) bool { return k.Provider == provider && k.ID == id })
}

// guess is what can be known of a model that is not in the catalogue.
func (r *Registry) guess(provider, api string, m *fileModel) providers.ModelInfo {
	info := providers.ModelInfo{Provider: provider, ID: m.id, API: api}
	want := cmp.Or(m.api, api)
	for i := range r.models {
		switch k := &r.models[i]; {
		case info.API == "" && k.Provider == provider:
			info.API = k.API
		case k.ID == m.id && k.API == want && k.Provider != provider:
			// The same model behind a gateway is told its thinking the same way.
			info.ThinkingMode = k.ThinkingMode
			if m.reasoning != nil && *m.reasoning {
				info.Thinking = k.Thinking
			}
		}
	}
	return info
}

// merge puts what the file says of a model over what is known of it.
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

// mergeCost returns the prices of the file; where it does not give both of input and output, over those that are known.
func (m *fileModel) mergeCost(known providers.Cost) providers.Cost {
	if m.wholeCost() {
		return *m.cost
	}
	if known == (providers.Cost{}) {
		return known // half of a price is none
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

func (t *fileThinking) merge(known providers.ModelInfo) providers.ModelInfo {
	if t.levelsGiven {
		known.Thinking = t.levels
	}
	if t.minimum != "" || t.maximum != "" {
		low, high := providers.ThinkingMinimal, providers.ThinkingMax
		low, high = cmp.Or(t.minimum, low), cmp.Or(t.maximum, high)
		if !t.levelsGiven && len(known.Thinking) == 0 {
			if t.maximum == "" {
				high = providers.ThinkingHigh
			}
			known.Thinking = providers.ThinkingLevels()[1:]
		}
		from, to := slices.Index(providers.ThinkingLevels(), low), slices.Index(providers.ThinkingLevels(), high)
		known.Thinking = slices.DeleteFunc(slices.Clone(known.Thinking), func(l providers.ThinkingLevel) bool {
			at := slices.Index(providers.ThinkingLevels(), l)
			return at < from || at > to
		})
	}
	known.ThinkingMode = cmp.Or(t.mode, known.ThinkingMode)
	if t.standard != "" {
		known.DefaultThinking = known.ClampThinking(t.standard)
	}
	return known
}

// configLocked is what it takes, but for the key, to open a model.
func (r *Registry) configLocked(info providers.ModelInfo) providers.Config {
	cfg := providers.Config{
		Info: info, HTTPClient: r.client, StallTimeout: r.set.StallTimeout, FirstByteTimeout: r.set.FirstByteTimeout,
	}
	to := r.routes[info.Provider]
	if to != nil {
		cfg.BaseURL, cfg.Headers, cfg.NoAmbient = to.baseURL, maps.Clone(to.headers), !to.ownKeys
	}
	a := r.access[info.Provider]
	if a == nil || to != nil && !to.ownKeys {
		return cfg
	}
	// An editor that names the server of the user changes where and with which headers it is asked, not what it is like.
	m := a.model(info.ID)
	cfg.AuthHeader, cfg.NoStrictTools = a.authHeader, a.noStrictTools
	cfg.Compat = m.compat.Over(a.compat)
	cfg.WireModel = cmp.Or(m.wireModelID, r.deploymentLocked(info))
	cfg.CacheRetention = cmp.Or(m.cacheRetention, r.retentionLocked(a))
	if to == nil {
		cfg.BaseURL = r.addressLocked(a, info.Provider)
		cfg.Headers = providers.Overlay(m.headers, maps.Clone(a.headers))
		cfg.Transform = m.transform.over(&a.transform)
	}
	return cfg
}

// model is what the file says of a model beyond its description.
func (a *access) model(id string) *fileModel {
	if m := a.models[id]; m != nil {
		return m
	}
	return new(fileModel)
}

// retentionLocked is the cache retention of a provider: the file's, that of the environment, or the catalogue's.
func (r *Registry) retentionLocked(a *access) providers.CacheRetention {
	if a.cacheRetention != "" {
		return a.cacheRetention
	}
	switch said := providers.CacheRetention(r.opts.Getenv("GJC_CACHE_RETENTION")); said {
	case "":
		return a.cacheDefault
	case providers.CacheLong, providers.CacheNone:
		return said
	case providers.CacheShort:
	}
	return providers.CacheShort
}

// addressLocked is the base URL of a provider, from the first place that has one: models.yml, the environment, the
// catalogue. It is empty for the API's public address, and where there is none.
func (r *Registry) addressLocked(a *access, provider string) string {
	if a.api != apiAzure {
		return r.givenAddress(a, provider)
	}
	address := r.givenAddress(a, provider)
	if resource := r.opts.Getenv("AZURE_OPENAI_RESOURCE_NAME"); address == "" && resource != "" {
		address = "https://" + resource + ".openai.azure.com/openai/v1"
	}
	version := r.opts.Getenv("AZURE_OPENAI_API_VERSION")
	if u, err := url.Parse(address); err == nil && address != "" && version != "" && !u.Query().Has("api-version") {
		q := u.Query()
		q.Set("api-version", version)
		u.RawQuery = q.Encode()
		address = u.String()
	}
	return address
}

func (r *Registry) givenAddress(a *access, provider string) string {
	if a.fileURL != "" {
		return a.fileURL
	}
	for _, name := range append(slices.Clone(a.baseURLEnv), derivedName(provider, "_BASE_URL")) {
		if address := strings.TrimSpace(r.opts.Getenv(name)); address != "" {
			if a.keyless && a.discovery != "" && !strings.Contains(address, "://") {
				address = "http://" + address // "box:11434", as a server of one's own is named elsewhere
			}
			return address
		}
	}
	return a.baseURL
}

// derivedName is the name of a provider's environment variable: "my-proxy" and "_BASE_URL" make MY_PROXY_BASE_URL.
func derivedName(provider, suffix string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, provider) + suffix
}

const apiAzure = "azure-openai-responses"

// deploymentLocked is the name under which a customer of Azure has deployed a model; empty for the model's own.
func (r *Registry) deploymentLocked(info providers.ModelInfo) string {
	if info.API != apiAzure {
		return ""
	}
	for pair := range strings.SplitSeq(r.opts.Getenv("AZURE_OPENAI_DEPLOYMENT_NAME_MAP"), ",") {
		if id, name, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.TrimSpace(id) == info.ID {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// The API of Anthropic, and where its caches can be told to last an hour.
const (
	apiAnthropic  = "anthropic-messages"
	hostAnthropic = "api.anthropic.com"
)

// pricedLocked corrects the price of writing caches that last an hour, which requests ask for at Anthropic itself: it takes
// twice the price of the input for it, and the catalogue has the price of five minutes. The prices of writing that models.yml
// says stay.
func (r *Registry) pricedLocked(m providers.ModelInfo) providers.ModelInfo {
	a := r.access[m.Provider]
	if m.API != apiAnthropic || a == nil {
		return m
	}
	address := ""
	if to := r.routes[m.Provider]; to == nil {
		address = r.addressLocked(a, m.Provider)
	} else if address = to.baseURL; !to.ownKeys {
		return m // nothing is asked of its caches
	}
	own := a.model(m.ID)
	if own.wholeCost() || cmp.Or(own.cacheRetention, r.retentionLocked(a)) != providers.CacheLong {
		return m
	}
	if u, err := url.Parse(address); err == nil && (u.Host == "" || u.Hostname() == hostAnthropic) {
		if !slices.Contains(own.costFields, "cacheWrite") {
			m.Cost.CacheWrite = 2 * m.Cost.Input
		}
		if !slices.Contains(own.costFields, "long") {
			m.Cost.Long.CacheWrite = 2 * m.Cost.Long.Input
		}
	}
	return m
}
