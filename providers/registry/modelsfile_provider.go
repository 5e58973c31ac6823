package registry

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func (p *fileProvider) read(r *fileReader, n *configfile.Node, path string) {
	p.configured = len(n.Members) > 0
	r.object(n, path, map[string]field{
		"baseUrl":            about("the server's address, up to what the API appends (/chat/completions, /v1/messages, …)", stringField(&p.baseURL)),
		"apiKey":             about("the key itself, or the name of its variable in capitals; $NAME is not expanded", keyOrName(&p.apiKey)),
		"apiKeyEnv":          about("the variable that holds the key; child processes do not see it", variable(&p.apiKeyEnv)),
		"auth":               about("apiKey (default; oauth is the same), or none for a server without keys", choice(&p.auth, "apiKey", "none", "oauth")),
		"authHeader":         about("send the key as Authorization: Bearer, for an API that has another header", flag(&p.authHeader)),
		"api":                about("openai-completions, openai-responses, azure-openai-responses, anthropic-messages, anthropic-messages-bedrock, anthropic-messages-vertex, google-generative-ai, google-vertex or ollama-chat", stringField(&p.api)),
		"headers":            about("more headers of every request; names in any case", headers(&p.headers)),
		"disableStrictTools": about("do not promise that calls fit the tools' schemas", flag(&p.noStrictTools)),
		"structuredOutput":   about("the API holds answers to a JSON Schema, for gjc run --schema (default: only at Anthropic, OpenAI, the Gemini API and Ollama)", flag(&p.structured)),
		"toolSearch":         about("the API adds tools where the model has found them (default: only at Anthropic, and at OpenAI from GPT-5.4 on)", flag(&p.toolSearch)),
		"cacheRetention":     about("how long the provider keeps its cache: none, short or long", choice(&p.cacheRetention, providers.CacheNone, providers.CacheShort, providers.CacheLong)),
		"compat":             about("where the server differs from its API", compat(&p.compat)),
		"requestTransform":   about("changes of every request", transform(&p.transform)),
		"discovery": about("ask the server for its models: {type: ollama, lm-studio, llama.cpp or openai}", func(r *fileReader, n *configfile.Node, path string) {
			r.object(n, path, map[string]field{"type": choice(&p.discovery, discoveryTypes()...)})
			if n.Kind == configfile.Object && n.Member("type") == nil {
				r.fault(n.Line, path+".type", "is missing; it is one of: %s", joined(discoveryTypes()))
			}
		}),
		"modelOverrides": about("by id: fields of a model, except id and api, over a built-in or discovered one", func(r *fileReader, n *configfile.Node, path string) {
			r.named(n, path, func(m *configfile.Member, path string) {
				o := fileModel{id: m.Name, line: m.Line}
				fields := o.fields()
				delete(fields, "id")
				delete(fields, "api")
				r.object(m.Value, path, fields)
				p.overrides = append(p.overrides, o)
			})
		}),
		"models": about("a list of models", func(r *fileReader, n *configfile.Node, path string) {
			r.each(n, path, func(v *configfile.Node, path string) {
				m := fileModel{line: v.Line}
				r.lines[path] = v.Line
				r.object(v, path, m.fields())
				if r.schema != nil {
					r.schema["required"] = []string{"id"}
				}
				if v.Kind == configfile.Object && m.id == "" {
					r.fault(v.Line, path+".id", "is missing")
				}
				p.models = append(p.models, m)
			})
		}),
	})
}

