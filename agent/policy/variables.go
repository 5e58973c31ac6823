package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign looks at a variable that is set.
func (a *analysis) assign(as *syntax.Assign) {
	if as.Name == nil { // an option, or a word that the shell takes apart when it runs: export "PATH=x"
		if as.Value != nil {
			a.declared([]arg{a.word(as.Value)})
		}
		return
	}
	name := as.Name.Value
	if as.Value != nil {
		if v := a.word(as.Value); v.known {
			a.reads(v.text) // it may be read by its variable
		}
		if v := a.word(as.Value); strings.Contains(v.text, "[") {
			a.computed(v.text[strings.IndexByte(v.text, '['):])
		}
	}
	if as.Index != nil {
		a.evaluated(as.Index)
	}
	value := arg{}
	if as.Value != nil {
		value = a.word(as.Value)
	}
	a.sets(name, value)
}

// sets looks at a name that gets a value, in whatever way.
func (a *analysis) sets(name string, value arg) {
	name, _, _ = strings.Cut(name, "[")
	switch {
	case name == "PWD" || name == "OLDPWD":
		a.risk("it sets %s, by which paths are read", name)
	case runsByName(name) && !(value.known && harmlessValue(name, value.text)):
		a.risk("it sets %s, by which programs run others", name)
	}
}

// declared looks at the arguments of export and its like that are words: options, names, names with a value.
func (a *analysis) declared(args []arg) {
	for _, arg := range args {
		name, value, assigned := strings.Cut(arg.text, "=")
		switch {
		case strings.HasPrefix(arg.text, "-") || strings.HasPrefix(arg.text, "+"):
		case arg.known || assigned:
			a.sets(strings.TrimSuffix(name, "+"), argOf(value, arg.known && assigned))
		default:
			a.risk("it sets a variable that only the shell knows")
		}
	}
}

func argOf(text string, known bool) arg { return arg{text: text, known: known} }

// named looks at the builtins that take names of variables as arguments.
func (a *analysis) named(name string, args []arg) {
	switch name {
	case "read", "mapfile", "readarray", "getopts":
		takes := map[string]string{"read": "dinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}[name]
		ended := false
		for i := 0; i < len(args); i++ {
			t := args[i].text
			if !ended && strings.HasPrefix(t, "-") && len(t) > 1 {
				ended = t == "--"
				if at := strings.IndexAny(t[1:], takes+"a") + 1; takes != "" && at > 0 {
					switch {
					case t[at] == 'a' && at+1 < len(t):
						a.sets(t[at+1:], argUnknown)
					case t[at] != 'a' && at+1 == len(t):
						i++ // its value
					}
				}
				continue
			}
			if name == "getopts" && i == 0 {
				continue
			}
			ended = true
			a.sets(t, argUnknown)
		}
	case "printf":
		for i, arg := range args {
			if arg.text == "-v" && i+1 < len(args) {
				a.sets(args[i+1].text, argUnknown)
			} else if strings.HasPrefix(arg.text, "-v") {
				a.sets(arg.text[2:], argUnknown)
			}
			if !strings.HasPrefix(arg.text, "-v") {
				break
			}
		}
	}
}
