package main

import "os"

// endSignals end the program in an orderly way.
var endSignals = []os.Signal{os.Interrupt}

// surviveBrokenPipes does nothing: a write to a pipe without a reader is an error on Windows.
func surviveBrokenPipes() {}
