package headless

// terminalDevice is the terminal of a process, wherever its standard files lead.
const terminalDevice = "CONIN$"
