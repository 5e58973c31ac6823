package tools

import "strings"

func encodingNotes(enc encoding, invalid bool) []string {
	switch {
	case invalid && (enc == littleUTF16 || enc == bigUTF16):
		return []string{"The file is " + enc.String() + " with mistakes; characters that could not be read are shown as \uFFFD."}
	case invalid:
		return []string{"The file is not UTF-8; characters that could not be read are shown as \uFFFD."}
	case enc == littleUTF16 || enc == bigUTF16:
		return []string{"The file is " + enc.String() + "."}
	default:
		return nil
	}
}

// splitLines splits text into lines without their line ends. A line end at the end of the text opens no line.
func splitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// joinNotes puts remarks under a text, each in brackets on a line of its own.
func joinNotes(text string, notes []string) string {
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
