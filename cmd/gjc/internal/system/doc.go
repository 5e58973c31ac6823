// Package system provides the operations on gjc's process that differ between operating systems: on its signals, its standard
// output, its terminal, and the access of other processes to it.
package system
