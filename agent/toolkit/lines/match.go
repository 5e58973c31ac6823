package lines

import "strings"

// Level is the strictness of a comparison of lines.
type Level int

// The levels, the strictest first. Trailing ignores white space at the ends of lines, Indent also at their starts, and Typography
// also treats typographic quotes, dashes and spaces as ASCII ones.
const (
	Exact Level = iota
	Trailing
	Indent
	Typography
)

const blanks = " \t\r\f\v"

// Fold returns line normalized for comparison at level l.
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

// Places returns the positions of want in all, starting at position from and compared at a level. It returns at most most
// positions.
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

// Reindent returns lines, which were written to replace given, with the indentation of the lines that were found. A line whose
// indentation cannot be derived is unchanged.
func Reindent(given, found, lines []string) []string {
	known := make(map[string]string)
	var order []string
	for i := range min(len(given), len(found)) {
		if strings.Trim(given[i], blanks) == "" {
			continue
		}
		g, f := indentOf(given[i]), indentOf(found[i])
		if was, ok := known[g]; ok && was != f {
			return lines // the indentation is ambiguous
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
		for j, g := range order { // the longest known indentation that is a prefix of this one
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

// deeper returns additional indentation in the style of the found lines: tabs if these have tabs where the given lines have spaces.
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
