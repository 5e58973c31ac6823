package configfile

import "bytes"

// ParseJSONC parses JSON with comments and trailing commas, as editors do. It returns nil for an empty file. Its errors are of type
// [*LineError].
func ParseJSONC(data []byte) (*Node, error) {
	plain, err := plainJSON(data)
	if err != nil {
		return nil, err
	}
	return ParseJSON(plain)
}

// plainJSON replaces comments and trailing commas with spaces.
func plainJSON(data []byte) ([]byte, error) {
	data = bytes.Clone(data)
	comma := -1       // the last comma after a value, followed only by space so far
	last := byte('[') // the last byte that was not space
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			comma, last = -1, c
			i = stringEnd(data, i)
		case c == '/' && i+1 < len(data) && (data[i+1] == '/' || data[i+1] == '*'):
			end := commentEnd(data, i)
			if end < 0 {
				return nil, faultf(1+bytes.Count(data[:i], []byte("\n")), "unterminated comment")
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

// stringEnd returns the offset of the closing quote of the string at i, or the end of its line.
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

// commentEnd returns the offset after the comment at i, or -1 if it does not end.
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
