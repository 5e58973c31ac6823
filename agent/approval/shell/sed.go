package shell

import (
	"strings"
)

// sedRuns reports whether a script of sed's has a command or a flag of s that runs programs (e) or writes files (w, W), or is none
// that can be read. whole is false for the beginning of one of which the shell makes the rest.
func sedRuns(script string, whole bool) bool {
	// Some seds take a delimiter in brackets for text, others do not: a script is what either makes of it.
	runs, read := false, false
	for _, brackets := range []bool{false, true} {
		s := sedScanner{text: script, brackets: brackets}
		ok := s.commands()
		runs, read = runs || s.runs, read || ok
	}
	return runs || whole && !read
}

type sedScanner struct {
	text     string
	at       int
	brackets bool
	runs     bool
}

func (s *sedScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *sedScanner) skip(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

// until goes behind a delimiter.
func (s *sedScanner) until(delimiter byte, expression bool) bool {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == delimiter:
			s.at++
			return true
		case c == '[' && s.brackets && expression:
			from := s.at + 1
			for from < len(s.text) && (s.text[from] == '^' || s.text[from] == ']') {
				from++
			}
			if end := strings.IndexByte(s.text[min(from, len(s.text)):], ']'); end >= 0 {
				s.at = from + end
			}
		}
	}
	return false
}

// address goes behind an address, if there is one.
func (s *sedScanner) address() bool {
	const digits = "0123456789"
	switch c := s.peek(); c {
	case '/', '\\':
		if s.at++; c == '\\' {
			c = s.peek()
			s.at++
		}
		if c == 0 || !s.until(c, true) {
			return false
		}
		s.skip("IM")
	default:
		s.skip(digits + "$+~")
	}
	return true
}

// line goes behind the end of the line, which a backslash does not end.
func (s *sedScanner) line() {
	for ; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
}

// commands reads all commands, and reports whether they are some.
func (s *sedScanner) commands() bool {
	const space = " \t\r\n\v\f"
	for {
		if s.skip(space + ";{}"); s.at >= len(s.text) {
			return true
		}
		if !s.address() {
			return false
		}
		if s.skip(space); s.peek() == ',' {
			if s.at++; s.at < len(s.text) {
				s.skip(space)
			}
			if !s.address() {
				return false
			}
		}
		s.skip(space + "!")
		c := s.peek()
		s.at++
		switch c {
		case 's':
			delimiter := s.peek()
			if s.at++; !s.until(delimiter, true) || !s.until(delimiter, false) {
				return false
			}
			s.skip("gpiImM0123456789 \t")
			if c := s.peek(); c == 'e' || c == 'w' {
				s.runs = true
				return true
			}
		case 'y':
			delimiter := s.peek()
			s.at++
			for range 2 {
				if !s.until(delimiter, false) {
					return false
				}
			}
		case 'e', 'w', 'W':
			s.runs = true
			return true
		case 'a', 'i', 'c':
			s.line()
		case 'r', 'R', '#', 'v': // a backslash does not go on with these
			for s.at < len(s.text) && s.text[s.at] != '\n' {
				s.at++
			}
		case 'b', 't', 'T', ':':
			s.skip(" \t")
			for s.at < len(s.text) && strings.IndexByte(space+";}", s.text[s.at]) < 0 {
				s.at++
			}
		case 'q', 'Q', 'l', 'L':
			s.skip(" \t0123456789")
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'F', 'z', '{', '}', ';':
		default:
			return false
		}
	}
}
