package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/egress"
	"github.com/gajae-code/gjc/internal/webclient"
)

// setting is one setting of config.yml.
type setting struct {
	// about says what the setting does.
	about string
	// take sets the value, or returns what the value must be.
	take func(*configfile.Node) string
	// item, if not nil, adds one item of a list, so that a mistake affects only that item.
	item func(*configfile.Node) string
	// get returns the effective value.
	get func() any
	// schema describes the values that take accepts. A JSON Schema can be laxer.
	schema func() configfile.JSONSchema
	// strict, if not nil, sets the strictest value after a mistake that hides the user's value.
	strict func()
	// stops lists what a mistake in the setting stops until it is corrected.
	stops Effect
	// adds is set if the values of several files add up.
	adds bool
}

// Effect is a set of activities that a mistake in the configuration stops.
type Effect uint

const (
	// StopsModels stops requests to models.
	StopsModels Effect = 1 << iota
	// StopsPages stops fetching web pages and searching.
	StopsPages
	// StopsSteps makes every step ask, in every mode.
	StopsSteps
)

func (e Effect) String() string {
	switch {
	case e&StopsSteps != 0:
		return "every step needs approval until this is corrected"
	case e&StopsModels != 0:
		return "no model is called until this is corrected"
	case e&StopsPages != 0:
		return "no page is fetched until this is corrected"
	}
	return ""
}

// about describes a setting.
func about(text string, s setting) setting {
	s.about = text
	return s
}

// orStrict makes value the setting's strictest value.
func orStrict[T any](s setting, to *T, value T) setting {
	s.strict = func() { *to = value }
	return s
}

// orStop lets a mistake in the setting stop e.
func orStop(s setting, e Effect) setting {
	s.stops = e
	return s
}

func boolean(to *bool) setting {
	return setting{schema: aBoolean, get: func() any { return *to }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Boolean {
			return "must be true or false"
		}
		*to = n.True()
		return ""
	}}
}

// unless returns a [boolean] setting for a switch with the opposite meaning.
func unless(to *bool) setting {
	return setting{schema: aBoolean, get: func() any { return !*to }, take: func(n *configfile.Node) string {
		var on bool
		reason := boolean(&on).take(n)
		if reason == "" {
			*to = !on
		}
		return reason
	}}
}

// number returns the setting of a number from least to most; an int must be whole.
func number[T int | float64](to *T, least, most T) setting {
	return setting{schema: aNumber(T(1)/2 == 0, float64(least), float64(most)), get: func() any { return *to }, take: func(n *configfile.Node) string {
		f, err := strconv.ParseFloat(n.Text, 64)
		if v := T(f); n.Kind == configfile.Number && err == nil && f >= float64(least) && f <= float64(most) && float64(v) == f {
			*to = v
			return ""
		}
		kind := "whole number"
		if T(1)/2 != 0 {
			kind = "number"
		}
		return fmt.Sprintf("must be a %s from %v to %v", kind, least, most)
	}}
}

func oneOf[T ~string](to *T, values []T) setting {
	return setting{schema: oneString(values), get: func() any { return string(*to) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text || !slices.Contains(values, T(n.Text)) {
			all := make([]string, len(values))
			for i, v := range values {
				all[i] = string(v)
			}
			reason := "must be one of: " + strings.Join(all, ", ")
			if n.Kind == configfile.Text {
				reason += configfile.Suggestion(n.Text, all)
			}
			return reason
		}
		*to = T(n.Text)
		return ""
	}}
}

// httpURL returns the setting of an HTTP address; "" is none.
func httpURL(to *string) setting {
	return setting{schema: aString, get: func() any { return Redacted(*to) }, take: func(n *configfile.Node) string {
		if n.Kind == configfile.Text && n.Text != "" {
			u, err := url.Parse(n.Text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return "must be a URL with http or https"
			}
		} else if n.Kind != configfile.Text {
			return "must be a string"
		}
		*to = n.Text
		return ""
	}}
}

// Redacted returns an address without its password and without the values of its query, which may be keys.
func Redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if u.RawQuery != "" {
		query := u.Query()
		for name := range query {
			query.Set(name, "xxxxx")
		}
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// name returns the setting of a word; "" is none.
func name(to *string) setting {
	return setting{schema: aString, get: func() any { return *to }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		*to = n.Text
		return ""
	}}
}

// secret returns a [name] setting whose value is not printed.
func secret(to *string) setting {
	s := name(to)
	s.get = func() any { return Hidden(*to) }
	return s
}

