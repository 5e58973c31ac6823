package registry

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func (p *fileProvider) read(r *fileReader, n *configfile.Node, path string) {
	p.says = len(n.Members) > 0
	r.object(n, path, map[string]field{
		"baseUrl":            text(&p.baseURL),
		"apiKey":             keyOrName(&p.apiKey),
		"apiKeyEnv":          variable(&p.apiKeyEnv),
		"auth":               choice(&p.auth, "apiKey", "none", "oauth"),
		"authHeader":         flag(&p.authHeader),
		"api":                text(&p.api),
		"headers":            headers(&p.headers),
		"disableStrictTools": flag(&p.noStrictTools),
		"cacheRetention":     choice(&p.cacheRetention, providers.CacheNone, providers.CacheShort, providers.CacheLong),
		"compat":             compat(&p.compat),
		"requestTransform":   transform(&p.transform),
		"discovery": func(r *fileReader, n *configfile.Node, path string) {
			r.object(n, path, map[string]field{"type": choice(&p.discovery, discoveryTypes()...)})
			if n.Kind == configfile.Object && n.Member("type") == nil {
				r.fault(n.Line, path+".type", "is missing; it is one of: %s", listed(discoveryTypes()))
			}
		},
		"modelOverrides": func(r *fileReader, n *configfile.Node, path string) {
			r.named(n, path, func(m *configfile.Member, path string) {
				o := fileModel{id: m.Name, line: m.Line}
				fields := o.fields()
				delete(fields, "id")
				delete(fields, "api")
				r.object(m.Value, path, fields)
				p.overrides = append(p.overrides, o)
			})
		},
		"models": func(r *fileReader, n *configfile.Node, path string) {
			if !r.is(n, path, configfile.List) {
				return
			}
			for i, v := range n.List {
				m := fileModel{line: v.Line}
				r.lines[at(path, i)] = v.Line
				r.object(v, at(path, i), m.fields())
				if v.Kind == configfile.Object && m.id == "" {
					r.fault(v.Line, at(path, i)+".id", "is missing")
				}
				p.models = append(p.models, m)
			}
		},
	})
}

// fields are those of a model.
func (m *fileModel) fields() map[string]field {
	return map[string]field{
		"id": text(&m.id), "name": text(&m.name), "api": text(&m.api), "wireModelId": text(&m.wireModelID),
		"contextWindow": tokens(&m.contextWindow), "maxTokens": tokens(&m.maxTokens),
		"reasoning": flag(&m.reasoning),
		"thinking": func(r *fileReader, n *configfile.Node, path string) {
			m.thinking = new(fileThinking)
			m.thinking.read(r, n, path)
		},
		"input": func(r *fileReader, n *configfile.Node, path string) {
			texts(&m.input)(r, n, path)
			for i, in := range m.input {
				if in != "text" && in != "image" {
					r.fault(n.Line, at(path, i), "must be one of: text, image")
				}
			}
		},
		"cost": func(r *fileReader, n *configfile.Node, path string) {
			m.cost = new(providers.Cost)
			r.object(n, path, map[string]field{
				"input": price(&m.cost.Input), "output": price(&m.cost.Output),
				"cacheRead": price(&m.cost.CacheRead), "cacheWrite": price(&m.cost.CacheWrite),
				"long": func(r *fileReader, n *configfile.Node, path string) { readLongCost(r, n, path, &m.cost.Long) },
			})
			m.costFields = given(n)
			if m.wholeCost() {
				cachesAsInput(m.costFields, m.cost.Input, &m.cost.CacheRead, &m.cost.CacheWrite)
			}
		},
		"headers":                headers(&m.headers),
		"cacheRetention":         choice(&m.cacheRetention, providers.CacheNone, providers.CacheShort, providers.CacheLong),
		"compat":                 compat(&m.compat),
		"requestTransform":       transform(&m.transform),
		"contextPromotionTarget": text(&m.promotion),
	}
}

