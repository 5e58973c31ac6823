// Package system has the operations of gjc's process that differ between operating systems: its signals, its standard output, its
// terminal and the access of other processes to it.
package system
