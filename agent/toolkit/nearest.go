package toolkit

import "strings"

// maxCompared bounds the number of lines of a file that are compared for similarity.
const maxCompared = 20_000

// NearestLines returns the position at and the length n of the lines of text that are most similar to old, and why says how they
// are similar. n is zero if nothing is similar.
func NearestLines(text, old string) (at, n int, why string) {
	lines, want := trimAll(SplitLines(text)), trimAll(SplitLines(strings.Trim(old, "\n")))
	n = min(len(want), len(lines))
	best := 0.0
	if at, best = likeliest(lines, want, func(a, b string) float64 {
		if a == b && a != "" {
			return 1
		}
		return 0
	}); best > 0 && best == float64(nonBlank(want)) {
		return at, n, "These lines differ only in white space"
	}
	if best*2 >= float64(nonBlank(want)) {
		return at, n, "The nearest lines are"
	}
	if len(lines) > maxCompared {
		lines = lines[:maxCompared]
		n = min(n, len(lines))
	}
	if len(want) > 5 { // the start of a long text is enough, and cheaper
		want = want[:5]
	}
	at, best = likeliest(lines, want, likeness)
	if best < 0.5*float64(nonBlank(want)) || best == 0 {
		return 0, 0, ""
	}
	return at, min(n, len(lines)-at), "The nearest lines are"
}

func nonBlank(lines []string) int {
	n := 0
	for _, l := range lines {
		if l != "" {
			n++
		}
	}
	return n
}

// likeliest returns the index in lines at which want fits best, and how well it fits.
func likeliest(lines, want []string, like func(a, b string) float64) (at int, best float64) {
	for i := 0; i+min(len(want), len(lines)) <= len(lines); i++ {
		sum := 0.0
		for j := range min(len(want), len(lines)) {
			sum += like(lines[i+j], want[j])
		}
		if sum > best {
			at, best = i, sum
		}
	}
	return at, best
}

func trimAll(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return lines
}

// likeness returns the share of byte pairs that two lines have in common, from 0 to 1.
func likeness(a, b string) float64 {
	if a == b {
		if a == "" {
			return 0
		}
		return 1
	}
	if len(a) < 2 || len(b) < 2 || len(a) > 4*len(b) || len(b) > 4*len(a) {
		return 0
	}
	a, b = a[:min(len(a), 200)], b[:min(len(b), 200)]
	var pairs [256]int8
	hash := func(x, y byte) byte { return x*31 + y }
	for i := range len(a) - 1 {
		if h := hash(a[i], a[i+1]); pairs[h] < 127 {
			pairs[h]++
		}
	}
	common := 0
	for i := range len(b) - 1 {
		if h := hash(b[i], b[i+1]); pairs[h] > 0 {
			pairs[h]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