// given are the names of the fields of a mapping that have a value.
func given(n *configfile.Node) []string {
	var names []string
	for _, m := range n.Members {
		if m.Value.Kind != configfile.Null {
			names = append(names, m.Name)
		}
	}
	return names
}

// cachesAsInput gives the tokens of caches the price of the input where the file has none for them: they are not free.
func cachesAsInput(fields []string, input float64, read, write *float64) {
	if !slices.Contains(fields, "cacheRead") {
		*read = input
	}
	if !slices.Contains(fields, "cacheWrite") {
		*write = input
	}
}

// readLongCost reads the prices of requests with long prompts.
func readLongCost(r *fileReader, n *configfile.Node, path string, to *providers.LongCost) {
	var above *int
	r.object(n, path, map[string]field{
		"above": tokens(&above), "input": price(&to.Input), "output": price(&to.Output),
		"cacheRead": price(&to.CacheRead), "cacheWrite": price(&to.CacheWrite),
	})
	if n.Kind != configfile.Object {
		return
	}
	if above != nil {
		to.Above = *above
	}
	fields := given(n)
	if !slices.Contains(fields, "above") {
		r.fault(n.Line, path+".above", "is missing: the tokens of a prompt above which these prices hold")
	}
	for _, name := range []string{"input", "output"} {
		if !slices.Contains(fields, name) {
			r.fault(n.Line, path+"."+name, "is missing: what long prompts cost must be said in full, or they would be free")
		}
	}
	cachesAsInput(fields, to.Input, &to.CacheRead, &to.CacheWrite)
}

func (t *fileThinking) read(r *fileReader, n *configfile.Node, path string) {
	level := func(to *providers.ThinkingLevel) field { return choice(to, providers.ThinkingLevels()[1:]...) }
	r.object(n, path, map[string]field{
		"minLevel": level(&t.minimum), "maxLevel": level(&t.maximum), "defaultLevel": choice(&t.standard, providers.ThinkingLevels()...),
		"mode": choice(&t.mode, providers.ThinkingEffort, providers.ThinkingEffortNone, providers.ThinkingEffortBetween, providers.ThinkingEffortAlways, providers.ThinkingBudget),
		"levels": func(r *fileReader, n *configfile.Node, path string) {
			if !r.is(n, path, configfile.List) {
				return
			}
			t.levelsGiven = true
			for i, v := range n.List {
				var one providers.ThinkingLevel
				if choice(&one, providers.ThinkingLevels()...)(r, v, at(path, i)); one != "" && one != providers.ThinkingOff {
					t.levels = append(t.levels, one)
				}
			}
		},
	})
	low, high := slices.Index(providers.ThinkingLevels(), t.minimum), slices.Index(providers.ThinkingLevels(), t.maximum)
	if t.minimum != "" && t.maximum != "" && low > high {
		r.fault(n.Line, path+".maxLevel", "must not be below minLevel")
	}
}

// variable reads the name of an environment variable. What is no name may be the key itself: names are told to people, so it
// must not get through.
func variable(to *string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		text(to)(r, n, path)
		if n.Kind == configfile.Text && !identifier(n.Text) {
			r.fault(n.Line, path, "must be the name of an environment variable: letters, digits and _; a key itself belongs under apiKey")
		}
	}
}

// keyOrName reads a key. One that looks like the value of a variable in a shell would be sent as it stands.
func keyOrName(to *string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		text(to)(r, n, path)
		if name, ok := strings.CutPrefix(*to, "$"); ok && (identifier(name) || strings.HasPrefix(name, "{")) {
			r.fault(n.Line, path, "variables are not put in here; give the variable's name, without $, as apiKeyEnv")
		}
	}
}

