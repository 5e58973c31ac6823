package instructions

// Mentions returns the paths that a text imports.
var Mentions = mentions
