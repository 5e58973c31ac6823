package toolkit

import "strconv"

// Count returns a number and its noun in singular or plural: "1 line", "3 lines".
func Count(n int, noun string) string {
	s := strconv.Itoa(n) + " " + noun
	switch {
	case n == 1:
		return s
	case noun[len(noun)-1] == 'h' || noun[len(noun)-1] == 's': // match, class
		return s + "es"
	case noun[len(noun)-1] == 'y':
		return s[:len(s)-1] + "ies"
	default:
		return s + "s"
	}
}