// fields returns the readers of a model's fields.
func (m *fileModel) fields() map[string]field {
	return map[string]field{
		"id":            about("the id; the only required field", stringField(&m.id)),
		"name":          about("the name that people see", stringField(&m.name)),
		"api":           about("another API than the provider's", stringField(&m.api)),
		"wireModelId":   about("the id that the server gets instead", stringField(&m.wireModelID)),
		"contextWindow": about("the window, in tokens", tokens(&m.contextWindow)),
		"maxTokens":     about("the longest answer, in tokens", tokens(&m.maxTokens)),
		"reasoning":     about("whether it reasons; true has the levels low, medium and high unless thinking says more", flag(&m.reasoning)),
		"thinking": about("its levels: {levels: [...]} or {minLevel, maxLevel}, with defaultLevel and mode", func(r *fileReader, n *configfile.Node, path string) {
			m.thinking = new(fileThinking)
			m.thinking.read(r, n, path)
		}),
		"input": about("[text] or [text, image]; without image, the model gets a note", func(r *fileReader, n *configfile.Node, path string) {
			texts(&m.input)(r, n, path)
			for i, in := range m.input {
				if in != "text" && in != "image" {
					r.fault(n.Line, at(path, i), "must be one of: text, image")
				}
			}
		}),
		"cost": about("US dollars per million tokens: input, output, cacheRead, cacheWrite, and long {above, …} for prompts of more tokens", func(r *fileReader, n *configfile.Node, path string) {
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
		}),
		"headers":                about("as for the provider, and over it", headers(&m.headers)),
		"structuredOutput":       about("as for the provider, and over it", flag(&m.structured)),
		"toolSearch":             about("as for the provider, and over it", flag(&m.toolSearch)),
		"cacheRetention":         about("as for the provider, and over it", choice(&m.cacheRetention, providers.CacheNone, providers.CacheShort, providers.CacheLong)),
		"compat":                 about("as for the provider, and over it, flag by flag", compat(&m.compat)),
		"requestTransform":       about("as for the provider, and over it", transform(&m.transform)),
		"contextPromotionTarget": about("the model that takes over when the window is full: provider/id, or an id of this provider", stringField(&m.promotion)),
	}
}

// given returns the names of the fields of a mapping that have a value.
func given(n *configfile.Node) []string {
	var names []string
	for _, m := range n.Members {
		if m.Value.Kind != configfile.Null {
			names = append(names, m.Name)
		}
	}
	return names
}

// cachesAsInput sets the prices of caches that the file does not give to the price of the input: they are not free.
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
		r.fault(n.Line, path+".above", "is missing; set the number of tokens of a prompt above which these prices apply")
	}
	for _, name := range []string{"input", "output"} {
		if !slices.Contains(fields, name) {
			r.fault(n.Line, path+"."+name, "is missing; set all prices of long prompts, or they would be free")
		}
	}
	cachesAsInput(fields, to.Input, &to.CacheRead, &to.CacheWrite)
}

func (t *fileThinking) read(r *fileReader, n *configfile.Node, path string) {
	level := func(to *providers.ThinkingLevel) field { return choice(to, providers.ThinkingLevels()[1:]...) }
	r.object(n, path, map[string]field{
		"minLevel":     about("the lowest level", level(&t.minimum)),
		"maxLevel":     about("the highest level", level(&t.maximum)),
		"defaultLevel": about("the level unless one is chosen", choice(&t.standard, providers.ThinkingLevels()...)),
		"mode":         about("effort: the level is sent; effort-none: off is sent, too; effort-always: off is the lowest level; effort-between-tools: off leaves out the reasoning before the first word; budget: a number of tokens is sent", choice(&t.mode, providers.ThinkingEffort, providers.ThinkingEffortNone, providers.ThinkingEffortBetween, providers.ThinkingEffortAlways, providers.ThinkingBudget)),
		"levels": about("the levels: off, minimal, low, medium, high, xhigh, max", func(r *fileReader, n *configfile.Node, path string) {
			t.levelsGiven = n.Kind == configfile.List
			r.each(n, path, func(v *configfile.Node, path string) {
				var one providers.ThinkingLevel
				if choice(&one, providers.ThinkingLevels()...)(r, v, path); one != "" && one != providers.ThinkingOff {
					t.levels = append(t.levels, one)
				}
			})
		}),
	})
	low, high := slices.Index(providers.ThinkingLevels(), t.minimum), slices.Index(providers.ThinkingLevels(), t.maximum)
	if t.minimum != "" && t.maximum != "" && low > high {
		r.fault(n.Line, path+".maxLevel", "must not be below minLevel")
	}
}

// variable parses the name of an environment variable. Any other value may be a key; it must be rejected, because names are shown
// to the user.
func variable(to *string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		stringField(to)(r, n, path)
		if n.Kind == configfile.Text && !isIdentifier(n.Text) {
			r.fault(n.Line, path, "must be the name of an environment variable: letters, digits and _; a key itself belongs under apiKey")
		}
	}
}

// keyOrName reads a key or the name of a variable. It rejects $NAME, which would be sent literally.
func keyOrName(to *string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		stringField(to)(r, n, path)
		if name, ok := strings.CutPrefix(*to, "$"); ok && (isIdentifier(name) || strings.HasPrefix(name, "{")) {
			r.fault(n.Line, path, "variables are not expanded here; set apiKeyEnv to the name of the variable, without $")
		}
	}
}

