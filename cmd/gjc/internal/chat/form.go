package chat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// form asks for the fields of a form, one line each.
type form struct {
	*waiter[*acp.CreateElicitationResponse]
	message string
	fields  []field
	at      int // the field that is asked for
	content map[string]acp.ElicitationContentValue
	editor  *lineedit.Editor
}

// field is a field of a form.
type field struct {
	name, title, description string
	required                 bool
	choices                  []acp.EnumOption
	// initial is the value of an empty line; nil for none.
	initial acp.ElicitationContentValue
	// parse returns the value of a line that is not empty.
	parse func(line string) (acp.ElicitationContentValue, error)
}

func newForm(message string, schema *acp.ElicitationSchema, w *waiter[*acp.CreateElicitationResponse]) *form {
	f := &form{waiter: w, message: message, content: make(map[string]acp.ElicitationContentValue)}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if field, ok := newField(name, schema.Properties[name]); ok {
			field.required = slices.Contains(schema.Required, name)
			f.fields = append(f.fields, field)
		}
	}
	return f
}

// newField returns a field, and false for one of an unknown kind.
func newField(name string, property acp.ElicitationPropertySchema) (field, bool) {
	f := field{name: name}
	switch p := property.(type) {
	case *acp.StringPropertySchema:
		f.title, f.description, f.choices = p.Title, p.Description, titled(p.OneOf, p.Enum)
		if p.Default != nil {
			f.initial = acp.ElicitationString(*p.Default)
		}
		f.parse = func(line string) (acp.ElicitationContentValue, error) {
			if len(f.choices) == 0 {
				return acp.ElicitationString(line), nil
			}
			value, err := choose(f.choices, line)
			return acp.ElicitationString(value), err
		}
	case *acp.MultiSelectPropertySchema:
		f.title, f.description = p.Title, p.Description
		switch items := p.Items.(type) {
		case *acp.StringMultiSelectItems:
			f.choices = titled(nil, items.Enum)
		case *acp.TitledMultiSelectItems:
			f.choices = items.AnyOf
		}
		if p.Default != nil {
			f.initial = acp.ElicitationStrings(p.Default)
		}
		f.parse = func(line string) (acp.ElicitationContentValue, error) { return several(f.choices, line) }
	case *acp.NumberPropertySchema:
		f.title, f.description = p.Title, p.Description
		if p.Default != nil {
			f.initial = acp.ElicitationNumber(*p.Default)
		}
		f.parse = func(line string) (acp.ElicitationContentValue, error) {
			n, err := strconv.ParseFloat(line, 64)
			if err != nil {
				return nil, errors.New("give a number")
			}
			return acp.ElicitationNumber(n), nil
		}
	case *acp.IntegerPropertySchema:
		f.title, f.description = p.Title, p.Description
		if p.Default != nil {
			f.initial = acp.ElicitationInteger(*p.Default)
		}
		f.parse = func(line string) (acp.ElicitationContentValue, error) {
			n, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				return nil, errors.New("give a whole number")
			}
			return acp.ElicitationInteger(n), nil
		}
	case *acp.BooleanPropertySchema:
		f.title, f.description = p.Title, p.Description
		if p.Default != nil {
			f.initial = acp.ElicitationBoolean(*p.Default)
		}
		f.parse = parseBool
	default:
		return f, false
	}
	return f, true
}

func titled(options []acp.EnumOption, values []string) []acp.EnumOption {
	if len(options) > 0 {
		return options
	}
	for _, v := range values {
		options = append(options, acp.EnumOption{Const: v, Title: v})
	}
	return options
}

// choose returns the value of a choice that is given by its number, its title or its value.
func choose(choices []acp.EnumOption, word string) (string, error) {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1].Const, nil
	}
	for _, c := range choices {
		if strings.EqualFold(c.Title, word) || c.Const == word {
			return c.Const, nil
		}
	}
	return "", fmt.Errorf("give a number from 1 to %d", len(choices))
}

// several returns the values of choices that are divided by commas or, if they are numbers, by spaces.
func several(choices []acp.EnumOption, line string) (acp.ElicitationContentValue, error) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' })
	if strings.Trim(line, "0123456789, ") == "" {
		words = strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' })
	}
	values := acp.ElicitationStrings{}
	for _, word := range words {
		value, err := choose(choices, strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("%w; several are divided by commas", err)
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values, nil
}

func parseBool(line string) (acp.ElicitationContentValue, error) {
	switch strings.ToLower(line) {
	case "y", "yes", "true", "1":
		return acp.ElicitationBoolean(true), nil
	case "n", "no", "false", "0":
		return acp.ElicitationBoolean(false), nil
	default:
		return nil, errors.New("give y or n")
	}
}

func (f *form) show(c *chat) {
	c.view.line(c.view.yellow("?") + " " + c.view.bold(clean(f.message)))
	if c.raw {
		c.view.line(c.view.dim("  Enter takes what is in brackets, or nothing; Esc declines"))
	}
	f.next(c)
}

// next asks for the current field, or answers after the last one.
func (f *form) next(c *chat) {
	if f.at == len(f.fields) {
		f.answer <- &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{Content: f.content}}
		c.settled("  " + c.view.mark("→", "->") + " answered")
		return
	}
	one := &f.fields[f.at]
	label := cmp.Or(one.title, one.name)
	if one.title == "" && (len(f.fields) == 1 || one.name == "value") {
		label = "answer" // the message is the question
	}
	if one.description != "" {
		c.view.line("  " + c.view.dim(clean(one.description)))
	}
	for i, choice := range one.choices {
		more := ""
		if choice.Description != "" {
			more = "  " + c.view.dim(cleanLine(choice.Description))
		}
		c.view.line(fmt.Sprintf("  %s  %s%s", c.view.cyan(strconv.Itoa(i+1)), cleanLine(choice.Title), more))
	}
	prompt := "  " + cleanLine(label)
	if one.initial != nil {
		prompt += fmt.Sprintf(" [%s]", cleanLine(fmt.Sprint(one.initial)))
	}
	prompt = clip(prompt, 60) + ": "
	c.view.doing("")
	if c.raw {
		f.editor = &lineedit.Editor{History: new(lineedit.History)}
		c.view.edit(f.editor, prompt)
		return
	}
	if c.opts.Terminal.Interactive {
		c.view.print(prompt)
	}
}

func (f *form) key(c *chat, k lineedit.Key) {
	if k.Code == lineedit.Line {
		f.line(c, k.Text)
		return
	}
	if k.Code == lineedit.Escape {
		f.answer <- &acp.CreateElicitationResponse{Action: &acp.ElicitationDeclineAction{}}
		c.settled("  " + c.view.mark("→", "->") + " " + c.view.red("declined"))
		return
	}
	switch f.editor.Press(k) {
	case lineedit.Submitted:
		c.view.leave()
		f.line(c, f.editor.Text())
	case lineedit.Interrupted, lineedit.Ended:
		c.interrupt()
	default:
		c.view.show()
	}
}

// line takes the line for the current field.
func (f *form) line(c *chat, line string) {
	one := &f.fields[f.at]
	line = strings.TrimSpace(line)
	switch {
	case line != "":
		value, err := one.parse(line)
		if err != nil {
			c.view.line("  " + c.view.red(err.Error()))
			f.next(c)
			return
		}
		f.content[one.name] = value
	case one.initial != nil:
		f.content[one.name] = one.initial
	case one.required:
		c.view.line("  " + c.view.red("this is required"))
		f.next(c)
		return
	}
	f.at++
	f.next(c)
}