// identifier reports whether s can be the name of an environment variable.
func identifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// headers reads headers that net/http will send, by their canonical names. A mistake does not quote a value.
func headers(to *map[string]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		*to = map[string]string{}
		r.named(n, path, func(m *configfile.Member, path string) {
			if r.is(m.Value, path, configfile.Text) {
				setHeader(r, m, path, *to, m.Value.Text, badHeader(m.Name, m.Value.Text))
			}
		})
	}
}

// setHeader puts a header into a mapping by its canonical name, unless there is a reason against it. Of two that differ by case
// the order of a map would choose one.
func setHeader[V any](r *fileReader, m *configfile.Member, path string, to map[string]V, value V, reason string) {
	name := http.CanonicalHeaderKey(m.Name)
	if reason != "" {
		r.fault(m.Line, path, "%s", reason)
		return
	}
	if _, twice := to[name]; twice {
		r.fault(m.Line, path, "this header is given twice: capital and small letters are the same in its name")
		return
	}
	to[name] = value
}

func badName(name string) string {
	if !token(name) {
		return "this is no name of a header"
	}
	return ""
}

func badHeader(name, value string) string {
	if reason := badName(name); reason != "" {
		return reason
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection":
		return "this header follows from the request and its address; leave it out"
	}
	if strings.ContainsFunc(value, control) {
		return "the value holds a control character or a line break"
	}
	return ""
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func compat(to *providers.Compat) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		routing := func(to **providers.GatewayRouting) field {
			return func(r *fileReader, n *configfile.Node, path string) {
				*to = new(providers.GatewayRouting)
				r.object(n, path, map[string]field{"only": texts(&(*to).Only), "order": texts(&(*to).Order)})
			}
		}
		r.object(n, path, map[string]field{
			"supportsStore":                        flag(&to.SupportsStore),
			"supportsDeveloperRole":                flag(&to.SupportsDeveloperRole),
			"supportsReasoningEffort":              flag(&to.SupportsReasoningEffort),
			"supportsUsageInStreaming":             flag(&to.SupportsUsageInStreaming),
			"supportsToolChoice":                   flag(&to.SupportsToolChoice),
			"disableReasoningOnForcedToolChoice":   flag(&to.DisableReasoningOnForcedToolChoice),
			"maxTokensField":                       choice(&to.MaxTokensField, "max_completion_tokens", "max_tokens"),
			"thinkingFormat":                       choice(&to.ThinkingFormat, "openai", "openrouter", "zai", "qwen", "qwen-chat-template"),
			"reasoningContentField":                choice(&to.ReasoningContentField, "reasoning_content", "reasoning", "reasoning_text"),
			"requiresReasoningContentForToolCalls": flag(&to.RequiresReasoningContentForToolCalls),
			"requiresAssistantContentForToolCalls": flag(&to.RequiresAssistantContentForToolCalls),
			"requiresToolResultName":               flag(&to.RequiresToolResultName),
			"requiresAssistantAfterToolResult":     flag(&to.RequiresAssistantAfterToolResult),
			"requiresThinkingAsText":               flag(&to.RequiresThinkingAsText),
			"requiresMistralToolIds":               flag(&to.RequiresMistralToolIDs),
			"supportsStrictMode":                   flag(&to.SupportsStrictMode),
			"toolStrictMode":                       choice(&to.ToolStrictMode, "all_strict", "none"),
			"openRouterRouting":                    routing(&to.OpenRouterRouting),
			"vercelGatewayRouting":                 routing(&to.VercelGatewayRouting),
			"extraBody":                            extraBody(&to.ExtraBody),
			"reasoningEffortMap": func(r *fileReader, n *configfile.Node, path string) {
				textMap(&to.ReasoningEffortMap)(r, n, path)
				for _, m := range n.Members {
					if _, ok := providers.ParseThinkingLevel(m.Name); !ok {
						r.fault(m.Line, join(path, m.Name), "this is no thinking level; there are: %s", listed(providers.ThinkingLevels()))
					}
				}
			},
		})
	}
}