// isIdentifier reports whether s can be the name of an environment variable.
func isIdentifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// headers reads headers that net/http sends, by their canonical names.
func headers(to *map[string]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		*to = map[string]string{}
		r.named(n, path, func(m *configfile.Member, path string) {
			if r.is(m.Value, path, configfile.Text) {
				setHeader(r, m, path, *to, m.Value.Text, invalidHeader(m.Name, m.Value.Text))
			}
		})
	}
}

// setHeader adds a header to a map under its canonical name. It records a mistake if reason is not empty or the header is a
// duplicate.
func setHeader[V any](r *fileReader, m *configfile.Member, path string, to map[string]V, value V, reason string) {
	name := http.CanonicalHeaderKey(m.Name)
	if reason != "" {
		r.fault(m.Line, path, "%s", reason)
		return
	}
	if _, twice := to[name]; twice {
		r.fault(m.Line, path, "this header is given twice; header names ignore case")
		return
	}
	to[name] = value
}

// invalidName returns why name is not a valid header name; empty if it is one.
func invalidName(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return "this is not a valid header name"
	}
	return ""
}

// invalidHeader returns why a header cannot be sent; empty if it can.
func invalidHeader(name, value string) string {
	if reason := invalidName(name); reason != "" {
		return reason
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection":
		return "gjc sets this header; remove it"
	}
	if strings.ContainsFunc(value, isControl) {
		return "the value contains a control character or a line break"
	}
	return ""
}

// isControl reports whether r must not occur in a header.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func compat(to *providers.Compat) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		routing := func(to **providers.GatewayRouting) field {
			return func(r *fileReader, n *configfile.Node, path string) {
				*to = new(providers.GatewayRouting)
				r.object(n, path, map[string]field{"only": texts(&(*to).Only), "order": texts(&(*to).Order)})
			}
		}
		r.object(n, path, map[string]field{
			"supportsStore":                        about("send store: false, so that OpenAI keeps nothing", flag(&to.SupportsStore)),
			"supportsDeveloperRole":                about("the system prompt of a model that reasons has the role developer", flag(&to.SupportsDeveloperRole)),
			"supportsReasoningEffort":              about("send the thinking level (default true; openai-responses, too)", flag(&to.SupportsReasoningEffort)),
			"supportsUsageInStreaming":             about("ask for the usage at the end of the stream (default true)", flag(&to.SupportsUsageInStreaming)),
			"supportsToolChoice":                   about("a request may force a tool (default true)", flag(&to.SupportsToolChoice)),
			"disableReasoningOnForcedToolChoice":   about("send no level with a forced tool (default for Claude and Kimi)", flag(&to.DisableReasoningOnForcedToolChoice)),
			"maxTokensField":                       about("the name of the limit: max_tokens (default) or max_completion_tokens", choice(&to.MaxTokensField, "max_completion_tokens", "max_tokens")),
			"thinkingFormat":                       about("openai: reasoning_effort (default); openrouter: reasoning; zai: thinking, and reasoning_effort unless supportsReasoningEffort is false; qwen: enable_thinking; qwen-chat-template: chat_template_kwargs", choice(&to.ThinkingFormat, "openai", "openrouter", "zai", "qwen", "qwen-chat-template")),
			"reasoningContentField":                about("where answers have their reasoning: reasoning_content, reasoning or reasoning_text (default: all are read)", choice(&to.ReasoningContentField, "reasoning_content", "reasoning", "reasoning_text")),
			"requiresReasoningContentForToolCalls": about("answers with calls go back with their reasoning", flag(&to.RequiresReasoningContentForToolCalls)),
			"requiresAssistantContentForToolCalls": about("answers with calls go back with some text", flag(&to.RequiresAssistantContentForToolCalls)),
			"requiresToolResultName":               about("a tool's result has the tool's name", flag(&to.RequiresToolResultName)),
			"requiresAssistantAfterToolResult":     about("an answer stands between a result and the user's next text", flag(&to.RequiresAssistantAfterToolResult)),
			"requiresThinkingAsText":               about("reasoning goes back as text between <thinking> tags", flag(&to.RequiresThinkingAsText)),
			"requiresMistralToolIds":               about("ids of calls have nine letters and digits", flag(&to.RequiresMistralToolIDs)),
			"supportsStrictMode":                   about("send strict for each tool whose schema allows it", flag(&to.SupportsStrictMode)),
			"toolStrictMode":                       about("all_strict: all tools or none; none: no tool", choice(&to.ToolStrictMode, "all_strict", "none")),
			"openRouterRouting":                    about("{only, order}: providers for OpenRouter to use; sent only there", routing(&to.OpenRouterRouting)),
			"vercelGatewayRouting":                 about("{only, order}: the same for Vercel's gateway", routing(&to.VercelGatewayRouting)),
			"extraBody":                            about("more members of every request, for all APIs; gjc's own (model, messages, input, contents, stream, tools, tool_choice, toolConfig) cannot be set", extraBody(&to.ExtraBody)),
			"reasoningEffortMap": about("the server's names of levels, by level (openai-responses and ollama-chat, too)", func(r *fileReader, n *configfile.Node, path string) {
				textMap(&to.ReasoningEffortMap)(r, n, path)
				for _, m := range n.Members {
					if _, ok := providers.ParseThinkingLevel(m.Name); !ok {
						r.fault(m.Line, join(path, m.Name), "unknown thinking level; the levels are: %s", joined(providers.ThinkingLevels()))
					}
				}
			}),
		})
	}
}

