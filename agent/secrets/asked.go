package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// wordSet is a list of words, each between spaces. Unlike a map it costs nothing at startup.
type wordSet string

func (s wordSet) has(word string) bool {
	return word != "" && strings.Contains(string(s), " "+word+" ")
}

// AskedIn reports whether a text asks its reader to type a secret: a password, a key or a token. Both the secret and the request
// must be present, so that texts about secrets pass ("max tokens", "which password policy"). AskedIn is a heuristic: when in doubt,
// it reports true if a secret is named.
func AskedIn(text string) bool {
	named := false
	for _, clause := range clauses(text) {
		words := secretWords(clause)
		for i := range words {
			n := secretAt(words, i)
			if n == 0 {
				continue
			}
			named = true
			if asksFor(words, i, i+n) {
				return true
			}
		}
		if named && asksForIt(words) {
			return true
		}
	}
	return false
}

// NamedIn reports whether name, such as "api_key", names a secret.
func NamedIn(name string) bool {
	words := secretWords(spaced(name))
	for i := range words {
		if secretAt(words, i) > 0 {
			return true
		}
	}
	return false
}

// spaced splits a name like apiKey into words.
func spaced(name string) string {
	var words strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words.WriteByte(' ')
		}
		words.WriteRune(r)
	}
	return words.String()
}

// clauses splits a text into clauses.
func clauses(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".?!;:\n()", r) })
}

// secretWords returns the words of a text in lower case, without punctuation.
func secretWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	out := make([]string, 0, len(words)+1)
	for _, w := range words {
		// "what's" is two words, "user's" is one.
		if base, ok := strings.CutSuffix(w, "'s"); ok && (base == "what" || base == "here") {
			out = append(out, base, "is")
			continue
		}
		if w = strings.Trim(w, "'"); w != "" {
			out = append(out, strings.TrimSuffix(w, "'s"))
		}
	}
	return out
}

// nouns lists what a user must not be asked to type.
const nouns wordSet = " password passwords passwd passphrase passcode pwd pin secret secrets credential credentials apikey token otp " +
	"cvv cvc ssn "

// phrases lists the names of secrets that consist of several words, each between bars.
const phrases = "|pass word|pass phrase|pass code|pin code|api key|api keys|api tokens|access key|access keys|access tokens|" +
	"auth tokens|secret key|secret access key|private key|ssh key|signing key|encryption key|verification code|" +
	"security code|authentication code|one time code|2fa code|mfa code|recovery code|recovery phrase|seed phrase|card number|" +
	"social security number|login details|"

// aboutSecret lists words that follow the name of a secret and change its meaning, as in "password policy".
const aboutSecret wordSet = " limit limits count counts budget usage policy policies rule rules length hash hashes hashing field fields " +
	"manager managers reset resets santa name names store stores storage vault type types rotation expiry " +
	"expiration lifetime ttl format provider providers bucket buckets page form prompt flow strength " +
	"validation validator generator column columns input box file files path paths location variable variables " +
	"config configuration management scanning scanner detection handling requirements service refresh window " +
	"size price cost auth authentication based protection encryption parser stream garden sauce ingredient id " +
	"ids family model agent handshake header headers helper endpoint protected sharing logic checks check " +
	"support class module table test tests screen dialog option options pair pairs number numbers message " +
	"project "

// secretOnly lists words that may follow the noun "secret".
const secretOnly wordSet = " for of to in from here below now please and or so that which you is should value string phrase code word " +
	"key token access again twice used on at with "

// countsTokens lists words before "token" that mean the pieces of a text or the tokens of a parser.
const countsTokens wordSet = " max maximum min minimum per each every prompt input output completion next special stop eos separator " +
	"syntax first last current total placeholder design cancellation csrf "

// secretAt returns the number of words of a secret's name that begins at words[i], or zero if there is none.
func secretAt(words []string, i int) int {
	n := min(3, len(words)-i)
	for n > 1 && !strings.Contains(phrases, "|"+strings.Join(words[i:i+n], " ")+"|") {
		n--
	}
	if n == 1 && !nouns.has(words[i]) {
		return 0
	}
	before, after := "", ""
	if i > 0 {
		before = words[i-1]
	}
	if i+n < len(words) {
		after = strings.Trim(words[i+n], "0123456789")
	}
	switch {
	case aboutSecret.has(after),
		words[i] == "token" && countsTokens.has(before),
		words[i] == "pin" && n == 1 && after != "" && !secretOnly.has(after), // "pin the version"
		words[i] == "secret" && n == 1 && after != "" && !secretOnly.has(after):
		return 0
	}
	// "the path to the key", "the name of the secret"
	for j := max(0, i-4); j < i-1; j++ {
		of := words[j+1] == "of" || words[j+1] == "to" || words[j+1] == "for"
		if of && aboutSecret.has(words[j]) && !contains(words[j+2:i], asking) {
			return 0
		}
	}
	return n
}

