package sessions

// syncDir does nothing: this system writes names through.
func syncDir(string) error { return nil }