// extraBody reads members for the body of requests.
func extraBody(to *map[string]jsonx.Raw) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		jsonMap(to)(r, n, path)
		for _, m := range n.Members {
			if slices.Contains(providers.ProtectedBody(), m.Name) {
				r.fault(m.Line, join(path, m.Name), "gjc sets this member; remove it")
			}
		}
	}
}

// transform reads a request transform.
func transform(to *fileTransform) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		r.object(n, path, map[string]field{
			"profile": about("openai-proxy: remove what SDKs reveal, and call the client gjc", choice(&to.profile, "openai-proxy")),
			"stripHeaders": about("headers that are not sent; a name may end in *", func(r *fileReader, n *configfile.Node, path string) {
				texts(&to.StripHeaders)(r, n, path)
				to.stripGiven = true
				for i, v := range n.List {
					if begin, wild := strings.CutSuffix(v.Text, "*"); wild && begin == "" {
						r.fault(v.Line, at(path, i), "this removes all headers, even the key; put the beginning of a name before the *")
					} else if reason := invalidName(v.Text); reason != "" && v.Kind == configfile.Text {
						r.fault(v.Line, at(path, i), "%s", reason)
					}
				}
			}),
			"setHeaders": about("headers to send after that; null removes one", func(r *fileReader, n *configfile.Node, path string) {
				to.SetHeaders = map[string]*string{}
				r.named(n, path, func(m *configfile.Member, path string) {
					if m.Value.Kind == configfile.Null {
						setHeader(r, m, path, to.SetHeaders, nil, invalidName(m.Name))
					} else if r.is(m.Value, path, configfile.Text) {
						setHeader(r, m, path, to.SetHeaders, &m.Value.Text, invalidHeader(m.Name, m.Value.Text))
					}
				})
				if r.schema != nil {
					r.schema["additionalProperties"] = configfile.JSONSchema{"type": []string{"string", "null"}}
				}
			}),
			"extraBody": about("as in compat, and over it", extraBody(&to.ExtraBody)),
		})
	}
}

// over returns t with its profile expanded, and with the fields that it does not set taken from base.
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

// faultFunc reports an error of a field of a provider, such as ".api"; "" is the provider itself.
type faultFunc func(field, format string, args ...any)

// check reports contradictory and missing fields of a provider.
func (p *fileProvider) check(r *fileReader, apis []string, builtIn bool) {
	path := "providers." + p.name
	fail := func(field, format string, args ...any) {
		r.fault(r.line(path+field), path+field, format, args...)
	}
	switch {
	case p.name == "offline":
		fail("", "this name is reserved for the built-in model")
		return
	case p.name == "" || strings.ContainsAny(p.name, "/: \t\n"):
		fail("", "the name of a provider must not contain a slash, a colon or a space")
		return
	}
	if p.api != "" && !slices.Contains(apis, p.api) {
		fail(".api", "unknown API; the APIs are: %s", strings.Join(apis, ", "))
	}
	if p.baseURL != "" {
		if reason := invalidBaseURL(p.baseURL); reason != "" {
			fail(".baseUrl", "%s", reason)
		}
	}
	p.checkKey(fail)
	if p.discovery != "" && p.api == "" && !builtIn {
		fail(".api", "is missing; discovered models need the API of the provider")
	}
	if !builtIn {
		p.checkOwn(fail)
	} else if !p.configured {
		fail("", "is empty; set a field, or list models")
	}
	p.checkOverrides(fail)
	p.checkModels(fail, apis, builtIn)
}

