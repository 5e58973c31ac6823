package discovery

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

const (
	// maxModels bounds the number of models of one server.
	maxModels = 2000
	// maxTokens bounds a number of tokens; a larger one is ignored.
	maxTokens = 100_000_000
	// maxID and maxName bound the ID and the name of a model, in bytes.
	maxID, maxName = 256, 200
)

// facts is a valid JSON value from a server, or empty. A value of an unexpected type counts as absent.
type facts jsonx.Raw

// at returns the member at a path of names.
func (f facts) at(names ...string) facts {
	for _, name := range names {
		f = facts(jsonx.Lookup(jsonx.Raw(f), name))
	}
	return f
}

func (f facts) list() (all []facts, ok bool) {
	if len(f) == 0 || f[0] != '[' || jsonx.Unmarshal(f, &all) != nil {
		return nil, false
	}
	return all, true
}

func (f facts) text() (s string) {
	if len(f) == 0 || f[0] != '"' || jsonx.Unmarshal(f, &s) != nil {
		return ""
	}
	return s
}

// tokens returns a number of tokens; zero if it is absent or implausible.
func (f facts) tokens() int {
	var n float64
	if len(f) == 0 || jsonx.Unmarshal(f, &n) != nil || !(n >= 1 && n <= maxTokens) || n != math.Trunc(n) {
		return 0
	}
	return int(n)
}

// maxPrice bounds a price in dollars per million tokens; a higher one is ignored.
const maxPrice = 10_000

// firstPrice returns the first of several members that is a valid price, in dollars per million tokens; zero if there is none. A
// price is a string in dollars per token.
func (f facts) firstPrice(names ...string) float64 {
	for _, name := range names {
		if v, err := strconv.ParseFloat(f.at(name).text(), 64); err == nil && v > 0 && v*1e6 <= maxPrice {
			return math.Round(v*1e12) / 1e6 // without rounding errors
		}
	}
	return 0
}

// cachePrice returns the price of tokens read from or written to a cache. If it is absent, it returns the input price. Zero is a
// valid price.
func (f facts) cachePrice(name string, input float64) float64 {
	if v, err := strconv.ParseFloat(f.at(name).text(), 64); err == nil && v == 0 {
		return 0
	}
	return cmp.Or(f.firstPrice(name), input)
}

// flag returns a boolean, and whether there is one.
func (f facts) flag() (value, said bool) {
	switch string(f) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// words returns the strings of a list in lower case, and whether there is a list.
func (f facts) words() (all []string, said bool) {
	list, ok := f.list()
	for _, one := range list {
		if s := one.text(); s != "" {
			all = append(all, strings.ToLower(s))
		}
	}
	return all, ok
}

// UnmarshalJSON keeps the value.
func (f *facts) UnmarshalJSON(data []byte) error {
	*f = append(facts(nil), data...)
	return nil
}

// A roll collects a list of models.
type roll struct {
	server *server
	models []providers.ModelInfo
	seen   map[string]bool
}

func (s *server) newRoll() *roll { return &roll{server: s, seen: map[string]bool{}} }

// add adds a model, unless its id is a duplicate or cannot be shown.
func (r *roll) add(m providers.ModelInfo) {
	if !presentable(m.ID, maxID) || r.seen[m.ID] || len(r.models) >= maxModels {
		return
	}
	r.seen[m.ID] = true
	m.Provider, m.API = r.server.src.Provider, r.server.src.API
	if m.Name == m.ID || !presentable(m.Name, maxName) {
		m.Name = ""
	}
	if m.ContextWindow > 0 && m.MaxOutput >= m.ContextWindow {
		m.MaxOutput = 0 // the context window is the only limit
	}
	r.models = append(r.models, m)
}

// presentable reports whether a text fits on a line and can be typed.
func presentable(s string, most int) bool {
	return s != "" && len(s) <= most && strings.TrimSpace(s) == s && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(c rune) bool { return c != ' ' && !unicode.IsGraphic(c) || c == utf8.RuneError })
}
