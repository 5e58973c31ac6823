// Package fleet has the test of several servers that share a database, in which servers and clients are killed at random moments of running
// turns. It builds gjc, runs it as a team would, and compares what each client shows with what is stored. "./task fleet" runs it at full
// length.
package fleet