// checkKey checks the fields of the key.
func (p *fileProvider) checkKey(fail faultFunc) {
	if p.apiKey != "" && p.apiKeyEnv != "" {
		fail(".apiKeyEnv", "conflicts with apiKey; set one of the two")
	}
	if strings.ContainsFunc(p.apiKey, isControl) {
		fail(".apiKey", "a key must not contain a line break or a control character")
	}
	if p.auth == "none" && p.apiKey+p.apiKeyEnv != "" {
		fail(".auth", "none conflicts with the key of this provider")
	}
}

// checkOverrides checks the changes of models that are not listed.
func (p *fileProvider) checkOverrides(fail faultFunc) {
	for i := range p.overrides {
		o := &p.overrides[i]
		if slices.ContainsFunc(p.models, func(m fileModel) bool { return m.id == o.id }) {
			fail(".modelOverrides."+o.id, "this model is listed under models; set all fields there")
		}
		if o.contextWindow != nil && o.maxTokens != nil && *o.maxTokens > *o.contextWindow {
			fail(".modelOverrides."+o.id+".maxTokens", "must not be larger than contextWindow")
		}
	}
}

// checkModels checks the listed models.
func (p *fileProvider) checkModels(fail faultFunc, apis []string, builtIn bool) {
	for i := range p.models {
		m := &p.models[i]
		if m.api != "" && !slices.Contains(apis, m.api) {
			fail(fmt.Sprintf(".models[%d].api", i), "unknown API; the APIs are: %s", strings.Join(apis, ", "))
		}
		if m.api == "" && p.api == "" && !builtIn {
			fail(fmt.Sprintf(".models[%d].api", i), "is missing here and for the provider; the APIs are: %s", strings.Join(apis, ", "))
		}
		if m.promotion != "" && (m.promotion == m.id || m.promotion == p.name+"/"+m.id) {
			fail(fmt.Sprintf(".models[%d].contextPromotionTarget", i), "must be a different model")
		}
		if m.cost != nil && !m.wholeCost() && !inCatalogue(p.name, m.id) {
			fail(fmt.Sprintf(".models[%d].cost", i), "needs input and output; remove cost if the price is unknown")
		}
		if m.contextWindow != nil && m.maxTokens != nil && *m.maxTokens > *m.contextWindow {
			fail(fmt.Sprintf(".models[%d].maxTokens", i), "must not be larger than contextWindow")
		}
		if slices.ContainsFunc(p.models[:i], func(o fileModel) bool { return o.id == m.id && m.id != "" }) {
			fail(fmt.Sprintf(".models[%d].id", i), "another model has this id")
		}
	}
}

// wholeCost reports whether the file gives complete prices.
func (m *fileModel) wholeCost() bool {
	return slices.Contains(m.costFields, "input") && slices.Contains(m.costFields, "output")
}

// inCatalogue reports whether a model is built in, so that its other prices are known.
func inCatalogue(provider, id string) bool {
	built := builtIn()
	p := built.provider(provider)
	if p != nil && p.ModelsOf != "" {
		p = built.provider(p.ModelsOf)
	}
	return p != nil && slices.ContainsFunc(p.Models, func(m builtInModel) bool { return m.ID == id })
}

// checkOwn checks a provider that is not built in.
func (p *fileProvider) checkOwn(fail faultFunc) {
	if p.baseURL == "" {
		fail(".baseUrl", "is missing")
	}
	if len(p.models) == 0 && p.discovery == "" {
		fail(".models", "is missing; list at least one model with its id, or set discovery")
	}
	if len(p.models) > 0 && !p.keyless() && p.apiKey == "" && p.apiKeyEnv == "" && p.auth != "apiKey" {
		fail(".apiKey", "is missing; set it or apiKeyEnv, or set auth to none, or to apiKey for a key that gjc login stores")
	}
}

// keyless reports whether the provider needs no key.
func (p *fileProvider) keyless() bool {
	if p.auth != "" {
		return p.auth == "none"
	}
	return p.apiKey == "" && p.apiKeyEnv == "" && isLoopback(p.baseURL)
}

// invalidBaseURL returns why s is not a valid base URL; empty if it is one.
func invalidBaseURL(s string) string {
	u := httpURL(s)
	switch {
	case u == nil:
		return "must be a URL with http or https"
	case u.Fragment != "":
		return "must not have a fragment"
	}
	return ""
}

// httpURL parses an absolute URL with http or https. It returns nil for anything else.
func httpURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}

// isLoopback reports whether the URL refers to this machine.
func isLoopback(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || (ip != nil && ip.IsLoopback())
}
