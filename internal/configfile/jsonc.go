package configfile

import "bytes"

// ParseJSONC reads JSON with comments and with commas behind the last member, as editors have it. An empty file is nil. Its
// errors are of type [*LineError], and lines are those of the file.
func ParseJSONC(data []byte) (*Node, error) {
	plain, err := plainJSON(data)
	if err != nil {
		return nil, err
	}
	return ParseJSON(plain)
}

// plainJSON returns the data with spaces in place of comments and of commas that nothing follows.
func plainJSON(data []byte) ([]byte, error) {
	data = bytes.Clone(data)
	comma := -1       // the last comma behind a value, with nothing but space behind it so far
	last := byte('[') // the last thing that was not space
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			comma, last = -1, c
			i = stringEnd(data, i)
		case c == '/' && i+1 < len(data) && (data[i+1] == '/' || data[i+1] == '*'):
			end := commentEnd(data, i)
			if end < 0 {
				return nil, faultf(1+bytes.Count(data[:i], []byte("\n")), "a comment begins here and does not end")
			}
			for ; i < end; i++ {
				if data[i] != '\n' && data[i] != '\r' {
					data[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = -1
			if last != '[' && last != '{' && last != ',' {
				comma = i
			}
			last = c
		case c == '}' || c == ']':
			if comma >= 0 {
				data[comma] = ' '
			}
			comma, last = -1, c
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma, last = -1, c
		}
	}
	return data, nil
}

// stringEnd returns the offset of the quote that ends the string at i, or the end of its line, as a string has no newlines.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"', '\n':
			return i
		}
	}
	return i
}

// commentEnd returns the offset behind the comment at i, or -1 where it does not end.
func commentEnd(data []byte, i int) int {
	end, more := []byte("\n"), 0
	if data[i+1] == '*' {
		end, more = []byte("*/"), 2
	}
	n := bytes.Index(data[i+2:], end)
	switch {
	case n >= 0:
		return i + 2 + n + more
	case more == 0:
		return len(data)
	default:
		return -1
	}
}
