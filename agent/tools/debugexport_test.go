package tools

// PlainExpression is plainExpression for tests, and so on.
func PlainExpression(text string, bareCalls bool) bool { return plainExpression(text, bareCalls) }

// PlainHits is told of above.
func PlainHits(text string) bool { return plainHits(text) }

// PlainLog is told of above.
func PlainLog(text string) bool { return plainLog(text, false) }

// PlainFunction is told of above.
func PlainFunction(name string) bool { return plainFunction(name) }
