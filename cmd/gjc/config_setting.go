package main

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
	"github.com/gajae-code/gjc/internal/webclient"
)

// A setting is one name of config.yml.
type setting struct {
	// take sets the value, or returns what the value must be.
	take func(*configfile.Node) string
	// item, if set, takes the items of a list one by one, so that a mistake in one costs only that one.
	item func(*configfile.Node) string
	// get returns the effective value.
	get func() any
	// strict, if set, gives the setting its strictest value when a mistake hides the value that the user wanted.
	strict func()
	// stops names what a mistake in the setting stops until it is corrected.
	stops effect
	// adds says that the values of several files count together.
	adds bool
}

// effect is a set of things that a mistake in the configuration stops.
type effect uint

const (
	// stopsModels keeps gjc from asking models, stopsPages from fetching web pages and searching.
	stopsModels effect = 1 << iota
	stopsPages
	// stopsSteps makes every step ask, in every mode.
	stopsSteps
)

func (e effect) String() string {
	switch {
	case e&stopsSteps != 0:
		return "every step asks until this is right"
	case e&stopsModels != 0:
		return "no model is asked until this is right"
	case e&stopsPages != 0:
		return "no page is fetched until this is right"
	}
	return ""
}

// orStrict makes value the setting's strictest value.
func orStrict[T any](s setting, to *T, value T) setting {
	s.strict = func() { *to = value }
	return s
}

// orStop makes a mistake in the setting stop what e says.
func orStop(s setting, e effect) setting {
	s.stops = e
	return s
}

func boolean(to *bool) setting {
	return setting{get: func() any { return *to }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Boolean {
			return "must be true or false"
		}
		*to = n.True()
		return ""
	}}
}

// unless is [boolean] for a switch that means the opposite.
func unless(to *bool) setting {
	return setting{get: func() any { return !*to }, take: func(n *configfile.Node) string {
		var on bool
		reason := boolean(&on).take(n)
		if reason == "" {
			*to = !on
		}
		return reason
	}}
}

// number takes a number from least to most. One for an int is whole.
func number[T int | float64](to *T, least, most T) setting {
	return setting{get: func() any { return *to }, take: func(n *configfile.Node) string {
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
	return setting{get: func() any { return string(*to) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text || !slices.Contains(values, T(n.Text)) {
			all := make([]string, len(values))
			for i, v := range values {
				all[i] = string(v)
			}
			reason := "must be one of: " + strings.Join(all, ", ")
			if n.Kind == configfile.Text {
				reason += configfile.Meant(n.Text, all)
			}
			return reason
		}
		*to = T(n.Text)
		return ""
	}}
}

// httpURL takes an address; an empty one is none.
func httpURL(to *string) setting {
	return setting{get: func() any { return redacted(*to) }, take: func(n *configfile.Node) string {
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

// redacted returns an address without its password and without the values of its query, which may be keys.
func redacted(address string) string {
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

// name takes a word; an empty one is none.
func name(to *string) setting {
	return setting{get: func() any { return *to }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		*to = n.Text
		return ""
	}}
}

// secret is [name] for a value that is not printed.
func secret(to *string) setting {
	s := name(to)
	s.get = func() any { return hidden(*to) }
	return s
}

// hidden is printed in place of a secret.
func hidden(value string) string {
	if value == "" {
		return ""
	}
	return "(set)"
}

func words(to *[]string) setting {
	return setting{get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
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

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// key takes a key of a search service.
func key(to map[webclient.SearchProvider]string, of webclient.SearchProvider) setting {
	return setting{get: func() any { return hidden(to[of]) }, take: func(n *configfile.Node) string {
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

// discarding takes what becomes of an answer that was broken off: keep or discard.
func discarding(to *bool) setting {
	get := func() any {
		if *to {
			return "discard"
		}
		return "keep"
	}
	return setting{get: get, take: func(n *configfile.Node) string {
		var mode contextMode
		reason := oneOf(&mode, []contextMode{"keep", "discard"}).take(n)
		if reason == "" {
			*to = mode == "discard"
		}
		return reason
	}}
}

type contextMode string

// duration takes a number of seconds.
func duration(to *time.Duration, least, most int) setting {
	return setting{get: func() any { return int(*to / time.Second) }, take: func(n *configfile.Node) string {
		var seconds int
		reason := number(&seconds, least, most).take(n)
		if reason == "" {
			*to = time.Duration(seconds) * time.Second
		}
		return reason
	}}
}

// directories takes a list of absolute paths, or of some below the user's home directory: "~/x", which stays so.
func directories(to *[]string) setting {
	return setting{get: func() any { return nonNil(*to) }, take: func(n *configfile.Node) string {
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

// interceptRules takes a list of mappings with pattern, tool and message.
func interceptRules(to *[]shell.InterceptRule) setting {
	get := func() any {
		all := make([]map[string]string, 0, len(*to))
		for _, r := range *to {
			all = append(all, map[string]string{"pattern": r.Pattern.String(), "tool": r.Tool, "message": r.Message})
		}
		return all
	}
	return setting{get: get, take: func(n *configfile.Node) string {
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
						return "has a pattern that cannot be read: " + err.Error()
					}
					r.Pattern = re
				case "tool":
					r.Tool = m.Value.Text
				case "message":
					r.Message = m.Value.Text
				default:
					return "has rules with pattern, tool and message, and nothing else" + configfile.Meant(m.Name, []string{"pattern", "tool", "message"})
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
