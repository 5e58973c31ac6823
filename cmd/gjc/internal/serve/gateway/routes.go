package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A route is a request that a provider's API has and gjc sends. Its elements are those of the path, escaped: "{version}" is one such as
// v1beta, "{name}" any, and "{name}:method" any with one of the methods at its end.
type route struct {
	method   string
	elements []string
}

// routesOf returns the routes of an API; nil for one whose requests need more than a key.
func routesOf(api string) []route {
	var post, get []string
	switch api {
	case "anthropic-messages":
		post, get = []string{"{version}/messages", "{version}/messages/count_tokens"}, []string{"{version}/models", "{version}/models/{name}"}
	case "openai-completions", "openai-responses":
		post, get = []string{"chat/completions", "responses"}, []string{"models", "models/{name}"}
	case "azure-openai-responses":
		post = []string{"openai/responses", "openai/{version}/responses"}
	case "google-generative-ai":
		post, get = []string{"{version}/models/{name}:streamGenerateContent", "{version}/models/{name}:generateContent"}, []string{"{version}/models", "{version}/models/{name}"}
	case "google-vertex":
		post = []string{
			"{version}/publishers/google/models/{name}:streamGenerateContent",
			"{version}/projects/{name}/locations/{name}/publishers/google/models/{name}:streamGenerateContent",
		}
	case "anthropic-messages-bedrock":
		post = []string{"model/{name}/invoke-with-response-stream"}
	case "ollama-chat":
		post, get = []string{"api/chat", "api/show"}, []string{"api/tags", "api/ps", "v1/models"}
	}
	var all []route
	for _, p := range post {
		all = append(all, route{http.MethodPost, strings.Split(p, "/")})
	}
	for _, p := range get {
		all = append(all, route{http.MethodGet, strings.Split(p, "/")})
	}
	return all
}

// allows reports whether a provider has a request. path is the whole path of the upstream, escaped.
func (u *upstream) allows(method, path string) bool {
	base := strings.Split(strings.Trim(u.base.EscapedPath(), "/"), "/")
	if base[0] == "" {
		base = nil
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return false
	}
	elements := strings.Split(rest, "/")
	return slices.ContainsFunc(u.routes, func(r route) bool {
		if r.method != method || len(elements) < len(r.elements) {
			return false
		}
		// The base URL may have the beginning of the route, or end before it.
		begin := len(elements) - len(r.elements)
		if begin > len(base) || !slices.Equal(base[:begin], elements[:begin]) {
			return false
		}
		for i := range elements[begin:] {
			if !r.matches(i, elements[begin+i]) {
				return false
			}
		}
		return overlaps(base[begin:], elements[begin:])
	})
}

// overlaps reports whether the rest of a base URL is the beginning of the route in it.
func overlaps(base, elements []string) bool {
	return len(base) <= len(elements) && slices.Equal(base, elements[:len(base)])
}

func (r *route) matches(i int, element string) bool {
	want := r.elements[i]
	if want == "{version}" {
		return isVersion(element)
	}
	name, ok := strings.CutPrefix(want, "{name}")
	if !ok {
		return element == want
	}
	element, ok = strings.CutSuffix(element, name)
	return ok && isName(element, name == "")
}

// isVersion reports whether an element is one such as v1, v1beta or v1alpha2.
func isVersion(s string) bool {
	rest, ok := strings.CutPrefix(s, "v")
	return ok && rest != "" && rest[0] >= '1' && rest[0] <= '9' &&
		!strings.ContainsFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// isName reports whether an escaped element is a name for every server, however it decodes it. A colon would begin a method where plain is
// false.
func isName(escaped string, plain bool) bool {
	name, err := url.PathUnescape(escaped)
	if err != nil || name == "" || strings.Contains(name, "..") || strings.Contains(name, "%") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }) {
		return false
	}
	if !plain && strings.Contains(escaped, ":") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return s == "" || s == "." })
}

// queryOf returns a query with the parameters that APIs have. It reports false for others. The placeholder becomes the key.
func queryOf(raw, placeholder, key string) (query string, replaced, ok bool) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return "", false, false
	}
	for name, all := range values {
		switch name {
		case "alt", "api-version", "beta", "limit", "after_id", "before_id", "pageSize", "pageToken":
		case "key":
			if len(all) != 1 || !same(all[0], placeholder) {
				return "", false, false
			}
			values.Set(name, key)
			replaced = true
		default:
			return "", false, false
		}
	}
	return values.Encode(), replaced, true
}
