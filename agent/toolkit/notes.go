package toolkit

import "strings"

// EncodingNotes returns notes on the encoding of a file that was read; none for valid UTF-8. invalid reports that DecodeText
// replaced bytes.
func EncodingNotes(enc Encoding, invalid bool) []string {
	switch {
	case invalid && (enc == LittleUTF16 || enc == BigUTF16):
		return []string{"The file is " + enc.String() + " with errors; characters that could not be decoded are shown as \uFFFD."}
	case invalid:
		return []string{"The file is not UTF-8; characters that could not be decoded are shown as \uFFFD."}
	case enc == LittleUTF16 || enc == BigUTF16:
		return []string{"The file is " + enc.String() + "."}
	default:
		return nil
	}
}

// SplitLines splits text into lines without their line endings. A line ending at the end of the text does not begin another line.
func SplitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// JoinNotes appends notes to a text, each in brackets on a line of its own.
func JoinNotes(text string, notes []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(text, "\n"))
	for i, n := range notes {
		if i == 0 && b.Len() > 0 {
			b.WriteString("\n")
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[" + n + "]")
	}
	return b.String()
}
