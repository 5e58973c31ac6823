package configfile

import (
	"maps"
	"slices"
)

// Definition is the configuration of a server or an adapter after merging all files.
type Definition struct {
	Name   string
	Custom bool // not among the defaults
	// Rank is the position in the order of the defaults, followed by those in files.
	Rank   int
	Fields map[string]Value
	At     string   // the last position in a file
	Files  []string // the paths of all files that mention it
}

// From reports whether a file mentions it.
func (d *Definition) From(f *File) bool { return slices.Contains(d.Files, f.Path) }

// Strings returns the strings of a field that is a list.
func (d *Definition) Strings(field string) []string { return d.Fields[field].Strings() }

// Text returns the text of a field.
func (d *Definition) Text(field string) string {
	if v, ok := d.Fields[field]; ok {
		return v.Text
	}
	return ""
}

// True reports whether a field is true.
func (d *Definition) True(field string) bool { return d.Fields[field].True() }

// Lacking returns those of the fields that the definition does not have.
func (d *Definition) Lacking(fields ...string) []string {
	return slices.DeleteFunc(fields, func(name string) bool {
		_, ok := d.Fields[name]
		return ok
	})
}

// Merge merges files into the defaults. Later files take precedence. A field is replaced as a whole, but objects are merged member by
// member. Ranks have a distance of two, so that there is room between them.
func Merge(defaults []Entry, files []*File) []*Definition {
	byName := make(map[string]*Definition)
	var all []*Definition
	add := func(name string, custom bool) *Definition {
		d := &Definition{Name: name, Custom: custom, Rank: 2 * len(all), Fields: make(map[string]Value)}
		byName[name] = d
		all = append(all, d)
		return d
	}
	for _, e := range defaults {
		maps.Copy(add(e.Name, false).Fields, e.Fields)
	}
	for _, f := range files {
		for _, e := range f.Entries {
			d := byName[e.Name]
			if d == nil {
				d = add(e.Name, true)
			}
			d.At, d.Files = f.At(e.Line), append(d.Files, f.Path)
			for name, v := range e.Fields {
				if lower, ok := d.Fields[name]; ok {
					v.Node = v.Over(lower.Node)
				}
				d.Fields[name] = v
			}
		}
	}
	return all
}