// extraBody reads members of a request's body.
func extraBody(to *map[string]jsonx.Raw) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		jsonMap(to)(r, n, path)
		for _, m := range n.Members {
			if slices.Contains(providers.ProtectedBody(), m.Name) {
				r.fault(m.Line, join(path, m.Name), "this member is gjc's own and cannot be set")
			}
		}
	}
}

// transform reads a request transform.
func transform(to *fileTransform) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		r.object(n, path, map[string]field{
			"profile": choice(&to.profile, "openai-proxy"),
			"stripHeaders": func(r *fileReader, n *configfile.Node, path string) {
				texts(&to.StripHeaders)(r, n, path)
				to.stripGiven = true
				for i, v := range n.List {
					if begin, wild := strings.CutSuffix(v.Text, "*"); wild && begin == "" {
						r.fault(v.Line, at(path, i), "this takes away all headers, the key too; give the beginning of a name before the *")
					} else if reason := badName(v.Text); reason != "" && v.Kind == configfile.Text {
						r.fault(v.Line, at(path, i), "%s", reason)
					}
				}
			},
			"setHeaders": func(r *fileReader, n *configfile.Node, path string) {
				to.SetHeaders = map[string]*string{}
				r.named(n, path, func(m *configfile.Member, path string) {
					if m.Value.Kind == configfile.Null {
						setHeader(r, m, path, to.SetHeaders, nil, badName(m.Name))
					} else if r.is(m.Value, path, configfile.Text) {
						setHeader(r, m, path, to.SetHeaders, &m.Value.Text, badHeader(m.Name, m.Value.Text))
					}
				})
			},
			"extraBody": extraBody(&to.ExtraBody),
		})
	}
}

// over returns t with what it does not say taken from base, and its profile spelled out.
func (t *fileTransform) over(base *fileTransform) providers.RequestTransform {
	all := providers.RequestTransform{
		SetHeaders: providers.Overlay(t.SetHeaders, base.SetHeaders), ExtraBody: providers.Overlay(t.ExtraBody, base.ExtraBody),
		StripHeaders: base.StripHeaders,
	}
	if t.stripGiven {
		all.StripHeaders = t.StripHeaders
	}
	if t.profile == "" && base.profile == "" {
		return all
	}
	if !t.stripGiven && !base.stripGiven {
		all.StripHeaders = []string{"X-Stainless-*", "OpenAI-Beta", "OpenAI-Organization", "OpenAI-Project", "Anthropic-Beta"}
	}
	if _, given := all.SetHeaders["User-Agent"]; !given {
		all.SetHeaders = providers.Overlay(all.SetHeaders, map[string]*string{"User-Agent": new("gjc")})
	}
	return all
}

