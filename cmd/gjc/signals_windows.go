package main

import "os"

// endSignals end the program in good order.
var endSignals = []os.Signal{os.Interrupt}
