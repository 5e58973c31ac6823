package lines

import "strings"

// Level is how closely lines are compared.
type Level int

// The levels, the strictest first. Trailing leaves blanks at the ends of lines out, Indent those at their starts too,
// Typography also takes typeset quotes, dashes and spaces for plain ones.
const (
	Exact Level = iota
	Trailing
	Indent
	Typography
)

const blanks = " \t\r\f\v"

// Fold is a line as it is compared at a level.
func (l Level) Fold(line string) string {
	switch l {
	case Exact:
		return line
	case Trailing:
		return strings.TrimRight(line, blanks)
	case Indent:
		return strings.Trim(line, blanks)
	default:
		return strings.Trim(plain.Replace(line), blanks)
	}
}

var plain = strings.NewReplacer(
	"\u2018", "'", "\u2019", "'", "\u201A", "'", "\u201B", "'",
	"\u201C", `"`, "\u201D", `"`, "\u201E", `"`, "\u201F", `"`,
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u00A0", " ", "\u2002", " ", "\u2003", " ", "\u2009", " ", "\u200A", " ", "\u202F", " ", "\u205F", " ", "\u3000", " ",
)

// Places returns where want is among all, at or behind from, compared at a level; most bounds how many.
func Places(all, want []string, from int, level Level, most int) []int {
	folded := make([]string, len(want))
	for i, w := range want {
		folded[i] = level.Fold(w)
	}
	var at []int
next:
	for i := max(from, 0); i+len(want) <= len(all); i++ {
		for j := range folded {
			if all[i+j] != want[j] && level.Fold(all[i+j]) != folded[j] {
				continue next
			}
		}
		if at = append(at, i); len(at) == most {
			break
		}
	}
	return at
}

// Reindent gives lines that were written for given, which has other indents than the lines that were found, the indents
// of these. A line whose indent cannot be told keeps its own.
func Reindent(given, found, lines []string) []string {
	known := make(map[string]string)
	var order []string
	for i := range min(len(given), len(found)) {
		if strings.Trim(given[i], blanks) == "" {
			continue
		}
		g, f := indentOf(given[i]), indentOf(found[i])
		if was, ok := known[g]; ok && was != f {
			return lines // there is no rule to it
		} else if !ok {
			known[g] = f
			order = append(order, g)
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		indent := indentOf(l)
		out[i] = l
		if strings.Trim(l, blanks) == "" {
			continue
		}
		if to, ok := known[indent]; ok {
			out[i] = to + l[len(indent):]
			continue
		}
		best := -1
		for j, g := range order { // the longest known indent that this one begins with
			if strings.HasPrefix(indent, g) && (best < 0 || len(g) > len(order[best])) {
				best = j
			}
		}
		if best >= 0 {
			g := order[best]
			out[i] = known[g] + deeper(indent[len(g):], order, known) + l[len(indent):]
		}
	}
	return out
}

// deeper is how the found lines would write a further indent: in tabs, where they write what the given lines have in
// spaces in tabs.
func deeper(more string, order []string, known map[string]string) string {
	for _, g := range order {
		if f := known[g]; g != "" && f != "" && strings.Trim(g, " ") == "" && strings.Trim(f, "\t") == "" && len(g)%len(f) == 0 {
			if unit := len(g) / len(f); strings.Trim(more, " ") == "" && len(more)%unit == 0 {
				return strings.Repeat("\t", len(more)/unit)
			}
		}
		if f := known[g]; g != "" && f != "" && strings.Trim(g, "\t") == "" && strings.Trim(f, " ") == "" && len(f)%len(g) == 0 {
			return strings.ReplaceAll(more, "\t", strings.Repeat(" ", len(f)/len(g)))
		}
	}
	return more
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