const (
	// asking lists the words that express a request.
	asking wordSet = " enter type provide paste give tell send share input supply submit insert reveal disclose specify fill " +
		"write confirm need needs require requires want know "
	// offering lists the beginnings of yes/no questions.
	offering wordSet = " should shall do does did is are was were has have had am which how where why when who whether if "
	// elsewhere lists words after the request that make it a question about the secret.
	elsewhere wordSet = " how where whether if when why who of to by between without than instead whose "
	// naming lists words that may precede a secret on a label.
	notNaming wordSet = " rotate store hash use keep encrypt change add remove delete rename update fix support skip check create " +
		"generate validate test read load save hide mask show print log parse count using with without no not " +
		"never i we it will can must could would should about where how invalid wrong missing bad expired "
	// polite lists words that may precede any request.
	polite wordSet = " and so ok okay then please now first next also finally again hi hello "
	// tail lists words that can follow a name on a label.
	tail wordSet = " for of to on in from with at again please used required needed "
)

// asksFor reports whether a clause asks for the secret in words[from:to].
func asksFor(words []string, from, to int) bool {
	before := words[:from]
	for len(before) > 0 && polite.has(before[0]) {
		before = before[1:]
	}
	first, second, third := at(before, 0), at(before, 1), at(before, 2)
	switch {
	case offering.has(first):
		return false
	case first == "can" || first == "could" || first == "would" || first == "will" || first == "may":
		// "Can you give me the password", "may I have your password"; not "can the password be empty".
		if second != "you" && (third != "have" && third != "get" && third != "ask") {
			return false
		}
		if second != "you" {
			return !contains(before[3:], elsewhere)
		}
	case first == "what":
		switch second {
		case "is", "are", "was", "were":
			return !contains(withoutObject(before[2:]), elsewhere+" for in with that ")
		case "should", "shall", "will", "must":
			return at(words, to) == "be" && !contains(before[2:], elsewhere)
		default:
			// "What password should I use?"
			return len(before) <= 3 && !contains(before[1:], elsewhere)
		}
	}
	for i := range before {
		if asks(before, i) && len(before)-i <= 9 && !contains(withoutObject(before[i+1:]), elsewhere) {
			return true
		}
	}
	return onLabel(before, words[to:])
}

// asks reports whether words[i] asks the user for the words after it.
func asks(words []string, i int) bool {
	w, before, after := words[i], at(words, i-1), at(words, i+1)
	if !asking.has(w) || i > 1 && slices.Contains(words[:i], "not") {
		return false
	}
	switch before {
	case "not", "don't", "never", "without":
		return false
	case "you", "users", "user", "they", "it":
		return i == 2 && before == "you" // "can you give me"; but "after you type" is a statement
	}
	switch w {
	case "need", "needs", "require", "requires", "want":
		return before == "i" || before == "we" || slices.Contains(words[i:], "your")
	case "send", "share", "give", "tell":
		return after == "me" || after == "us" || after == "your"
	}
	return true
}

// withoutObject removes the words between a request and its object: "to know", "me the value of", "in".
func withoutObject(words []string) []string {
	if at(words, 0) == "to" { // "I need to know the password"
		words = words[1:]
	}
	for i := 1; i < len(words); i++ {
		if words[i] == "of" && (words[i-1] == "value" || words[i-1] == "text" || words[i-1] == "contents" || words[i-1] == "content") {
			return words[i+1:]
		}
	}
	return words
}

// onLabel reports whether a clause is only the name of a secret: "Database password", "Token for the API".
func onLabel(before, after []string) bool {
	if len(before) > 4 || len(after) > 0 && !tail.has(after[0]) {
		return false
	}
	for i, w := range before {
		if notNaming.has(w) || i > 0 && (w == "the" || w == "a" || w == "an") || i == 0 && offering.has(w) {
			return false
		}
	}
	return true
}

// asksForIt reports whether a clause asks for a secret named before: "Type it below."
func asksForIt(words []string) bool {
	for i, w := range words {
		if (w == "it" || w == "them") && i > 0 && asking.has(words[i-1]) {
			return i == 1 || !contains(words[:i-1], offering+notNaming)
		}
	}
	return false
}

func contains(words []string, set wordSet) bool {
	return slices.ContainsFunc(words, set.has)
}

func at(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}
