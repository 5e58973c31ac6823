package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign looks at a variable that is set.
func (a *analysis) assign(as *syntax.Assign) {
	if as.Name == nil { // an option, or a word that the shell takes apart when it runs: export "PATH=x"
		if as.Value != nil {
			a.declared([]Arg{a.word(as.Value)})
		}
		return
	}
	name := as.Name.Value
	if as.Value != nil {
		if v := a.word(as.Value); v.Known {
			a.reads(v.Text) // it may be read by its variable
		}
		if v := a.word(as.Value); strings.Contains(v.Text, "[") {
			a.computed(v.Text[strings.IndexByte(v.Text, '['):])
		}
	}
	if as.Index != nil {
		a.evaluated(as.Index)
	}
	value := Arg{}
	if as.Value != nil {
		value = a.word(as.Value)
	}
	a.sets(name, value)
}

// sets looks at a name that gets a value, in whatever way.
func (a *analysis) sets(name string, value Arg) {
	name, _, _ = strings.Cut(name, "[")
	switch {
	case name == "PWD" || name == "OLDPWD":
		a.risk("it sets %s, by which paths are read", name)
	case runsByName(name) && !(value.Known && harmlessValue(name, value.Text)):
		a.risk("it sets %s, by which programs run others", name)
	}
}

// declared looks at the arguments of export and its like that are words: options, names, names with a value.
func (a *analysis) declared(args []Arg) {
	for _, arg := range args {
		name, value, assigned := strings.Cut(arg.Text, "=")
		switch {
		case strings.HasPrefix(arg.Text, "-") || strings.HasPrefix(arg.Text, "+"):
		case arg.Known || assigned:
			a.sets(strings.TrimSuffix(name, "+"), argOf(value, arg.Known && assigned))
		default:
			a.risk("it sets a variable that only the shell knows")
		}
	}
}

func argOf(text string, known bool) Arg { return Arg{Text: text, Known: known} }

// named looks at the builtins that take names of variables as arguments.
func (a *analysis) named(name string, args []Arg) {
	switch name {
	case "read", "mapfile", "readarray", "getopts":
		takes := map[string]string{"read": "dinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}[name]
		ended := false
		for i := 0; i < len(args); i++ {
			t := args[i].Text
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
			if arg.Text == "-v" && i+1 < len(args) {
				a.sets(args[i+1].Text, argUnknown)
			} else if strings.HasPrefix(arg.Text, "-v") {
				a.sets(arg.Text[2:], argUnknown)
			}
			if !strings.HasPrefix(arg.Text, "-v") {
				break
			}
		}
	}
}
