package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

// expand returns a form (see [dap.Forms]) with its placeholders replaced. A string that is a single placeholder becomes the
// value itself. Members and list elements without a value are left out.
func expand(form any, values map[string]any) (filled any, ok bool) {
	switch form := form.(type) {
	case string:
		return expandText(form, values)
	case map[string]any:
		all := make(map[string]any, len(form))
		for name, part := range form {
			if v, ok := expand(part, values); ok {
				all[name] = v
			}
		}
		return all, true
	case []any:
		all := make([]any, 0, len(form))
		for _, part := range form {
			if v, ok := expand(part, values); ok {
				all = append(all, v)
			}
		}
		return all, true
	default:
		return form, true
	}
}

func expandText(text string, values map[string]any) (any, bool) {
	if name, ok := strings.CutPrefix(text, "${"); ok && strings.Index(name, "}") == len(name)-1 {
		v, ok := values[name[:len(name)-1]]
		return v, ok
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, rest, closed := strings.Cut(rest, "}")
		v, ok := values[name]
		if !closed || !ok {
			return nil, false
		}
		fmt.Fprint(&b, v)
		text = rest
	}
}

// formValues returns the values of the placeholders for a launch.
func formValues(program string, args []string, dir string, env map[string]string) map[string]any {
	values := make(map[string]any)
	text := func(name, value string) {
		if value != "" {
			values[name] = value
		}
	}
	text("program", program)
	text("dir", dir)
	if len(args) > 0 {
		values["args"] = anyList(args)
		values["argsText"] = joinWords(args)
	}
	if len(env) > 0 {
		object, list, pairs := make(map[string]any, len(env)), []any{}, []any{}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			object[name] = env[name]
			list = append(list, name+"="+env[name])
			pairs = append(pairs, map[string]any{"name": name, "value": env[name]})
		}
		values["env"], values["envList"], values["envPairs"] = object, list, pairs
	}
	return values
}

func anyList(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// joinWords joins words and quotes them for a shell.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = text.ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// splitWords splits a string as a shell does. It supports only quotes and backslashes.
func splitWords(text string) []string {
	var all []string
	var word strings.Builder
	in, quote := false, rune(0)
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, in = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, in = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if in {
				all = append(all, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		all = append(all, word.String())
	}
	return all
}

// clone returns a deep copy of an argument. Lists and maps of strings become lists and maps of any.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, part := range v {
			all[name] = clone(part)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, part := range v {
			all[i] = clone(part)
		}
		return all
	case []string:
		return anyList(v)
	case map[string]string:
		all := make(map[string]any, len(v))
		for name, value := range v {
			all[name] = value
		}
		return all
	default:
		return v
	}
}

func cloneMap(m map[string]any) map[string]any {
	if m == nil {
		return make(map[string]any)
	}
	return clone(m).(map[string]any)
}

// removeSecrets removes the secret variables (see [proc.IsSecretVariable]) from the environment in the arguments, in any of its
// forms, and returns their names.
func removeSecrets(arguments map[string]any) (names []string) {
	secret := func(name string) bool {
		if proc.IsSecretVariable(name) {
			names = append(names, name)
			return true
		}
		return false
	}
	for _, key := range []string{"env", "environment"} {
		switch env := arguments[key].(type) {
		case map[string]any:
			maps.DeleteFunc(env, func(name string, _ any) bool { return secret(name) })
		case []any:
			arguments[key] = slices.DeleteFunc(env, func(v any) bool {
				switch v := v.(type) {
				case string:
					name, _, _ := strings.Cut(v, "=")
					return secret(name)
				case map[string]any:
					name, _ := v["name"].(string)
					return secret(name)
				default:
					return false
				}
			})
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isSecretEntry reports whether an entry of an environment is a secret variable.
func isSecretEntry(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return proc.IsSecretVariable(name)
}
