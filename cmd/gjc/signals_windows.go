package main

import "os"

// endSignals end the program in good order.
var endSignals = []os.Signal{os.Interrupt}

// surviveBrokenPipes has nothing to do: a write to a pipe without a reader is an error here.
func surviveBrokenPipes() {}