// check finds what makes no sense in a provider as a whole.
func (p *fileProvider) check(r *fileReader, apis []string, builtIn bool) {
	path := "providers." + p.name
	fail := func(field, format string, args ...any) {
		r.fault(r.line(path+field), path+field, format, args...)
	}
	known := func(api string) bool { return slices.Contains(apis, api) }
	switch {
	case p.name == "offline":
		fail("", "this name belongs to the model that is built in")
		return
	case p.name == "" || strings.ContainsAny(p.name, "/: \t\n"):
		fail("", "the name of a provider has no slash, no colon and no space")
		return
	}
	if p.api != "" && !known(p.api) {
		fail(".api", "unknown API; it is one of: %s", strings.Join(apis, ", "))
	}
	if p.baseURL != "" {
		if reason := badBaseURL(p.baseURL); reason != "" {
			fail(".baseUrl", "%s", reason)
		}
	}
	if p.apiKey != "" && p.apiKeyEnv != "" {
		fail(".apiKeyEnv", "there is an apiKey too; give one of the two")
	}
	if strings.ContainsFunc(p.apiKey, control) {
		fail(".apiKey", "a key holds no line break and no control character")
	}
	if p.auth == "none" && p.apiKey+p.apiKeyEnv != "" {
		fail(".auth", "none contradicts the key of this provider")
	}
	if p.discovery != "" && p.api == "" && !builtIn {
		fail(".api", "is missing: models that are discovered need the provider's")
	}
	if !builtIn {
		p.checkOwn(fail)
	} else if !p.says {
		fail("", "says nothing: give models, or something to change of those that are built in")
	}
	for i := range p.overrides {
		o := &p.overrides[i]
		if slices.ContainsFunc(p.models, func(m fileModel) bool { return m.id == o.id }) {
			fail(".modelOverrides."+o.id, "this model is listed under models; say all of it there")
		}
		if o.contextWindow != nil && o.maxTokens != nil && *o.maxTokens > *o.contextWindow {
			fail(".modelOverrides."+o.id+".maxTokens", "must not be larger than contextWindow")
		}
	}
	for i := range p.models {
		m := &p.models[i]
		if m.api != "" && !known(m.api) {
			fail(fmt.Sprintf(".models[%d].api", i), "unknown API; it is one of: %s", strings.Join(apis, ", "))
		}
		if m.api == "" && p.api == "" && !builtIn {
			fail(fmt.Sprintf(".models[%d].api", i), "is missing here and for the provider; it is one of: %s", strings.Join(apis, ", "))
		}
		if m.promotion != "" && (m.promotion == m.id || m.promotion == p.name+"/"+m.id) {
			fail(fmt.Sprintf(".models[%d].contextPromotionTarget", i), "must be another model than this one")
		}
		if m.cost != nil && !m.wholeCost() && !inCatalogue(p.name, m.id) {
			fail(fmt.Sprintf(".models[%d].cost", i), "needs input and output; without cost the price is not known")
		}
		if m.contextWindow != nil && m.maxTokens != nil && *m.maxTokens > *m.contextWindow {
			fail(fmt.Sprintf(".models[%d].maxTokens", i), "must not be larger than contextWindow")
		}
		if slices.ContainsFunc(p.models[:i], func(o fileModel) bool { return o.id == m.id && m.id != "" }) {
			fail(fmt.Sprintf(".models[%d].id", i), "there is another model of this id")
		}
	}
}

// wholeCost reports whether the file says what a model costs, without what is known of it.
func (m *fileModel) wholeCost() bool {
	return slices.Contains(m.costFields, "input") && slices.Contains(m.costFields, "output")
}

// inCatalogue reports whether a model is a built-in one, so that what a file does not say of it is known.
func inCatalogue(provider, id string) bool {
	built := builtIn()
	p := built.provider(provider)
	if p != nil && p.ModelsOf != "" {
		p = built.provider(p.ModelsOf)
	}
	return p != nil && slices.ContainsFunc(p.Models, func(m catalogueModel) bool { return m.ID == id })
}

// checkOwn is for a provider that is not built in.
func (p *fileProvider) checkOwn(fail func(field, format string, args ...any)) {
	if p.baseURL == "" {
		fail(".baseUrl", "is missing")
	}
	if len(p.models) == 0 && p.discovery == "" {
		fail(".models", "is missing: list at least one model with its id, or let them be discovered")
	}
	if len(p.models) > 0 && !p.keyless() && p.apiKey == "" && p.apiKeyEnv == "" && p.auth != "apiKey" {
		fail(".apiKey", "is missing: give a key or the name of an environment variable, or say auth: none, or auth: apiKey for a key that gjc login stores")
	}
}

// keyless reports whether the provider may be used without a key.
func (p *fileProvider) keyless() bool {
	if p.auth != "" {
		return p.auth == "none"
	}
	return p.apiKey == "" && p.apiKeyEnv == "" && loopback(p.baseURL)
}

func badBaseURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "must be a URL with http or https"
	case u.Fragment != "":
		return "must not have a fragment"
	}
	return ""
}

func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// loopback reports whether the URL names this machine.
func loopback(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || (ip != nil && ip.IsLoopback())
}