// Hidden is printed in place of a secret.
func Hidden(value string) string {
	if value == "" {
		return ""
	}
	return "(set)"
}

func words(to *[]string) setting {
	return setting{schema: listOf(aString), get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
		if reason := configfile.StringList.Check(n); reason != "" {
			return "must be " + reason
		}
		*to = nil
		if len(n.List) > 0 {
			*to = n.Strings()
		}
		return ""
	}}
}

// argv returns the setting of a command: a list of its arguments, or a line that is split at blanks.
func argv(to *[]string) setting {
	return setting{schema: aCommand, get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
		if n.Kind == configfile.Text {
			*to = strings.Fields(n.Text)
			return ""
		}
		if n.Kind != configfile.List || configfile.StringList.Check(n) != "" {
			return "must be a command: a list of its arguments, or a line without quotes"
		}
		*to = nil
		for _, arg := range n.List {
			*to = append(*to, arg.Text)
		}
		return ""
	}}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// key returns the setting of a search service's key.
func key(to map[webclient.SearchProvider]string, of webclient.SearchProvider) setting {
	return setting{schema: aString, get: func() any { return Hidden(to[of]) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		delete(to, of)
		if n.Text != "" {
			to[of] = n.Text
		}
		return ""
	}}
}

// discarding returns the setting for the text of an interrupted answer: keep or discard.
func discarding(to *bool) setting {
	get := func() any {
		if *to {
			return "discard"
		}
		return "keep"
	}
	return setting{schema: oneString([]contextMode{"keep", "discard"}), get: get, take: func(n *configfile.Node) string {
		var mode contextMode
		reason := oneOf(&mode, []contextMode{"keep", "discard"}).take(n)
		if reason == "" {
			*to = mode == "discard"
		}
		return reason
	}}
}

type contextMode string

// duration returns the setting of a number of seconds.
func duration(to *time.Duration, least, most int) setting {
	return setting{schema: aNumber(true, float64(least), float64(most)), get: func() any { return int(*to / time.Second) }, take: func(n *configfile.Node) string {
		var seconds int
		reason := number(&seconds, least, most).take(n)
		if reason == "" {
			*to = time.Duration(seconds) * time.Second
		}
		return reason
	}}
}

// directories returns the setting of a list of paths that are absolute or begin with "~/". It does not expand "~/".
func directories(to *[]string) setting {
	return setting{schema: listOf(aDirectory), get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.List {
			return "must be a list of directories"
		}
		var all []string
		for _, item := range n.List {
			if item.Kind != configfile.Text || !filepath.IsAbs(item.Text) && !strings.HasPrefix(item.Text, "~/") {
				return "must be a list of directories, each an absolute path or one with ~/"
			}
			all = append(all, item.Text)
		}
		*to = all
		return ""
	}}
}

// interceptRules returns the setting of a list of mappings with pattern, tool and message.
func interceptRules(to *[]shell.InterceptRule) setting {
	get := func() any {
		all := make([]map[string]string, 0, len(*to))
		for _, r := range *to {
			all = append(all, map[string]string{"pattern": r.Pattern.String(), "tool": r.Tool, "message": r.Message})
		}
		return all
	}
	return setting{schema: listOf(interceptSchema), get: get, take: func(n *configfile.Node) string {
		if n.Kind != configfile.List {
			return "must be a list of rules"
		}
		var all []shell.InterceptRule
		for _, item := range n.List {
			var r shell.InterceptRule
			for _, m := range item.Members {
				switch m.Name {
				case "pattern":
					re, err := regexp.Compile(m.Value.Text)
					if err != nil {
						return "has an invalid pattern: " + err.Error()
					}
					r.Pattern = re
				case "tool":
					r.Tool = m.Value.Text
				case "message":
					r.Message = m.Value.Text
				default:
					return "may have only pattern, tool and message" + configfile.Suggestion(m.Name, []string{"pattern", "tool", "message"})
				}
			}
			if r.Pattern == nil || r.Tool == "" || r.Message == "" {
				return "must be a list of rules, each with pattern, tool and message"
			}
			all = append(all, r)
		}
		*to = all
		return ""
	}}
}

// hosts returns the setting of a list of hosts, as [egress.Domains].
func hosts(to *[]string) setting {
	return setting{schema: listOf(aString), get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
		if reason := configfile.StringList.Check(n); reason != "" {
			return "must be " + reason
		}
		var all []string
		for _, text := range n.Strings() {
			host, err := egress.ParseDomain(text)
			if err != nil {
				return err.Error()
			}
			all = append(all, host)
		}
		*to = all
		return ""
	}}
}
