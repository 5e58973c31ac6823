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
	// maxModels bounds how many models are taken of one server.
	maxModels = 2000
	// maxTokens bounds a number of tokens; a larger one is not believed.
	maxTokens = 100_000_000
	// maxID and maxName bound texts, in bytes.
	maxID, maxName = 256, 200
)

// facts are a valid JSON value of a server, or nothing. Whatever is not of the type that is asked for is not there.
type facts jsonx.Raw

// at returns the member that a path of names leads to.
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

// tokens is a number of tokens; zero where none is told that can be one.
func (f facts) tokens() int {
	var n float64
	if len(f) == 0 || jsonx.Unmarshal(f, &n) != nil || !(n >= 1 && n <= maxTokens) || n != math.Trunc(n) {
		return 0
	}
	return int(n)
}

// maxPrice bounds a price in dollars per million tokens; a higher one is not believed.
const maxPrice = 10_000

// firstPrice is the price that the first of some members tells as a string of dollars for one token, in dollars per million
// tokens; zero where none is told that can be one.
func (f facts) firstPrice(names ...string) float64 {
	for _, name := range names {
		if v, err := strconv.ParseFloat(f.at(name).text(), 64); err == nil && v > 0 && v*1e6 <= maxPrice {
			return math.Round(v*1e12) / 1e6 // without the dust of binary fractions
		}
	}
	return 0
}

// cachePrice is the price of tokens that a cache has or takes: that of the input where none is told. Nothing is a price too.
func (f facts) cachePrice(name string, input float64) float64 {
	if v, err := strconv.ParseFloat(f.at(name).text(), 64); err == nil && v == 0 {
		return 0
	}
	return cmp.Or(f.firstPrice(name), input)
}

// flag is a truth value, and whether there is one.
func (f facts) flag() (value, said bool) {
	switch string(f) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// words are the strings of a list, in small letters, and whether there is a list.
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

// roll is a list of models that is being made.
type roll struct {
	server *server
	models []providers.ModelInfo
	seen   map[string]bool
}

func (s *server) newRoll() *roll { return &roll{server: s, seen: map[string]bool{}} }

// add puts a model on the roll, unless its id is one that cannot be shown or stands there already.
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
		m.MaxOutput = 0 // that is no limit of its own
	}
	r.models = append(r.models, m)
}

// presentable reports whether a text can stand in a line and be typed again.
func presentable(s string, most int) bool {
	return s != "" && len(s) <= most && strings.TrimSpace(s) == s && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(c rune) bool { return c != ' ' && !unicode.IsGraphic(c) || c == utf8.RuneError })
}
