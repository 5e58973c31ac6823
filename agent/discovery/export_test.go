package discovery

// Tokens returns the words of s.
func Tokens(s string) []string {
	var all []string
	eachToken(s, func(word []byte) bool {
		all = append(all, string(word))
		return true
	})
	return all
}
