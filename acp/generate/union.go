package main

import (
	"encoding/json"
	"fmt"
)

func parseNode(raw json.RawMessage) (*node, error) {
	n := new(node)
	if err := json.Unmarshal(raw, n); err != nil {
		return nil, err
	}
	return n, nil
}

// addUnion adds the union that a definition is or contains.
func (m *model) addUnion(d named) error {
	in, inlined := inlines[d.Name]
	switch {
	case inlined && in.hand:
		return nil
	case inlined:
		for _, u := range m.unions {
			if u.name == in.union { // two objects share this union
				return nil
			}
		}
	case shape(d.Name, d.node) != "union":
		return nil
	}
	u := &unionType{name: goName(d.Name), inline: inlined, unknown: true}
	if inlined {
		u.name = in.union
		for _, p := range d.Properties {
			u.baseNames = append(u.baseNames, p.Name)
		}
		u.doc = m.comments.get(in.union, true)
	} else {
		u.doc = m.doc(d.Name)
	}
	u.unknown = !closed[u.name]
	for _, v := range d.variants() {
		if v.Not != nil {
			continue // the variant for unknown values
		}
		if err := m.addVariant(u, v); err != nil {
			return err
		}
	}
	m.unions = append(m.unions, u)
	return nil
}

func (m *model) addVariant(u *unionType, v *node) error {
	var tagName, tag string
	for _, p := range v.Properties {
		if c := p.constant(); c != "" {
			tagName, tag = p.Name, c
		}
	}
	payload := v.ref()
	if payload == "" && len(v.AllOf) == 1 {
		payload = v.AllOf[0].ref()
	}
	if tag == "" {
		if payload == "" {
			return fmt.Errorf("a variant of %s has neither discriminator nor type", u.name)
		}
		st := m.byName[payload]
		st.markers = append(st.markers, u.name)
		vo := variantOf{name: st.name, tag: v.Title, key: byKey[payload]}
		if vo.key != "" {
			u.variants = append(u.variants, vo)
		} else {
			u.untagged = &vo
		}
		return nil
	}
	u.tagName = tagName
	st := m.byName[payload]
	name, named := variantNames[u.name+"/"+tag]
	switch {
	case named && payload != "":
		st = &structType{name: name, doc: m.comments.get(name, true), payload: st.name}
		m.structs = append(m.structs, st)
	case named:
		st = &structType{name: name, doc: m.comments.get(name, true)}
		m.structs = append(m.structs, st)
	case st == nil:
		return fmt.Errorf("%s %q needs a name in variantNames", u.name, tag)
	case st.tag != "":
		return fmt.Errorf("%s is a variant twice; %s %q needs a name in variantNames", payload, u.name, tag)
	}
	st.tagName, st.tag = tagName, tag
	st.markers = append(st.markers, u.name)
	u.variants = append(u.variants, variantOf{name: st.name, tag: tag})
	return nil
}
