// Package bench has benchmarks that measure gjc from outside: they build the binary, drive it over pipes as an editor does, and
// report the duration of each step and the memory in use after it. "./task bench" runs them.
package bench
