package config

import (
	"maps"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func aBoolean() configfile.JSONSchema { return configfile.OfKind(configfile.Boolean) }

func aString() configfile.JSONSchema { return configfile.OfKind(configfile.Text) }

func aDirectory() configfile.JSONSchema {
	return configfile.JSONSchema{"type": "string", "pattern": `^(/|~/|[A-Za-z]:|\\\\)`}
}

func aCommand() configfile.JSONSchema {
	return configfile.AnyOf(aString(), configfile.ListOf(aString()))
}

func aNumber(whole bool, least, most float64) func() configfile.JSONSchema {
	return func() configfile.JSONSchema { return configfile.OfNumbers(whole, least, most) }
}

func oneString[T ~string](values []T) func() configfile.JSONSchema {
	return func() configfile.JSONSchema { return configfile.OneOf(values) }
}

func listOf(item func() configfile.JSONSchema) func() configfile.JSONSchema {
	return func() configfile.JSONSchema { return configfile.ListOf(item()) }
}

func interceptSchema() configfile.JSONSchema {
	return configfile.Fields(map[string]configfile.JSONSchema{"pattern": aString(), "tool": aString(), "message": aString()}, "pattern", "tool", "message")
}

// scopedSchema describes what [scoped] reads.
func scopedSchema(what string) func() configfile.JSONSchema {
	return func() configfile.JSONSchema {
		fields := make(map[string]configfile.JSONSchema)
		for _, name := range []string{"path", "paths", "pathPrefix", "pathPrefixes", what, "values"} {
			fields[name] = configfile.AnyOf(aString(), configfile.ListOf(aString()))
		}
		return configfile.ListOf(configfile.AnyOf(aString(), configfile.Fields(fields)))
	}
}

// Key is a setting of config.yml.
type Key struct {
	// Name has the section. In "modelRoles.ROLE", the user chooses the role.
	Name, About string
	// Takes describes the values; it completes "must be".
	Takes   string
	Default any
	// Mistake describes what holds while the value is wrong; "" if that is an earlier value.
	Mistake string

	schema configfile.JSONSchema
}

// Values returns the values of a setting that has only a few.
func (k *Key) Values() []string {
	if k.schema["type"] == "boolean" {
		return []string{"true", "false"}
	}
	values, _ := k.schema["enum"].([]string)
	return values
}

// Keys returns the settings, sorted by name; those outside of sections are at the end.
func Keys() []Key {
	c, broken := New(), New()
	var keys []Key
	sections, strict := c.sections(), broken.sections()
	for _, section := range sortedKeys(sections) {
		settings := sections[section].settings
		if sections[section].open {
			settings["ROLE"] = c.role("ROLE")
		}
		for _, name := range sortedKeys(settings) {
			keys = append(keys, newKey(section+"."+name, settings[name], strict[section].settings[name]))
		}
	}
	lists, strictLists := c.lists(""), broken.lists("")
	for _, name := range sortedKeys(lists) {
		keys = append(keys, newKey(name, lists[name], strictLists[name]))
	}
	return keys
}

// newKey describes a setting. broken is the same setting of a configuration that may be changed.
func newKey(name string, s, broken setting) Key {
	k := Key{Name: name, About: s.about, Default: s.get(), Mistake: strings.TrimSuffix(s.stops.String(), " until this is corrected")}
	k.Takes = strings.TrimPrefix(strings.TrimPrefix(s.take(&configfile.Node{Kind: configfile.Object}), "must be "), "one of: ")
	if broken.strict != nil {
		broken.strict()
		text, _ := jsonx.Marshal(broken.get()) // strings, numbers and lists
		k.Mistake = "`" + string(text) + "`"
	}
	k.schema = s.schema().About(s.about)
	if !strings.HasSuffix(name, ".ROLE") && k.Default != nil {
		k.schema["default"] = k.Default
	}
	return k
}

// JSONSchema returns the schema of config.yml.
func JSONSchema() configfile.JSONSchema {
	top := make(map[string]configfile.JSONSchema)
	for _, key := range Keys() {
		section, name, nested := strings.Cut(key.Name, ".")
		switch {
		case !nested:
			top[section] = key.schema
		case name == "ROLE":
			top[section] = configfile.MapOf(key.schema).About(key.About)
		case top[section] == nil:
			top[section] = configfile.Fields(map[string]configfile.JSONSchema{name: key.schema})
		default:
			maps.Copy(top[section]["properties"].(map[string]configfile.JSONSchema), map[string]configfile.JSONSchema{name: key.schema})
		}
	}
	s := configfile.Fields(top)
	// Other programs have settings in the file.
	delete(s, "additionalProperties")
	return s
}
