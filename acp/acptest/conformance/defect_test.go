package conformance

// A defect is the one thing that a fake does wrong, and the checks that must notice.
type defect struct {
	name  string
	trips []string
	// process says that the fake has to be a process.
	process bool
	// hangs says that the checks notice by waiting.
	hangs bool

	line   func(f *fake, line []byte) bool // sees each line first; true if that is all
	in     func(f *fake, m *message) bool  // sees each request and notification first
	out    func(f *fake, m object) bool    // changes what is sent; false sends nothing
	raw    func(line []byte) []byte        // changes the bytes that are sent
	eof    func(f *fake) int               // what happens at the end of the input
	allows func(t *fakeTurn, result any, err error) bool
	form   func(t *fakeTurn, result any, err error)
}

func findDefect(name string) *defect {
	for _, d := range defects() {
		if d.name == name {
			return &d
		}
	}
	return nil
}

func defects() []defect { return nil }
